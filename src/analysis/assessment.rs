//! What an analysis says: figures with what they rest on, or null with the caveat that says why.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::load::WindowId;

use super::limit::{Limit, Throttling};

/// Whose limit was seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VerdictKind {
    /// Steady throttling by the service while the client kept its schedule.
    ServiceBound,
    /// The client shed or sent late too many intents, without steady throttling.
    ClientBound,
    /// Neither: the table accepted all that was offered.
    CeilingNotReached,
    /// Both, or too little data.
    #[default]
    Inconclusive,
}

impl VerdictKind {
    /// The name used on screen and in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ServiceBound => "service-bound",
            Self::ClientBound => "client-bound",
            Self::CeilingNotReached => "ceiling-not-reached",
            Self::Inconclusive => "inconclusive",
        }
    }
}

impl fmt::Display for VerdictKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A named reason to distrust a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Caveat {
    /// The simulated endpoint answered, not AWS.
    Simulated,
    /// The client shed or sent late 0.5 % or more of the intents.
    ClientSaturated,
    /// The simulated endpoint itself ran short of CPU.
    TargetSaturated,
    /// The client did not run for a while: intents were shed.
    Gap,
    /// A runner started late.
    LateRunner,
    /// The window or its steady part is too short to state a sustained ceiling.
    TooShort,
    /// The throttle rate never became stationary.
    NotStationary,
    /// What came before left the burst no time to refill, so it cannot be measured here.
    BurstNotRefilled,
    /// The burst is too small against what the counts leave open to state it within 10 %.
    BurstUncertain,
    /// The window consists of hand-steered setpoints too short to judge.
    Adjusting,
    /// Some requests failed or timed out; the figures speak of the rest.
    Failures,
    /// Requests were still in flight when the figures were taken.
    InFlight,
    /// Windows disagree about the ceiling by more than 1 %: it moved, or the table's partitions are uneven.
    CeilingMoved,
    /// The offered rate changed all along: there is no steady part.
    Ramp,
    /// The session was stopped before the plan ended.
    StoppedEarly,
}

impl Caveat {
    /// The name used on screen and in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Simulated => "simulated",
            Self::ClientSaturated => "client-saturated",
            Self::TargetSaturated => "target-saturated",
            Self::Gap => "gap",
            Self::LateRunner => "late-runner",
            Self::TooShort => "too-short",
            Self::NotStationary => "not-stationary",
            Self::BurstNotRefilled => "burst-not-refilled",
            Self::BurstUncertain => "burst-uncertain",
            Self::Adjusting => "adjusting",
            Self::Failures => "failures",
            Self::InFlight => "in-flight",
            Self::CeilingMoved => "ceiling-moved",
            Self::Ramp => "ramp",
            Self::StoppedEarly => "stopped-early",
        }
    }

    /// One clause for people.
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::Simulated => "the simulated endpoint answered, not AWS",
            Self::ClientSaturated => "the client shed or sent late 0.5 % or more of the intents",
            Self::TargetSaturated => "the simulated endpoint itself ran short of CPU",
            Self::Gap => "the client did not run for a while, and the intents of that time were shed",
            Self::LateRunner => "a runner started late",
            Self::TooShort => "the steady part is too short to state a sustained ceiling",
            Self::NotStationary => "the throttle rate never became stationary",
            Self::BurstNotRefilled => "what came before left the burst no time to refill",
            Self::BurstUncertain => "the burst is too small against the noise to state it within 10 %",
            Self::Adjusting => "setpoints shorter than a second, too short to judge",
            Self::Failures => "some requests failed or timed out",
            Self::InFlight => "requests were still in flight",
            Self::CeilingMoved => "windows disagree about the ceiling by more than 1 %",
            Self::Ramp => "the offered rate changed all along, so there is no steady part",
            Self::StoppedEarly => "the session was stopped before its end",
        }
    }
}

impl fmt::Display for Caveat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// An estimate with its 95 % confidence interval, in requests per second. It speaks of one table.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The estimate.
    pub per_s: f64,
    /// Lower and upper end of the interval.
    pub ci95: (f64, f64),
}

/// A verdict and what it rests on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// Whose limit.
    pub kind: VerdictKind,
    /// Sentences, each with its figures.
    pub evidence: Vec<String>,
    /// Reasons to distrust, in a fixed order.
    pub caveats: Vec<Caveat>,
}

/// A change of the ceiling: the accepted rate of over-driven seconds went from one level to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// The window in which it was seen, or at whose start.
    pub window: WindowId,
    /// When, seconds of the session.
    pub at_s: f64,
    /// Accepted before, requests/s.
    pub from_per_s: f64,
    /// Accepted after, requests/s.
    pub to_per_s: f64,
    /// For how long the level before had held, seconds under load: pauses do not count.
    pub dwell_s: f64,
    /// One less the chance that noise alone looks like this, 0 to 1.
    pub confidence: f64,
    /// It happened between the end of the window before and this one, or while this one's burst still ran out.
    pub between_windows: bool,
}

/// What one window shows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Assessment {
    /// Which window.
    pub window: WindowId,
    /// Mean accepted rate over the whole window, requests/s; `None` for a window of no length.
    pub accepted_per_s: Option<f64>,
    /// Units per accepted request: as the service stated them, else as its documented rule gives them for the item size.
    pub units_per_request: Option<f64>,
    /// Saturated ceiling: accepted rate in the steady part of an over-driven window.
    pub sustained: Option<Estimate>,
    /// Start of the steady part, seconds from the window's start.
    pub steady_from_s: Option<f64>,
    /// Units accepted above the saturated ceiling before the steady part; `None` where the burst had not refilled.
    pub burst_units: Option<f64>,
    /// The same whether or not it had: what a pause refilled, where windows follow each other.
    pub above_ceiling_units: Option<f64>,
    /// Seconds from the window's start to the sending of the first request that was throttled.
    pub first_throttle_s: Option<f64>,
    /// Whose limit, and why.
    pub verdict: Verdict,
}

impl Assessment {
    /// A rate of its requests in capacity units/s.
    pub fn in_units(&self, per_s: Option<f64>) -> Option<f64> {
        Some(per_s? * self.units_per_request?)
    }
}

/// What the session shows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionAssessment {
    /// One per window, in order.
    pub windows: Vec<Assessment>,
    /// Whose limit, and why.
    pub verdict: Verdict,
    /// Saturated ceiling pooled over the windows that agree within 1 %; else that of the last over-driven window.
    pub sustained: Option<Estimate>,
    /// The same in capacity units/s.
    pub sustained_units_per_s: Option<f64>,
    /// Which limit of the service was met; `None` unless it was the service's.
    pub limit: Option<Limit>,
    /// Steps of the ceiling over all windows, in order.
    pub steps: Vec<Step>,
    /// What each distinct refusal means, in the order of the snapshot's.
    pub throttling: Vec<Throttling>,
    /// Highest steady offered rate at which nothing was throttled, requests/s.
    pub clean_at_least_per_s: Option<f64>,
    /// Lowest offered rate that showed steady throttling, requests/s.
    pub clean_below_per_s: Option<f64>,
    /// The clean ceiling lies between these rates, requests/s; `None` where the windows do not bracket it.
    pub clean_ceiling: Option<(f64, f64)>,
    /// Burst of the last window that shows one, units.
    pub burst_units: Option<f64>,
}
