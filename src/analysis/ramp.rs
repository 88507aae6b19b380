//! What a ramp shows: at which rate throttling began. Its rate changes all along, so it has no steady part and no ceiling.

use crate::load::{Rate, Snapshot, Window};

use super::assessment::{Assessment, Caveat, VerdictKind};
use super::client;
use super::session::Context;
use super::steady::SHORTEST_S;
use super::window::{CLIENT_SHORT, Judged, failure_evidence, is_steady_throttling, reasons, verdict};
use super::words::{count_in_words, per_s_in_words, seconds};

/// The highest rate that a window offers, operations/s.
pub(super) fn peak(window: &Window) -> f64 {
    window.spec.ramp_to.map_or(0.0, Rate::per_s).max(window.spec.rate.per_s())
}

/// Judges a window that is a ramp to a rate, of which so many seconds have passed.
pub(super) fn judge(
    load: &Snapshot,
    window: &Window,
    context: &Context,
    to: Rate,
    span_s: f64,
    mut assessment: Assessment,
    mut caveats: Vec<Caveat>,
) -> Judged {
    let counts = &window.counts;
    caveats.push(Caveat::Ramp);
    let short = counts.client_shortfall().is_some_and(|share| share >= CLIENT_SHORT);
    if short {
        caveats.push(Caveat::ClientSaturated);
    }
    let words = format!("a ramp from {} to {}/s", per_s_in_words(window.spec.rate.per_s()), per_s_in_words(to.per_s()));
    let whole: Vec<_> = window.seconds.iter().filter(|s| s.whole).copied().collect();
    let at_end = whole.get(whole.len().saturating_sub(SHORTEST_S as usize)..).unwrap_or_default();
    let unanswered = (counts.failed + counts.timed_out) as f64 >= CLIENT_SHORT * counts.offered as f64;
    let (kind, mut evidence) = match began(window) {
        Some((at_s, per_s)) => {
            let evidence = vec![
                format!("throttling began at {}/s, {} into {words}", per_s_in_words(per_s), seconds((at_s * 10.0).round() / 10.0)),
                format!("{} of {} were throttled", count_in_words(counts.throttled as f64), count_in_words(counts.offered as f64)),
                reasons(load, window, context).0,
            ];
            // A ramp may come down again: then the last seconds say nothing of what came before.
            let bound = is_steady_throttling(at_end) || to < window.spec.rate;
            (if short || !bound { VerdictKind::Inconclusive } else { VerdictKind::ServiceBound }, evidence)
        }
        None if short => (VerdictKind::ClientBound, vec![format!("nothing of {words} was throttled in {}", seconds(span_s))]),
        None if unanswered => (VerdictKind::Inconclusive, vec![format!("nothing of {words} was throttled in {}", seconds(span_s))]),
        None => (VerdictKind::CeilingNotReached, vec![format!("accepted all of {words} for {}", seconds(span_s))]),
    };
    evidence.extend(client::evidence(window, context, short));
    evidence.extend(failure_evidence(window));
    assessment.verdict = verdict(kind, evidence, caveats);
    Judged { assessment, above_ceiling: None, clean: false, span_s, steady_s: 0.0 }
}

/// When throttling began, seconds from the start, and the rate that was offered at that instant.
fn began(window: &Window) -> Option<(f64, f64)> {
    let at_s = window.first_throttle()?.as_secs_f64();
    let (from, to) = (window.spec.rate.per_s(), window.spec.ramp_to?.per_s());
    let length_s = window.spec.planned_end.or(window.end)?.since(window.spec.start).as_secs_f64();
    (length_s > 0.0).then(|| (at_s, from + (to - from) * (at_s / length_s).clamp(0.0, 1.0)))
}
