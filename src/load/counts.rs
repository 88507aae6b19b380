//! The ledger: what became of the intents.

use serde::{Deserialize, Serialize};

use super::rate::Units;

/// Counts of intents by what became of them.
///
/// In a tick or bucket the outcomes are those that completed in it, so
/// `offered = accepted + throttled + failed + timed_out + shed + change of in_flight`.
/// In a window they are the outcomes of *its* intents, whenever they completed, so
/// `offered = accepted + throttled + failed + timed_out + shed + in_flight`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Intents that came due, whether or not they could be sent.
    pub offered: u64,
    /// The service answered success.
    pub accepted: u64,
    /// The service said no for capacity.
    pub throttled: u64,
    /// Any other error answer, or a transport error.
    pub failed: u64,
    /// No answer within the request timeout.
    pub timed_out: u64,
    /// Due but not sent: the in-flight cap or the late limit. The client's fault, never the service's.
    pub shed: u64,
    /// Of those sent, how many left more than [`SENT_LATE_NANOS`] after their instant. Not part of the ledger.
    pub late: u64,
    /// Of those failed, how many failed in this machine's own limits: open files, ports, memory. Not part of the ledger.
    #[serde(default)]
    pub failed_here: u64,
    /// Of those accepted, how many were on the key that is asked for most, where the distribution has such a key. Not part of
    /// the ledger.
    #[serde(default)]
    pub hottest_accepted: u64,
    /// Of those throttled, how many were on that key. Not part of the ledger.
    #[serde(default)]
    pub hottest_throttled: u64,
    /// Capacity the service said was consumed.
    pub consumed: Units,
}

/// A request sent more than 10 ms after its intended instant counts as late: well above timer resolution (1 ms), well
/// below any latency limit a reader would act on.
pub const SENT_LATE_NANOS: u64 = 10_000_000;

impl Counts {
    /// Intents that were sent.
    pub const fn sent(&self) -> u64 {
        self.offered.saturating_sub(self.shed)
    }

    /// Requests that have their outcome.
    pub const fn completed(&self) -> u64 {
        self.accepted + self.throttled + self.failed + self.timed_out
    }

    /// The part of the ledger that has no outcome yet: for a window its requests in flight, for a tick or bucket the
    /// change of in flight, which may be negative.
    pub fn open(&self) -> i64 {
        self.offered as i64 - self.shed as i64 - self.completed() as i64
    }

    /// Adds another ledger to this one.
    pub fn add(&mut self, other: &Self) {
        self.offered += other.offered;
        self.accepted += other.accepted;
        self.throttled += other.throttled;
        self.failed += other.failed;
        self.timed_out += other.timed_out;
        self.shed += other.shed;
        self.late += other.late;
        self.failed_here += other.failed_here;
        self.hottest_accepted += other.hottest_accepted;
        self.hottest_throttled += other.hottest_throttled;
        self.consumed += other.consumed;
    }

    /// Share of intents that were shed, sent late, or failed in this machine's own limits: how far the client itself fell
    /// short. `None` without intents.
    pub fn client_shortfall(&self) -> Option<f64> {
        (self.offered > 0).then(|| (self.shed + self.late + self.failed_here) as f64 / self.offered as f64)
    }
}
