//! What the session shows: the windows' figures pooled, and the clean ceiling bracketed.

use crate::load::{Keys, Op, Snapshot, Window};

use super::assessment::{Assessment, Caveat, Estimate, SessionAssessment, Step, Verdict, VerdictKind};
use super::clean;
use super::cost;
use super::estimate;
use super::evidence::{service_evidence, steps_in_words};
use super::limit::{self, Billing};
use super::ramp::peak;
use super::steps::steps;
use super::window::{Judged, judge, reasons};
use super::words::{count_in_words, per_s_in_words, seconds};

/// Ceilings that differ by no more than this share are one ceiling.
pub(super) const AGREE: f64 = 0.01;

/// What an assessment needs to know besides the measured data.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "facts that are independent of each other, each named where it is set")]
pub struct Context {
    /// Whether the simulated endpoint answers.
    pub simulated: bool,
    /// Whether that endpoint ran short of CPU.
    pub target_saturated: bool,
    /// Whether the session was stopped before its plan ended.
    pub stopped_early: bool,
    /// Whether a runner started late.
    pub late_runner: bool,
    /// Most requests that may be in flight.
    pub in_flight_cap: Option<u32>,
    /// Item size in bytes, from which units follow where the service states none.
    pub item_bytes: u32,
    /// Whether reads are strongly consistent.
    pub consistent_read: bool,
    /// How keys are chosen, where that is known.
    pub keys: Option<Keys>,
    /// How the table is billed.
    pub billing: Billing,
    /// The maximum on-demand throughput set for the table, write and read units/s.
    pub max_units: Option<(u64, u64)>,
    /// What the service says that the whole table serves, write and read units/s.
    pub table_units: Option<(u64, u64)>,
}

impl Context {
    /// Units per request: as the service stated them, else as its documented rule gives them for the item size.
    pub(super) fn units_per_request(&self, window: &Window) -> Option<f64> {
        let item_bytes = window.spec.item_bytes.unwrap_or(self.item_bytes);
        window
            .units_per_request()
            .or_else(|| (item_bytes > 0).then(|| cost::units_per_request(window.spec.op, item_bytes, self.consistent_read)))
    }
}

/// Judges everything measured so far. The work is linear in the rows and in the windows' seconds.
pub fn assess(load: &Snapshot, context: &Context) -> SessionAssessment {
    let mut largest = [0.0_f64; 2];
    let mut judged: Vec<Judged> = Vec::with_capacity(load.windows.len());
    for window in &load.windows {
        // Kept in units, since windows may have items of different sizes.
        let largest = &mut largest[slot(window.spec.op)];
        let units = context.units_per_request(window).unwrap_or(1.0);
        let one = judge(load, window, context, *largest / units);
        *largest = (one.above_ceiling.unwrap_or(0.0) * units).max(*largest);
        judged.push(one);
    }
    for (window, one) in load.windows.iter().zip(&mut judged) {
        let units = context.units_per_request(window).unwrap_or(1.0);
        say_what_a_quiet_window_shows(window, one, largest[slot(window.spec.op)] / units);
    }
    let mut session =
        SessionAssessment { steps: steps(load), throttling: limit::throttling(load, context), ..SessionAssessment::default() };
    session_figures(load, &judged, context, &mut session);
    session.windows = judged.into_iter().map(|one| one.assessment).collect();
    session
}

const fn slot(op: Op) -> usize {
    match op {
        Op::Write => 0,
        Op::Read => 1,
    }
}

fn say_what_a_quiet_window_shows(window: &Window, one: &mut Judged, burst: f64) {
    if !one.clean {
        return;
    }
    let rate = window.spec.rate.per_s();
    let sentence = if burst > 0.0 {
        let least = (rate - burst / one.span_s).max(0.0);
        format!("ceiling >= {}/s: a burst of {} requests may have carried the rest", per_s_in_words(least), count_in_words(burst))
    } else {
        format!("ceiling >= {}/s less burst/{}", per_s_in_words(rate), seconds(one.span_s))
    };
    one.assessment.verdict.evidence.insert(1.min(one.assessment.verdict.evidence.len()), sentence);
}

fn session_figures(load: &Snapshot, judged: &[Judged], context: &Context, session: &mut SessionAssessment) {
    let kind = |one: &Judged| one.assessment.verdict.kind;
    let of_bound = |(w, one): &(&std::sync::Arc<Window>, &Judged)| kind(one) == VerdictKind::ServiceBound && w.counts.offered > 0;
    let pairs = || load.windows.iter().zip(judged);
    // One operation at a time: that of the last window that hit the service's limit, else of the last one.
    let op = pairs().rfind(of_bound).or_else(|| pairs().next_back()).map_or(Op::Write, |(w, _)| w.spec.op);
    let ours: Vec<(&Window, &Judged)> = pairs().filter(|(w, _)| w.spec.op == op).map(|(w, one)| (w.as_ref(), one)).collect();
    let mut caveats: Vec<Caveat> = Vec::new();
    let mut evidence: Vec<String> = Vec::new();

    // What one key, or a few, can do says nothing of what the table can: only windows with the same keys are taken together.
    let keys = |w: &Window| w.spec.keys.or(context.keys);
    let last = ours.iter().rfind(|(w, one)| kind(one) == VerdictKind::ServiceBound && w.spec.ramp_to.is_none()).or(ours.last());
    let wanted = last.and_then(|(w, _)| keys(w));
    let alike: Vec<(&Window, &Judged)> = ours.iter().filter(|(w, _)| keys(w) == wanted).copied().collect();
    let bound: Vec<(&Window, &Judged)> =
        alike.iter().filter(|(w, one)| kind(one) == VerdictKind::ServiceBound && w.spec.ramp_to.is_none()).copied().collect();
    // Windows with items of another size are compared in units, and said in requests of the last one's.
    let last_units = bound.last().and_then(|(_, one)| one.assessment.units_per_request);
    let sized = |one: &Judged| Some((scaled(one.assessment.sustained?, size(&one.assessment, last_units)), one.steady_s));
    let (ceilings, seconds): (Vec<Estimate>, Vec<f64>) = bound.iter().filter_map(|(_, one)| sized(one)).unzip();
    session.sustained = if agree(&ceilings) {
        estimate::pool(&ceilings, &seconds)
    } else {
        caveats.push(Caveat::CeilingMoved);
        ceilings.last().copied()
    };
    session.sustained_units_per_s = session.sustained.zip(last_units).map(|(e, units)| e.per_s * units);
    session.burst_units = alike.iter().rev().find_map(|(_, one)| one.assessment.burst_units);
    clean::bracket(&alike, last_units, session, &mut caveats);

    let count = |wanted| ours.iter().filter(|(_, one)| kind(one) == wanted).count();
    let (service, client, quiet) =
        (count(VerdictKind::ServiceBound), count(VerdictKind::ClientBound), count(VerdictKind::CeilingNotReached));
    let verdict = if service > 0 {
        let bound: Vec<(&Window, &Assessment)> = bound.iter().map(|(w, one)| (*w, &one.assessment)).collect();
        if !bound.is_empty() {
            service_evidence(op, &bound, &ceilings, session, &caveats, &mut evidence);
        }
        let steps: Vec<&Step> = session.steps.iter().filter(|step| ours.iter().any(|(w, _)| w.spec.id == step.window)).collect();
        evidence.extend(steps_in_words(&steps));
        let ramps =
            ours.iter().filter(|(w, one)| w.spec.ramp_to.is_some() && w.counts.throttled > 0 && kind(one) == VerdictKind::ServiceBound);
        evidence.extend(ramps.filter_map(|(_, one)| one.assessment.verdict.evidence.first().cloned()));
        if let Some((window, _)) = pairs().rfind(of_bound) {
            let (said, limit) = reasons(load, window, context);
            evidence.push(said);
            session.limit = Some(limit);
        }
        // A window in which the client fell short says nothing of the service; those in which it kept its schedule stand.
        VerdictKind::ServiceBound
    } else if client > 0 {
        evidence.push(format!("the client fell short in {client} of {} windows and the service refused steadily in none", ours.len()));
        VerdictKind::ClientBound
    } else if quiet > 0 && quiet == ours.iter().filter(|(w, _)| !w.is_adjusting() && w.counts.offered > 0).count() {
        evidence.push(format!("no window was throttled steadily; highest offered {}/s", highest(&ours)));
        VerdictKind::CeilingNotReached
    } else {
        evidence.push(match ours.len() {
            0 => "no window was measured".to_owned(),
            1 => "the one window does not show whose limit was met".to_owned(),
            n => format!("none of {n} windows shows whose limit was met"),
        });
        // What the last of them shows instead.
        if let Some((_, one)) = ours.iter().rfind(|(w, _)| !w.is_adjusting()) {
            evidence.extend(one.assessment.verdict.evidence.iter().cloned());
        }
        VerdictKind::Inconclusive
    };
    if client > 0 && service > 0 {
        evidence.push(format!("the client fell short in {client} of {} windows", ours.len()));
    }
    for caveat in ours.iter().flat_map(|(_, one)| &one.assessment.verdict.caveats) {
        // Those speak of the whole session; the others of one window's own figures.
        if matches!(caveat, Caveat::ClientSaturated | Caveat::Gap | Caveat::Failures | Caveat::InFlight | Caveat::LateRunner) {
            caveats.push(*caveat);
        }
    }
    if service > 0 && session.sustained.is_none() {
        caveats.extend(
            bound
                .iter()
                .flat_map(|(_, one)| &one.assessment.verdict.caveats)
                .filter(|c| matches!(c, Caveat::TooShort | Caveat::NotStationary)),
        );
    }
    if service > 0 && session.burst_units.is_none() {
        caveats.extend(
            bound
                .iter()
                .flat_map(|(_, one)| &one.assessment.verdict.caveats)
                .filter(|c| matches!(c, Caveat::BurstNotRefilled | Caveat::BurstUncertain)),
        );
    }
    for (holds, caveat) in [
        (context.simulated, Caveat::Simulated),
        (context.target_saturated, Caveat::TargetSaturated),
        (context.stopped_early, Caveat::StoppedEarly),
    ] {
        if holds {
            caveats.push(caveat);
        }
    }
    caveats.sort_unstable();
    caveats.dedup();
    session.verdict = Verdict { kind: verdict, evidence, caveats };
}

/// What one request of a window counts for, in requests of so many units.
pub(super) fn size(shown: &Assessment, units: Option<f64>) -> f64 {
    let size = shown.units_per_request.zip(units).map_or(1.0, |(own, units)| own / units);
    // What the service states of a few requests may differ in its last digits.
    if size.is_finite() && (size - 1.0).abs() > 1e-3 { size } else { 1.0 }
}

fn scaled(e: Estimate, by: f64) -> Estimate {
    Estimate { per_s: e.per_s * by, ci95: (e.ci95.0 * by, e.ci95.1 * by) }
}

fn agree(ceilings: &[Estimate]) -> bool {
    let low = ceilings.iter().map(|e| e.per_s).fold(f64::INFINITY, f64::min);
    let high = ceilings.iter().map(|e| e.per_s).fold(0.0, f64::max);
    ceilings.is_empty() || high - low <= AGREE * high
}

fn highest(ours: &[(&Window, &Judged)]) -> String {
    per_s_in_words(ours.iter().map(|(w, _)| peak(w)).fold(0.0, f64::max))
}
