//! The clean ceiling: the highest steady rate at which nothing is throttled, bracketed by what was offered.

use crate::load::Window;

use super::assessment::{Caveat, SessionAssessment, VerdictKind};
use super::session::{AGREE, size};
use super::window::{CLIENT_SHORT, Judged};
use super::words::per_s_in_words;

/// Brackets the clean ceiling in the order of the windows: a later window that contradicts an earlier one replaces it,
/// because the table has grown (or the person has changed it) in between. `units` are those of the requests that rates are told in.
pub(super) fn bracket(ours: &[(&Window, &Judged)], units: Option<f64>, session: &mut SessionAssessment, caveats: &mut Vec<Caveat>) {
    let carried_by_burst = |rate: f64| session.sustained.is_some_and(|e| rate > e.ci95.1.max(e.per_s * (1.0 + AGREE)));
    let (mut at_least, mut below): (Option<f64>, Option<f64>) = (None, None);
    for (window, one) in ours.iter().filter(|(w, _)| w.spec.ramp_to.is_none()) {
        let rate = window.spec.rate.per_s() * size(&one.assessment, units);
        if one.assessment.verdict.kind == VerdictKind::ServiceBound {
            if at_least.is_some_and(|least| least >= rate) {
                caveats.push(Caveat::CeilingMoved);
                at_least = None;
            }
            below = Some(below.map_or(rate, |b: f64| b.min(rate)));
        } else if one.clean && !carried_by_burst(rate) {
            if below.is_some_and(|b| b <= rate) {
                caveats.push(Caveat::CeilingMoved);
                below = None;
            }
            at_least = Some(at_least.map_or(rate, |l: f64| l.max(rate)));
        }
    }
    session.clean_at_least_per_s = at_least;
    session.clean_below_per_s = below;
    if !caveats.contains(&Caveat::CeilingMoved) {
        session.clean_ceiling = ends(ours, units, session);
    }
}

/// Between which rates the clean ceiling lies. A window of T seconds at a rate r that was not throttled shows that it is at least
/// r - B/T, for a burst B carries no more; one that was throttled, that it is below r; and what the table accepts when
/// over-driven is never below it.
fn ends(ours: &[(&Window, &Judged)], units: Option<f64>, session: &SessionAssessment) -> Option<(f64, f64)> {
    let burst = session.burst_units? / units?;
    let (mut low, mut high) = (0.0_f64, session.sustained?.ci95.1);
    for (window, one) in ours.iter().filter(|(w, _)| w.spec.ramp_to.is_none() && !w.is_adjusting()) {
        let rate = window.spec.rate.per_s() * size(&one.assessment, units);
        let short = window.counts.client_shortfall().is_none_or(|share| share >= CLIENT_SHORT);
        let drained = one.assessment.verdict.caveats.contains(&Caveat::BurstNotRefilled);
        if one.clean && one.span_s > 0.0 {
            low = low.max(rate - burst / one.span_s);
        } else if window.counts.throttled > 0 && !short && !drained {
            high = high.min(rate);
        }
    }
    (low > 0.0 && low <= high).then_some((low, high))
}

/// The bracket in a sentence.
pub(super) fn in_words((low, high): (f64, f64), what: &str) -> String {
    format!(
        "the clean ceiling, up to which nothing is throttled, lies between {} and {} {what}/s",
        per_s_in_words(low),
        per_s_in_words(high)
    )
}
