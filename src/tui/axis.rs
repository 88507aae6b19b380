//! Axes: ticks at 1, 2 and 5 times a power of ten, and a value axis that grows at once and shrinks with hysteresis, so
//! that it neither cuts a peak nor jumps about.

/// The top of a value axis.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Scale {
    top: f64,
}

/// How much room stays above the largest value.
const HEADROOM: f64 = 1.05;

impl Scale {
    /// Fits the axis to the largest value in sight. A larger value makes it grow at once; it shrinks when less than two
    /// fifths of it are used.
    pub fn fit(&mut self, largest: Option<f64>) {
        let Some(largest) = largest.filter(|value| value.is_finite() && *value > 0.0) else { return };
        let needed = round_up(largest * HEADROOM);
        if needed > self.top || largest * HEADROOM < self.top * 0.4 {
            self.top = needed;
        }
    }

    /// The value at the top: always finite and above zero.
    pub fn top(&self) -> f64 {
        if self.top > 0.0 { self.top } else { 1.0 }
    }

    /// Ticks from zero to the top, at most `most` of them, at least zero and one more.
    pub fn ticks(&self, most: usize) -> Vec<f64> {
        let top = self.top();
        let parts = most.saturating_sub(1).max(1);
        let step = step_for(top, parts);
        // An axis of one part may end below the first step; the next finer one is within it.
        let step = if step > top * 1.000_1 { step_for(top, parts * 2) } else { step };
        let mut ticks = Vec::new();
        let mut at = 0.0;
        while at <= top * 1.000_1 && ticks.len() < most {
            ticks.push(at);
            at += step;
        }
        ticks
    }
}

/// The smallest of 1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8 times a power of ten that is not below `value`.
fn round_up(value: f64) -> f64 {
    let power = 10f64.powf(value.log10().floor());
    let factor =
        [1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 10.0].into_iter().find(|f| f * power >= value * 0.999_999).unwrap_or(10.0);
    factor * power
}

/// The smallest of 1, 2, 5 times a power of ten of which at most `parts` fit into `range`.
pub fn step_for(range: f64, parts: usize) -> f64 {
    let least = (range / parts.max(1) as f64).max(1e-9);
    let power = 10f64.powf(least.log10().floor());
    let factor = [1.0, 2.0, 5.0, 10.0].into_iter().find(|f| f * power >= least * 0.999_999).unwrap_or(10.0);
    factor * power
}

/// A value of an axis as text: `6k`, `500`, `0.5`.
pub fn label(value: f64) -> String {
    let (value, unit) = if value >= 1e6 {
        (value / 1e6, "M")
    } else if value >= 1_000.0 {
        (value / 1e3, "k")
    } else {
        (value, "")
    };
    let text = format!("{value:.3}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    format!("{text}{unit}")
}

/// Steps of a time axis in seconds.
const TIME_STEPS: [f64; 14] = [1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1_800.0, 3_600.0, 7_200.0, 14_400.0];

/// Instants to label on a time axis from `from` to `to` seconds, at most `most` of them.
pub fn instants(from: f64, to: f64, most: usize) -> Vec<f64> {
    let range = to - from;
    if !range.is_finite() || range <= 0.0 || most == 0 {
        return Vec::new();
    }
    let least = range / most as f64;
    let step = TIME_STEPS.into_iter().find(|step| *step >= least).unwrap_or_else(|| (least / 14_400.0).ceil() * 14_400.0);
    let first = (from / step).ceil();
    (0..most).map(|i| (first + i as f64) * step).take_while(|at| *at <= to).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_axis_grows_at_once_and_shrinks_late() {
        let mut scale = Scale::default();
        scale.fit(Some(4_000.0));
        assert!((scale.top() - 5_000.0).abs() < 1e-6);
        scale.fit(Some(8_000.0));
        assert!((scale.top() - 10_000.0).abs() < 1e-6);
        scale.fit(Some(5_000.0));
        assert!((scale.top() - 10_000.0).abs() < 1e-6);
        scale.fit(Some(1_000.0));
        assert!((scale.top() - 1_200.0).abs() < 1e-6);
        scale.fit(None);
        scale.fit(Some(0.0));
        scale.fit(Some(f64::NAN));
        assert!((scale.top() - 1_200.0).abs() < 1e-6);
    }

    #[test]
    fn two_hundred_microseconds_fill_their_axis() {
        let mut scale = Scale::default();
        scale.fit(Some(0.2));
        assert!(scale.top() < 0.35 && scale.top() >= 0.2, "{}", scale.top());
        assert!(scale.ticks(4).len() >= 2);
    }

    #[test]
    fn labels_are_short() {
        assert_eq!(
            [label(0.0), label(0.5), label(500.0), label(2_500.0), label(6_000.0), label(2e6)],
            ["0", "0.5", "500", "2.5k", "6k", "2M"]
        );
    }

    #[test]
    fn a_time_axis_is_labelled_at_round_instants() {
        assert_eq!(instants(64.0, 124.0, 5), [75.0, 90.0, 105.0, 120.0]);
        assert_eq!(instants(5.0, 5.0, 5), Vec::<f64>::new());
    }

    proptest! {
        #[test]
        fn ticks_are_few_finite_and_rising(largest in 1e-6f64..1e12, most in 2usize..12) {
            let mut scale = Scale::default();
            scale.fit(Some(largest));
            prop_assert!(scale.top() >= largest && scale.top() <= largest * 2.2);
            let ticks = scale.ticks(most);
            prop_assert!(ticks.len() >= 2 && ticks.len() <= most, "{:?}", ticks);
            prop_assert!(ticks.windows(2).all(|pair| pair[0] < pair[1]));
            prop_assert!(ticks.iter().all(|tick| tick.is_finite() && *tick <= scale.top() * 1.001));
        }

        #[test]
        fn instants_lie_within_their_span(from in 0.0f64..1e6, range in 0.0f64..1e6, most in 0usize..12) {
            let marks = instants(from, from + range, most);
            prop_assert!(marks.len() <= most);
            prop_assert!(marks.iter().all(|at| *at >= from && *at <= from + range));
        }
    }
}
