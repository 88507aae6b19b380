//! A series of values over time that is finite and sorted by construction and split at its gaps, so that no chart can
//! meet a value it cannot place, or join two points across a time of which nothing is known.

use crate::load::{Offset, Row};

/// One value, and the span of time it speaks of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Start of its span, seconds since the session's zero.
    pub from: f64,
    /// End of its span.
    pub to: f64,
    /// The value.
    pub value: f64,
}

/// Points in order of time, in runs without a gap.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    runs: Vec<Vec<Point>>,
}

impl Series {
    /// A series of what `value` gives for each row. Rows without a value, with one that is not finite, or out of order
    /// are left out, and leave a gap.
    pub fn of(rows: &[Row], value: impl Fn(&Row) -> Option<f64>) -> Self {
        let mut series = Self::default();
        let mut gap = true;
        for row in rows {
            match value(row) {
                Some(value) => gap = !series.push(row.start, row.span_s, value, gap),
                None => gap = true,
            }
        }
        series
    }

    /// One value from an instant to another, dashed.
    pub fn level(from: f64, to: f64, value: f64, dash: f64) -> Self {
        let mut runs = Vec::new();
        if value.is_finite() && dash > 0.0 && (to - from).is_finite() {
            let dashes = ((to - from) / (2.0 * dash)).ceil().clamp(0.0, 200.0) as u32;
            for number in 0..dashes {
                let from = from + 2.0 * dash * f64::from(number);
                runs.push(vec![Point { from, to: (from + dash).min(to), value }]);
            }
        }
        Self { runs }
    }

    fn push(&mut self, start: Offset, span_s: u32, value: f64, gap: bool) -> bool {
        let point = Point { from: start.secs(), to: start.secs() + f64::from(span_s.max(1)), value };
        let last = self.last();
        if !value.is_finite() || last.is_some_and(|last| point.from < last.to) {
            return false;
        }
        let joins = !gap && last.is_some_and(|last| point.from <= last.to + 0.001);
        match self.runs.last_mut() {
            Some(run) if joins => run.push(point),
            _ => self.runs.push(vec![point]),
        }
        true
    }

    /// Its runs, oldest first. No run is empty.
    pub fn runs(&self) -> &[Vec<Point>] {
        &self.runs
    }

    /// Its newest point.
    pub fn last(&self) -> Option<Point> {
        self.runs.last().and_then(|run| run.last()).copied()
    }

    /// Its largest value at or after `from` seconds.
    pub fn max_since(&self, from: f64) -> Option<f64> {
        self.runs.iter().flatten().filter(|point| point.to > from).map(|point| point.value).reduce(f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::Counts;
    use proptest::prelude::*;

    fn row(start: u64) -> Row {
        Row { start: Offset::from_secs(start), span_s: 1, counts: Counts { accepted: start, ..Counts::default() }, ..Row::default() }
    }

    #[test]
    fn a_series_is_split_where_a_second_says_nothing() {
        let rows: Vec<Row> = [0, 1, 2, 3, 7, 8].into_iter().map(row).collect();
        let series = Series::of(&rows, |row| (row.counts.accepted != 2).then_some(row.counts.accepted as f64));
        let lengths: Vec<usize> = series.runs().iter().map(Vec::len).collect();
        assert_eq!(lengths, [2, 1, 2]);
        assert_eq!(series.max_since(0.0), Some(8.0));
        assert_eq!(series.max_since(9.0), None);
    }

    proptest! {
        #[test]
        fn a_series_is_finite_and_sorted_whatever_it_is_made_of(
            starts in prop::collection::vec(0u64..50, 0..60),
            values in prop::collection::vec(prop_oneof![Just(f64::NAN), Just(f64::INFINITY), Just(f64::NEG_INFINITY), -1e9..1e9], 60),
        ) {
            let rows: Vec<Row> = starts.iter().map(|start| row(*start)).collect();
            let mut given = values.iter();
            let given = std::cell::RefCell::new(&mut given);
            let series = Series::of(&rows, |_| given.borrow_mut().next().copied());
            let points: Vec<Point> = series.runs().iter().flatten().copied().collect();
            prop_assert!(series.runs().iter().all(|run| !run.is_empty()));
            prop_assert!(points.iter().all(|p| p.value.is_finite() && p.from.is_finite() && p.to > p.from));
            prop_assert!(points.windows(2).all(|pair| pair[0].to <= pair[1].from));
        }
    }
}
