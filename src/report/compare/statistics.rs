//! What is significant: tests of a difference between two measured values, and the control of many tests at once.

use statrs::distribution::{Binomial, ContinuousCDF as _, DiscreteCDF as _, Normal, StudentsT};

use crate::load::Latency;

/// A family of tests is allowed this chance of calling any difference where there is none.
pub(super) const ALPHA: f64 = 0.05;
/// A smaller difference is not called, however significant: nobody would act on it.
pub(super) const SMALLEST_SHARE: f64 = 0.005;
/// Histograms hold three digits: half of that is how far a value may lie from the one that was recorded.
const RESOLUTION_SHARE: f64 = 0.000_5;
/// And no less than half a microsecond, in milliseconds.
const RESOLUTION_MS: f64 = 0.000_5;

/// Fewer seconds than this say nothing of how much they differ.
const FEWEST_SECONDS: usize = 3;

/// A value with its 95 % interval, and the degrees of freedom that the interval rests on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Measured {
    pub(super) value: f64,
    pub(super) low: f64,
    pub(super) high: f64,
    /// Infinite where the interval is that of a normal distribution.
    pub(super) degrees: f64,
}

impl Measured {
    fn half_towards(&self, larger: bool) -> f64 {
        if larger { self.high - self.value } else { self.value - self.low }.max(0.0)
    }
}

/// How likely values so far apart are where there is no difference: Welch's test, with the standard errors that the two
/// intervals imply. Of an interval that is not symmetric the half that faces the other value counts.
pub(super) fn p_of_difference(base: &Measured, new: &Measured) -> f64 {
    let apart = new.value - base.value;
    if apart == 0.0 {
        return 1.0;
    }
    let error = |of: &Measured, larger: bool| of.half_towards(larger) / two_sided_95(of.degrees);
    let (a, b) = (error(base, apart > 0.0).powi(2), error(new, apart < 0.0).powi(2));
    if a + b <= 0.0 {
        return 0.0;
    }
    let degrees = (a + b).powi(2) / (a.powi(2) / base.degrees + b.powi(2) / new.degrees);
    two_sided_tail(apart.abs() / (a + b).sqrt(), degrees)
}

/// The mean of a few values, their standard deviation, and the 95 % interval of the mean. `None` below two values.
pub(super) fn mean_of(values: &[f64]) -> Option<(f64, f64, (f64, f64))> {
    if values.len() < 2 {
        return None;
    }
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let deviation = (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt();
    let half = two_sided_95(n - 1.0) * deviation / n.sqrt();
    Some((mean, deviation, (mean - half, mean + half)))
}

/// Holm's step-down: each p-value as it counts when all of them are asked at once.
pub(super) fn holm(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut adjusted = vec![1.0; values.len()];
    let mut largest = 0.0_f64;
    for (rank, at) in order.into_iter().enumerate() {
        largest = largest.max(values[at] * (values.len() - rank) as f64).min(1.0);
        adjusted[at] = largest;
    }
    adjusted
}

/// A quantile in milliseconds. Its interval is that of order statistics: how many of `n` values lie below the true quantile is
/// binomial, whatever the distribution. Since requests of one second are alike, it is never narrower than what the quantiles of
/// single seconds, `by_second`, disagree by. `None` where too few values were recorded to bound it on both sides.
pub(super) fn quantile(latency: &Latency, q: f64, by_second: &[f64]) -> Option<Measured> {
    let n = latency.count();
    let below = Binomial::new(q, n).ok()?;
    let (low, high) = (below.inverse_cdf(0.025), below.inverse_cdf(0.975) + 1);
    if low == 0 || high > n {
        return None;
    }
    let at_rank = |rank: u64| latency.quantile_ms((rank as f64 - 0.5) / n as f64);
    let value = latency.quantile_ms(q)?;
    let resolution = (value * RESOLUTION_SHARE).max(RESOLUTION_MS);
    let mut measured = Measured {
        value,
        low: at_rank(low)?.min(value) - resolution,
        high: at_rank(high)?.max(value) + resolution,
        degrees: f64::INFINITY,
    };
    if by_second.len() >= FEWEST_SECONDS
        && let Some((mean, _, (_, most))) = mean_of(by_second)
    {
        let half = most - mean;
        if half > measured.value - measured.low || half > measured.high - measured.value {
            measured.low = measured.low.min(value - half);
            measured.high = measured.high.max(value + half);
            measured.degrees = by_second.len() as f64 - 1.0;
        }
    }
    Some(measured)
}

fn two_sided_95(degrees: f64) -> f64 {
    match StudentsT::new(0.0, 1.0, degrees) {
        Ok(student) if degrees.is_finite() => student.inverse_cdf(0.975),
        _ => Normal::standard().inverse_cdf(0.975),
    }
}

fn two_sided_tail(t: f64, degrees: f64) -> f64 {
    let tail = match StudentsT::new(0.0, 1.0, degrees) {
        Ok(student) if degrees.is_finite() => student.sf(t),
        _ => Normal::standard().sf(t),
    };
    (2.0 * tail).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn known(value: f64, half: f64, degrees: f64) -> Measured {
        Measured { value, low: value - half, high: value + half, degrees }
    }

    #[test]
    fn intervals_that_just_touch_at_right_angles_are_significant_at_five_per_cent() {
        // Half widths of 3 and 4 make one of 5.
        let p = p_of_difference(&known(100.0, 3.0, f64::INFINITY), &known(105.0, 4.0, f64::INFINITY));
        assert!((p - 0.05).abs() < 1e-6, "{p}");
        // A published example of Welch's test: 15 values each, t = 2.47 at 25 degrees of freedom, p = 0.021.
        let student = |value: f64, error: f64, degrees: f64| known(value, two_sided_95(degrees) * error, degrees);
        let p = p_of_difference(&student(20.82, (7.9_f64 / 15.0).sqrt(), 14.0), &student(23.0, (3.8_f64 / 15.0).sqrt(), 14.0));
        assert!((p - 0.021).abs() < 0.000_6, "{p}");
        assert!(p_of_difference(&known(1.0, 0.0, 5.0), &known(1.0, 0.0, 5.0)) > 0.999);
        assert!(p_of_difference(&known(1.0, 0.0, 5.0), &known(2.0, 0.0, 5.0)) < 0.001);
    }

    #[test]
    fn holm_is_as_published() {
        let adjusted = holm(&[0.01, 0.04, 0.03, 0.005]);
        for (got, want) in adjusted.iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert!((got - want).abs() < 1e-12, "{adjusted:?}");
        }
        assert!(holm(&[]).is_empty());
    }

    #[test]
    fn the_interval_of_a_quantile_covers_it_as_often_as_it_says() {
        let mut state = 9_u64;
        let mut unit = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        for q in [0.5_f64, 0.99] {
            let truth = -(1.0 - q).ln() * 10.0;
            let covered = (0..400)
                .filter(|_| {
                    let mut latency = Latency::default();
                    for _ in 0..2_000 {
                        latency.record_micros((-(1.0 - unit()).ln() * 10_000.0) as u64);
                    }
                    let measured = quantile(&latency, q, &[]).expect("enough values");
                    measured.low <= truth && truth <= measured.high
                })
                .count();
            assert!((372..=396).contains(&covered), "quantile {q}: {covered} of 400");
        }
    }

    #[test]
    fn a_quantile_that_few_values_cannot_bound_has_no_interval() {
        let mut latency = Latency::default();
        for n in 1..=300 {
            latency.record_micros(n * 100);
        }
        assert!(quantile(&latency, 0.99, &[]).is_none() && quantile(&latency, 0.5, &[]).is_some());
        assert!(quantile(&Latency::default(), 0.5, &[]).is_none());
        for n in 0..200 {
            let mut latency = Latency::default();
            for value in 0..n {
                latency.record_micros(1_000 + value);
            }
            for q in [0.5, 0.99] {
                let bounded = quantile(&latency, q, &[]);
                assert!(bounded.is_none_or(|m| m.low <= m.value && m.value <= m.high), "{n} values: {bounded:?}");
            }
        }
        let (alone, beside) = (quantile(&latency, 0.5, &[]), quantile(&latency, 0.5, &[5.0, 25.0, 15.0]));
        assert!(beside.map(|m| m.high) > alone.map(|m| m.high), "seconds that disagree widen it");
    }

    proptest! {
        #[test]
        fn whatever_is_compared_a_p_value_is_one(
            a in -1e9f64..1e9, b in -1e9f64..1e9, half in 0.0f64..1e6, degrees in prop_oneof![1.0f64..200.0, Just(f64::INFINITY)],
        ) {
            let p = p_of_difference(&known(a, half, degrees), &known(b, half / 2.0, degrees));
            prop_assert!((0.0..=1.0).contains(&p), "{p}");
        }

        #[test]
        fn correcting_for_many_tests_never_makes_one_more_significant(values in prop::collection::vec(0.0f64..1.0, 0..30)) {
            for (adjusted, alone) in holm(&values).iter().zip(&values) {
                prop_assert!(adjusted >= alone && *adjusted <= 1.0);
            }
        }
    }
}
