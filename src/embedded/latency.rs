//! How long the simulated service takes, and how the server makes it so.

use std::cell::Cell;
use std::time::{Duration, Instant};

use super::random::Random;

/// The 99th percentile of the normal distribution.
const Z99: f64 = 2.326_347_874;
/// Samples further out are pulled in, so that no request takes unboundedly long.
const Z_MOST: f64 = 4.0;

/// A log-normal latency given by its median and 99th percentile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    p50: Duration,
    sigma: f64,
}

impl Spread {
    /// No latency at all.
    pub const NONE: Self = Self { p50: Duration::ZERO, sigma: 0.0 };

    /// The latency with this median and this 99th percentile, which is at least the median.
    pub fn new(p50: Duration, p99: Duration) -> Self {
        let ratio = if p50.is_zero() { 1.0 } else { (p99.as_secs_f64() / p50.as_secs_f64()).max(1.0) };
        Self { p50, sigma: ratio.ln() / Z99 }
    }

    pub(super) fn sample(&self, random: &mut Random) -> Duration {
        if self.p50.is_zero() {
            return Duration::ZERO;
        }
        self.p50.mul_f64((self.sigma * random.normal().clamp(-Z_MOST, Z_MOST)).exp())
    }
}

/// The latency of each kind of answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Latencies {
    /// Writes that were accepted.
    pub write: Spread,
    /// Reads that were accepted.
    pub read: Spread,
    /// Refusals.
    pub refusal: Spread,
}

/// How much longer sleeping takes than it should. Timers round up to the next millisecond and the loop wakes later still, so every
/// sleep is shortened by what the median sleep is late.
#[derive(Debug, Default)]
pub(super) struct Lag {
    nanos: Cell<u64>,
}

impl Lag {
    const STEP: u64 = 4_000;
    const MOST: u64 = 2_500_000;

    /// How long to sleep so that the wait is `wait` in the median.
    pub(super) fn shorten(&self, wait: Duration) -> Duration {
        wait.saturating_sub(Duration::from_nanos(self.nanos.get()))
    }

    /// Learns from one wait. Equal steps up and down settle where as many waits are too long as too short: at the median.
    pub(super) fn learn(&self, wanted: Duration, took: Duration) {
        let nanos = self.nanos.get();
        self.nanos.set(if took > wanted { (nanos + Self::STEP).min(Self::MOST) } else { nanos.saturating_sub(Self::STEP) });
    }
}

/// Whether one table's requests were served later than they should have been: the server's fault, not the model's.
#[derive(Debug)]
pub(super) struct Punctuality {
    stretch: Cell<u64>,
    served: Cell<u32>,
    late: Cell<u32>,
    saturated: Cell<bool>,
    since: Instant,
}

impl Punctuality {
    /// Lateness beyond which a request counts as late.
    const TOLERANCE: Duration = Duration::from_millis(20);
    /// A server is saturated in a stretch in which more than one request in this many is late.
    const ONE_IN: u32 = 200;
    /// Length of a stretch, seconds: a machine that pauses for a moment is not one that is short of CPU.
    const STRETCH_S: u64 = 10;
    /// Fewer late requests than this say nothing, however few were served.
    const AT_LEAST: u32 = 10;

    pub(super) fn new(since: Instant) -> Self {
        Self { stretch: Cell::new(0), served: Cell::new(0), late: Cell::new(0), saturated: Cell::new(false), since }
    }

    pub(super) fn note(&self, now: Instant, wanted: Duration, took: Duration) {
        let stretch = now.saturating_duration_since(self.since).as_secs() / Self::STRETCH_S;
        if self.stretch.replace(stretch) != stretch {
            self.close();
        }
        self.served.set(self.served.get() + 1);
        if took > wanted + Self::TOLERANCE {
            self.late.set(self.late.get() + 1);
        }
    }

    /// Whether any stretch so far was saturated.
    pub(super) fn saturated(&self) -> bool {
        self.saturated.get() || self.is_late()
    }

    fn is_late(&self) -> bool {
        self.late.get() >= Self::AT_LEAST && self.late.get() * Self::ONE_IN > self.served.get()
    }

    fn close(&self) {
        self.saturated.set(self.saturated());
        self.served.set(0);
        self.late.set(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn samples_have_the_median_and_the_99th_percentile_they_were_asked_for() {
        let spread = Spread::new(MS * 4, MS * 10);
        let mut random = Random::new(5);
        let mut samples: Vec<f64> = (0..200_000).map(|_| spread.sample(&mut random).as_secs_f64() * 1e3).collect();
        samples.sort_by(f64::total_cmp);
        let at = |share: f64| samples[(share * samples.len() as f64) as usize];
        assert!((at(0.5) - 4.0).abs() < 0.05, "{}", at(0.5));
        assert!((at(0.99) - 10.0).abs() < 0.2, "{}", at(0.99));
        assert_eq!(Spread::NONE.sample(&mut random), Duration::ZERO);
    }

    #[test]
    fn the_median_wait_becomes_what_was_asked_for() {
        let lag = Lag::default();
        let mut random = Random::new(3);
        let mut late = 0;
        for round in 0..4_000 {
            let slept = lag.shorten(MS * 4);
            let took = slept + MS.mul_f64(0.5 + random.unit());
            lag.learn(MS * 4, took);
            late += u32::from(round >= 2_000 && took > MS * 4);
        }
        assert!((900..1_100).contains(&late), "{late} of 2,000 waits too long");
    }

    #[test]
    fn ten_seconds_with_more_than_half_a_percent_of_late_answers_are_saturated() {
        let start = Instant::now();
        let run = |late: u32, over_seconds: u32| {
            let punctuality = Punctuality::new(start);
            for request in 0..30_000_u32 {
                let second = request / 1_000;
                let is_late = (10..10 + over_seconds).contains(&second) && request % 1_000 < late / over_seconds;
                punctuality.note(start + Duration::from_secs(u64::from(second)), MS, if is_late { MS * 22 } else { MS * 2 });
            }
            punctuality.saturated()
        };
        assert!(!run(0, 1));
        // A pause of 50 ms in ten seconds.
        assert!(!run(50, 1));
        assert!(run(60, 1));
        assert!(run(60, 10));
    }
}
