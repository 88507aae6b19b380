//! Sentences on what a session's over-driven windows show together.

use crate::load::{Op, Window};

use super::assessment::{Assessment, Caveat, Estimate, SessionAssessment, Step};
use super::clean;
use super::session::size;
use super::words::{count_in_words, estimate_in_words, per_s_in_words, seconds, units_in_words};

/// As many steps are told one by one.
const TOLD: usize = 6;

/// Sentences on what the windows that the service refused steadily show together.
pub(super) fn service_evidence(
    op: Op,
    bound: &[(&Window, &Assessment)],
    ceilings: &[Estimate],
    session: &SessionAssessment,
    caveats: &[Caveat],
    evidence: &mut Vec<String>,
) {
    let windows = |n: usize| if n == 1 { "1 window".to_owned() } else { format!("{n} windows") };
    let units_per_request = bound.last().and_then(|(_, shown)| shown.units_per_request);
    match session.sustained {
        Some(e) if caveats.contains(&Caveat::CeilingMoved) && ceilings.len() > 1 => {
            let units = units_in_words(e.per_s, units_per_request);
            let all: Vec<String> = ceilings.iter().map(|e| per_s_in_words(e.per_s)).collect();
            evidence.push(format!(
                "sustained {} {}/s{units} in the last over-driven window; in all: {}",
                per_s_in_words(e.per_s),
                op.plural(),
                all.join(", ")
            ));
        }
        Some(e) => {
            let said = estimate_in_words(e, &format!(" {}", op.plural()));
            let units = units_in_words(e.per_s, units_per_request);
            evidence.push(format!("sustained {said}{units} in {} that throttled steadily", windows(ceilings.len())));
        }
        None => evidence.push(format!("{} throttled steadily, none long enough to state a ceiling", windows(bound.len()))),
    }
    evidence.extend(uneven(bound, &session.steps));
    if let Some(burst) = session.burst_units {
        evidence.push(format!("a burst of {} units was accepted on top before throttling set in", count_in_words(burst)));
    }
    match (session.clean_at_least_per_s, session.clean_below_per_s) {
        (Some(least), Some(below)) => {
            evidence.push(format!("no throttle at {}/s, steady throttling at {}/s", per_s_in_words(least), per_s_in_words(below)));
        }
        (None, Some(below)) => evidence.push(format!("steady throttling at {}/s, the lowest that was over-driven", per_s_in_words(below))),
        _ => {}
    }
    evidence.extend(session.clean_ceiling.map(|bracket| clean::in_words(bracket, op.plural())));
}

/// The steps of the operation that the verdict speaks of.
pub(super) fn steps_in_words(ours: &[&Step]) -> Option<String> {
    let (first, last) = (ours.first()?, ours.last()?);
    let mut times: Vec<String> = ours.iter().take(TOLD).map(|step| seconds((step.at_s * 10.0).round() / 10.0)).collect();
    if ours.len() > TOLD {
        times.push(format!("{} more", ours.len() - TOLD));
    }
    let how = match ours.len() {
        1 => "a step".to_owned(),
        n => format!("{n} steps"),
    };
    Some(format!(
        "the ceiling moved from {}/s to {}/s in {how} (at {})",
        per_s_in_words(first.from_per_s),
        per_s_in_words(last.to_per_s),
        times.join(", ")
    ))
}

/// A table that throttles below what it accepted of a higher rate has uneven partitions: said with both figures, so that
/// nobody takes the higher one for a rate that is free of throttling.
fn uneven(bound: &[(&Window, &Assessment)], steps: &[Step]) -> Option<String> {
    let (last, shown) = bound.last()?;
    let rate = last.spec.rate.per_s();
    let (higher, ceiling) = bound
        .iter()
        .filter_map(|(w, a)| Some((*w, a.sustained?.per_s * size(a, shown.units_per_request))))
        .filter(|(w, ceiling)| w.spec.rate > last.spec.rate && rate <= *ceiling)
        .max_by(|a, b| a.1.total_cmp(&b.1))?;
    // Had the ceiling fallen in between, that would be the reason.
    let fell = steps.iter().any(|step| step.to_per_s < step.from_per_s && step.window > higher.spec.id && step.window <= last.spec.id);
    let (ceiling, over, rate) = (per_s_in_words(ceiling), per_s_in_words(higher.spec.rate.per_s()), per_s_in_words(rate));
    let accepts = shown.sustained.map_or("it throttles steadily".to_owned(), |e| format!("it accepts {}/s", per_s_in_words(e.per_s)));
    (!fell).then(|| {
        format!("{ceiling}/s is what it accepts when over-driven at {over}/s; at {rate}/s offered {accepts}: its partitions are uneven")
    })
}
