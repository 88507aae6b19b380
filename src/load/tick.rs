//! The tick: what one shard counted in 100 ms. The same value is merged in this process, written to a file, or sent by
//! a runner elsewhere; ticks are deltas and add up, so an aggregate is a sum of counted requests and nothing else.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::counts::Counts;
use super::latency::Latency;
use super::outcome::{Failure, FailureKind, Refusal};
use super::rate::{Offset, Rate};

/// Length of a tick.
pub const TICK: Duration = Duration::from_millis(100);

/// At most this many distinct refusals (and as many failures) are told apart per tick and per session; the rest are
/// still counted, as one entry that says so.
pub const DISTINCT_ANSWERS: usize = 64;

/// A window's number, in the order in which windows were opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WindowId(pub u32);

/// A runner's number: a shard of this process, or a process or function elsewhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunnerId(pub u32);

/// The offered rate as the load engine has it: `None` while the load is paused.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Setpoint {
    /// The rate over all runners, `None` when paused.
    pub rate: Option<Rate>,
    /// When it was requested, or when it took effect.
    pub at: Offset,
}

/// Latency distributions split by outcome, since quick refusals would flatter a mixed percentile.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ByOutcome {
    /// Of accepted requests.
    pub accepted: Latency,
    /// Of throttled requests.
    pub throttled: Latency,
    /// Of failed and timed-out requests; a timeout counts at its full time.
    pub other: Latency,
}

impl ByOutcome {
    /// Adds the values of another.
    pub fn merge(&mut self, more: &Self) {
        self.accepted.merge(&more.accepted);
        self.throttled.merge(&more.throttled);
        self.other.merge(&more.other);
    }

    /// All outcomes together.
    pub fn all(&self) -> Latency {
        let mut all = self.accepted.clone();
        all.merge(&self.throttled);
        all.merge(&self.other);
        all
    }
}

/// What one window's intents did in a span.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// The window that owns these intents.
    pub window: WindowId,
    /// Outcomes that completed in the span.
    pub counts: Counts,
    /// When the earliest request that was throttled had been sent.
    pub first_throttled_sent: Option<Offset>,
    /// When the earliest accepted answer arrived.
    pub first_accepted: Option<Offset>,
    /// `done - sent`.
    pub service: ByOutcome,
    /// `done - intended`: free of coordinated omission.
    pub response: ByOutcome,
    /// `sent - intended`, of everything sent; without the time that opening a connection took, which is recorded apart.
    pub schedule_error: Latency,
}

impl Part {
    /// An empty part of a window.
    pub fn of(window: WindowId) -> Self {
        Self { window, ..Self::default() }
    }

    /// Adds another part of the same window.
    pub fn merge(&mut self, more: &Self) {
        self.counts.add(&more.counts);
        self.first_throttled_sent = earliest(self.first_throttled_sent, more.first_throttled_sent);
        self.first_accepted = earliest(self.first_accepted, more.first_accepted);
        self.service.merge(&more.service);
        self.response.merge(&more.response);
        self.schedule_error.merge(&more.schedule_error);
    }
}

/// The earlier of two instants that may be absent.
pub fn earliest(a: Option<Offset>, b: Option<Offset>) -> Option<Offset> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (one, other) => one.or(other),
    }
}

/// How often one answer was seen in one window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tally<T> {
    /// The answer.
    pub what: Arc<T>,
    /// The window of the first one.
    pub window: WindowId,
    /// How often.
    pub count: u64,
    /// When the first of them arrived.
    pub first: Offset,
    /// When the last of them arrived.
    pub last: Offset,
}

/// An answer that stands for all that were not told apart.
pub trait Other {
    /// It.
    fn other() -> Self;
}

impl Other for Refusal {
    fn other() -> Self {
        Self::new(0, "other", Vec::new(), None, "further distinct refusals, not told apart")
    }
}

impl Other for Failure {
    fn other() -> Self {
        Self::new(FailureKind::OtherAnswer, None, None, "further distinct failures, not told apart")
    }
}

/// Adds a tally to a bounded list: equal answers are summed, and what would not fit is summed into an entry that says so,
/// so that every answer stays counted.
pub fn add_tally<T: PartialEq + Other>(list: &mut Vec<Tally<T>>, more: Tally<T>) {
    let full = list.len() >= DISTINCT_ANSWERS - 1;
    let same = list.iter_mut().find(|t| Arc::ptr_eq(&t.what, &more.what) || t.what == more.what);
    if let Some(same) = same {
        same.count += more.count;
        same.first = same.first.min(more.first);
        same.last = same.last.max(more.last);
    } else if full {
        let other = T::other();
        if let Some(rest) = list.iter_mut().find(|tally| *tally.what == other) {
            rest.count += more.count;
            rest.first = rest.first.min(more.first);
            rest.last = rest.last.max(more.last);
        } else {
            list.push(Tally { what: Arc::new(other), ..more });
        }
    } else {
        list.push(more);
    }
}

/// What one shard counted in one span of [`TICK`], or in several when it had to wait for room in the channel.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tick {
    /// Who counted.
    pub runner: RunnerId,
    /// Start of the span, on the tick grid.
    pub from: Offset,
    /// End of the span, on the tick grid.
    pub to: Offset,
    /// What each window's intents did; windows with nothing to say are absent.
    pub parts: Vec<Part>,
    /// Requests in flight at the end of the span.
    pub in_flight: u32,
    /// Most requests in flight at any instant of the span.
    pub in_flight_max: u32,
    /// The setpoint in force at the end of the span.
    pub applied: Option<Setpoint>,
    /// Distinct refusals.
    pub refusals: Vec<Tally<Refusal>>,
    /// Distinct failures.
    pub failures: Vec<Tally<Failure>>,
    /// Connections opened, and how long each took.
    pub connect: Latency,
    /// CPU time of the shard's thread, nanoseconds.
    pub cpu_nanos: u64,
    /// Time in which the shard's thread could have run and had no core, nanoseconds; 0 where the system does not tell.
    #[serde(default)]
    pub waited_nanos: u64,
    /// Longest time for which the shard did not run although intents were due, nanoseconds.
    pub longest_stall_nanos: u64,
}

impl Tick {
    /// The ledger of the span over all windows.
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        self.parts.iter().for_each(|part| counts.add(&part.counts));
        counts
    }

    /// The part of `window`, made if absent.
    pub fn part_mut(&mut self, window: WindowId) -> &mut Part {
        part_of(&mut self.parts, window)
    }

    /// Extends this tick by the one that follows it from the same runner.
    pub fn extend(&mut self, next: &Self) {
        for part in &next.parts {
            self.part_mut(part.window).merge(part);
        }
        self.from = self.from.min(next.from);
        self.to = self.to.max(next.to);
        self.in_flight = next.in_flight;
        self.in_flight_max = self.in_flight_max.max(next.in_flight_max);
        self.applied = next.applied.or(self.applied);
        next.refusals.iter().for_each(|t| add_tally(&mut self.refusals, t.clone()));
        next.failures.iter().for_each(|t| add_tally(&mut self.failures, t.clone()));
        self.connect.merge(&next.connect);
        self.cpu_nanos += next.cpu_nanos;
        self.waited_nanos += next.waited_nanos;
        self.longest_stall_nanos = self.longest_stall_nanos.max(next.longest_stall_nanos);
    }
}

/// The part of `window` in a list, made at the end if absent. The newest window is the usual answer, so the search
/// starts at the end.
pub fn part_of(parts: &mut Vec<Part>, window: WindowId) -> &mut Part {
    let at = parts.iter().rposition(|part| part.window == window).unwrap_or_else(|| {
        parts.push(Part::of(window));
        parts.len() - 1
    });
    &mut parts[at]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_beyond_the_bound_are_counted_as_other_and_under_nobody_elses_name() {
        let mut list = Vec::new();
        for n in 0..200_u64 {
            let what = Arc::new(Failure::new(FailureKind::Service, None, Some(500), &format!("request {n}")));
            add_tally(&mut list, Tally { what, window: WindowId(0), count: 1, first: Offset::from_secs(n), last: Offset::from_secs(n) });
        }
        assert_eq!(list.len(), DISTINCT_ANSWERS);
        assert_eq!(list.iter().map(|tally| tally.count).sum::<u64>(), 200);
        assert!(list[..DISTINCT_ANSWERS - 1].iter().all(|tally| tally.count == 1));
        assert_eq!(*list[DISTINCT_ANSWERS - 1].what, Failure::other());
    }
}
