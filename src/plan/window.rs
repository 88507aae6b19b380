//! One window of a plan, and the pause before it.

use std::time::Duration;

use super::Until;
use crate::load::keys::Keys;
use crate::load::op::Op;
use crate::load::rate::{NANOS_PER_SECOND, Rate};
use crate::load::share::Share;

/// One window of a plan, and the pause before it.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanWindow {
    /// Its name on screen and in documents.
    pub label: String,
    /// Its operation; of mixed load, [`Op::Write`].
    pub op: Op,
    /// The share of reads, of mixed load.
    pub reads: Option<Share>,
    /// Its offered rate; of a ramp, the rate it starts with.
    pub rate: Rate,
    /// The rate it ends with, of a ramp.
    pub ramp_to: Option<Rate>,
    /// Its length, a whole number of tenths of a second, at least one second; the longest it may take where it may end early.
    pub length: Duration,
    /// Pause before it, in tenths of a second, may be zero. The first window's is spent before the plan's first edge.
    pub pause: Duration,
    /// Item size in bytes, where it is the window's own.
    pub item_bytes: Option<u32>,
    /// Key distribution, where it is the window's own.
    pub keys: Option<Keys>,
    /// What ends it before its time.
    pub until: Option<Until>,
}

impl PlanWindow {
    /// A window at one rate with one operation.
    pub fn steady(op: Op, rate: Rate, length: Duration, pause: Duration) -> Self {
        Self { label: format!("{rate}/s"), op, reads: None, rate, ramp_to: None, length, pause, item_bytes: None, keys: None, until: None }
    }

    /// Operations it offers if it runs for its whole length: the work of the schedule, started on an intent.
    pub fn operations(&self) -> u64 {
        let ends = u128::from(self.rate.milli()) + u128::from(self.ramp_to.unwrap_or(self.rate).milli());
        let work = ends * self.length.as_nanos();
        u64::try_from(work.div_ceil(2 * 1_000 * u128::from(NANOS_PER_SECOND))).unwrap_or(u64::MAX)
    }

    /// The same by operation; of mixed load the parts are right to within a few intents.
    pub fn operations_by_op(&self) -> Vec<(Op, u64)> {
        let all = self.operations();
        match self.reads {
            None => vec![(self.op, all)],
            Some(reads) => {
                let reads = ((all as f64 * reads.get()).round() as u64).min(all);
                vec![(Op::Write, all - reads), (Op::Read, reads)]
            }
        }
    }

    /// The highest rate it offers.
    pub fn peak(&self) -> Rate {
        self.ramp_to.unwrap_or(self.rate).max(self.rate)
    }

    /// What it does, for a table: `write`, `read`, or `30 % read`.
    pub fn op_in_words(&self) -> String {
        self.reads.map_or_else(|| self.op.to_string(), |reads| format!("{} % read", (reads.get() * 1_000.0).round() / 10.0))
    }

    /// Its rate, for a table: `5,000` or `1,000-8,000`.
    pub fn rate_in_words(&self) -> String {
        self.ramp_to.map_or_else(|| self.rate.to_string(), |to| format!("{}-{to}", self.rate))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_offers_its_rate_and_a_ramp_the_mean_of_its_ends() {
        let window = PlanWindow::steady(Op::Write, Rate::per_second(1_000), Duration::from_secs(30), Duration::ZERO);
        assert_eq!(window.operations(), 30_000);
        let ramp = PlanWindow { ramp_to: Some(Rate::per_second(8_000)), ..window.clone() };
        assert_eq!((ramp.operations(), ramp.peak(), ramp.rate_in_words()), (135_000, Rate::per_second(8_000), "1,000-8,000".to_owned()));
        let mixed = PlanWindow { reads: Share::new(0.25), ..window };
        assert_eq!(mixed.operations_by_op(), [(Op::Write, 22_500), (Op::Read, 7_500)]);
        assert_eq!(mixed.op_in_words(), "25 % read");
    }
}
