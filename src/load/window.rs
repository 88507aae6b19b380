//! The window: a span at one offered rate with one operation, the unit of analysis. It owns the outcomes of its own
//! intents, whenever they complete.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::bucket::{Bucket, Busiest};
use super::counts::Counts;
use super::keys::Keys;
use super::latency::{Latency, Quantiles};
use super::op::Op;
use super::rate::{Offset, Rate, Units};
use super::tick::{ByOutcome, Part, WindowId, earliest};

/// Hand-steered windows shorter than this are folded into one called [`ADJUSTING`].
pub const SHORTEST_WINDOW: Duration = Duration::from_secs(1);
/// The label of folded windows: no ceiling is read from them.
pub const ADJUSTING: &str = "adjusting";

/// What a window is, before anything is measured in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WindowSpec {
    /// Its number.
    pub id: WindowId,
    /// Its name on screen and in documents.
    pub label: String,
    /// Its operation.
    pub op: Op,
    /// Its offered rate; of a ramp, the rate it starts with. Of one part of mixed load, that part's.
    pub rate: Rate,
    /// Where the rate goes evenly until the planned end, of a ramp.
    #[serde(default)]
    pub ramp_to: Option<Rate>,
    /// When it starts.
    pub start: Offset,
    /// When the plan ends it, or ends it at the latest; `None` while a person steers.
    pub planned_end: Option<Offset>,
    /// Item size in bytes where it is the window's own; else the session's.
    #[serde(default)]
    pub item_bytes: Option<u32>,
    /// Key distribution where it is the window's own; else the session's.
    #[serde(default)]
    pub keys: Option<Keys>,
    /// The window that offers the other part of mixed load at the same time.
    #[serde(default)]
    pub beside: Option<WindowId>,
}

impl WindowSpec {
    /// A window at one rate, with the session's items and keys.
    pub fn steady(id: WindowId, label: impl Into<String>, op: Op, rate: Rate, start: Offset, planned_end: Option<Offset>) -> Self {
        Self { id, label: label.into(), op, rate, ramp_to: None, start, planned_end, item_bytes: None, keys: None, beside: None }
    }

    /// The number that it shares with the window beside it, and with no other.
    pub fn group(&self) -> WindowId {
        self.beside.map_or(self.id, |beside| beside.min(self.id))
    }
}

/// One second of one window.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Second {
    /// Start, a whole second.
    pub start: Offset,
    /// What the window's intents did in it.
    pub counts: Counts,
    /// Whether the window was open for the whole second and no other window, but the one beside it, offered anything in it:
    /// only such seconds may be part of a steady part.
    pub whole: bool,
}

/// A distribution that is being recorded, or one that is finished and kept small.
#[derive(Clone, Debug, PartialEq)]
pub enum Distribution {
    /// Still growing.
    Live(Latency),
    /// Finished: its figures, and all of it as HdrHistogram V2 text.
    Packed {
        /// The figures reports give.
        quantiles: Quantiles,
        /// See [`Latency::to_base64`].
        v2: String,
        /// See [`Latency::overflow`].
        overflow: u64,
    },
}

impl Default for Distribution {
    fn default() -> Self {
        Self::Live(Latency::default())
    }
}

impl Distribution {
    /// The figures reports give.
    pub fn quantiles(&self) -> Quantiles {
        match self {
            Self::Live(latency) => latency.quantiles(),
            Self::Packed { quantiles, .. } => *quantiles,
        }
    }

    /// All of it as HdrHistogram V2 text, empty when nothing was recorded.
    pub fn to_base64(&self) -> String {
        match self {
            Self::Live(latency) => latency.to_base64(),
            Self::Packed { v2, .. } => v2.clone(),
        }
    }

    /// The distribution itself.
    pub fn latency(&self) -> Latency {
        match self {
            Self::Live(latency) => latency.clone(),
            // Written by `pack` below, so it reads back; an empty distribution is the honest answer if it did not.
            Self::Packed { v2, overflow, .. } => Latency::from_base64(v2, *overflow).unwrap_or_default(),
        }
    }

    fn merge(&mut self, more: &Latency) {
        if more.is_empty() {
            return;
        }
        if let Self::Packed { .. } = self {
            *self = Self::Live(self.latency());
        }
        if let Self::Live(latency) = self {
            latency.merge(more);
        }
    }

    fn pack(&mut self) {
        if let Self::Live(latency) = self {
            *self = Self::Packed { quantiles: latency.quantiles(), v2: latency.to_base64(), overflow: latency.overflow() };
        }
    }
}

/// A window's latencies by outcome.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WindowLatency {
    /// Of accepted requests.
    pub accepted: Distribution,
    /// Of throttled requests.
    pub throttled: Distribution,
    /// Of failed and timed-out requests.
    pub other: Distribution,
}

impl WindowLatency {
    /// All outcomes together.
    pub fn all(&self) -> Latency {
        let mut all = self.accepted.latency();
        all.merge(&self.throttled.latency());
        all.merge(&self.other.latency());
        all
    }

    fn merge(&mut self, more: &ByOutcome) {
        self.accepted.merge(&more.accepted);
        self.throttled.merge(&more.throttled);
        self.other.merge(&more.other);
    }

    fn fold(&mut self, more: &Self) {
        self.accepted.merge(&more.accepted.latency());
        self.throttled.merge(&more.throttled.latency());
        self.other.merge(&more.other.latency());
    }

    fn pack(&mut self) {
        self.accepted.pack();
        self.throttled.pack();
        self.other.pack();
    }
}

/// How the client itself did in a window.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClientCost {
    /// `sent - intended`.
    pub schedule_error: Distribution,
    /// CPU time of the runners' threads, nanoseconds, over [`Self::seconds`].
    pub cpu_nanos: u64,
    /// What the busiest thread of each second took, over [`Self::seconds`].
    pub busiest: Busiest,
    /// Whole seconds over which the CPU time was taken.
    pub seconds: u32,
    /// Most requests in flight.
    pub in_flight_max: u32,
    /// Connections opened.
    pub connections_opened: u64,
    /// Longest stall of any runner, nanoseconds.
    pub longest_stall_nanos: u64,
}

/// A window and everything measured in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Window {
    /// What it is.
    pub spec: WindowSpec,
    /// When it was closed; `None` while it is open.
    pub end: Option<Offset>,
    /// Its ledger: `open` of it is its requests in flight.
    pub counts: Counts,
    /// When the earliest of its requests that was throttled had been sent.
    pub first_throttled_sent: Option<Offset>,
    /// When its earliest accepted answer arrived.
    pub first_accepted: Option<Offset>,
    /// `done - sent`.
    pub service: WindowLatency,
    /// `done - intended`.
    pub response: WindowLatency,
    /// How the client did.
    pub client: ClientCost,
    /// Its seconds, in order.
    pub seconds: Vec<Second>,
    /// How many windows were folded into this one; 0 for an ordinary window.
    pub folded: u32,
}

impl ClientCost {
    /// Cores that the busiest thread used, 0 to 1. `None` before a whole second was counted.
    pub fn busiest_cores(&self) -> Option<f64> {
        self.share(self.busiest.cpu_nanos)
    }

    /// Share of the time in which the thread that waited most had no core. `None` before a whole second was counted.
    pub fn waited_share(&self) -> Option<f64> {
        self.share(self.busiest.waited_nanos)
    }

    fn share(&self, nanos: u64) -> Option<f64> {
        (self.seconds > 0).then(|| nanos as f64 / 1e9 / f64::from(self.seconds))
    }
}

impl Window {
    /// A window that has just been opened.
    pub fn open(spec: WindowSpec) -> Self {
        Self {
            spec,
            end: None,
            counts: Counts::default(),
            first_throttled_sent: None,
            first_accepted: None,
            service: WindowLatency::default(),
            response: WindowLatency::default(),
            client: ClientCost::default(),
            seconds: Vec::new(),
            folded: 0,
        }
    }

    /// Its length so far at `now`, or its whole length once closed.
    pub fn duration(&self, now: Offset) -> Duration {
        self.end.unwrap_or(now).since(self.spec.start)
    }

    /// Whether it consists of windows too short to judge.
    pub fn is_adjusting(&self) -> bool {
        self.folded > 0
    }

    /// Time from its start to the sending of the first request that was throttled.
    pub fn first_throttle(&self) -> Option<Duration> {
        self.first_throttled_sent.map(|sent| sent.since(self.spec.start))
    }

    /// Units per accepted request, `None` before one was accepted or where the service states none.
    pub fn units_per_request(&self) -> Option<f64> {
        (self.counts.accepted > 0 && self.counts.consumed > Units::ZERO)
            .then(|| self.counts.consumed.as_f64() / self.counts.accepted as f64)
    }

    /// Adds what a bucket says of this window. `sole` tells whether no other window offered anything in that second.
    pub(super) fn absorb(&mut self, bucket: &Bucket, part: &Part, sole: bool) {
        self.counts.add(&part.counts);
        self.first_throttled_sent = earliest(self.first_throttled_sent, part.first_throttled_sent);
        self.first_accepted = earliest(self.first_accepted, part.first_accepted);
        self.service.merge(&part.service);
        self.response.merge(&part.response);
        self.client.schedule_error.merge(&part.schedule_error);
        // A second in which only its last outcomes came in belongs to another window.
        if part.counts.offered > 0 {
            self.client.in_flight_max = self.client.in_flight_max.max(bucket.in_flight_max);
            self.client.connections_opened += bucket.connect.count();
            self.client.longest_stall_nanos = self.client.longest_stall_nanos.max(bucket.longest_stall_nanos);
        }
        let bucket_end = bucket.start.plus(super::bucket::BUCKET);
        let covered = self.spec.start <= bucket.start && self.end.is_none_or(|end| end >= bucket_end);
        if covered {
            self.client.cpu_nanos += bucket.cpu_nanos;
            self.client.busiest.cpu_nanos += bucket.busiest.cpu_nanos;
            self.client.busiest.waited_nanos += bucket.busiest.waited_nanos;
            self.client.seconds += 1;
        }
        self.seconds.push(Second { start: bucket.start, counts: part.counts, whole: covered && sole });
    }

    /// Adds another window to this one, as windows too short to judge are.
    pub(super) fn fold(&mut self, more: &Self) {
        self.folded = self.folded.max(1) + more.folded.max(1);
        self.end = more.end;
        self.counts.add(&more.counts);
        self.first_throttled_sent = earliest(self.first_throttled_sent, more.first_throttled_sent);
        self.first_accepted = earliest(self.first_accepted, more.first_accepted);
        self.service.fold(&more.service);
        self.response.fold(&more.response);
        self.client.schedule_error.merge(&more.client.schedule_error.latency());
        self.client.cpu_nanos += more.client.cpu_nanos;
        self.client.busiest.cpu_nanos += more.client.busiest.cpu_nanos;
        self.client.busiest.waited_nanos += more.client.busiest.waited_nanos;
        self.client.seconds += more.client.seconds;
        self.client.in_flight_max = self.client.in_flight_max.max(more.client.in_flight_max);
        self.client.connections_opened += more.client.connections_opened;
        self.client.longest_stall_nanos = self.client.longest_stall_nanos.max(more.client.longest_stall_nanos);
        for second in &more.seconds {
            match self.seconds.last_mut().filter(|last| last.start == second.start) {
                Some(last) => last.counts.add(&second.counts),
                None => self.seconds.push(Second { whole: false, ..*second }),
            }
        }
        self.spec.label = ADJUSTING.to_owned();
    }

    /// Marks this window as one too short to judge.
    pub(super) fn mark_adjusting(&mut self) {
        self.folded = self.folded.max(1);
        self.spec.label = ADJUSTING.to_owned();
        self.seconds.iter_mut().for_each(|second| second.whole = false);
    }

    /// Keeps the distributions of a finished window small.
    pub(super) fn pack(&mut self) {
        self.service.pack();
        self.response.pack();
        self.client.schedule_error.pack();
    }
}
