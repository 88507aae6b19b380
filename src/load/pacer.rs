//! The pacer: an open loop in integer nanoseconds. Intent *i* of the load is due when the work done by the schedule
//! reaches *i*, so nothing drifts, the count over any span is exact, and a rate change neither bursts nor leaves a gap.
//!
//! Every shard holds the same schedule and takes the intents whose index is its own modulo the number of shards: their
//! arrivals interleave, and together they are exactly the schedule.

use std::collections::VecDeque;

use super::op::Op;
use super::rate::{Offset, Rate};
use super::tick::WindowId;

/// Work of one intent: nanoseconds times thousandths of an operation per second.
const ONE: u128 = 1_000_000_000_000;

/// A stretch of the schedule at one rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Segment {
    /// When it starts; it replaces everything scheduled from there on.
    pub start: Offset,
    /// What it offers; `None` pauses the load.
    pub load: Option<SegmentLoad>,
}

/// What a segment offers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SegmentLoad {
    /// The window that owns its intents.
    pub window: WindowId,
    /// The rate over all shards.
    pub rate: Rate,
    /// The operation.
    pub op: Op,
}

/// One operation that came due on the schedule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Intent {
    /// Its number in the load, over all shards, from 0.
    pub index: u64,
    /// When it is due.
    pub intended: Offset,
    /// The window that owns it.
    pub window: WindowId,
    /// What it does.
    pub op: Op,
}

#[derive(Clone, Copy, Debug)]
struct Active {
    segment: Segment,
    /// Work done when the segment starts.
    work: u128,
}

impl Active {
    fn work_at(&self, at: Offset) -> u128 {
        let milli = self.segment.load.map_or(0, |load| load.rate.milli());
        self.work + u128::from(at.nanos().saturating_sub(self.segment.start.nanos())) * u128::from(milli)
    }

    fn due(&self, index: u64) -> Option<Offset> {
        let milli = u128::from(self.segment.load?.rate.milli());
        let missing = (u128::from(index) * ONE).saturating_sub(self.work);
        let nanos = u64::try_from(missing.div_ceil(milli)).unwrap_or(u64::MAX);
        Some(Offset::from_nanos(self.segment.start.nanos().saturating_add(nanos)))
    }

    /// The segment that follows. Out of a pause the schedule starts on an intent; otherwise the phase is kept.
    fn followed_by(&self, segment: Segment) -> Self {
        let work = self.work_at(segment.start);
        let resumes = self.segment.load.is_none() && segment.load.is_some();
        Self { segment, work: if resumes { work.div_ceil(ONE) * ONE } else { work } }
    }
}

/// One shard's part of the schedule.
#[derive(Debug)]
pub struct Pacer {
    active: Active,
    upcoming: VecDeque<Segment>,
    next_index: u64,
    shards: u64,
    limit: u64,
    last_due: Offset,
}

impl Pacer {
    /// A paused pacer for shard `shard` of `shards`. No intent with an index of `limit` or more ever comes due.
    pub fn new(shard: u32, shards: u32, limit: Option<u64>) -> Self {
        Self {
            active: Active { segment: Segment { start: Offset::ZERO, load: None }, work: 0 },
            upcoming: VecDeque::new(),
            next_index: u64::from(shard),
            shards: u64::from(shards.max(1)),
            limit: limit.unwrap_or(u64::MAX),
            last_due: Offset::ZERO,
        }
    }

    /// Schedules a segment in place of everything scheduled from its start on. A segment that arrives too late to start
    /// on time starts right after the last intent given out, so that time never runs backwards.
    pub fn apply(&mut self, mut segment: Segment) {
        segment.start = segment.start.max(self.active.segment.start).max(self.last_due);
        while self.upcoming.back().is_some_and(|later| later.start >= segment.start) {
            self.upcoming.pop_back();
        }
        self.upcoming.push_back(segment);
    }

    /// The next intent of this shard, due now or later.
    pub fn peek(&mut self) -> Option<Intent> {
        loop {
            let due = self.active.due(self.next_index);
            match (due, self.upcoming.front()) {
                (Some(due), next) if next.is_none_or(|next| due < next.start) => {
                    let load = self.active.segment.load.filter(|_| !self.is_exhausted())?;
                    return Some(Intent { index: self.next_index, intended: due, window: load.window, op: load.op });
                }
                (_, None) => return None,
                (_, Some(next)) => {
                    self.active = self.active.followed_by(*next);
                    self.upcoming.pop_front();
                }
            }
        }
    }

    /// Takes the intent that [`Pacer::peek`] gave.
    pub fn pop(&mut self) {
        if let Some(intent) = self.peek() {
            self.last_due = intent.intended;
            self.next_index += self.shards;
        }
    }

    /// The segment in force at `now`, for the setpoint shown as applied.
    pub fn in_force(&self, now: Offset) -> Segment {
        self.upcoming.iter().rev().find(|segment| segment.start <= now).copied().unwrap_or(self.active.segment)
    }

    /// When the next segment starts.
    pub fn next_start(&self, now: Offset) -> Option<Offset> {
        self.upcoming.iter().map(|segment| segment.start).find(|start| *start > now)
    }

    /// Whether an intent would be due at `now` that the operation limit forbids.
    pub fn is_refused(&mut self, now: Offset) -> bool {
        // `peek` moves on to the segment in force; past the limit it gives nothing.
        self.is_exhausted() && self.peek().is_none() && self.active.due(self.next_index).is_some_and(|due| due <= now)
    }

    /// Whether the operation limit has been reached: nothing comes due any more.
    fn is_exhausted(&self) -> bool {
        self.next_index >= self.limit
    }
}

/// How fast a backlog may drain: at most 1.05 times the setpoint, after a first handful that ordinary timer jitter makes
/// due together.
#[derive(Debug, Default)]
pub struct Drain {
    /// The instant at which the next sending would be exactly on the drain rate.
    theoretical: u64,
}

/// Intents that are due within this span may be sent together: timers wake with a resolution of about a millisecond.
const JITTER_NANOS: u64 = 5_000_000;

impl Drain {
    /// When the next intent may be sent; `now` or earlier means at once.
    pub fn allowed_at(&self) -> Offset {
        Offset::from_nanos(self.theoretical.saturating_sub(JITTER_NANOS))
    }

    /// Notes a sending at `now`, at a setpoint of `rate` over `shards`.
    pub fn sent(&mut self, now: Offset, rate: Rate, shards: u32) {
        let interval = ONE * u128::from(shards) * 100 / (u128::from(rate.milli()) * 105);
        self.theoretical = self.theoretical.max(now.nanos()).saturating_add(u64::try_from(interval).unwrap_or(u64::MAX));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use proptest::prelude::*;

    #[expect(clippy::unnecessary_wraps, reason = "segments hold an option")]
    fn load(rate: Rate, window: u32) -> Option<SegmentLoad> {
        Some(SegmentLoad { window: WindowId(window), rate, op: Op::Write })
    }

    fn drain(pacer: &mut Pacer, until: Offset) -> Vec<Intent> {
        let mut taken = Vec::new();
        while let Some(intent) = pacer.peek().filter(|intent| intent.intended < until) {
            taken.push(intent);
            pacer.pop();
        }
        taken
    }

    #[test]
    fn a_window_after_a_pause_offers_exactly_rate_times_length() {
        let mut pacer = Pacer::new(0, 1, None);
        pacer.apply(Segment { start: Offset::from_millis(1_234), load: load(Rate::per_second(777), 0) });
        pacer.apply(Segment { start: Offset::from_millis(4_321), load: None });
        pacer.apply(Segment { start: Offset::from_secs(10), load: load(Rate::per_second(4_999), 1) });
        pacer.apply(Segment { start: Offset::from_secs(40), load: None });
        let taken = drain(&mut pacer, Offset::from_secs(100));
        let of_plan: Vec<&Intent> = taken.iter().filter(|intent| intent.window == WindowId(1)).collect();
        assert_eq!(of_plan.len(), 4_999 * 30);
        assert_eq!(of_plan[0].intended, Offset::from_secs(10));
    }

    #[test]
    fn nothing_comes_due_beyond_the_operation_limit() {
        let total: usize = (0..3)
            .map(|shard| {
                let mut pacer = Pacer::new(shard, 3, Some(1_000));
                pacer.apply(Segment { start: Offset::ZERO, load: load(Rate::per_second(5_000), 0) });
                let taken = drain(&mut pacer, Offset::from_secs(5));
                assert!(pacer.is_refused(Offset::from_secs(5)));
                taken.len()
            })
            .sum();
        assert_eq!(total, 1_000);
    }

    #[test]
    fn a_plan_that_offers_exactly_the_limit_is_never_refused() {
        let mut pacer = Pacer::new(0, 1, Some(1_000));
        pacer.apply(Segment { start: Offset::ZERO, load: load(Rate::per_second(500), 0) });
        pacer.apply(Segment { start: Offset::from_secs(2), load: None });
        assert_eq!(drain(&mut pacer, Offset::from_secs(60)).len(), 1_000);
        assert!(!pacer.is_refused(Offset::from_secs(60)));
    }

    #[test]
    fn a_setpoint_replaces_what_was_scheduled_after_it() {
        let mut pacer = Pacer::new(0, 1, None);
        pacer.apply(Segment { start: Offset::from_secs(1), load: load(Rate::per_second(10), 0) });
        pacer.apply(Segment { start: Offset::from_secs(3), load: load(Rate::per_second(10), 1) });
        pacer.apply(Segment { start: Offset::from_secs(2), load: None });
        assert_eq!(drain(&mut pacer, Offset::from_secs(60)).len(), 10);
        assert_eq!(pacer.in_force(Offset::from_secs(60)).load, None);
    }

    #[test]
    fn a_backlog_drains_at_no_more_than_five_percent_above_the_setpoint() {
        let (mut drain, rate) = (Drain::default(), Rate::per_second(8_000));
        let (mut now, mut sent) = (Offset::from_secs(1), 0_u64);
        let end = now.plus(Duration::from_millis(500));
        while now < end {
            while drain.allowed_at() <= now {
                drain.sent(now, rate, 2);
                sent += 1;
            }
            now = now.plus(Duration::from_millis(1));
        }
        // Half the rate is this shard's; half a second of it, 5 % more, and the first 5 ms together.
        assert!((2_090..=2_130).contains(&sent), "{sent}");
    }

    proptest! {
        #[test]
        fn any_sequence_of_setpoints_over_any_number_of_shards_is_exact(
            steps in prop::collection::vec((1u64..3_000_000_000, prop::option::of(1u64..20_000_000)), 1..8),
            shards in 1u32..6,
        ) {
            let mut segments = Vec::new();
            let mut start = 0;
            for (window, (length, milli)) in steps.iter().enumerate() {
                let rate = milli.map(|milli| Rate::from_per_s(milli as f64 / 1_000.0).expect("in range"));
                segments.push(Segment { start: Offset::from_nanos(start), load: rate.and_then(|rate| load(rate, window as u32)) });
                start += length;
            }
            segments.push(Segment { start: Offset::from_nanos(start), load: None });
            let mut all: Vec<Intent> = (0..shards).flat_map(|shard| {
                let mut pacer = Pacer::new(shard, shards, None);
                for segment in &segments {
                    pacer.apply(*segment);
                }
                drain(&mut pacer, Offset::from_nanos(u64::MAX))
            }).collect();
            all.sort_by_key(|intent| intent.index);
            // Every index once, in order of time.
            prop_assert!(all.iter().enumerate().all(|(i, intent)| intent.index == i as u64));
            prop_assert!(all.windows(2).all(|pair| pair[0].intended <= pair[1].intended));
            // The count of each segment is its work, to the last intent, with the phase carried over.
            let (mut work, mut paused) = (0_u128, true);
            for (index, segment) in segments.iter().enumerate().take(steps.len()) {
                let Some(of) = segment.load else { paused = true; continue };
                if paused { work = work.div_ceil(ONE) * ONE; }
                paused = false;
                let length = steps[index].0;
                let before = work.div_ceil(ONE);
                work += u128::from(length) * u128::from(of.rate.milli());
                let counted = all.iter().filter(|intent| intent.window == of.window).count() as u128;
                prop_assert_eq!(counted, work.div_ceil(ONE) - before);
            }
            // Within a segment neighbours are one period apart, to the nanosecond: neither burst nor gap.
            for pair in all.windows(2).filter(|pair| pair[0].window == pair[1].window) {
                let milli = segments[pair[0].window.0 as usize].load.expect("has load").rate.milli();
                let period = ONE / u128::from(milli);
                let apart = pair[1].intended.since(pair[0].intended).as_nanos();
                prop_assert!(apart >= period && apart <= period + 1, "{} {}", apart, period);
            }
        }
    }
}
