//! When a table throttles first: the model of partitions, each a token bucket, turned into a range of time.
//!
//! Offered load above the sustained ceiling empties the burst. With random keys a partition gets a little more or less than
//! its share, and the first of them to run empty throttles: so a range is given, never a point. What holds of a real table is
//! a hypothesis until it is measured.

use crate::load::{Op, Snapshot, Window, WindowSpec};

use super::burst;

/// Write and read units/s of a fresh on-demand table, as documented.
pub const FRESH: (f64, f64) = (4_000.0, 12_000.0);
/// Write and read units/s of one partition, as documented.
pub const PARTITION: (f64, f64) = (1_000.0, 3_000.0);
/// Seconds of unused capacity that the burst is taken to hold where it was not measured. An assumption: the service documents
/// up to 300 s, best effort.
pub const BURST_S: f64 = 1.0;
/// A measured burst is stated only if it is known within this share of itself.
const BURST_WITHIN: f64 = burst::KNOWN_WITHIN;
/// Standard deviations by which the first of the partitions to run empty may be ahead of the mean: of 200 simulated tables
/// none was further.
const AHEAD: f64 = 4.6;
/// From this share of the capacity on, chance alone may empty a partition sooner or later.
const NEAR: f64 = 0.98;

/// What the capacity rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// The documented figures of a fresh on-demand table; the burst is an assumption.
    Fresh,
    /// Ceiling and burst were measured.
    Measured,
    /// The ceiling was measured; the burst is an assumption.
    MeasuredCeiling,
    /// One key lies on one partition, whose documented figure this is; the burst is an assumption.
    OneKey,
}

/// What a table sustains of one operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Capacity {
    /// Sustained, units/s. Above zero.
    pub units_per_s: f64,
    /// Burst when nothing of it is used, units.
    pub burst_units: f64,
    /// The true burst may differ by this share of it.
    pub burst_within: f64,
    /// Partitions over which keys spread evenly, by hypothesis. At least 1.
    pub partitions: f64,
    /// What it rests on.
    pub basis: Basis,
}

impl Capacity {
    /// A fresh on-demand table as documented.
    pub fn fresh(op: Op) -> Self {
        Self::assumed(of(op, FRESH), op, Basis::Fresh)
    }

    /// One partition as documented: all that one key can have.
    pub fn of_one_key(op: Op) -> Self {
        Self::assumed(of(op, PARTITION), op, Basis::OneKey)
    }

    /// A table that was measured: its sustained ceiling and, where it is known, its burst. `None` unless the ceiling is above
    /// zero.
    pub fn measured(op: Op, units_per_s: f64, burst_units: Option<f64>) -> Option<Self> {
        let usable = |units: &f64| units.is_finite() && *units > 0.0;
        let units_per_s = Some(units_per_s).filter(usable)?;
        Some(match burst_units.filter(usable) {
            Some(burst_units) => {
                Self { burst_units, burst_within: BURST_WITHIN, basis: Basis::Measured, ..Self::assumed(units_per_s, op, Basis::Measured) }
            }
            None => Self::assumed(units_per_s, op, Basis::MeasuredCeiling),
        })
    }

    fn assumed(units_per_s: f64, op: Op, basis: Basis) -> Self {
        let partitions = (units_per_s / of(op, PARTITION)).round().max(1.0);
        Self { units_per_s, burst_units: units_per_s * BURST_S, burst_within: 0.0, partitions, basis }
    }

    /// Variance of the units that one partition is offered, per second, at this many requests/s of this many units each: keys
    /// fall on partitions at random.
    fn variance(&self, per_s: f64, units: f64) -> f64 {
        per_s * units * units / self.partitions * (1.0 - self.partitions.recip())
    }

    /// Least and most that one partition holds when nothing is used, units.
    fn share_of_burst(&self) -> (f64, f64) {
        let share = self.burst_units / self.partitions;
        (share * (1.0 - self.burst_within), share * (1.0 + self.burst_within))
    }
}

/// The part of a pair that speaks of an operation.
pub const fn of(op: Op, (write, read): (f64, f64)) -> f64 {
    match op {
        Op::Write => write,
        Op::Read => read,
    }
}

/// When the first throttle is to be expected, seconds from the start of the load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Forecast {
    /// Not at all: the load stays below the capacity.
    Never,
    /// Only if chance empties a partition, and no sooner than this.
    ByChance {
        /// Seconds.
        soonest_s: f64,
    },
    /// Between these.
    Between {
        /// Seconds.
        earliest_s: f64,
        /// Seconds.
        latest_s: f64,
    },
}

/// The first throttle at a steady rate of requests/s, each of this many units, on a table that lacks so many units of its
/// burst at the start.
pub fn at_steady_rate(capacity: &Capacity, per_s: f64, units: f64, missing_units: f64) -> Forecast {
    let excess = (per_s * units - capacity.units_per_s) / capacity.partitions;
    let missing = missing_units.max(0.0) / capacity.partitions;
    let (least, most) = capacity.share_of_burst();
    let (least, most) = ((least - missing).max(0.0), (most - missing).max(0.0));
    let spread = AHEAD * capacity.variance(per_s, units).sqrt();
    if excess > 0.0 {
        return Forecast::Between { earliest_s: empties(least, excess, spread), latest_s: most / excess };
    }
    if spread > 0.0 && per_s * units >= NEAR * capacity.units_per_s {
        return Forecast::ByChance { soonest_s: (least / spread).powi(2) };
    }
    Forecast::Never
}

/// When `level - drift t - spread sqrt(t)` is zero.
fn empties(level: f64, drift: f64, spread: f64) -> f64 {
    let root = (spread.mul_add(spread, 4.0 * drift * level).sqrt() - spread) / (2.0 * drift);
    root * root
}

/// Units of its burst that the table lacks when a window of this description opens: what earlier load of the same operation
/// left, drained at the ceiling.
pub fn missing_units(load: &Snapshot, spec: &WindowSpec, capacity: &Capacity, units: f64) -> f64 {
    let ahead = Window::open(spec.clone());
    let window = load.windows.iter().find(|w| w.spec.id == spec.id).map_or(&ahead, |w| w.as_ref());
    let requests = burst::missing_at_start(load, window, capacity.units_per_s / units, capacity.burst_units / units);
    (requests * units).min(capacity.burst_units)
}

/// A load that rises or falls evenly and is then held. Rates are requests/s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Launch {
    /// Rate at the start.
    pub from_per_s: f64,
    /// Rate at the end of the ramp, and held.
    pub to_per_s: f64,
    /// Length of the ramp, seconds.
    pub ramp_s: f64,
    /// How long the last rate is held, seconds.
    pub hold_s: f64,
    /// Units of one request.
    pub units: f64,
}

/// Requests of one part of a launch.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Part {
    /// Offered.
    pub offered: f64,
    /// Throttled, if the table does not grow.
    pub throttled: f64,
}

/// What a launch would meet, if the table does not grow meanwhile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Course {
    /// The first throttle.
    pub first_throttle: Forecast,
    /// While the rate changes.
    pub ramp: Part,
    /// While it is held.
    pub hold: Part,
}

impl Launch {
    /// The rate this many seconds after the start.
    pub fn rate_at(&self, seconds: f64) -> f64 {
        if seconds >= self.ramp_s || self.ramp_s <= 0.0 {
            return self.to_per_s;
        }
        self.from_per_s + (self.to_per_s - self.from_per_s) * seconds.max(0.0) / self.ramp_s
    }

    /// What a table of this capacity would do that lacks so many units of its burst at the start.
    pub fn meet(&self, capacity: &Capacity, missing_units: f64) -> Course {
        let mean = self.mean(capacity, capacity.burst_units, missing_units);
        let (least, _) = capacity.share_of_burst();
        let latest = self.mean(capacity, capacity.burst_units * (1.0 + capacity.burst_within), missing_units).first_s;
        let first_throttle = match (self.earliest(capacity, least, missing_units / capacity.partitions), latest) {
            (Some(earliest_s), Some(latest_s)) => Forecast::Between { earliest_s: earliest_s.min(latest_s), latest_s },
            (None, Some(latest_s)) => Forecast::Between { earliest_s: latest_s, latest_s },
            (Some(soonest_s), None) => Forecast::ByChance { soonest_s },
            (None, None) => Forecast::Never,
        };
        let offered = [f64::midpoint(self.from_per_s, self.to_per_s) * self.ramp_s, self.to_per_s * self.hold_s];
        let part = |at: usize| Part { offered: offered[at], throttled: (mean.refused_units[at] / self.units).min(offered[at]) };
        Course { first_throttle, ramp: part(0), hold: part(1) }
    }

    /// The excess over the capacity, units/s, at the start and the end of each part, and the part's length.
    fn parts(&self, capacity: &Capacity) -> [(f64, f64, f64); 2] {
        let excess = |per_s: f64| per_s * self.units - capacity.units_per_s;
        let (from, to) = (excess(self.from_per_s), excess(self.to_per_s));
        [(from, to, self.ramp_s.max(0.0)), (to, to, self.hold_s.max(0.0))]
    }

    /// The course of the mean: exact, since the excess is a straight line in each part.
    fn mean(&self, capacity: &Capacity, full: f64, missing: f64) -> Mean {
        let mut mean = Mean { level: (full - missing.max(0.0)).max(0.0), ..Mean::default() };
        let mut begun = 0.0;
        for (at, (from, to, length)) in self.parts(capacity).into_iter().enumerate() {
            // Where the line crosses zero, filling ends or begins.
            let crossing = if from * to < 0.0 { length * from / (from - to) } else { length };
            for (start, end) in [(0.0, crossing), (crossing, length)] {
                if end > start {
                    let excess = |s: f64| from + (to - from) * s / length;
                    mean.pass(at, begun + start, (excess(start), excess(end), end - start), full);
                }
            }
            begun += length;
        }
        mean
    }

    /// When the first of the partitions may run empty, by small steps: the mean of one, less what chance may add.
    fn earliest(&self, capacity: &Capacity, full: f64, missing: f64) -> Option<f64> {
        let (mut level, mut variance) = ((full - missing.max(0.0)).max(0.0), 0.0_f64);
        let mut begun = 0.0;
        for (from, to, length) in self.parts(capacity) {
            let mut at = 0.0;
            while at < length {
                let step = (at * 0.002).max(0.01).min(length - at);
                let middle = at + step / 2.0;
                let drift = (from + (to - from) * middle / length) / capacity.partitions;
                let gain = capacity.variance(self.rate_at(begun + middle), self.units);
                level = (level - drift * step).min(full);
                variance += gain * step;
                if drift < 0.0 {
                    // Refilling pulls a partition back to full: how far it strays is bounded.
                    variance = variance.min((gain / (2.0 * drift)).powi(2));
                }
                at += step;
                if level <= AHEAD * variance.sqrt() {
                    return Some(begun + at);
                }
            }
            begun += length;
        }
        None
    }
}

/// The burst on its way through a load, over all partitions.
#[derive(Default)]
struct Mean {
    level: f64,
    first_s: Option<f64>,
    /// By part.
    refused_units: [f64; 2],
}

impl Mean {
    /// Passes a stretch in which the excess goes in a straight line from one value to another without changing its sign.
    fn pass(&mut self, part: usize, begun: f64, (from, to, length): (f64, f64, f64), full: f64) {
        let total = f64::midpoint(from, to) * length;
        if total <= self.level {
            self.level = (self.level - total).min(full);
            return;
        }
        let slope = (to - from) / length;
        // level = from t + slope t^2 / 2
        let root = from.mul_add(from, 2.0 * slope * self.level).max(0.0).sqrt();
        let empty = if self.level > 0.0 { (2.0 * self.level / (from + root)).clamp(0.0, length) } else { 0.0 };
        self.first_s.get_or_insert(begun + empty);
        self.refused_units[part] += total - self.level;
        self.level = 0.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn between(forecast: Forecast) -> (f64, f64) {
        match forecast {
            Forecast::Between { earliest_s, latest_s } => (earliest_s, latest_s),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_fresh_table_throttles_within_the_range_that_simulation_shows() {
        for (rate, earliest, latest) in [(5_000.0, 3.05, 3.98), (6_000.0, 1.64, 1.99), (8_000.0, 0.85, 1.00)] {
            let (low, high) = between(at_steady_rate(&Capacity::fresh(Op::Write), rate, 1.0, 0.0));
            assert!(low <= earliest && low > earliest * 0.97, "{rate}: {low}");
            assert!(high >= latest && high < latest * 1.02, "{rate}: {high}");
        }
    }

    #[test]
    fn rates_are_requests_and_capacity_is_units() {
        let table = Capacity::fresh(Op::Write);
        assert_eq!(at_steady_rate(&table, 3_000.0, 1.0, 0.0), Forecast::Never);
        assert!(between(at_steady_rate(&table, 3_000.0, 2.0, 0.0)).1 < 2.01, "3,000 writes of 2 KB are 6,000 units");
        let reads = Capacity::fresh(Op::Read);
        assert_eq!(at_steady_rate(&reads, 16_000.0, 0.5, 0.0), Forecast::Never);
        assert!((between(at_steady_rate(&reads, 26_000.0, 0.5, 0.0)).1 - 12.0).abs() < 1e-9);
    }

    #[test]
    fn what_earlier_load_used_brings_the_throttle_forward() {
        let table = Capacity::fresh(Op::Write);
        assert!((between(at_steady_rate(&table, 5_000.0, 1.0, 3_000.0)).1 - 1.0).abs() < 1e-9);
        assert_eq!(between(at_steady_rate(&table, 5_000.0, 1.0, 9_000.0)), (0.0, 0.0));
    }

    #[test]
    fn at_the_capacity_itself_only_chance_throttles_and_after_minutes() {
        match at_steady_rate(&Capacity::fresh(Op::Write), 4_000.0, 1.0, 0.0) {
            Forecast::ByChance { soonest_s } => assert!((50.0..=111.0).contains(&soonest_s), "{soonest_s}"),
            other => panic!("{other:?}"),
        }
        assert_eq!(at_steady_rate(&Capacity::of_one_key(Op::Write), 1_000.0, 1.0, 0.0), Forecast::Never);
        assert!(
            between(at_steady_rate(&Capacity::of_one_key(Op::Write), 2_000.0, 1.0, 0.0)).0 > 0.999,
            "one partition has its exact share"
        );
    }

    #[test]
    fn a_measured_burst_is_no_better_known_than_it_was_measured() {
        let table = Capacity::measured(Op::Write, 4_000.0, Some(4_000.0)).expect("a ceiling");
        let (low, high) = between(at_steady_rate(&table, 8_000.0, 1.0, 0.0));
        assert!(low < 0.80 && (high - 1.1).abs() < 1e-9, "{low} {high}");
        assert_eq!(Capacity::measured(Op::Write, 4_000.0, None).map(|c| c.basis), Some(Basis::MeasuredCeiling));
        assert_eq!(Capacity::measured(Op::Write, 0.0, None), None);
        assert_eq!(Capacity::measured(Op::Write, f64::NAN, None), None);
    }

    #[test]
    fn a_ramp_throttles_once_its_excess_adds_up_to_the_burst() {
        // 10 units/s more each second: above 4,000 after 400 s, and 4,000 units in excess sqrt(2 * 4,000 / 10) = 28.3 s later.
        let launch = Launch { from_per_s: 0.0, to_per_s: 6_000.0, ramp_s: 600.0, hold_s: 60.0, units: 1.0 };
        let course = launch.meet(&Capacity::fresh(Op::Write), 0.0);
        let (low, high) = between(course.first_throttle);
        assert!((high - 428.28).abs() < 0.01, "{high}");
        assert!(low < high && low > 400.0, "{low}");
        // 200 s of excess from 0 to 2,000: 200,000 units less the burst; then 2,000/s for a minute.
        assert!((course.ramp.throttled - 196_000.0).abs() < 1.0, "{:?}", course.ramp);
        assert!((course.hold.throttled - 120_000.0).abs() < 1.0, "{:?}", course.hold);
        assert!((course.ramp.offered - 1_800_000.0).abs() < 1.0);
    }

    #[test]
    fn a_ramp_that_falls_lets_the_burst_refill() {
        let launch = Launch { from_per_s: 6_000.0, to_per_s: 2_000.0, ramp_s: 1.0, hold_s: 60.0, units: 1.0 };
        let course = launch.meet(&Capacity::fresh(Op::Write), 0.0);
        assert_eq!((course.first_throttle, course.ramp.throttled, course.hold.throttled), (Forecast::Never, 0.0, 0.0));
    }

    proptest! {
        #[test]
        fn more_load_throttles_no_later(rate in 4_001.0f64..1e5, more in 1.0f64..1e4, missing in 0.0f64..8_000.0) {
            let table = Capacity::fresh(Op::Write);
            let (one, two) = (between(at_steady_rate(&table, rate, 1.0, missing)), between(at_steady_rate(&table, rate + more, 1.0, missing)));
            prop_assert!(one.0 <= one.1 && two.0 <= two.1);
            prop_assert!(two.1 <= one.1 && two.0 <= one.0 + 1e-9);
        }

        #[test]
        fn a_launch_without_a_ramp_is_a_step(rate in 4_100.0f64..50_000.0) {
            let table = Capacity::fresh(Op::Write);
            let step = between(at_steady_rate(&table, rate, 1.0, 0.0));
            let launch = Launch { from_per_s: rate, to_per_s: rate, ramp_s: 0.0, hold_s: 3_600.0, units: 1.0 };
            let course = launch.meet(&table, 0.0);
            let found = between(course.first_throttle);
            prop_assert!((found.0 - step.0).abs() < 0.02 + 0.01 * step.0, "{:?} {:?}", found, step);
            prop_assert!((found.1 - step.1).abs() < 1e-6);
            let refused = (rate - 4_000.0) * 3_600.0 - 4_000.0;
            prop_assert!((course.hold.throttled - refused).abs() < 1.0);
        }

        #[test]
        fn no_more_is_throttled_than_offered(from in 0.0f64..1e5, to in 0.0f64..1e5, ramp in 0.0f64..1e4, hold in 0.0f64..1e4, units in 0.5f64..400.0) {
            let course = Launch { from_per_s: from, to_per_s: to, ramp_s: ramp, hold_s: hold, units }.meet(&Capacity::fresh(Op::Write), 0.0);
            for part in [course.ramp, course.hold] {
                prop_assert!(part.throttled >= 0.0 && part.throttled <= part.offered && part.offered.is_finite());
            }
        }
    }
}
