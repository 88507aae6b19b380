//! From buckets to points: neighbouring seconds are joined where there are more than a chart can show, and what is missing
//! stays missing.

use std::ops::Range;

use super::super::document::Buckets;
use super::super::finite::Finite;

/// Times from and to, seconds.
pub(super) type Span = (f64, f64);
/// Points that belong together, to be joined by a line; between two runs there is a gap.
pub(super) type Runs = Vec<Vec<(Span, f64)>>;

/// The buckets that lie within a span, and how many of them a point joins.
pub(super) struct Seconds<'a> {
    buckets: &'a Buckets,
    within: Span,
    /// Buckets that one point stands for.
    pub(super) joined: usize,
}

impl<'a> Seconds<'a> {
    /// Buckets within a span, for at most `most` points.
    pub(super) fn new(buckets: &'a Buckets, within: Span, most: usize) -> Self {
        let all = Self { buckets, within, joined: 1 };
        let seconds = (0..buckets.start_s.len()).filter(|at| all.span(*at).is_some()).count();
        Self { joined: seconds.div_ceil(most).max(1), ..all }
    }

    fn span(&self, at: usize) -> Option<Span> {
        let from = self.buckets.start_s.get(at)?.get()?;
        let to = from + f64::from(*self.buckets.span_s.get(at)?);
        (from >= self.within.0 - 1e-6 && to <= self.within.1 + 1e-6 && to > from).then_some((from, to))
    }

    /// Runs of consecutive buckets that `has` data, cut into groups.
    fn groups(&self, has: impl Fn(usize) -> bool) -> Vec<Vec<(Span, Range<usize>)>> {
        let mut runs: Vec<Vec<(Span, Range<usize>)>> = Vec::new();
        let mut end = None;
        for at in 0..self.buckets.start_s.len() {
            let Some((from, to)) = self.span(at).filter(|_| has(at)) else {
                end = None;
                continue;
            };
            let follows = end.is_some_and(|end: f64| (end - from).abs() < 1e-6);
            match runs.last_mut().filter(|_| follows) {
                None => runs.push(vec![((from, to), at..at + 1)]),
                Some(run) => match run.last_mut().filter(|(_, buckets)| buckets.len() < self.joined) {
                    Some((span, buckets)) => (span.1, buckets.end) = (to, at + 1),
                    None => run.push(((from, to), at..at + 1)),
                },
            }
            end = Some(to);
        }
        runs
    }

    /// A column of counts as mean rates per second.
    pub(super) fn rates(&self, column: &[u64]) -> Runs {
        let per_s = |((from, to), buckets): (Span, Range<usize>)| {
            let count: f64 = column[buckets].iter().map(|n| *n as f64).sum();
            ((from, to), count / (to - from))
        };
        self.groups(|at| at < column.len()).into_iter().map(|run| run.into_iter().map(per_s).collect()).collect()
    }

    /// A column of percentiles; a point that joins several has the largest.
    pub(super) fn largest(&self, column: &[Finite]) -> Runs {
        let value = |at: usize| column.get(at).and_then(|value| value.get());
        let top = |(span, buckets): (Span, Range<usize>)| (span, buckets.filter_map(value).fold(0.0, f64::max));
        self.groups(|at| value(at).is_some()).into_iter().map(|run| run.into_iter().map(top).collect()).collect()
    }
}

/// The largest value of runs.
pub(super) fn top(runs: &Runs) -> Option<f64> {
    runs.iter().flatten().map(|(_, value)| *value).reduce(f64::max)
}

/// The smallest value of runs.
pub(super) fn bottom(runs: &Runs) -> Option<f64> {
    runs.iter().flatten().map(|(_, value)| *value).reduce(f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buckets(seconds: &[u32]) -> Buckets {
        Buckets {
            interval_s: 1,
            start_s: seconds.iter().map(|s| f64::from(*s).into()).collect(),
            span_s: vec![1; seconds.len()],
            accepted: seconds.iter().map(|s| u64::from(*s)).collect(),
            p50_ms: seconds.iter().map(|s| if *s == 2 { Finite::NULL } else { f64::from(*s).into() }).collect(),
            ..Buckets::default()
        }
    }

    #[test]
    fn a_missing_second_and_a_null_percentile_stay_gaps() {
        let b = buckets(&[0, 1, 2, 3, 7, 8]);
        let seconds = Seconds::new(&b, (0.0, 9.0), 100);
        let rates: Vec<usize> = seconds.rates(&b.accepted).iter().map(Vec::len).collect();
        assert_eq!(rates, [4, 2]);
        let latencies: Vec<usize> = seconds.largest(&b.p50_ms).iter().map(Vec::len).collect();
        assert_eq!(latencies, [2, 1, 2]);
        assert!(seconds.largest(&[]).is_empty());
    }

    #[test]
    fn joined_seconds_show_their_mean_rate_and_their_largest_percentile_and_never_join_across_a_gap() {
        let b = buckets(&[0, 1, 2, 3, 7, 8]);
        let seconds = Seconds::new(&b, (0.0, 9.0), 3);
        assert_eq!(seconds.joined, 2);
        assert_eq!(seconds.rates(&b.accepted), [vec![((0.0, 2.0), 0.5), ((2.0, 4.0), 2.5)], vec![((7.0, 9.0), 7.5)]]);
        assert_eq!(seconds.largest(&b.p50_ms), [vec![((0.0, 2.0), 1.0)], vec![((3.0, 4.0), 3.0)], vec![((7.0, 9.0), 8.0)]]);
        assert_eq!((top(&seconds.rates(&b.accepted)), bottom(&Runs::new())), (Some(7.5), None));
    }

    #[test]
    fn what_lies_outside_of_the_chart_is_left_out() {
        let b = buckets(&[0, 1, 2, 3, 7, 8]);
        assert_eq!(Seconds::new(&b, (1.0, 3.0), 100).rates(&b.accepted), [vec![((1.0, 2.0), 1.0), ((2.0, 3.0), 2.0)]]);
    }
}
