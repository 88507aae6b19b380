//! The levels of an accepted rate, and where one gives way to the next.
//!
//! The counts are cut where one change of level explains a stretch better than none does (the CUSUM statistic, in units of
//! the noise), each piece again until none shows a change; then every cut is placed anew between its neighbours, and those
//! that are too small or no more than noise are taken back, weakest first. The work is `n log n` in the seconds.

use std::ops::Range;

use super::steady::{SIGNIFICANT, noise, settled, without_hiccups};

/// Levels that differ by less than this share are one level: the spread that windows of one ceiling show among themselves.
pub(super) const SMALLEST: f64 = 0.02;
/// No level is shorter than this many seconds, but for the burst at the start.
const SHORTEST: usize = 3;
/// A level no longer than this that returns to the one before is a disturbance, not two steps.
const DISTURBANCE: usize = 10;
/// A step smaller than this share of the one before or after it, within that time, is part of it.
const TRANSIENT: f64 = 0.25;
/// Seconds from which a level's own noise can be told.
const ENOUGH_FOR_NOISE: usize = 8;

/// A stretch of seconds over which the rate stayed the same.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Level {
    /// Its seconds, without those within which it began or ended.
    pub(super) core: Range<usize>,
    /// When it began, seconds from the first, to a part of a second where that can be told.
    pub(super) start: f64,
    /// Mean of its core.
    pub(super) per_s: f64,
    /// Standard deviation of a second of it.
    pub(super) noise: f64,
}

impl Level {
    /// Seconds in its core.
    pub(super) fn length(&self) -> f64 {
        self.core.len() as f64
    }
}

/// Standard errors by which two levels differ.
pub(super) fn standard_errors(a: (f64, f64, f64), b: (f64, f64, f64)) -> f64 {
    let of = |(_, noise, length): (f64, f64, f64)| noise * noise / length.max(1.0);
    (a.0 - b.0).abs() / (of(a) + of(b)).sqrt().max(f64::MIN_POSITIVE)
}

/// The levels of counts per second, in order; none where there are fewer than three seconds.
pub(super) fn levels(counts: &[f64]) -> Vec<Level> {
    if counts.len() < SHORTEST {
        return Vec::new();
    }
    let calm = without_hiccups(&settled(counts));
    let series = Series::new(&calm);
    let mut cuts = series.cuts();
    for _ in 0..2 {
        series.place_anew(&mut cuts);
    }
    let mut pieces = series.pieces(&cuts);
    series.drop_the_weak(&mut pieces);
    series.join_alike(&mut pieces);
    Series::drop_disturbances(&mut pieces);
    series.join_alike(&mut pieces);
    series.levels(&pieces)
}

/// Whether a level that lasted only shortly belongs to a neighbour: its step from there is small against the other one. A
/// partition that has just been halved starts without savings, so that the first seconds after a step may lack a little.
fn belongs(to: &Level, short: &Level, other: &Level) -> bool {
    short.length() <= DISTURBANCE as f64 && (short.per_s - to.per_s).abs() < TRANSIENT * (short.per_s - other.per_s).abs()
}

/// A level in the making. Disturbances inside it are left out of its mean.
#[derive(Clone, Debug)]
struct Piece {
    range: Range<usize>,
    /// Sum and number of the seconds that count.
    sum: f64,
    seconds: usize,
    noise: f64,
}

impl Piece {
    fn mean(&self) -> f64 {
        self.sum / self.seconds.max(1) as f64
    }

    fn figures(&self) -> (f64, f64, f64) {
        (self.mean(), self.noise, self.seconds as f64)
    }
}

struct Series<'a> {
    counts: &'a [f64],
    /// Sum of the counts before each second, and of all.
    sums: Vec<f64>,
}

impl<'a> Series<'a> {
    fn new(counts: &'a [f64]) -> Self {
        let mut sums = Vec::with_capacity(counts.len() + 1);
        let mut sum = 0.0;
        sums.push(sum);
        for count in counts {
            sum += count;
            sums.push(sum);
        }
        Self { counts, sums }
    }

    fn sum(&self, range: &Range<usize>) -> f64 {
        let at = |place: usize| self.sums.get(place).copied().unwrap_or_default();
        at(range.end) - at(range.start)
    }

    fn mean(&self, range: &Range<usize>) -> f64 {
        self.sum(range) / range.len().max(1) as f64
    }

    fn slice(&self, range: Range<usize>) -> &[f64] {
        self.counts.get(range.start..range.end.min(self.counts.len())).unwrap_or_default()
    }

    /// The cut that explains a stretch best, and by how much: the shift in the CUSUM statistic.
    fn best_cut(&self, range: &Range<usize>) -> Option<(usize, f64)> {
        // The burst at the very start may last for less than a second.
        let first = if range.start == 0 { 1 } else { SHORTEST };
        let mut best: Option<(usize, f64)> = None;
        for at in range.start + first..(range.end + 1).saturating_sub(SHORTEST) {
            let (left, right) = (range.start..at, at..range.end);
            let weight = (left.len() * right.len()) as f64 / range.len() as f64;
            let shift = (self.mean(&left) - self.mean(&right)).abs() * weight.sqrt();
            if best.is_none_or(|(_, most)| shift > most) {
                best = Some((at, shift));
            }
        }
        best
    }

    fn cuts(&self) -> Vec<usize> {
        let mut cuts = Vec::new();
        let mut open: Vec<Range<usize>> = std::iter::once(0..self.counts.len()).collect();
        while let Some(range) = open.pop() {
            let limit = needed(range.len()) * noise(self.slice(range.clone()));
            if let Some((at, _)) = self.best_cut(&range).filter(|(_, shift)| *shift > limit) {
                cuts.push(at);
                open.push(range.start..at);
                open.push(at..range.end);
            }
        }
        cuts.sort_unstable();
        cuts
    }

    fn place_anew(&self, cuts: &mut [usize]) {
        for at in 0..cuts.len() {
            let from = at.checked_sub(1).and_then(|before| cuts.get(before)).copied().unwrap_or(0);
            let to = cuts.get(at + 1).copied().unwrap_or(self.counts.len());
            if let (Some((best, _)), Some(cut)) = (self.best_cut(&(from..to)), cuts.get_mut(at)) {
                *cut = best;
            }
        }
    }

    fn piece(&self, range: Range<usize>) -> Piece {
        // A short level borrows from its neighbours; the few steps among them do not move the estimate.
        let about = if range.len() < ENOUGH_FOR_NOISE {
            range.start.saturating_sub(ENOUGH_FOR_NOISE)..range.end + ENOUGH_FOR_NOISE
        } else {
            range.clone()
        };
        Piece { sum: self.sum(&range), seconds: range.len(), noise: noise(self.slice(about)), range }
    }

    fn pieces(&self, cuts: &[usize]) -> Vec<Piece> {
        let ends = cuts.iter().copied().chain(std::iter::once(self.counts.len()));
        let mut from = 0;
        ends.map(|to| self.piece(std::mem::replace(&mut from, to)..to)).collect()
    }

    /// Takes back cuts that are too small or no more than noise, weakest first.
    fn drop_the_weak(&self, pieces: &mut Vec<Piece>) {
        loop {
            let strength = |pair: &[Piece]| match pair {
                [a, b] => {
                    let noise = standard_errors(a.figures(), b.figures()) / needed(a.seconds + b.seconds);
                    noise.min((a.mean() - b.mean()).abs() / (SMALLEST * a.mean().max(b.mean())).max(f64::MIN_POSITIVE))
                }
                _ => f64::INFINITY,
            };
            let weakest = pieces.windows(2).map(strength).enumerate().min_by(|a, b| a.1.total_cmp(&b.1));
            let Some((at, _)) = weakest.filter(|(_, strength)| *strength < 1.0) else { return };
            self.join(pieces, at);
        }
    }

    /// Makes one of a piece and the next.
    fn join(&self, pieces: &mut Vec<Piece>, at: usize) {
        let after = pieces.remove(at + 1);
        if let Some(before) = pieces.get_mut(at) {
            let range = before.range.start..after.range.end;
            let (sum, seconds) = (before.sum + after.sum, before.seconds + after.seconds);
            *before = if seconds == range.len() {
                self.piece(range)
            } else {
                Piece { range, sum, seconds, noise: before.noise.max(after.noise) }
            };
        }
    }

    /// Joins levels that are one, once the seconds that part them are left out.
    fn join_alike(&self, pieces: &mut Vec<Piece>) {
        loop {
            let levels = self.levels(pieces);
            let alike = |pair: &[Level]| matches!(pair, [a, b] if (a.per_s - b.per_s).abs() < SMALLEST * a.per_s.max(b.per_s));
            // The first may be the burst, against which every step is small.
            let transient = |at: usize| match levels.get(at..at + 3) {
                Some([a, b, c]) if at > 0 && belongs(c, b, a) => Some(at + 1),
                Some([a, b, c]) if at > 0 && belongs(a, b, c) => Some(at),
                _ => None,
            };
            let Some(at) = levels.windows(2).position(alike).or_else(|| (0..levels.len()).find_map(transient)) else { return };
            self.join(pieces, at);
        }
    }

    /// Joins what a short disturbance parted, and leaves the disturbance out.
    fn drop_disturbances(pieces: &mut Vec<Piece>) {
        let mut at = 1;
        while at + 1 < pieces.len() {
            let (Some(before), Some(odd), Some(after)) = (pieces.get(at - 1), pieces.get(at), pieces.get(at + 1)) else { return };
            let (a, b) = (before.mean(), after.mean());
            let returns = (a - b).abs() <= SMALLEST * a.max(b) && before.seconds >= SHORTEST;
            if returns && odd.seconds <= DISTURBANCE {
                let joined = Piece {
                    range: before.range.start..after.range.end,
                    sum: before.sum + after.sum,
                    seconds: before.seconds + after.seconds,
                    noise: before.noise.max(after.noise),
                };
                pieces.splice(at - 1..=at + 1, [joined]);
            } else {
                at += 1;
            }
        }
    }

    fn levels(&self, pieces: &[Piece]) -> Vec<Level> {
        let mut levels: Vec<Level> = Vec::with_capacity(pieces.len());
        let mut mixed_before: Option<Edge> = None;
        for (at, piece) in pieces.iter().enumerate() {
            let edge = pieces.get(at + 1).map(|next| self.edge(piece, next));
            let from = mixed_before.as_ref().map_or(piece.range.start, |edge| edge.core_from.max(piece.range.start));
            let to = edge.as_ref().map_or(piece.range.end, |edge| edge.core_to.min(piece.range.end));
            let core = if from < to { from..to } else { piece.range.clone() };
            // Only a piece without disturbance inside can be taken again from its seconds.
            let whole = piece.seconds == piece.range.len();
            let per_s = if whole { self.mean(&core) } else { piece.mean() };
            let start = mixed_before.as_ref().map_or(piece.range.start as f64, |edge| edge.at);
            levels.push(Level { core, start, per_s, noise: piece.noise });
            mixed_before = edge;
        }
        levels
    }

    /// Where one level gives way to the next: the second within which it does holds some of either and tells how much.
    fn edge(&self, before: &Piece, after: &Piece) -> Edge {
        let cut = after.range.start;
        let (low, high) = (self.clear_mean(before, true), self.clear_mean(after, false));
        let size = high - low;
        let limit = |piece: &Piece| (3.0 * piece.noise).max(0.03 * size.abs());
        for mixed in [cut.saturating_sub(1), cut] {
            let Some(count) = self.counts.get(mixed).copied() else { continue };
            let between = (count - low) * size.signum() > limit(before) && (high - count) * size.signum() > limit(after);
            if between {
                return Edge { at: mixed as f64 + ((high - count) / size).clamp(0.0, 1.0), core_to: mixed, core_from: mixed + 1 };
            }
        }
        Edge { at: cut as f64, core_to: cut, core_from: cut }
    }

    /// Mean of a level without the second at one of its ends.
    fn clear_mean(&self, piece: &Piece, without_last: bool) -> f64 {
        let range = piece.range.clone();
        if piece.seconds < range.len() || range.len() < SHORTEST {
            return piece.mean();
        }
        self.mean(&if without_last { range.start..range.end - 1 } else { range.start + 1..range.end })
    }
}

struct Edge {
    at: f64,
    core_to: usize,
    core_from: usize,
}

/// Standard errors that a change must show in a stretch of so many seconds; few differences measure the noise badly.
fn needed(seconds: usize) -> f64 {
    SIGNIFICANT * (1.0 + 4.0 / seconds.max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn wobble(second: usize) -> f64 {
        [0.0, 2.0, -1.0, 1.0, -2.0, 1.0, -1.0][second % 7]
    }

    fn found(levels: &[Level]) -> Vec<(f64, f64)> {
        levels.iter().map(|l| ((l.start * 10.0).round() / 10.0, l.per_s.round())).collect()
    }

    #[test]
    fn a_level_begins_where_the_second_that_holds_some_of_both_says() {
        let counts: Vec<f64> = (0..40)
            .map(|s| {
                wobble(s)
                    + match s {
                        0..10 => 4_000.0,
                        10 => 4_300.0,
                        11..25 => 5_000.0,
                        _ => 4_500.0,
                    }
            })
            .collect();
        assert_eq!(found(&levels(&counts)), [(0.0, 4_000.0), (10.7, 5_000.0), (25.0, 4_500.0)]);
    }

    #[test]
    fn a_disturbance_that_passes_is_no_level() {
        let counts: Vec<f64> = (0..60).map(|s| wobble(s) + if (20..26).contains(&s) { 2_000.0 } else { 4_000.0 }).collect();
        assert_eq!(found(&levels(&counts)), [(0.0, 4_000.0)]);
    }

    #[test]
    fn a_burst_of_one_second_is_told_from_the_level_after_it() {
        let counts: Vec<f64> = (0..60).map(|s| wobble(s) + if s == 0 { 7_900.0 } else { 4_000.0 }).collect();
        assert_eq!(found(&levels(&counts)), [(0.0, 7_900.0), (1.0, 4_000.0)]);
    }

    proptest! {
        #[test]
        fn levels_follow_each_other_and_stay_within_the_counts(counts in prop::collection::vec(0u32..10_000, 0..200)) {
            let counts: Vec<f64> = counts.into_iter().map(f64::from).collect();
            let levels = levels(&counts);
            prop_assert_eq!(levels.is_empty(), counts.len() < 3);
            for pair in levels.windows(2) {
                prop_assert!(pair[0].core.end <= pair[1].core.start && pair[0].start < pair[1].start);
            }
            for level in &levels {
                prop_assert!(level.per_s.is_finite() && !level.core.is_empty() && level.core.end <= counts.len());
            }
        }
    }
}
