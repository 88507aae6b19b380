//! The consequences of the model, by simulation: uniform random keys, an open loop, many seeds.

use std::time::Duration;

use super::*;

/// What a window of offered load did.
struct Window {
    accepted: u64,
    first_throttle_s: Option<f64>,
}

/// A source of key hashes of its own, so that the model is not tested with its own randomness.
struct Keys(u64);

impl Keys {
    fn next(&mut self) -> KeyHash {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        KeyHash(self.0.wrapping_mul(0x2545_F491_4F6C_DD1D))
    }
}

/// Offers `per_s` requests a second from `from` on for `seconds`.
fn offer(capacity: &mut Capacity, per_s: u64, from: Duration, seconds: u64, mut key: impl FnMut() -> KeyHash) -> Window {
    let mut window = Window { accepted: 0, first_throttle_s: None };
    for intent in 0..per_s * seconds {
        let due = Duration::from_nanos(intent * 1_000_000_000 / per_s);
        match capacity.admit(key(), Kind::Write, Units::whole(1), from + due) {
            Admission::Accepted => window.accepted += 1,
            Admission::Refused { .. } => window.first_throttle_s = window.first_throttle_s.or(Some(due.as_secs_f64())),
        }
    }
    window
}

fn fresh_window(per_s: u64, seconds: u64, seed: u64) -> Window {
    let mut keys = Keys(0x9E37_79B9_7F4A_7C15 ^ (seed << 17) ^ seed);
    offer(&mut Capacity::new(Shape::default(), Limits::default()), per_s, Duration::from_secs(3), seconds, || keys.next())
}

#[test]
fn a_fresh_table_accepts_4_000_writes_a_second_for_30_s_without_a_throttle() {
    for seed in 1..=20 {
        assert_eq!(fresh_window(4_000, 30, seed).first_throttle_s, None, "seed {seed}");
    }
}

#[test]
fn an_over_driven_window_of_30_s_accepts_4_133_a_second() {
    for (per_s, earliest, latest) in [(5_000, 3.05, 3.98), (6_000, 1.64, 1.99), (8_000, 0.85, 1.00)] {
        for seed in 1..=15 {
            let window = fresh_window(per_s, 30, seed);
            let accepted_per_s = window.accepted as f64 / 30.0;
            assert!((accepted_per_s - 4_133.0).abs() < 5.0, "{per_s}/s, seed {seed}: {accepted_per_s}");
            let first = window.first_throttle_s.unwrap();
            assert!((earliest..=latest).contains(&first), "{per_s}/s, seed {seed}: first throttle after {first} s");
        }
    }
}

#[test]
fn an_over_driven_window_of_t_seconds_accepts_4_000_and_4_000_over_t() {
    for (seconds, tolerance) in [(15, 6.0), (60, 4.0), (120, 3.0)] {
        let accepted_per_s = fresh_window(8_000, seconds, 42).accepted as f64 / seconds as f64;
        let expected = 4_000.0 + 4_000.0 / seconds as f64;
        assert!((accepted_per_s - expected).abs() < tolerance, "{seconds} s: {accepted_per_s}");
    }
}

#[test]
fn a_table_over_driven_for_27_minutes_has_split_into_7_partitions_and_accepts_7_000() {
    // One sixtieth of the growth times, so that the timeline is the same in seconds as it is in minutes.
    let mut keys = Keys(99);
    let mut capacity = Capacity::new(Shape::default().sped_up(60.0), Limits::default());
    let mut rates = Vec::new();
    for second in 0..34 {
        rates.push(offer(&mut capacity, 8_000, Duration::from_secs(second), 1, || keys.next()).accepted);
    }
    let mean = |span: std::ops::Range<usize>| rates[span.clone()].iter().sum::<u64>() as f64 / span.len() as f64;
    for (span, expected) in [(2..9, 4_000.0), (12..25, 5_000.0), (29..34, 7_000.0)] {
        let rate = mean(span.clone());
        assert!((rate - expected).abs() < 25.0, "seconds {span:?}: {rate}");
    }
    assert_eq!(capacity.partitions(), 7);
    let shares: Vec<f64> = capacity.tallies().iter().map(|tally| tally.share).filter(|share| *share > 0.0).collect();
    assert_eq!(shares.iter().filter(|share| (**share - 0.125).abs() < 1e-9).count(), 6);
    assert_eq!(shares.iter().filter(|share| (**share - 0.25).abs() < 1e-9).count(), 1);
}

#[test]
fn splits_come_after_9_26_and_27_minutes_of_over_demand_and_not_of_age() {
    let mut capacity = Capacity::new(Shape::default(), Limits::default());
    let mut seen = Vec::new();
    let mut count = capacity.partitions();
    // Over-driven in every second second only: over-demand time passes half as fast as time.
    for second in 0..3_300_u64 {
        if second % 2 == 0 {
            let now = Duration::from_secs(second);
            capacity.admit(KeyHash(second << 55), Kind::Write, Units::whole(1_000), now);
            capacity.admit(KeyHash(second << 55), Kind::Write, Units::whole(1_000), now);
        }
        if capacity.partitions() != count {
            count = capacity.partitions();
            seen.push((capacity.over_demand().as_secs(), second));
        }
    }
    assert_eq!(seen, [(540, 1_078), (1_560, 3_118), (1_620, 3_238)]);
}

#[test]
fn a_hot_key_gets_1_000_a_second_whatever_the_table_has() {
    for warm in [0, 40_000] {
        let limits = Limits { warm: Throughput { write: warm, read: 0 }, ..Limits::default() };
        let mut capacity = Capacity::new(Shape::default(), limits);
        let hot = KeyHash::of(b"hot");
        assert_eq!(offer(&mut capacity, 5_000, Duration::ZERO, 20, || hot).accepted, 21_000 - 1);
    }
}
