//! The search for the clean ceiling: which window to offer next, given what the windows before it showed. Pure, and bounded by a
//! number of operations and a time.
//!
//! A window that was not throttled for a time T at a rate r shows only that the clean ceiling is at least r - B/T, where B is the
//! burst: so short windows cannot find it, and a bisection on "any throttle in 30 s" would find the ceiling plus B/30 s instead.
//! The search over-drives the table first, which gives the saturated ceiling (the clean one is never above it) and B, and then
//! tries rates for long enough that B/T is small against what is still open.

use std::time::Duration;

use super::{PlanWindow, Until};
use crate::load::op::Op;
use crate::load::rate::Rate;

/// A search for the clean ceiling.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Search {
    /// The operation.
    pub op: Op,
    /// How close the two ends of the bracket must come, as a share of the ceiling.
    pub precision: f64,
    /// No window is longer.
    pub longest: Duration,
    /// Operations of the whole plan that are never exceeded.
    pub most_operations: u64,
    /// Time of the whole plan, pauses included, that is never exceeded.
    pub most_time: Duration,
}

/// What a window of the search was and what it showed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tried {
    /// Its offered rate.
    pub rate: Rate,
    /// How long it lasted.
    pub length: Duration,
    /// How long the pause before it was.
    pub pause: Duration,
    /// What it showed.
    pub shown: Shown,
}

/// What a window of the search showed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shown {
    /// Something was throttled.
    Throttled {
        /// Saturated ceiling, requests/s.
        sustained_per_s: Option<f64>,
        /// Requests accepted above it before throttling set in.
        burst: Option<f64>,
    },
    /// Nothing was throttled, and the client kept its schedule.
    Clean,
    /// The client fell short, or too many requests failed: nothing is shown.
    Unclear,
}

/// What to do next.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// Offer this window.
    Try(Box<PlanWindow>),
    /// The search is over.
    End(SearchEnd),
}

/// How a search ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SearchEnd {
    /// The clean ceiling lies in this bracket, requests/s, narrower than the precision.
    Found {
        /// Nothing is throttled at this rate.
        at_least: f64,
        /// Something is at this one, or the table accepts no more than this when over-driven.
        at_most: f64,
    },
    /// Operations, time or windows ran out with this bracket.
    Exhausted {
        /// Nothing is throttled at this rate.
        at_least: f64,
        /// See [`SearchEnd::Found`].
        at_most: f64,
    },
    /// The table accepted all of the highest rate: there is no ceiling to search.
    NotReached,
    /// The windows do not show whose limit was met.
    Unclear,
}

/// What a search takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outlook {
    /// Windows, the over-driven one included.
    pub windows: usize,
    /// Time, pauses included.
    pub duration: Duration,
    /// Operations.
    pub operations: u64,
}

/// No search tries more windows.
const MOST_WINDOWS: usize = 24;
/// No window of a search is shorter.
const SHORTEST: Duration = Duration::from_secs(10);
/// A window that throttles goes on for this long, to show whether it does so steadily.
const AFTER_THROTTLE: Duration = Duration::from_secs(8);
/// A ceiling that took a burst of one second of capacity refills in one; pauses are several times that.
const SHORTEST_PAUSE: Duration = Duration::from_secs(5);
/// The service keeps at most this much unused capacity.
const LONGEST_PAUSE: Duration = Duration::from_secs(300);

/// What is known of the clean ceiling, requests/s.
#[derive(Clone, Copy, Debug)]
struct Bracket {
    low: f64,
    high: f64,
    sustained: f64,
    burst: f64,
}

impl Search {
    /// The window after those that were tried, or the end. `over_drive` is the plan's first window, which is tried first.
    pub fn next(&self, over_drive: &PlanWindow, tried: &[Tried]) -> Next {
        let Some(first) = tried.first() else { return Next::Try(Box::new(over_drive.clone())) };
        let unclear = tried.iter().rev().take_while(|window| window.shown == Shown::Unclear).count();
        if unclear >= 2 {
            return Next::End(SearchEnd::Unclear);
        }
        if unclear == 1 {
            return self.within_bounds(over_drive, tried, None, self.again(over_drive, tried));
        }
        let driven = tried.iter().take_while(|window| window.rate == first.rate).filter(|w| w.shown != Shown::Unclear).collect::<Vec<_>>();
        if driven.iter().any(|window| window.shown == Shown::Clean) {
            return Next::End(SearchEnd::NotReached);
        }
        let Some(bracket) = bracket(tried) else {
            if driven.len() >= 2 {
                return Next::End(SearchEnd::Unclear);
            }
            // Too short to show a ceiling: once more, for longer.
            let longer = PlanWindow { length: over_drive.length * 2, pause: LONGEST_PAUSE / 10, ..over_drive.clone() };
            return self.within_bounds(over_drive, tried, None, longer);
        };
        if bracket.high - bracket.low <= self.precision * bracket.high {
            return Next::End(SearchEnd::Found { at_least: bracket.low, at_most: bracket.high });
        }
        let window = self.window(&bracket, tried.len() == driven.len());
        self.within_bounds(over_drive, tried, Some(bracket), window)
    }

    /// What the search takes on a table with this ceiling, requests/s, and this burst, requests, whose partitions are even.
    pub fn outlook(&self, over_drive: &PlanWindow, ceiling: f64, burst: f64) -> Outlook {
        let mut tried: Vec<Tried> = Vec::new();
        let mut outlook = Outlook { windows: 0, duration: Duration::ZERO, operations: 0 };
        while let Next::Try(window) = self.next(over_drive, &tried) {
            let over = window.rate.per_s() - ceiling;
            let (length, shown) = if over > 0.0 && burst / over < window.length.as_secs_f64() {
                let throttled = Duration::from_secs_f64(burst / over);
                let length = match window.until {
                    Some(Until::FirstThrottle(more)) => window.length.min(throttled + more),
                    _ => window.length,
                };
                (length, Shown::Throttled { sustained_per_s: Some(ceiling), burst: Some(burst) })
            } else {
                (window.length, Shown::Clean)
            };
            outlook.windows += 1;
            outlook.duration += length + window.pause;
            outlook.operations += window.rate.count_in(length);
            tried.push(Tried { rate: window.rate, length, pause: window.pause, shown });
        }
        outlook
    }

    /// The window that was tried last, as it was.
    fn again(&self, over_drive: &PlanWindow, tried: &[Tried]) -> PlanWindow {
        let clear: Vec<Tried> = tried.iter().filter(|window| window.shown != Shown::Unclear).copied().collect();
        match bracket(&clear) {
            Some(known) => {
                let first = clear.first().map(|window| window.rate);
                self.window(&known, clear.iter().all(|window| Some(window.rate) == first))
            }
            None => PlanWindow { pause: SHORTEST_PAUSE, ..over_drive.clone() },
        }
    }

    fn window(&self, bracket: &Bracket, is_first: bool) -> PlanWindow {
        let width = bracket.high - bracket.low;
        // The first try lies so close below the saturated ceiling that, where partitions are even, it is the last.
        let rate = if is_first { bracket.high * (1.0 - self.precision * 2.0 / 3.0) } else { f64::midpoint(bracket.low, bracket.high) };
        let open = if is_first { 0.0 } else { width / 8.0 };
        let open = open.max(self.precision * bracket.high / 3.0);
        let seconds = (bracket.burst / open).ceil().clamp(SHORTEST.as_secs_f64(), self.longest.as_secs_f64());
        let refill = Duration::from_secs_f64((bracket.burst / bracket.sustained * 2.0 + 2.0).ceil().clamp(1.0, 1e4));
        let rate = Rate::from_per_s(rate.ceil().max(1.0)).unwrap_or(Rate::MIN);
        let pause = refill.clamp(SHORTEST_PAUSE, LONGEST_PAUSE);
        let until = Some(Until::FirstThrottle(AFTER_THROTTLE));
        PlanWindow { until, ..PlanWindow::steady(self.op, rate, Duration::from_secs_f64(seconds), pause) }
    }

    fn within_bounds(&self, over_drive: &PlanWindow, tried: &[Tried], bracket: Option<Bracket>, window: PlanWindow) -> Next {
        let spent: u64 = tried.iter().map(|window| window.rate.count_in(window.length)).sum();
        // An item size that is the over-driven window's own is the search's.
        let window = PlanWindow { item_bytes: over_drive.item_bytes, keys: over_drive.keys, ..window };
        let passed: Duration = tried.iter().map(|window| window.length + window.pause).sum();
        let fits = spent + window.operations() <= self.most_operations && passed + window.pause + window.length <= self.most_time;
        if tried.len() < MOST_WINDOWS && fits {
            return Next::Try(Box::new(window));
        }
        Next::End(bracket.map_or(SearchEnd::Unclear, |b| SearchEnd::Exhausted { at_least: b.low, at_most: b.high }))
    }
}

/// What the windows say of the clean ceiling; `None` before a saturated ceiling is known.
fn bracket(tried: &[Tried]) -> Option<Bracket> {
    let first = tried.first()?.rate;
    let mut over_driven = tried.iter().rev().filter(|window| window.rate == first);
    let (sustained, burst) = over_driven.find_map(|window| match window.shown {
        Shown::Throttled { sustained_per_s: Some(sustained), burst } if sustained > 0.0 => Some((sustained, burst)),
        _ => None,
    })?;
    // Without a burst that could be measured: one second of capacity, which is what the documentation's figures come to.
    let burst = burst.filter(|burst| *burst > 0.0).unwrap_or(sustained);
    let mut bracket = Bracket { low: 0.0, high: sustained, sustained, burst };
    for window in tried.iter().filter(|window| window.rate != first) {
        let rate = window.rate.per_s();
        match window.shown {
            Shown::Throttled { .. } => bracket.high = bracket.high.min(rate),
            Shown::Clean => bracket.low = bracket.low.max(rate - burst / window.length.as_secs_f64().max(1.0)).min(bracket.high),
            Shown::Unclear => {}
        }
    }
    Some(bracket)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn search() -> Search {
        Search {
            op: Op::Write,
            precision: 0.01,
            longest: Duration::from_secs(600),
            most_operations: 8_000_000,
            most_time: Duration::from_secs(7_200),
        }
    }

    fn over_drive() -> PlanWindow {
        PlanWindow::steady(Op::Write, Rate::per_second(8_000), Duration::from_secs(60), Duration::ZERO)
    }

    /// A table that accepts `saturated` when over-driven and throttles above `clean`, with a burst.
    fn run(saturated: f64, clean: f64, burst: f64) -> (SearchEnd, Vec<Tried>) {
        let mut tried = Vec::new();
        loop {
            match search().next(&over_drive(), &tried) {
                Next::End(end) => return (end, tried),
                Next::Try(window) => {
                    let over = window.rate.per_s() - clean;
                    let throttles = over > 0.0 && burst / over < window.length.as_secs_f64();
                    let shown = if throttles {
                        Shown::Throttled { sustained_per_s: Some(saturated.min(window.rate.per_s())), burst: Some(burst) }
                    } else {
                        Shown::Clean
                    };
                    let length = if throttles { window.length.min(Duration::from_secs_f64(burst / over + 8.0)) } else { window.length };
                    tried.push(Tried { rate: window.rate, length, pause: window.pause, shown });
                }
            }
        }
    }

    #[test]
    fn an_even_table_is_found_with_two_windows() {
        let (end, tried) = run(4_000.0, 4_000.0, 4_000.0);
        let SearchEnd::Found { at_least, at_most } = end else { panic!("{end:?}") };
        assert!(at_least >= 3_959.9 && at_most <= 4_000.0 + 1e-9, "{at_least} {at_most}");
        assert_eq!(tried.len(), 2);
        let outlook = search().outlook(&over_drive(), 4_000.0, 4_000.0);
        assert_eq!((outlook.windows, outlook.operations), (2, 480_000 + 3_974 * 300));
    }

    #[test]
    fn a_table_of_uneven_partitions_is_found_far_below_what_it_accepts_when_over_driven() {
        let (end, tried) = run(7_000.0, 4_000.0, 4_000.0);
        let SearchEnd::Found { at_least, at_most } = end else { panic!("{end:?} {tried:?}") };
        assert!(at_least <= 4_000.0 && 4_000.0 <= at_most && at_most - at_least <= 0.01 * at_most, "{at_least} {at_most}");
    }

    #[test]
    fn a_table_that_accepts_everything_and_a_client_that_falls_short_end_the_search() {
        assert_eq!(run(20_000.0, 20_000.0, 4_000.0).0, SearchEnd::NotReached);
        let unclear =
            Tried { rate: Rate::per_second(8_000), length: Duration::from_secs(60), pause: Duration::ZERO, shown: Shown::Unclear };
        assert!(matches!(search().next(&over_drive(), &[unclear]), Next::Try(window) if window.rate == Rate::per_second(8_000)));
        assert_eq!(search().next(&over_drive(), &[unclear, unclear]), Next::End(SearchEnd::Unclear));
    }

    proptest! {
        #[test]
        fn every_search_ends_within_its_bounds_and_its_bracket_holds_the_ceiling(
            clean in 50.0f64..7_900.0, more in 1.0f64..2.0, burst_s in 0.1f64..3.0,
        ) {
            let saturated = (clean * more).min(7_990.0);
            let (end, tried) = run(saturated, clean, clean * burst_s);
            prop_assert!(tried.len() <= MOST_WINDOWS);
            prop_assert!(tried.iter().map(|w| w.rate.count_in(w.length)).sum::<u64>() <= search().most_operations);
            match end {
                SearchEnd::Found { at_least, at_most } | SearchEnd::Exhausted { at_least, at_most } => {
                    prop_assert!(at_least <= clean + 1.0 && clean <= at_most + 1.0, "{at_least} {clean} {at_most}");
                }
                // Too long a burst for the over-driven window to throttle at all.
                SearchEnd::NotReached => prop_assert!(clean * burst_s / (8_000.0 - clean) > 59.0),
                SearchEnd::Unclear => prop_assert!(false, "unclear"),
            }
        }
    }
}
