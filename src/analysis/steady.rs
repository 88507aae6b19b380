//! The steady part of an over-driven window, found from its counts: what is left after the last level shift.
//!
//! Every partition that runs out of burst lowers the accepted rate by a step, and a partition that splits raises it. The
//! search looks at stretches that end with the window, short ones first, and asks of each whether one change of level
//! explains it better than none (the CUSUM statistic, in units of the noise). The steady part starts after the last
//! change that is found. Noise is measured on differences of neighbouring seconds, so that steps do not inflate it.

use std::ops::Range;

use crate::load::{Second, Window};

/// No steady part is shorter than this many seconds, nor than a tenth of its window.
pub(super) const SHORTEST_S: f64 = 3.0;
/// A change of level counts from this many standard errors: of 1,000 stretches without one, fewer than one shows it.
pub(super) const SIGNIFICANT: f64 = 4.4;
/// One odd second counts as a hiccup, not as two changes of level, from this many standard deviations.
const HICCUP: f64 = 6.0;
/// The first second of a level belongs to it unless it is off by this many standard deviations.
const MIXED: f64 = 2.0;
/// A level that is told in spite of odd seconds after it is at least this many times as long as they are.
const TAIL_TO_LEVEL: f64 = 5.0;
/// The shortest stretch looked at.
const SHORTEST_STRETCH: usize = 4;

/// The trailing run of seconds that belong to the window alone.
pub(super) fn whole_seconds(window: &Window) -> &[Second] {
    let end = window.seconds.iter().rposition(|s| s.whole).map_or(0, |last| last + 1);
    let before = window.seconds.get(..end).unwrap_or_default();
    let start = before.iter().rposition(|s| !s.whole).map_or(0, |last| last + 1);
    before.get(start..).unwrap_or_default()
}

/// The last level that held for at least `needed` seconds: where it starts and ends, in seconds of `settled` counts.
///
/// What follows it may be fewer than three seconds that differ: too few to be a level, so they do not unsay the one before.
pub(super) fn last_level(settled: &[f64], needed: f64) -> Range<usize> {
    let start = level_start(settled);
    let tail = settled.len() - start;
    if tail > 0 && (tail as f64) < SHORTEST_S {
        let before = settled.get(..start).unwrap_or_default();
        let earlier = level_start(before);
        if (start - earlier) as f64 >= needed.max(TAIL_TO_LEVEL * tail as f64) {
            return earlier..start;
        }
    }
    start..settled.len()
}

/// Index of the first second after the last change of level.
fn level_start(counts: &[f64]) -> usize {
    let calm = without_hiccups(counts);
    let mut from = 0;
    // Each round moves the start; partitions are few, and a drift without end is cut short by the limit.
    for _ in 0..64 {
        match calm.get(from..).and_then(last_change) {
            Some(at) if at > 0 => from += at,
            _ => break,
        }
    }
    from + usize::from(is_mixed(calm.get(from..).unwrap_or_default()))
}

/// The counts with what was counted a second late evened out: where one second lacks what the next has too much, as
/// answers held across a second's edge do, both get their mean. No sum over both changes.
pub(super) fn settled(counts: &[f64]) -> Vec<f64> {
    let limit = HICCUP * noise(counts);
    let mut settled = counts.to_vec();
    // The first two may be the burst, which is no hiccup.
    for at in 2..counts.len().saturating_sub(1) {
        let Some([lacks, has]) = settled.get(at..at + 2).and_then(|pair| <[f64; 2]>::try_from(pair).ok()) else { break };
        // Without this the two cannot lie half the limit below and above whatever level there is.
        if has - lacks <= limit {
            continue;
        }
        let about = settled.get(at.saturating_sub(3)..at).into_iter().chain(counts.get(at + 2..(at + 5).min(counts.len())));
        let level = median(about.flatten().copied().collect());
        let mean = f64::midpoint(lacks, has);
        if lacks - level < -limit / 2.0 && has - level > limit / 2.0 && (mean - level).abs() <= limit / 2.0 {
            settled.splice(at..at + 2, [mean, mean]);
        }
    }
    settled
}

fn median(mut values: Vec<f64>) -> f64 {
    let at = values.len() / 2;
    if values.is_empty() { 0.0 } else { *values.select_nth_unstable_by(at, f64::total_cmp).1 }
}

/// Whether the first second holds some of the level before: the second within which a change fell belongs to neither.
fn is_mixed(level: &[f64]) -> bool {
    let Some((first, rest)) = level.split_first().filter(|(_, rest)| rest.len() > SHORTEST_STRETCH) else { return false };
    let mean = rest.iter().sum::<f64>() / rest.len() as f64;
    (first - mean).abs() > MIXED * noise(rest)
}

/// Position of a change of level in the shortest stretch at the end that shows one.
fn last_change(counts: &[f64]) -> Option<usize> {
    let mut length = SHORTEST_STRETCH.min(counts.len());
    while length >= 3 {
        let skipped = counts.len() - length;
        if let Some(at) =
            counts.get(skipped..).and_then(|stretch| change(stretch, noise(counts.get(counts.len().saturating_sub(length.max(16))..)?)))
        {
            return Some(skipped + at);
        }
        if length == counts.len() {
            break;
        }
        length = (length * 2).min(counts.len());
    }
    None
}

/// Position of the change of level that explains these counts best, if it is significant.
fn change(counts: &[f64], noise: f64) -> Option<usize> {
    let total: f64 = counts.iter().sum();
    let length = counts.len() as f64;
    let mut before = 0.0;
    let mut best = (0.0, 0);
    for (at, count) in counts.iter().enumerate() {
        if at > 0 {
            let (left, right) = (at as f64, length - at as f64);
            let shift = (before / left - (total - before) / right).abs() * (left * right / length).sqrt();
            if shift > best.0 {
                best = (shift, at);
            }
        }
        before += count;
    }
    // Few differences measure the noise badly, so short stretches must show more.
    (best.0 > SIGNIFICANT * (1.0 + 4.0 / length) * noise).then_some(best.1)
}

/// Standard deviation of the counts about their level: from the 40th percentile of differences of neighbours, which a
/// few steps do not move. At least one request, and a ten-thousandth of the level: second edges are not sharper.
pub(super) fn noise(counts: &[f64]) -> f64 {
    const QUANTILE_OF_ABSOLUTE_NORMAL: f64 = 0.524;
    let mut steps: Vec<f64> = counts.iter().zip(counts.iter().skip(1)).map(|(a, b)| (a - b).abs()).collect();
    let at = steps.len().saturating_sub(1) * 2 / 5;
    let step = if steps.is_empty() { 0.0 } else { *steps.select_nth_unstable_by(at, f64::total_cmp).1 };
    let level = counts.iter().sum::<f64>() / counts.len().max(1) as f64;
    (step / (QUANTILE_OF_ABSOLUTE_NORMAL * std::f64::consts::SQRT_2)).max(1.0).max(level * 1e-4)
}

/// The counts with single odd seconds replaced by the median about them. The first two and the last two stay: there an
/// odd second is the burst, or a change that has only begun.
pub(super) fn without_hiccups(counts: &[f64]) -> Vec<f64> {
    let limit = HICCUP * noise(counts);
    let mut calm = counts.to_vec();
    for (at, about) in counts.windows(5).enumerate() {
        let mut sorted = [0.0; 5];
        sorted.copy_from_slice(about);
        sorted.sort_by(f64::total_cmp);
        if let Some(odd) = calm.get_mut(at + 2).filter(|odd| (**odd - sorted[2]).abs() > limit) {
            // A step has its like on one side; a hiccup stands alone.
            let alone = about.iter().enumerate().filter(|(i, _)| *i != 2).all(|(_, other)| (*other - *odd).abs() > limit / 2.0);
            if alone {
                *odd = sorted[2];
            }
        }
    }
    calm
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wobble(second: usize) -> f64 {
        [0.0, 2.0, -1.0, 1.0, -2.0, 1.0, -1.0][second % 7]
    }

    #[test]
    fn the_steady_part_starts_after_the_last_step() {
        let counts: Vec<f64> = (0..60)
            .map(|s| {
                wobble(s)
                    + if s < 5 {
                        8_000.0
                    } else if s < 20 {
                        6_000.0
                    } else {
                        5_000.0
                    }
            })
            .collect();
        assert_eq!(level_start(&counts), 20);
        let split: Vec<f64> = (0..300)
            .map(|s| {
                wobble(s)
                    + if s < 2 {
                        7_500.0
                    } else if s < 200 {
                        4_000.0
                    } else {
                        5_000.0
                    }
            })
            .collect();
        assert_eq!(level_start(&split), 200);
    }

    #[test]
    fn a_level_that_never_changes_starts_at_once() {
        assert_eq!(level_start(&[4_000.0; 50]), 0);
        assert_eq!(level_start(&(0..200).map(|s| 4_000.0 + wobble(s)).collect::<Vec<_>>()), 0);
        assert_eq!(level_start(&[]), 0);
        assert_eq!(level_start(&[7.0]), 0);
    }

    #[test]
    fn one_odd_second_is_no_change_of_level() {
        let counts: Vec<f64> = (0..60).map(|s| wobble(s) + if s == 30 { 1_000.0 } else { 4_000.0 }).collect();
        assert_eq!(level_start(&counts), 0);
    }

    #[test]
    fn a_drift_has_no_steady_part() {
        let counts: Vec<f64> = (0..100).map(|s| 4_000.0 + wobble(s) + 20.0 * s as f64).collect();
        assert!(level_start(&counts) > 90);
    }
}
