//! A mean rate with its confidence interval, from counts per second.

use super::assessment::Estimate;

/// No interval is narrower than this share of the value: the clocks and second edges that the counts rest on are not better.
const NARROWEST: f64 = 0.000_05;

/// Correlation is followed over at most a minute, which keeps the work linear in the seconds.
const MOST_LAGS: usize = 60;

/// Mean of counts per second with its 95 % interval.
///
/// Token-limited counts are negatively correlated (what one second took too much the next lacks), arrival noise is not
/// correlated, a wandering bucket is positively: so the variance of the mean is the long-run variance with Bartlett
/// weights (Newey and West 1987), with Student's quantile at the number of independent stretches it rests on. It is
/// never narrower than the edges allow: one request at either end may belong to the neighbouring second.
pub(super) fn mean(counts: &[f64]) -> Option<Estimate> {
    if counts.is_empty() {
        return None;
    }
    let seconds = counts.len() as f64;
    let per_s = counts.iter().sum::<f64>() / seconds;
    let half = half_width(counts, per_s)?;
    Some(Estimate { per_s, ci95: ((per_s - half).max(0.0), per_s + half) })
}

fn half_width(counts: &[f64], mean: f64) -> Option<f64> {
    let seconds = counts.len();
    let edges = edge_half_width(seconds).max(NARROWEST * mean);
    if seconds < 2 {
        return None;
    }
    let variance = long_run_variance(counts, mean, lags(seconds)) / seconds as f64;
    Some((t95(degrees(seconds)) * variance.sqrt()).max(edges))
}

/// Degrees of freedom that the interval of a mean over so many seconds rests on.
pub fn degrees(seconds: usize) -> usize {
    (seconds / (lags(seconds) + 1)).max(2) - 1
}

/// What counting alone leaves open in a mean over so many seconds.
pub(super) fn edge_half_width(seconds: usize) -> f64 {
    2.0 / seconds.max(1) as f64
}

/// Standard deviation per second as it matters over long stretches: noise that one second gives and the next takes back, as
/// answers across second edges do, counts for little.
pub(super) fn long_run_noise(counts: &[f64]) -> f64 {
    let mean = counts.iter().sum::<f64>() / counts.len().max(1) as f64;
    long_run_variance(counts, mean, (counts.len() / 6).min(MOST_LAGS)).sqrt()
}

fn lags(seconds: usize) -> usize {
    if seconds < 12 { 0 } else { (0.75 * (seconds as f64).cbrt()).ceil() as usize }
}

fn long_run_variance(counts: &[f64], mean: f64, lags: usize) -> f64 {
    let seconds = counts.len();
    let covariance = |lag: usize| {
        let sum: f64 = counts.iter().zip(counts.iter().skip(lag)).map(|(a, b)| (a - mean) * (b - mean)).sum();
        sum / seconds.saturating_sub(1).max(1) as f64
    };
    let correlated: f64 = (1..=lags).map(|lag| 2.0 * (1.0 - lag as f64 / (lags as f64 + 1.0)) * covariance(lag)).sum();
    (covariance(0) + correlated).max(0.0)
}

/// Two-sided 95 % quantile of Student's distribution.
pub(super) fn t95(degrees: usize) -> f64 {
    const SMALL: [f64; 10] = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228];
    match degrees {
        0 => f64::INFINITY,
        d => SMALL.get(d - 1).copied().unwrap_or_else(|| 1.96 + 2.6 / d as f64),
    }
}

/// The mean of estimates, each weighted by the seconds that it rests on, and its interval: that of a mean of independent
/// estimates, never narrower than the clocks allow or than what they disagree by among themselves. (Weights from the
/// intervals themselves would favour those that are narrow by chance.)
pub(super) fn pool(estimates: &[Estimate], seconds: &[f64]) -> Option<Estimate> {
    let total: f64 = seconds.iter().sum();
    if estimates.is_empty() || estimates.len() != seconds.len() || !total.is_finite() || total <= 0.0 {
        return None;
    }
    let sum = |of: &dyn Fn(&Estimate, f64) -> f64| estimates.iter().zip(seconds).map(|(e, s)| of(e, s / total)).sum::<f64>();
    let per_s = sum(&|e, weight| weight * e.per_s);
    let half = sum(&|e, weight| (weight * (e.ci95.1 - e.per_s)).powi(2)).sqrt();
    let spread = estimates.iter().map(|e| (e.per_s - per_s).abs()).fold(0.0, f64::max) / (estimates.len() as f64).sqrt();
    let half = half.max(NARROWEST * per_s).max(if estimates.len() > 1 { spread } else { 0.0 });
    Some(Estimate { per_s, ci95: ((per_s - half).max(0.0), per_s + half) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Roughly normal noise from a small generator, so that the test needs no seed from outside.
    struct Noise(u64);

    impl Noise {
        fn uniform(&mut self) -> f64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 11) as f64 / (1u64 << 53) as f64
        }
        fn normal(&mut self) -> f64 {
            (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
        }
    }

    fn coverage(seconds: usize, mut series: impl FnMut(&mut Noise, usize) -> Vec<f64>) -> f64 {
        let mut noise = Noise(7);
        let runs = 2_000;
        let covered = (0..runs)
            .filter(|_| {
                let estimate = mean(&series(&mut noise, seconds)).expect("an estimate");
                estimate.ci95.0 <= 4_000.0 && 4_000.0 <= estimate.ci95.1
            })
            .count();
        covered as f64 / f64::from(runs)
    }

    #[test]
    fn the_interval_covers_the_truth_as_often_as_it_says() {
        for seconds in [3, 5, 10, 30, 120, 480] {
            let white = coverage(seconds, |n, s| (0..s).map(|_| (4_000.0 + 40.0 * n.normal()).round()).collect());
            assert!((0.93..=1.0).contains(&white), "uncorrelated, {seconds} s: {white}");
            let token_limited = coverage(seconds, |n, s| {
                let mut level = 3.0 * n.normal();
                (0..s)
                    .map(|_| {
                        let next = 3.0 * n.normal();
                        let count = (4_000.0 + next - level).round();
                        level = next;
                        count
                    })
                    .collect()
            });
            assert!((0.93..=1.0).contains(&token_limited), "token-limited, {seconds} s: {token_limited}");
        }
        for seconds in [30, 120, 480] {
            let wandering = coverage(seconds, |n, s| {
                let mut level = 0.0;
                (0..s)
                    .map(|_| {
                        level = 0.5 * level + 20.0 * n.normal();
                        4_000.0 + level
                    })
                    .collect()
            });
            assert!(wandering > 0.88, "positively correlated, {seconds} s: {wandering}");
        }
    }

    #[test]
    fn a_token_limited_mean_is_known_better_than_arrival_noise_allows() {
        let alternating: Vec<f64> = (0..120).map(|s| if s % 2 == 0 { 4_010.0 } else { 3_990.0 }).collect();
        let estimate = mean(&alternating).expect("an estimate");
        assert!(estimate.ci95.1 - estimate.per_s < 1.0, "{estimate:?}");
        let flat = mean(&[4_000.0; 20]).expect("an estimate");
        assert!(flat.ci95.1 - flat.per_s >= 0.1, "two edges over 20 s: {flat:?}");
    }

    proptest! {
        #[test]
        fn a_pooled_estimate_lies_among_its_windows(values in prop::collection::vec((1.0f64..1e5, 0.01f64..50.0), 1..9)) {
            let estimates: Vec<Estimate> = values.iter().map(|(v, h)| Estimate { per_s: *v, ci95: (v - h, v + h) }).collect();
            let seconds = vec![30.0; estimates.len()];
            let pooled = pool(&estimates, &seconds).expect("an estimate");
            let low = values.iter().map(|v| v.0).fold(f64::INFINITY, f64::min);
            let high = values.iter().map(|v| v.0).fold(0.0, f64::max);
            prop_assert!(pooled.per_s >= low - 1e-6 && pooled.per_s <= high + 1e-6);
            prop_assert!(pooled.ci95.0 <= pooled.per_s && pooled.per_s <= pooled.ci95.1);
        }

        #[test]
        fn whatever_is_counted_the_estimate_is_finite(counts in prop::collection::vec(0u32..1_000_000, 0..40)) {
            let counts: Vec<f64> = counts.into_iter().map(f64::from).collect();
            if let Some(e) = mean(&counts) {
                prop_assert!(e.per_s.is_finite() && e.ci95.0.is_finite() && e.ci95.1.is_finite());
            }
        }
    }
}
