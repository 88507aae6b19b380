//! The pacer: an open loop in integer nanoseconds. Intent *i* of the load is due when the work done by the schedule
//! reaches *i*, so nothing drifts, the count over any span is exact, and a rate change neither bursts nor leaves a gap.
//!
//! Every shard holds the same schedule and takes the intents whose index is its own modulo the number of shards: their
//! arrivals interleave, and together they are exactly the schedule.

use std::collections::VecDeque;

use super::op::Op;
use super::rate::{Offset, Rate};
use super::segment::{Segment, SegmentLoad};
use super::tick::WindowId;
use super::workload::KindId;

/// Work of one intent: nanoseconds times thousandths of an operation per second.
const ONE: u128 = 1_000_000_000_000;

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
    /// The kind of its item.
    pub kind: KindId,
    /// The setpoint it belongs to; of a ramp, the rate at its instant.
    pub rate: Rate,
}

#[derive(Clone, Copy, Debug)]
struct Active {
    segment: Segment,
    /// Work done when the segment starts.
    work: u128,
}

impl Active {
    fn work_at(&self, at: Offset) -> u128 {
        let passed = at.nanos().saturating_sub(self.segment.start.nanos());
        self.work + self.segment.load.map_or(0, |load| load.work_after(passed))
    }

    fn due(&self, index: u64) -> Option<Offset> {
        let load = self.segment.load?;
        let missing = (u128::from(index) * ONE).saturating_sub(self.work);
        let nanos = load.first_nanos(missing);
        Some(Offset::from_nanos(self.segment.start.nanos().saturating_add(nanos)))
    }

    /// The intent of this number, due at an instant of this segment.
    fn intent(&self, index: u64, load: &SegmentLoad, due: Offset) -> Intent {
        let (window, op, kind) = match load.beside.filter(|beside| beside.share.holds(index)) {
            Some(beside) => (beside.window, beside.op, beside.kind),
            None => (load.window, load.op, load.kind),
        };
        Intent { index, intended: due, window, op, kind, rate: load.rate_after(due.since(self.segment.start)) }
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
    /// The next intent, whatever the operation limit, once it has been worked out.
    ahead: Option<Ahead>,
}

/// The next intent under the schedule as it is, and how many scheduled segments start before it.
type Ahead = Option<(Intent, usize)>;

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
            ahead: None,
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
        self.ahead = None;
    }

    /// The next intent of this shard, due now or later.
    pub fn peek(&mut self) -> Option<Intent> {
        self.next().map(|(intent, _)| intent).filter(|_| !self.is_exhausted())
    }

    /// The next intent, whatever the operation limit: worked out once, since its instant takes a wide division.
    fn next(&mut self) -> Ahead {
        if self.ahead.is_none() {
            self.ahead = Some(self.look_ahead());
        }
        self.ahead.flatten()
    }

    fn look_ahead(&self) -> Ahead {
        let (mut active, mut passed) = (self.active, 0);
        loop {
            let following = self.upcoming.get(passed);
            if let (Some(load), Some(due)) = (active.segment.load, active.due(self.next_index))
                && following.is_none_or(|following| due < following.start)
            {
                return Some((active.intent(self.next_index, &load, due), passed));
            }
            active = active.followed_by(*following?);
            passed += 1;
        }
    }

    /// Takes the intent that [`Pacer::peek`] gave.
    pub fn pop(&mut self) {
        if let Some((intent, passed)) = self.next().filter(|_| !self.is_exhausted()) {
            self.pass(passed);
            self.last_due = intent.intended;
            self.next_index += self.shards;
            self.ahead = None;
        }
    }

    /// Forgets the segments that are over at `now`. What is scheduled ahead stays open to change.
    pub fn settle(&mut self, now: Offset) {
        if self.upcoming.front().is_none_or(|segment| segment.start > now) {
            return;
        }
        let begun = self.upcoming.iter().take_while(|segment| segment.start <= now).count();
        let due_in = self.next().map_or(usize::MAX, |(intent, passed)| if intent.intended <= now { passed } else { usize::MAX });
        self.pass(begun.min(due_in));
    }

    fn pass(&mut self, segments: usize) {
        for segment in self.upcoming.drain(..segments) {
            self.active = self.active.followed_by(segment);
            self.ahead = None;
        }
    }

    /// The segment in force at `now`, for the setpoint shown as applied.
    pub fn in_force(&self, now: Offset) -> Segment {
        self.upcoming.iter().rev().find(|segment| segment.start <= now).copied().unwrap_or(self.active.segment)
    }

    /// Whether an intent would be due at `now` that the operation limit forbids.
    pub fn is_refused(&mut self, now: Offset) -> bool {
        self.is_exhausted() && self.next().is_some_and(|(intent, _)| intent.intended <= now)
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
    /// Nanoseconds between sendings on the drain rate.
    interval: u64,
}

/// Intents that are due within this span may be sent together: timers wake with a resolution of about a millisecond.
const JITTER_NANOS: u64 = 5_000_000;

impl Drain {
    /// When an intent of setpoint `rate`, shared by `shards`, may be sent; `now` or earlier means at once.
    pub fn allowed_at(&mut self, now: Offset, rate: Rate, shards: u32) -> Offset {
        let interval = u64::try_from(ONE * u128::from(shards) * 100 / (u128::from(rate.milli()) * 105)).unwrap_or(u64::MAX);
        if interval != self.interval {
            // What the old setpoint spaced apart must not hold back the new one.
            self.interval = interval;
            self.theoretical = self.theoretical.min(now.nanos().saturating_add(interval));
        }
        Offset::from_nanos(self.theoretical.saturating_sub(JITTER_NANOS))
    }

    /// Notes a sending at `now`.
    pub fn sent(&mut self, now: Offset) {
        self.theoretical = self.theoretical.max(now.nanos()).saturating_add(self.interval);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::segment::{Beside, Ramp};
    use super::super::share::Share;
    use super::*;
    use proptest::prelude::*;

    #[expect(clippy::unnecessary_wraps, reason = "segments hold an option")]
    fn load(rate: Rate, window: u32) -> Option<SegmentLoad> {
        Some(SegmentLoad::steady(WindowId(window), rate, Op::Write))
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
            while drain.allowed_at(now, rate, 2) <= now {
                drain.sent(now);
                sent += 1;
            }
            now = now.plus(Duration::from_millis(1));
        }
        // Half the rate is this shard's; half a second of it, 5 % more, and the first 5 ms together.
        assert!((2_090..=2_130).contains(&sent), "{sent}");
    }

    #[test]
    fn a_step_up_from_a_low_rate_is_not_held_back() {
        let mut drain = Drain::default();
        let now = Offset::from_secs(10);
        drain.allowed_at(now, Rate::per_second(1), 7);
        drain.sent(now);
        let soon = now.plus(Duration::from_millis(20));
        assert!(drain.allowed_at(soon, Rate::per_second(500), 7) <= soon.plus(Duration::from_millis(15)));
    }

    #[test]
    fn a_setpoint_during_a_pause_takes_effect_before_what_was_scheduled() {
        let mut pacer = Pacer::new(0, 1, None);
        pacer.apply(Segment { start: Offset::from_secs(40), load: load(Rate::per_second(10), 0) });
        // Looking ahead must not move the schedule ahead.
        assert_eq!(pacer.peek().map(|intent| intent.intended), Some(Offset::from_secs(40)));
        pacer.settle(Offset::from_secs(4));
        assert_eq!(pacer.in_force(Offset::from_secs(4)).load, None);
        pacer.apply(Segment { start: Offset::from_secs(5), load: load(Rate::per_second(100), 1) });
        let intent = pacer.peek().expect("due");
        assert_eq!((intent.intended, intent.window), (Offset::from_secs(5), WindowId(1)));
        assert_eq!(drain(&mut pacer, Offset::from_secs(45)).len(), 4_000);
    }

    #[test]
    fn mixed_load_gives_each_part_its_window_its_operation_and_its_share() {
        let mut pacer = Pacer::new(0, 1, None);
        let beside = Beside { window: WindowId(8), op: Op::Read, kind: KindId::FIRST, share: Share::new(0.3).expect("a share") };
        let load = SegmentLoad { beside: Some(beside), ..SegmentLoad::steady(WindowId(7), Rate::per_second(1_000), Op::Write) };
        pacer.apply(Segment { start: Offset::ZERO, load: Some(load) });
        pacer.apply(Segment { start: Offset::from_secs(10), load: None });
        let taken = drain(&mut pacer, Offset::from_secs(20));
        let reads = taken.iter().filter(|intent| intent.window == WindowId(8) && intent.op == Op::Read).count();
        let writes = taken.iter().filter(|intent| intent.window == WindowId(7) && intent.op == Op::Write).count();
        assert_eq!(reads + writes, 10_000);
        assert!((2_995..=3_005).contains(&reads), "{reads}");
    }

    #[test]
    fn a_ramp_offers_the_mean_of_its_ends_and_then_stays() {
        for (from, to) in [(1_000, 8_000), (8_000, 1_000), (500, 500)] {
            let mut pacer = Pacer::new(0, 1, None);
            let ramp = Ramp::new(Rate::per_second(to), Duration::from_secs(60));
            let load = SegmentLoad { ramp, ..SegmentLoad::steady(WindowId(0), Rate::per_second(from), Op::Write) };
            pacer.apply(Segment { start: Offset::from_secs(5), load: Some(load) });
            pacer.apply(Segment { start: Offset::from_secs(75), load: None });
            let taken = drain(&mut pacer, Offset::from_secs(100));
            let of = |from: u64, to: u64| {
                let span = Offset::from_secs(from)..Offset::from_secs(to);
                taken.iter().filter(|intent| span.contains(&intent.intended)).count() as u64
            };
            assert_eq!(of(5, 65), u64::from(from + to) * 30, "{from} to {to}");
            assert_eq!(of(65, 75), u64::from(to) * 10);
            // The first half has a quarter of the change, the second three quarters.
            assert_eq!(of(5, 35), (u64::from(from) * 3 + u64::from(to)) * 30 / 4);
        }
    }

    proptest! {
        #[test]
        fn any_ramp_over_any_number_of_shards_is_exact(
            from in 1u64..20_000_000, to in 1u64..20_000_000, length in 1u64..5_000_000_000, cut in 1u64..6_000_000_000, shards in 1u32..5,
        ) {
            let milli = |milli: u64| Rate::from_per_s(milli as f64 / 1_000.0).expect("in range");
            let ramp = Ramp::new(milli(to), Duration::from_nanos(length));
            let ramped = SegmentLoad { ramp, ..SegmentLoad::steady(WindowId(0), milli(from), Op::Write) };
            let mut all: Vec<Intent> = (0..shards).flat_map(|shard| {
                let mut pacer = Pacer::new(shard, shards, None);
                pacer.apply(Segment { start: Offset::ZERO, load: Some(ramped) });
                pacer.apply(Segment { start: Offset::from_nanos(cut), load: None });
                drain(&mut pacer, Offset::MAX)
            }).collect();
            all.sort_by_key(|intent| intent.index);
            prop_assert!(all.iter().enumerate().all(|(i, intent)| intent.index == i as u64));
            prop_assert!(all.windows(2).all(|pair| pair[0].intended <= pair[1].intended));
            prop_assert_eq!(all.len() as u128, ramped.work_after(cut).div_ceil(ONE));
            // No intent is due before its work is done, nor a nanosecond later than it need be.
            for intent in all.iter().step_by(97) {
                let (due, needed) = (intent.intended.nanos(), u128::from(intent.index) * ONE);
                prop_assert!(ramped.work_after(due) >= needed);
                prop_assert!(due == 0 || ramped.work_after(due - 1) < needed);
            }
        }

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
