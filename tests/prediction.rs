//! The forecast of the first throttle, held against tables simulated one request at a time.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

use throttlescope::analysis::prediction::{Capacity, Forecast, Launch, at_steady_rate};
use throttlescope::load::Op;

/// Uniform numbers (splitmix64).
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as usize % most
    }
}

/// A table of even partitions, each a token bucket that starts full.
struct Table {
    tokens: Vec<f64>,
    refilled: Vec<f64>,
    per_s: f64,
    holds: f64,
    dice: Dice,
}

impl Table {
    fn new(partitions: usize, per_s: f64, holds: f64, seed: u64) -> Self {
        Self { tokens: vec![holds; partitions], refilled: vec![0.0; partitions], per_s, holds, dice: Dice(seed) }
    }

    fn takes(&mut self, at: f64, units: f64) -> bool {
        let key = self.dice.below(self.tokens.len());
        self.tokens[key] = (self.tokens[key] + (at - self.refilled[key]) * self.per_s).min(self.holds);
        self.refilled[key] = at;
        let takes = self.tokens[key] >= units;
        if takes {
            self.tokens[key] -= units;
        }
        takes
    }
}

/// Offers a launch one request at a time: when the first is throttled, and how many are.
fn offer(table: &mut Table, launch: &Launch) -> (Option<f64>, u64) {
    let (mut at, mut first, mut throttled) = (0.0, None, 0);
    while at < launch.ramp_s + launch.hold_s {
        if !table.takes(at, launch.units) {
            first.get_or_insert(at);
            throttled += 1;
        }
        at += 1.0 / launch.rate_at(at).max(1.0);
    }
    (first, throttled)
}

fn range(forecast: Forecast) -> (f64, f64) {
    match forecast {
        Forecast::Between { earliest_s, latest_s } => (earliest_s, latest_s),
        other => panic!("{other:?}"),
    }
}

fn steady(per_s: f64, units: f64, hold_s: f64) -> Launch {
    Launch { from_per_s: per_s, to_per_s: per_s, ramp_s: 0.0, hold_s, units }
}

#[test]
fn the_first_throttle_of_two_hundred_fresh_tables_lies_in_the_range_foretold() {
    for (per_s, units) in [(5_000.0, 1.0), (6_000.0, 1.0), (8_000.0, 1.0), (3_000.0, 2.0), (40_000.0, 1.0)] {
        let (earliest, latest) = range(at_steady_rate(&Capacity::fresh(Op::Write), per_s, units, 0.0));
        let seen: Vec<f64> = (0..200)
            .map(|seed| offer(&mut Table::new(4, 1_000.0, 1_000.0, seed), &steady(per_s, units, 5.0)).0.expect("throttles"))
            .collect();
        let outside = seen.iter().filter(|first| **first < earliest || **first > latest).count();
        assert!(outside <= 1, "{per_s}/s: {outside} of 200 outside {earliest:.2}-{latest:.2} s");
        // A range that holds everything says nothing: it must not be wider than twice what is seen.
        let (low, high) = seen.iter().fold((f64::INFINITY, 0.0_f64), |(low, high), first| (low.min(*first), high.max(*first)));
        assert!(latest - earliest <= 2.0 * (high - low), "{per_s}/s: {earliest:.2}-{latest:.2}, seen {low:.2}-{high:.2}");
    }
}

#[test]
fn reads_are_foretold_in_units() {
    let (earliest, latest) = range(at_steady_rate(&Capacity::fresh(Op::Read), 40_000.0, 0.5, 0.0));
    for seed in 0..20 {
        let first = offer(&mut Table::new(4, 3_000.0, 3_000.0, seed), &steady(40_000.0, 0.5, 3.0)).0.expect("throttles");
        assert!((earliest..=latest).contains(&first), "{first} outside {earliest}-{latest}");
    }
}

#[test]
fn a_ramp_throttles_when_and_as_much_as_foretold() {
    let launch = Launch { from_per_s: 1_000.0, to_per_s: 9_000.0, ramp_s: 60.0, hold_s: 20.0, units: 1.0 };
    let course = launch.meet(&Capacity::fresh(Op::Write), 0.0);
    let (earliest, latest) = range(course.first_throttle);
    let foretold = course.ramp.throttled + course.hold.throttled;
    for seed in 0..20 {
        let (first, throttled) = offer(&mut Table::new(4, 1_000.0, 1_000.0, seed), &launch);
        let first = first.expect("throttles");
        assert!((earliest..=latest).contains(&first), "{first} outside {earliest}-{latest}");
        assert!((throttled as f64 - foretold).abs() < 0.01 * foretold, "{throttled} against {foretold}");
    }
}

#[test]
fn below_its_capacity_a_table_is_not_said_to_throttle_and_does_not() {
    let launch = Launch { from_per_s: 0.0, to_per_s: 3_600.0, ramp_s: 10.0, hold_s: 50.0, units: 1.0 };
    assert_eq!(launch.meet(&Capacity::fresh(Op::Write), 0.0).first_throttle, Forecast::Never);
    for seed in 0..20 {
        assert_eq!(offer(&mut Table::new(4, 1_000.0, 1_000.0, seed), &launch), (None, 0));
    }
}

#[test]
fn one_key_throttles_at_the_figure_of_one_partition() {
    let (earliest, latest) = range(at_steady_rate(&Capacity::of_one_key(Op::Write), 1_500.0, 1.0, 0.0));
    let first = offer(&mut Table::new(1, 1_000.0, 1_000.0, 7), &steady(1_500.0, 1.0, 5.0)).0.expect("throttles");
    assert!((earliest - 0.01..=latest + 0.01).contains(&first), "{first} outside {earliest}-{latest}");
}
