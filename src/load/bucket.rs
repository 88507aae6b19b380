//! The bucket: one wall-clock second, merged over all shards and runners.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::counts::Counts;
use super::latency::Latency;
use super::outcome::{Failure, Refusal};
use super::rate::Offset;
use super::tick::{Part, RunnerId, Tally, Tick, add_tally, part_of};

/// Length of a bucket.
pub const BUCKET: Duration = Duration::from_secs(1);

/// One second of the whole load, all runners merged.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Bucket {
    /// Start, a whole second.
    pub start: Offset,
    /// What each window's intents did in it.
    pub parts: Vec<Part>,
    /// Requests in flight at its end, over all runners.
    pub in_flight: u32,
    /// Sum over runners of the most requests each had in flight at once.
    pub in_flight_max: u32,
    /// Distinct refusals.
    pub refusals: Vec<Tally<Refusal>>,
    /// Distinct failures.
    pub failures: Vec<Tally<Failure>>,
    /// Connections opened, and how long each took.
    pub connect: Latency,
    /// CPU time of the runners' threads, nanoseconds.
    pub cpu_nanos: u64,
    /// The runner whose thread used most, and the one whose thread waited most.
    #[serde(default)]
    pub busiest: Busiest,
    /// Longest stall of any runner, nanoseconds.
    pub longest_stall_nanos: u64,
    /// Runners that reported the whole of this second.
    pub runners: u32,
}

impl Bucket {
    /// The ledger of the second over all windows; `open` of it is the change of in flight.
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        self.parts.iter().for_each(|part| counts.add(&part.counts));
        counts
    }

    fn absorb(&mut self, tick: Tick) {
        for part in &tick.parts {
            part_of(&mut self.parts, part.window).merge(part);
        }
        tick.refusals.into_iter().for_each(|t| add_tally(&mut self.refusals, t));
        tick.failures.into_iter().for_each(|t| add_tally(&mut self.failures, t));
        self.connect.merge(&tick.connect);
        self.cpu_nanos += tick.cpu_nanos;
        self.longest_stall_nanos = self.longest_stall_nanos.max(tick.longest_stall_nanos);
    }
}

/// What the busiest thread took of this machine, nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Busiest {
    /// CPU time of the thread that used most.
    pub cpu_nanos: u64,
    /// Time without a core of the thread that waited for one most.
    pub waited_nanos: u64,
}

#[derive(Debug, Default)]
struct Open {
    bucket: Bucket,
    runners: BTreeMap<RunnerId, OfRunner>,
}

#[derive(Debug, Default)]
struct OfRunner {
    in_flight_max: u32,
    cpu_nanos: u64,
    waited_nanos: u64,
}

/// Merges ticks into buckets. A bucket is given out once every live runner has reported beyond its end, so it is
/// complete and in order; a runner that ends stops being waited for.
#[derive(Debug, Default)]
pub struct Merger {
    reported_to: BTreeMap<RunnerId, Offset>,
    /// Runners that have not reported the whole of the next bucket: kept as a count, since every tick asks.
    behind: usize,
    open: BTreeMap<Offset, Open>,
    given_to: Offset,
    in_flight: i64,
}

impl Merger {
    /// A merger that gives out buckets from the second in which `from` lies.
    pub fn new(runners: impl IntoIterator<Item = RunnerId>, from: Offset) -> Self {
        let from = from.floor_to(BUCKET);
        let reported_to: BTreeMap<_, _> = runners.into_iter().map(|id| (id, from)).collect();
        Self { behind: reported_to.len(), reported_to, given_to: from, ..Self::default() }
    }

    /// Takes a tick. A tick that was coalesced over a bucket edge belongs to the bucket of its end, or to the first one
    /// still open: it is never lost.
    pub fn absorb(&mut self, tick: Tick) {
        let end = self.given_to.plus(BUCKET);
        let before = self.reported_to.get(&tick.runner).copied();
        let reported_to = tick.to.max(before.unwrap_or_default());
        self.reported_to.insert(tick.runner, reported_to);
        match before {
            None => self.behind += usize::from(reported_to < end),
            Some(before) => self.behind -= usize::from(before < end && reported_to >= end),
        }
        let start = Offset::from_nanos(tick.to.nanos().saturating_sub(1)).floor_to(BUCKET).max(self.given_to);
        let open = self.open.entry(start).or_default();
        let of = open.runners.entry(tick.runner).or_default();
        of.in_flight_max = tick.in_flight_max.max(of.in_flight_max);
        of.cpu_nanos += tick.cpu_nanos;
        of.waited_nanos += tick.waited_nanos;
        open.bucket.absorb(tick);
    }

    /// Stops waiting for a runner that has ended.
    pub fn forget(&mut self, runner: RunnerId) {
        let end = self.given_to.plus(BUCKET);
        if self.reported_to.remove(&runner).is_some_and(|reported| reported < end) {
            self.behind -= 1;
        }
    }

    /// The next complete bucket, in order. Seconds without any tick come out as empty buckets, so that time never skips.
    pub fn pop(&mut self) -> Option<Bucket> {
        (self.behind == 0 && !self.reported_to.is_empty()).then(|| self.give())
    }

    /// What is left when every runner has ended.
    pub fn pop_rest(&mut self) -> Option<Bucket> {
        let last = *self.open.keys().next_back()?;
        (self.given_to <= last).then(|| self.give())
    }

    fn give(&mut self) -> Bucket {
        let end = self.given_to.plus(BUCKET);
        let start = std::mem::replace(&mut self.given_to, end);
        let next_end = end.plus(BUCKET);
        self.behind = self.reported_to.values().filter(|reported| **reported < next_end).count();
        let Open { mut bucket, runners } = self.open.remove(&start).unwrap_or_default();
        bucket.start = start;
        self.in_flight += bucket.counts().open();
        bucket.in_flight = u32::try_from(self.in_flight).unwrap_or(0);
        bucket.in_flight_max = runners.values().map(|of| of.in_flight_max).sum::<u32>().max(bucket.in_flight);
        bucket.busiest = Busiest {
            cpu_nanos: runners.values().map(|of| of.cpu_nanos).max().unwrap_or_default(),
            waited_nanos: runners.values().map(|of| of.waited_nanos).max().unwrap_or_default(),
        };
        bucket.runners = self.reported_to.len() as u32;
        bucket
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::tick::WindowId;

    fn tick(runner: u32, from_ms: u64, to_ms: u64, offered: u64, accepted: u64) -> Tick {
        let mut tick =
            Tick { runner: RunnerId(runner), from: Offset::from_millis(from_ms), to: Offset::from_millis(to_ms), ..Tick::default() };
        tick.part_mut(WindowId(0)).counts = Counts { offered, accepted, ..Counts::default() };
        tick
    }

    #[test]
    fn a_bucket_is_complete_when_every_runner_has_passed_its_end() {
        let mut merger = Merger::new([RunnerId(0), RunnerId(1)], Offset::ZERO);
        merger.absorb(tick(0, 0, 1_000, 10, 7));
        assert_eq!(merger.pop(), None);
        merger.absorb(tick(1, 0, 500, 5, 5));
        assert_eq!(merger.pop(), None);
        merger.absorb(tick(1, 500, 1_000, 5, 5));
        let bucket = merger.pop().expect("complete");
        assert_eq!((bucket.counts().offered, bucket.counts().accepted, bucket.in_flight, bucket.runners), (20, 17, 3, 2));
        assert_eq!(merger.pop(), None);
    }

    #[test]
    fn a_runner_that_has_ended_is_not_waited_for() {
        let mut merger = Merger::new([RunnerId(0), RunnerId(1), RunnerId(2)], Offset::ZERO);
        merger.absorb(tick(0, 0, 2_000, 4, 4));
        merger.absorb(tick(1, 0, 1_500, 2, 2));
        merger.forget(RunnerId(2));
        assert_eq!(merger.pop().map(|bucket| bucket.runners), Some(2));
        assert_eq!(merger.pop(), None);
        merger.forget(RunnerId(1));
        assert_eq!(merger.pop().map(|bucket| bucket.runners), Some(1));
        // One that was not announced is waited for from its first tick on.
        merger.absorb(tick(3, 2_000, 2_500, 1, 1));
        merger.absorb(tick(0, 2_000, 3_000, 1, 1));
        assert_eq!(merger.pop(), None);
        merger.absorb(tick(3, 2_500, 3_000, 1, 1));
        assert_eq!(merger.pop().map(|bucket| bucket.counts().offered), Some(3));
        merger.forget(RunnerId(0));
        merger.forget(RunnerId(3));
        assert_eq!(merger.pop(), None);
    }

    #[test]
    fn a_tick_that_comes_late_or_spans_an_edge_is_never_lost() {
        let mut merger = Merger::new([RunnerId(0), RunnerId(1)], Offset::ZERO);
        merger.absorb(tick(0, 0, 3_200, 30, 30));
        merger.absorb(tick(1, 0, 3_000, 3, 3));
        let firsts: Vec<u64> = std::iter::from_fn(|| merger.pop()).map(|b| b.counts().offered).collect();
        assert_eq!(firsts, [0, 0, 3]);
        merger.absorb(tick(1, 2_000, 2_100, 1, 1));
        merger.forget(RunnerId(1));
        let rest: u64 = std::iter::from_fn(|| merger.pop_rest()).map(|b| b.counts().offered).sum();
        assert_eq!(rest, 31);
    }
}
