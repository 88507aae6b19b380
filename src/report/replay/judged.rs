//! What a document found, as an assessment again: taken from the document, not judged anew.

use crate::analysis::{Assessment, Estimate, SessionAssessment, Step, Throttling, Verdict};
use crate::load::WindowId;
use crate::report::document::{self, Document};
use crate::report::finite::Finite;

fn estimate(per_s: Finite, ci95: Option<[Finite; 2]>) -> Option<Estimate> {
    let per_s = per_s.get()?;
    let end = |at: usize| ci95.and_then(|ends| ends[at].get()).unwrap_or(per_s);
    Some(Estimate { per_s, ci95: (end(0), end(1)) })
}

pub(super) fn assessment(document: &Document) -> SessionAssessment {
    let windows = document.windows.iter().map(|window| Assessment {
        window: WindowId(window.index),
        accepted_per_s: window.accepted_per_s.get(),
        units_per_request: units_per_request(window),
        sustained: estimate(window.sustained_per_s, window.sustained_ci95_per_s),
        steady_from_s: window.steady_from_s.get(),
        burst_units: window.burst_units.get(),
        above_ceiling_units: window.above_ceiling_units.get(),
        first_throttle_s: window.first_throttle_s.get(),
        verdict: Verdict { kind: window.verdict, evidence: window.evidence.clone(), caveats: window.caveats.clone() },
    });
    let found = &document.verdict;
    SessionAssessment {
        windows: windows.collect(),
        verdict: Verdict { kind: found.kind, evidence: found.evidence.clone(), caveats: found.caveats.clone() },
        sustained: estimate(found.sustained_per_s, found.ci95_per_s),
        sustained_units_per_s: found.sustained_units_per_s.get(),
        limit: found.limit,
        steps: document.steps.iter().filter_map(step).collect(),
        throttling: document.throttles.iter().map(throttling).collect(),
        clean_at_least_per_s: found.clean_at_least_per_s.get(),
        clean_below_per_s: found.clean_below_per_s.get(),
        clean_ceiling: found.clean_ceiling_per_s.and_then(|[low, high]| low.get().zip(high.get())),
        burst_units: found.burst_units.get(),
    }
}

fn units_per_request(window: &document::Window) -> Option<f64> {
    let (units, accepted) = (window.consumed_units.get()?, window.counts.accepted);
    (accepted > 0 && units > 0.0).then(|| units / accepted as f64)
}

/// A step, where the document says enough of it.
fn step(stated: &document::Step) -> Option<Step> {
    Some(Step {
        window: WindowId(stated.window?),
        at_s: stated.at_s.get()?,
        from_per_s: stated.from_per_s.get()?,
        to_per_s: stated.to_per_s.get()?,
        dwell_s: stated.dwell_s.get().unwrap_or_default(),
        confidence: stated.confidence.get().unwrap_or_default(),
        between_windows: stated.between_windows,
    })
}

fn throttling(stated: &document::Throttle) -> Throttling {
    Throttling { limit: stated.cause.unwrap_or_default(), meaning: stated.meaning.clone().unwrap_or_default() }
}
