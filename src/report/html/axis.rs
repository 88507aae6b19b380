//! Where an axis has its marks, and what stands beside them.

use std::ops::Range;

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};

use super::super::figures::clock;
use crate::load::thousands;

/// An axis of the drawing library with its marks where they are wanted.
pub(super) struct Axis {
    span: (f64, f64),
    marks: Vec<f64>,
}

impl Axis {
    /// From where to where, and marks in between.
    pub(super) const fn new(span: (f64, f64), marks: Vec<f64>) -> Self {
        Self { span, marks }
    }
}

impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        let share = (value - self.span.0) / (self.span.1 - self.span.0);
        limit.0 + (share * f64::from(limit.1 - limit.0)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        if hint.weight().allow_light_points() { Vec::new() } else { self.marks.clone() }
    }

    fn range(&self) -> Range<f64> {
        self.span.0..self.span.1
    }
}

impl ValueFormatter<f64> for Axis {}

/// How values lie on the vertical axis.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Scale {
    /// Evenly, from zero.
    Linear,
    /// By magnitude, for values that span several.
    Logarithmic,
}

impl Scale {
    /// Logarithmic where values from `low` to `high` span more than a factor of 30.
    pub(super) fn of(low: f64, high: f64) -> Self {
        if low > 0.0 && high / low > 30.0 { Self::Logarithmic } else { Self::Linear }
    }

    /// Where a value lies.
    pub(super) fn place(self, value: f64) -> f64 {
        match self {
            Self::Linear => value,
            Self::Logarithmic => value.max(1e-3).log10(),
        }
    }

    /// The value of a place.
    pub(super) fn value(self, place: f64) -> f64 {
        match self {
            Self::Linear => place,
            Self::Logarithmic => 10f64.powf(place),
        }
    }

    /// From where to where an axis reaches that shows values from `low` to `high`.
    pub(super) fn range(self, low: f64, high: f64) -> (f64, f64) {
        match self {
            Self::Linear => (0.0, if high > 0.0 { high * 1.12 } else { 1.0 }),
            Self::Logarithmic => (self.place(low / 1.5), self.place(high * 1.8)),
        }
    }

    /// Places of at most about `most` marks.
    pub(super) fn marks(self, (low, high): (f64, f64), most: usize) -> Vec<f64> {
        if self == Self::Linear {
            return even(low, high, step(high - low, most));
        }
        let decades = low.floor() as i32..=high.ceil() as i32;
        let within = |digits: &[f64]| -> Vec<f64> {
            let values = decades.clone().flat_map(|decade| digits.iter().map(move |digit| digit.log10() + f64::from(decade)));
            values.filter(|place| (low..=high).contains(place)).collect()
        };
        let fine = within(&[1.0, 2.0, 5.0]);
        if fine.len() <= most { fine } else { within(&[1.0]) }
    }
}

/// A round step, so that a span has at most `most` of them.
fn step(span: f64, most: usize) -> f64 {
    let least = span / most.max(1) as f64;
    let decade = 10f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0, 10.0].map(|digit| digit * decade).into_iter().find(|step| *step >= least * 0.999).unwrap_or(span)
}

fn even(low: f64, high: f64, step: f64) -> Vec<f64> {
    let first = (low / step).ceil();
    let marks = (0..32).map(|n| (first + f64::from(n)) * step);
    marks.take_while(|mark| *mark <= high + step * 1e-9).collect()
}

/// Times of at most about `most` marks, seconds, on round minutes where there are minutes.
pub(super) fn times((from, to): (f64, f64), most: usize) -> Vec<f64> {
    let round = [1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1_800.0, 3_600.0, 7_200.0, 14_400.0];
    let least = (to - from) / most.max(1) as f64;
    even(from, to, round.into_iter().find(|step| *step >= least).unwrap_or_else(|| step(to - from, most)))
}

/// What stands at a mark of the time axis.
pub(super) fn time(s: f64) -> String {
    clock(s)
}

/// What stands at a mark of the vertical axis.
pub(super) fn level(value: f64) -> String {
    if value >= 10.0 || (value - value.round()).abs() < 1e-6 {
        return thousands(value.round().max(0.0) as u64);
    }
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_round_and_few() {
        assert_eq!(Scale::Linear.marks((0.0, 8_960.0), 6), [0.0, 2_000.0, 4_000.0, 6_000.0, 8_000.0]);
        assert_eq!(times((8.0, 242.0), 8), [30.0, 60.0, 90.0, 120.0, 150.0, 180.0, 210.0, 240.0]);
        assert_eq!(times((0.0, 2_040.0), 8), [0.0, 300.0, 600.0, 900.0, 1_200.0, 1_500.0, 1_800.0]);
        let marks: Vec<String> =
            Scale::Logarithmic.marks((0.5f64.log10(), 60f64.log10()), 8).into_iter().map(|place| level(10f64.powf(place))).collect();
        assert_eq!(marks, ["0.5", "1", "2", "5", "10", "20", "50"]);
        assert_eq!(Scale::Logarithmic.marks((-1.0, 4.2), 8).len(), 6);
        assert_eq!([level(0.25), level(4_000.0), level(2.0)], ["0.25", "4,000", "2"]);
    }

    #[test]
    fn values_without_size_or_beyond_all_size_still_have_an_axis() {
        assert_eq!(Scale::Linear.range(0.0, 0.0), (0.0, 1.0));
        for high in [1e-12, 1.0, 1e300] {
            let marks = Scale::Linear.marks(Scale::Linear.range(0.0, high), 6);
            assert!((2..=8).contains(&marks.len()), "{high}: {marks:?}");
        }
        assert!(times((0.0, 1e12), 8).len() <= 9);
    }
}
