//! The burst of an over-driven window: what was accepted above the saturated ceiling, how well that is known, and whether
//! what came before had left time to refill. All in requests of the window's operation.

use crate::load::{BUCKET, Row, Snapshot, Window, WindowId};

use super::assessment::Estimate;

/// A burst is stated only if it is known within this share of itself.
pub(super) const KNOWN_WITHIN: f64 = 0.10;
/// At the window's start at most this share of the burst may be missing.
pub(super) const MISSING_AT_MOST: f64 = 0.05;
/// How far back a deficit is followed: six times the 300 s of unused capacity that the service keeps at most.
const LOOK_BACK_ROWS: usize = 1_800;
/// One-sided 95 % quantile of the normal distribution.
const ONE_SIDED: f64 = 1.645;
/// Two-sided 95 % quantile of the normal distribution.
const TWO_SIDED: f64 = 1.96;

/// Requests accepted above the ceiling over the whole window, or so far. Those in flight are expected to fare like those that
/// completed.
pub(super) fn above_ceiling(window: &Window, span_s: f64, per_s: f64) -> f64 {
    let counts = &window.counts;
    let completed = counts.completed().max(1) as f64;
    let expected = counts.open().max(0) as f64 * counts.accepted as f64 / completed;
    counts.accepted as f64 + expected - per_s * span_s
}

/// How far the burst may be off, in requests.
///
/// Two things leave it open. The ceiling's own interval counts once for every second before the steady part, as does the
/// arrival noise of partitions that still had burst. And the steady part may hide a step too small to see: a partition
/// only slightly over-driven that ran out in the middle of it. The largest such step that the counts allow is assumed.
pub(super) fn uncertainty(before_s: f64, steady: &[f64], ceiling: Estimate) -> f64 {
    let length = steady.len() as f64;
    let half = ceiling.ci95.1 - ceiling.per_s;
    let noise = super::estimate::long_run_noise(steady).max(super::estimate::edge_half_width(steady.len()) / TWO_SIDED * length.sqrt());
    let level = before_s * half;
    let arrivals = TWO_SIDED * noise * before_s.sqrt();
    let total: f64 = steady.iter().sum();
    let tail = (length / 10.0).max(super::steady::SHORTEST_S);
    let mut sum = 0.0;
    let mut hidden: f64 = 0.0;
    for (at, count) in steady.iter().enumerate() {
        let (left, right) = (at as f64, length - at as f64);
        if at > 0 && right >= tail {
            let seen = sum / left - (total - sum) / right;
            let step = seen + ONE_SIDED * noise * (left.recip() + right.recip()).sqrt();
            hidden = hidden.max(step * left * (before_s + length) / length);
        }
        sum += count;
    }
    level.hypot(arrivals).max(hidden) + 2.0
}

/// What may have been refilled in vain before the steady part, in requests: while the client stands still, a full burst
/// stays full. A stall makes as many intents late or shed as came due in it, and refills at the ceiling meanwhile.
pub(super) fn wasted_at_most(window: &Window, before_s: f64, per_s: f64) -> f64 {
    let early = window.seconds.iter().filter(|s| s.start.since(window.spec.start).as_secs_f64() < before_s);
    let behind: u64 = early.map(|s| s.counts.shed + s.counts.late).sum();
    behind as f64 * (per_s / window.spec.rate.per_s()).min(1.0)
}

/// How much of the burst was missing when the window started, in requests: the deficit that earlier load of the same
/// operation left, drained at the ceiling. A second that throttled had at least one empty partition; it counts as if all
/// the burst (`largest`, the largest seen so far) were gone.
pub(super) fn missing_at_start(load: &Snapshot, window: &Window, per_s: f64, largest: f64) -> f64 {
    let start = window.spec.start;
    let ends_by_start = |row: &Row| row.start.plus(BUCKET * row.span_s.max(1)) <= start;
    let end = load.rows.partition_point(ends_by_start);
    let from = end.saturating_sub(LOOK_BACK_ROWS);
    let mut missing: f64 = 0.0;
    for row in load.rows.get(from..end).unwrap_or_default() {
        let before = row.window.and_then(|id| find(load, id));
        let same = before.is_none_or(|w| w.spec.op == window.spec.op || w.spec.beside.is_some());
        // Items of another size take other units: what was accepted of them counts in requests of this window's size.
        let size = before.map_or(1.0, |w| size(w, window));
        let accepted = if same { row.counts.accepted as f64 * size } else { 0.0 };
        missing = drained(missing, accepted, per_s, f64::from(row.span_s.max(1)));
        if same && row.counts.throttled > 0 {
            missing = missing.max(largest);
        }
    }
    // A window steered by hand starts within a second; what that second held before it belongs to the past.
    if let Some(row) = load.rows.get(end).filter(|row| row.start < start) {
        let own = window.seconds.first().filter(|s| s.start == row.start).map(|s| s.counts).unwrap_or_default();
        let accepted = row.counts.accepted.saturating_sub(own.accepted) as f64;
        missing = drained(missing, accepted, per_s, start.since(row.start).as_secs_f64());
        if row.counts.throttled > own.throttled {
            missing = missing.max(largest);
        }
    }
    missing
}

fn drained(missing: f64, accepted: f64, per_s: f64, span_s: f64) -> f64 {
    (missing + accepted - per_s * span_s).max(0.0)
}

fn find(load: &Snapshot, id: WindowId) -> Option<&Window> {
    // Windows are numbered in the order in which they open.
    let at = load.windows.binary_search_by_key(&id, |w| w.spec.id).ok()?;
    load.windows.get(at).map(AsRef::as_ref)
}

/// What one request of an earlier window counts for, in requests of this one; 1 where the service stated no units.
fn size(earlier: &Window, window: &Window) -> f64 {
    earlier.units_per_request().zip(window.units_per_request()).map_or(1.0, |(theirs, ours)| theirs / ours)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_deficit_is_never_negative_and_rest_drains_it(start in 0.0f64..1e6, per_s in 0.1f64..1e5, rest in 0u32..1_000) {
            let mut missing = start;
            for _ in 0..rest {
                missing = drained(missing, 0.0, per_s, 1.0);
            }
            let expected = (start - per_s * f64::from(rest)).max(0.0);
            prop_assert!((missing - expected).abs() <= 1e-6 * start.max(1.0));
        }
    }

    #[test]
    fn noise_widens_what_a_burst_leaves_open() {
        let ceiling = |half: f64| Estimate { per_s: 4_000.0, ci95: (4_000.0 - half, 4_000.0 + half) };
        let quiet = uncertainty(5.0, &[4_000.0; 60], ceiling(0.1));
        // Ups and downs without a rhythm that neighbours could cancel.
        let noisy: Vec<f64> =
            (0..60).map(|s| 4_000.0 + [40.0, 40.0, -40.0, 40.0, -40.0, -40.0, 40.0, -40.0, -40.0, 40.0, 40.0][s % 11]).collect();
        let noisy = uncertainty(5.0, &noisy, ceiling(10.0));
        assert!(quiet < 40.0 && noisy > 10.0 * quiet, "{quiet} {noisy}");
    }
}
