//! The snapshot: everything measured so far, cheap to clone, and the history that makes it. What is drawn, dumped and
//! summarised is this one value.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::bucket::{BUCKET, Bucket};
use super::counts::Counts;
use super::latency::{Latency, Quantiles};
use super::outcome::{Failure, Refusal};
use super::rate::{Offset, Rate};
use super::tick::{RunnerId, Setpoint, Tally, Tick, WindowId, add_tally};
use super::window::{ADJUSTING, SHORTEST_WINDOW, Window, WindowSpec};

/// Rows kept at full resolution; beyond it the oldest half is coarsened, so that memory is bounded whatever the time.
pub const ROWS_KEPT: usize = 4 * 3_600;

/// A median and a 99th percentile, in milliseconds; `None` when nothing completed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pair {
    /// Median.
    pub p50: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
}

impl Pair {
    fn of(latency: &Latency) -> Self {
        Self { p50: latency.quantile_ms(0.50), p99: latency.quantile_ms(0.99) }
    }
}

/// One bucket as the charts and the document's `buckets` need it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// Start, a whole second.
    pub start: Offset,
    /// Seconds covered: 1, more where old rows were coarsened.
    pub span_s: u32,
    /// The ledger over all windows.
    pub counts: Counts,
    /// Requests in flight at the end.
    pub in_flight: u32,
    /// Most requests in flight.
    pub in_flight_max: u32,
    /// The window that offered last in it.
    pub window: Option<WindowId>,
    /// Whether two windows offered in it.
    pub mixed: bool,
    /// Service latency of accepted requests.
    pub service: Pair,
    /// Response latency of accepted requests.
    pub response: Pair,
    /// Service latency of throttled requests.
    pub throttled_service: Pair,
    /// CPU time of the runners' threads, nanoseconds.
    pub cpu_nanos: u64,
    /// Longest stall of any runner, nanoseconds.
    pub longest_stall_nanos: u64,
}

/// The last second as it stands between two buckets.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Live {
    /// Counts of the newest full second of ticks; `None` until a runner has reported one.
    pub last_second: Option<Counts>,
    /// Requests in flight.
    pub in_flight: u32,
    /// Service latency of accepted requests over the newest full second.
    pub service: Quantiles,
    /// Response latency of accepted requests over the newest full second.
    pub response: Quantiles,
}

/// Everything measured so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// When it was taken.
    pub at: Offset,
    /// The offered rate asked for by key or plan.
    pub requested: Option<Setpoint>,
    /// The offered rate in force in the load engine.
    pub applied: Option<Setpoint>,
    /// The last second.
    pub live: Live,
    /// One row per second, oldest first.
    pub rows: Arc<Vec<Row>>,
    /// Windows in order; the last one may still be open.
    pub windows: Vec<Arc<Window>>,
    /// The ledger of the session.
    pub totals: Counts,
    /// Distinct refusals.
    pub refusals: Arc<Vec<Tally<Refusal>>>,
    /// Distinct failures.
    pub failures: Arc<Vec<Tally<Failure>>>,
    /// When the earliest accepted answer of the session arrived.
    pub first_accepted: Option<Offset>,
}

impl Snapshot {
    /// The window that is open.
    pub fn current(&self) -> Option<&Arc<Window>> {
        self.windows.last().filter(|window| window.end.is_none())
    }

    /// Whether a setpoint was asked for that is not in force yet.
    pub fn is_adjusting(&self) -> bool {
        self.requested.map(|s| s.rate) != self.applied.map(|s| s.rate)
    }

    /// The rate in force, `None` when paused or not started; of a ramp, the rate that it has reached.
    pub fn rate(&self) -> Option<Rate> {
        let applied = self.applied.and_then(|setpoint| setpoint.rate)?;
        let ramp = self.current().and_then(|window| Some((&window.spec, window.spec.ramp_to?, window.spec.planned_end?)));
        let Some((spec, to, end)) = ramp else { return Some(applied) };
        let whole = end.since(spec.start).as_secs_f64();
        let passed = if whole > 0.0 { (self.at.since(spec.start).as_secs_f64() / whole).min(1.0) } else { 1.0 };
        // The part of a mix ramps as the whole does.
        let factor = 1.0 + (to.per_s() / spec.rate.per_s() - 1.0) * passed;
        Rate::from_per_s((applied.per_s() * factor).round()).ok().or(Some(applied))
    }
}

/// What the ticks that ended at one instant say of the last second.
#[derive(Clone, Debug, Default)]
struct Recent {
    from: Offset,
    counts: Counts,
    service: Latency,
    response: Latency,
}

/// Makes snapshots from windows, ticks and buckets. Live or read back from a journal, the same calls give the same
/// snapshot.
#[derive(Clone, Debug, Default)]
pub struct History {
    now: Snapshot,
    /// The newest second, all runners merged, by the end of the ticks.
    recent: BTreeMap<Offset, Recent>,
    /// Requests in flight by runner, with the end of the tick that said so.
    in_flight: BTreeMap<RunnerId, (Offset, u32)>,
    /// Numbers of windows that were folded away, with that of the window that now owns their intents.
    folded: Vec<(WindowId, WindowId)>,
}

impl History {
    /// An empty history.
    pub fn new() -> Self {
        Self::default()
    }

    /// Opens a window.
    pub fn open_window(&mut self, spec: WindowSpec) {
        self.now.windows.push(Arc::new(Window::open(spec)));
    }

    /// Closes a window. One that a person steered through in under [`SHORTEST_WINDOW`] is folded into `adjusting`.
    pub fn close_window(&mut self, id: WindowId, end: Offset) {
        let Some(at) = self.now.windows.iter().rposition(|w| w.spec.id == id && w.end.is_none()) else { return };
        let window = Arc::make_mut(&mut self.now.windows[at]);
        window.end = Some(end);
        for second in &mut window.seconds {
            second.whole &= second.start.plus(BUCKET) <= end;
        }
        if window.spec.planned_end.is_some() || window.duration(end) >= SHORTEST_WINDOW {
            return;
        }
        window.mark_adjusting();
        let folds = at > 0 && {
            let before = &self.now.windows[at - 1];
            before.is_adjusting() && before.spec.label == ADJUSTING && before.end == Some(self.now.windows[at].spec.start)
        };
        if folds {
            let gone = self.now.windows.remove(at);
            let owner = Arc::make_mut(&mut self.now.windows[at - 1]);
            owner.fold(&gone);
            let owner = owner.spec.id;
            self.folded.iter_mut().filter(|(_, to)| *to == id).for_each(|(_, to)| *to = owner);
            self.folded.push((id, owner));
        }
    }

    /// Notes the rate that was asked for.
    pub fn request(&mut self, setpoint: Setpoint) {
        self.now.requested = Some(setpoint);
    }

    /// Notes the rate that took effect.
    pub fn applied(&mut self, setpoint: Setpoint) {
        // Runners report in turn: one that is behind does not take a newer setpoint back.
        if self.now.applied.is_none_or(|known| known.at <= setpoint.at) {
            self.now.applied = Some(setpoint);
        }
    }

    /// Takes a tick for the live figures. The same counts come again, once, with their bucket.
    pub fn glance(&mut self, tick: &Tick) {
        if let Some(setpoint) = tick.applied {
            self.applied(setpoint);
        }
        let recent = self.recent.entry(tick.to).or_insert_with(|| Recent { from: tick.from, ..Recent::default() });
        recent.from = recent.from.min(tick.from);
        for part in &tick.parts {
            recent.counts.add(&part.counts);
            recent.service.merge(&part.service.accepted);
            recent.response.merge(&part.response.accepted);
        }
        self.in_flight.insert(tick.runner, (tick.to, tick.in_flight));
        let newest = self.recent.last_key_value().map_or(Offset::ZERO, |(to, _)| *to);
        self.recent.retain(|to, _| to.plus(BUCKET) > newest);
    }

    /// Brings the live figures up to date. Apart from [`History::glance`], since with many runners there are many more ticks
    /// than looks.
    pub fn refresh(&mut self) {
        let newest = self.recent.last_key_value().map_or(Offset::ZERO, |(to, _)| *to);
        let first = self.recent.values().map(|recent| recent.from).min().unwrap_or_default();
        let (mut counts, mut service, mut response) = (Counts::default(), Latency::default(), Latency::default());
        for recent in self.recent.values() {
            counts.add(&recent.counts);
            service.merge(&recent.service);
            response.merge(&recent.response);
        }
        // A runner that has said nothing for a second has ended, or nothing is known of it.
        self.in_flight.retain(|_, (to, _)| to.plus(BUCKET) > newest);
        self.now.live = Live {
            last_second: (newest.since(first) >= BUCKET).then_some(counts),
            in_flight: self.in_flight.values().map(|(_, level)| level).sum(),
            service: service.quantiles(),
            response: response.quantiles(),
        };
    }

    /// Takes a complete bucket.
    pub fn absorb(&mut self, bucket: &Bucket) {
        let counts = bucket.counts();
        self.now.totals.add(&counts);
        let group = |id: WindowId| self.now.windows.iter().rev().find(|w| w.spec.id == id).map_or(id, |w| w.spec.group());
        let mut offering: Vec<WindowId> =
            bucket.parts.iter().filter(|part| part.counts.offered > 0).map(|part| group(part.window)).collect();
        // Windows beside each other offer one load.
        offering.sort_unstable();
        offering.dedup();
        let offering = offering.len();
        let (mut service, mut response, mut throttled) = (Latency::default(), Latency::default(), Latency::default());
        for part in &bucket.parts {
            service.merge(&part.service.accepted);
            response.merge(&part.response.accepted);
            throttled.merge(&part.service.throttled);
            self.now.first_accepted = super::tick::earliest(self.now.first_accepted, part.first_accepted);
            let owner = self.owner(part.window);
            if let Some(window) = self.now.windows.iter_mut().rev().find(|w| w.spec.id == owner) {
                Arc::make_mut(window).absorb(bucket, part, offering <= 1 && owner == part.window);
            }
        }
        let refusals = Arc::make_mut(&mut self.now.refusals);
        bucket.refusals.iter().for_each(|t| add_tally(refusals, t.clone()));
        let failures = Arc::make_mut(&mut self.now.failures);
        bucket.failures.iter().for_each(|t| add_tally(failures, t.clone()));
        let rows = Arc::make_mut(&mut self.now.rows);
        rows.push(Row {
            start: bucket.start,
            span_s: 1,
            counts,
            in_flight: bucket.in_flight,
            in_flight_max: bucket.in_flight_max,
            window: bucket.parts.iter().filter(|part| part.counts.offered > 0).map(|part| part.window).max(),
            mixed: offering > 1,
            service: Pair::of(&service),
            response: Pair::of(&response),
            throttled_service: Pair::of(&throttled),
            cpu_nanos: bucket.cpu_nanos,
            longest_stall_nanos: bucket.longest_stall_nanos,
        });
        if rows.len() > ROWS_KEPT {
            coarsen(rows);
        }
        for window in &mut self.now.windows {
            let finished = window.end.is_some_and(|end| end.plus(BUCKET) <= bucket.start) && window.counts.open() <= 0;
            if finished && matches!(window.client.schedule_error, super::window::Distribution::Live(_)) {
                Arc::make_mut(window).pack();
            }
        }
    }

    /// The snapshot at `at`.
    pub fn snapshot(&self, at: Offset) -> Snapshot {
        Snapshot { at, ..self.now.clone() }
    }

    fn owner(&self, window: WindowId) -> WindowId {
        self.folded.iter().rev().find(|(gone, _)| *gone == window).map_or(window, |(_, owner)| *owner)
    }
}

/// Joins the older half of the rows in pairs. Percentiles of joined rows are not averaged: the pair keeps the larger,
/// and says so by its span.
fn coarsen(rows: &mut Vec<Row>) {
    let newer = rows.split_off(rows.len() / 2);
    let mut joined: Vec<Row> = Vec::with_capacity(rows.len() / 2 + 1 + newer.len());
    for pair in rows.chunks(2) {
        let mut row = pair[0].clone();
        if let Some(next) = pair.get(1) {
            row.span_s += next.span_s;
            row.counts.add(&next.counts);
            row.in_flight = next.in_flight;
            row.in_flight_max = row.in_flight_max.max(next.in_flight_max);
            row.mixed |= next.mixed || row.window != next.window;
            row.window = next.window.or(row.window);
            for (mine, theirs) in
                [(&mut row.service, next.service), (&mut row.response, next.response), (&mut row.throttled_service, next.throttled_service)]
            {
                mine.p50 = larger(mine.p50, theirs.p50);
                mine.p99 = larger(mine.p99, theirs.p99);
            }
            row.cpu_nanos += next.cpu_nanos;
            row.longest_stall_nanos = row.longest_stall_nanos.max(next.longest_stall_nanos);
        }
        joined.push(row);
    }
    joined.extend(newer);
    *rows = joined;
}

fn larger(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.max(b)),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tick(runner: u32, end_ms: u64, offered: u64, in_flight: u32) -> Tick {
        let (from, to) = (Offset::from_millis(end_ms - 100), Offset::from_millis(end_ms));
        let mut tick = Tick { runner: RunnerId(runner), from, to, in_flight, ..Tick::default() };
        let part = tick.part_mut(WindowId(0));
        part.counts.offered = offered;
        part.service.accepted.record_micros(offered * 1_000);
        tick
    }

    #[test]
    fn live_figures_are_of_the_newest_second_over_all_runners() {
        let mut history = History::new();
        let mut live = |ticks: &[Tick]| {
            for tick in ticks {
                history.glance(tick);
            }
            history.refresh();
            history.snapshot(Offset::ZERO).live
        };
        let before: Vec<Tick> = (1..10).flat_map(|n| [tick(0, n * 100, 5, 4), tick(1, n * 100, 7, 6)]).collect();
        assert_eq!((live(&before).last_second, live(&[]).in_flight), (None, 10));
        let full = live(&[tick(0, 1_000, 5, 3), tick(1, 1_000, 7, 1)]);
        assert_eq!((full.last_second.map(|counts| counts.offered), full.in_flight, full.service.count), (Some(120), 4, 20));
        // The first runner says no more: after a second nothing of it is left.
        let alone: Vec<Tick> = (11..=20).map(|n| tick(1, n * 100, 7, 2)).collect();
        let alone = live(&alone);
        assert_eq!((alone.last_second.map(|counts| counts.offered), alone.in_flight, alone.service.count), (Some(70), 2, 10));
    }
}
