//! What a session found, as its document states it: answers, steps of the ceiling, the verdict.

use serde::{Deserialize, Serialize};

use crate::analysis::{Caveat, Limit, VerdictKind};
use crate::load::FailureKind;

use super::finite::Finite;

/// A throttle answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Throttle {
    /// HTTP status.
    pub http_status: u16,
    /// Error code.
    pub code: String,
    /// Reasons, where given.
    pub reasons: Vec<String>,
    /// Resource, where given.
    pub resource: Option<String>,
    /// Message, verbatim.
    pub message: String,
    /// How often.
    pub count: u64,
    /// When it first arrived, seconds.
    pub first_s: Finite,
    /// When it last arrived, seconds; null in documents of earlier versions.
    #[serde(default)]
    pub last_s: Finite,
    /// Which limit refused; null where nobody judged.
    #[serde(default)]
    pub cause: Option<Limit>,
    /// What it means, in one sentence; null where nobody judged.
    #[serde(default)]
    pub meaning: Option<String>,
}

/// A failure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// Where it failed.
    pub kind: FailureKind,
    /// Error code, where given.
    pub code: Option<String>,
    /// HTTP status, where there was an answer.
    pub http_status: Option<u16>,
    /// Message.
    pub message: String,
    /// How often.
    pub count: u64,
    /// When it first happened, seconds.
    pub first_s: Finite,
}

/// A step of the ceiling: the accepted rate of over-driven seconds went from one level to another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Index of the window in which it was seen, or at whose start.
    #[serde(default)]
    pub window: Option<u32>,
    /// When, seconds.
    pub at_s: Finite,
    /// Accepted before, requests/s.
    pub from_per_s: Finite,
    /// Accepted after, requests/s.
    pub to_per_s: Finite,
    /// For how long the level before had held, seconds under load: pauses do not count.
    #[serde(default)]
    pub dwell_s: Finite,
    /// One less the chance that noise alone looks like this, 0 to 1.
    #[serde(default)]
    pub confidence: Finite,
    /// It happened between the end of the window before and this one, or while this one's burst still ran out; `at_s` is
    /// this one's start.
    #[serde(default)]
    pub between_windows: bool,
}

/// Whose limit the session met.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionVerdict {
    /// Whose limit.
    pub kind: VerdictKind,
    /// Which limit of the service; null unless it is service-bound.
    #[serde(default)]
    pub limit: Option<Limit>,
    /// Saturated ceiling, requests/s.
    pub sustained_per_s: Finite,
    /// The same in capacity units/s.
    #[serde(default)]
    pub sustained_units_per_s: Finite,
    /// Its 95 % interval.
    pub ci95_per_s: Option<[Finite; 2]>,
    /// Highest steady offered rate at which nothing was throttled, requests/s.
    pub clean_at_least_per_s: Finite,
    /// Lowest offered rate that showed steady throttling, requests/s.
    pub clean_below_per_s: Finite,
    /// The clean ceiling lies between these rates, requests/s; null where the windows do not bracket it.
    #[serde(default)]
    pub clean_ceiling_per_s: Option<[Finite; 2]>,
    /// Burst, units.
    pub burst_units: Finite,
    /// Sentences with figures.
    pub evidence: Vec<String>,
    /// Reasons to distrust.
    pub caveats: Vec<Caveat>,
}
