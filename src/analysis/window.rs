//! What one window shows.

use crate::load::{BUCKET, Refusal, Second, Snapshot, Tally, Window};

use super::assessment::{Assessment, Caveat, Estimate, Verdict, VerdictKind};
use super::burst::{self, KNOWN_WITHIN, MISSING_AT_MOST};
use super::client::{self, GAP_NANOS};
use super::estimate;
use super::limit::{self, Limit};
use super::ramp;
use super::session::Context;
use super::steady::{self, SHORTEST_S};
use super::words::{count_in_words, estimate_in_words, per_s_in_words, percent, seconds, units_in_words};

/// From this share of intents shed or sent late the client itself was short.
pub(super) const CLIENT_SHORT: f64 = 0.005;
/// Steady throttling refuses at least this share of what came due in the steady part.
const STEADY_SHARE: f64 = 0.001;
/// A ceiling is stated only if its 95 % interval is no wider than this to either side: then it is within 1 % with 99 %
/// confidence (2.58 standard errors instead of 1.96).
const KNOWN_CEILING: f64 = 0.0076;

/// A mean that differs from the ceiling by less than this share needs no word.
const WORTH_SAYING: f64 = 0.001;

/// A window's assessment, and what the session's needs besides.
#[derive(Debug)]
pub(super) struct Judged {
    pub(super) assessment: Assessment,
    /// Requests accepted above the ceiling, whether or not the burst had refilled.
    pub(super) above_ceiling: Option<f64>,
    /// Nothing was throttled, the client kept its schedule, and it was long enough to say so.
    pub(super) clean: bool,
    /// Length, seconds.
    pub(super) span_s: f64,
    /// Length of its steady part, seconds.
    pub(super) steady_s: f64,
}

struct Steadiness {
    /// Throttling went on to the end: every second of the last stretch but a few, and not a share too small to matter.
    throttles: bool,
    /// The ceiling, where it can be stated.
    ceiling: Option<Estimate>,
    /// Start of the steady part, seconds from the window's start.
    from_s: f64,
    /// Accepted per second of the steady part.
    counts: Vec<f64>,
    /// Seconds after the steady part that differ from it, too few to be a level of their own.
    odd_at_end: usize,
    /// Why there is no ceiling although there is throttling.
    caveat: Option<Caveat>,
    /// Share of intents throttled at the end.
    share: f64,
}

/// Judges a window. `largest` is the largest burst of its operation seen before it, requests.
pub(super) fn judge(load: &Snapshot, window: &Window, context: &Context, largest: f64) -> Judged {
    let span_s = span_s(load, window);
    let mut assessment = Assessment {
        window: window.spec.id,
        accepted_per_s: (span_s > 0.0 && !window.is_adjusting()).then(|| window.counts.accepted as f64 / span_s),
        units_per_request: context.units_per_request(window),
        first_throttle_s: window.first_throttle().map(|d| d.as_secs_f64()),
        ..Assessment::default()
    };
    let mut caveats = common_caveats(window, context);
    if window.is_adjusting() {
        caveats.push(Caveat::Adjusting);
        let said = format!("{} setpoints in {}: each too short to judge", window.folded, seconds(span_s));
        assessment.verdict = verdict(VerdictKind::Inconclusive, vec![said], caveats);
        return Judged { assessment, above_ceiling: None, clean: false, span_s, steady_s: 0.0 };
    }
    if window.counts.offered == 0 || span_s < 1.0 {
        caveats.push(Caveat::TooShort);
        let said = format!("{} intents in {}: too little to judge", count_in_words(window.counts.offered as f64), seconds(span_s));
        assessment.verdict = verdict(VerdictKind::Inconclusive, vec![said], caveats);
        return Judged { assessment, above_ceiling: None, clean: false, span_s, steady_s: 0.0 };
    }

    if let Some(to) = window.spec.ramp_to {
        return ramp::judge(load, window, context, to, span_s, assessment, caveats);
    }
    let steadiness = steadiness(window, span_s);
    let mut above = None;
    if let Some(ceiling) = steadiness.ceiling {
        assessment.sustained = Some(ceiling);
        assessment.steady_from_s = Some(steadiness.from_s);
        let requests = burst::above_ceiling(window, span_s, ceiling.per_s);
        above = Some(requests);
        assessment.above_ceiling_units = assessment.units_per_request.map(|units| requests * units);
        let open = burst::uncertainty(steadiness.from_s, &steadiness.counts, ceiling)
            + burst::wasted_at_most(window, steadiness.from_s, ceiling.per_s);
        let missing = burst::missing_at_start(load, window, ceiling.per_s, largest.max(requests));
        if requests <= 0.0 || open > KNOWN_WITHIN * requests {
            caveats.push(Caveat::BurstUncertain);
        } else if missing > MISSING_AT_MOST * requests {
            caveats.push(Caveat::BurstNotRefilled);
        } else {
            assessment.burst_units = assessment.units_per_request.map(|units| requests * units);
        }
    }
    caveats.extend(steadiness.caveat);
    let short = window.counts.client_shortfall().is_some_and(|share| share >= CLIENT_SHORT);
    if short {
        caveats.push(Caveat::ClientSaturated);
    }
    let (kind, mut evidence) = weigh(load, window, context, &steadiness, &assessment, above, short, span_s);
    if kind == VerdictKind::Inconclusive && !short && !steadiness.throttles && window.counts.throttled > 0 {
        caveats.push(Caveat::TooShort);
    }
    evidence.extend(client::evidence(window, context, short));
    evidence.extend(failure_evidence(window));
    assessment.verdict = verdict(kind, evidence, caveats);
    let clean = kind == VerdictKind::CeilingNotReached && window.counts.throttled == 0 && span_s >= SHORTEST_S;
    let steady_s = steadiness.counts.len() as f64;
    Judged { assessment, above_ceiling: above, clean, span_s, steady_s }
}

pub(super) fn verdict(kind: VerdictKind, evidence: Vec<String>, mut caveats: Vec<Caveat>) -> Verdict {
    caveats.sort_unstable();
    caveats.dedup();
    Verdict { kind, evidence, caveats }
}

/// Length of the window, or of what has been counted of it.
fn span_s(load: &Snapshot, window: &Window) -> f64 {
    match (window.end, window.seconds.last()) {
        (Some(end), _) => end.since(window.spec.start).as_secs_f64(),
        (None, Some(last)) => last.start.plus(BUCKET).min(load.at.max(last.start)).since(window.spec.start).as_secs_f64(),
        (None, None) => 0.0,
    }
}

fn common_caveats(window: &Window, context: &Context) -> Vec<Caveat> {
    let counts = &window.counts;
    let gap = window.client.longest_stall_nanos > GAP_NANOS && counts.shed > 0;
    [
        (context.simulated, Caveat::Simulated),
        (context.target_saturated, Caveat::TargetSaturated),
        (context.late_runner, Caveat::LateRunner),
        (gap, Caveat::Gap),
        (counts.failed + counts.timed_out > 0, Caveat::Failures),
        (window.end.is_some() && counts.open() > 0, Caveat::InFlight),
    ]
    .into_iter()
    .filter_map(|(holds, caveat)| holds.then_some(caveat))
    .collect()
}

fn steadiness(window: &Window, span_s: f64) -> Steadiness {
    let whole = steady::whole_seconds(window);
    let needed = SHORTEST_S.max(span_s / 10.0);
    let first = whole.iter().position(|s| s.counts.throttled > 0).unwrap_or(whole.len());
    let over_driven = whole.get(first..).unwrap_or_default();
    let accepted: Vec<f64> = over_driven.iter().map(|s| s.counts.accepted as f64).collect();
    let none = |caveat| Steadiness { throttles: false, ceiling: None, from_s: 0.0, counts: Vec::new(), odd_at_end: 0, caveat, share: 0.0 };
    if (over_driven.len() as f64) < needed {
        return none(None);
    }
    let at_end = over_driven.get(over_driven.len() - (needed.ceil() as usize).min(over_driven.len())..).unwrap_or_default();
    let share = throttled_share(at_end);
    if !is_steady_throttling(at_end) {
        return none(None);
    }
    let settled = steady::settled(&accepted);
    let steady = steady::last_level(&settled, needed);
    let odd_at_end = settled.len() - steady.end;
    let level = over_driven.get(steady.clone()).unwrap_or_default();
    let counts = settled.get(steady).unwrap_or_default().to_vec();
    let from_s = level.first().map_or(span_s, |s| s.start.since(window.spec.start).as_secs_f64());
    let enough = level.len() as f64 >= needed;
    let estimate = estimate::mean(&counts).filter(|_| enough);
    let allowed = |e: &Estimate| (KNOWN_CEILING * e.per_s).max(estimate::edge_half_width(counts.len()));
    let ceiling = estimate.filter(|e| e.per_s > 0.0 && e.ci95.1 - e.per_s <= allowed(e));
    let caveat = match ceiling {
        Some(_) => None,
        // Throttled for long, and still no level: it kept moving.
        None if !enough && over_driven.len() as f64 >= 2.0 * needed => Some(Caveat::NotStationary),
        None => Some(Caveat::TooShort),
    };
    Steadiness { throttles: true, ceiling, from_s, counts, odd_at_end, caveat, share }
}

fn throttled_share(seconds: &[Second]) -> f64 {
    let throttled: u64 = seconds.iter().map(|s| s.counts.throttled).sum();
    let offered: u64 = seconds.iter().map(|s| s.counts.offered).sum();
    throttled as f64 / offered.max(1) as f64
}

/// An odd refusal now and then is not steady throttling: at least four of five seconds must have one, and together they must matter.
pub(super) fn is_steady_throttling(seconds: &[Second]) -> bool {
    let with = seconds.iter().filter(|s| s.counts.throttled > 0).count();
    !seconds.is_empty() && with * 5 >= seconds.len() * 4 && throttled_share(seconds) >= STEADY_SHARE
}

#[expect(clippy::too_many_arguments, reason = "everything that is known of a window, each of it once")]
fn weigh(
    load: &Snapshot,
    window: &Window,
    context: &Context,
    steadiness: &Steadiness,
    so_far: &Assessment,
    above: Option<f64>,
    short: bool,
    span_s: f64,
) -> (VerdictKind, Vec<String>) {
    let counts = &window.counts;
    let (rate, length) = (per_s_in_words(window.spec.rate.per_s()), seconds(span_s));
    let unanswered = (counts.failed + counts.timed_out) as f64 / counts.offered as f64;
    if steadiness.throttles {
        let mut evidence = vec![format!("{} of {rate}/s offered were throttled steadily to the end", percent(steadiness.share))];
        match so_far.sustained {
            Some(e) => {
                let to = match steadiness.odd_at_end {
                    0 => "on".to_owned(),
                    odd => format!("to {}; after that it changed, for too short to be a level", seconds(span_s - odd as f64)),
                };
                let units = units_in_words(e.per_s, so_far.units_per_request);
                evidence.push(format!("accepted {}{units} from {} {to}", estimate_in_words(e, ""), seconds(steadiness.from_s)));
                evidence.extend(average(so_far, e.per_s, above.unwrap_or_default(), span_s));
            }
            None => evidence.push(match steadiness.caveat {
                Some(Caveat::NotStationary) => format!("the accepted rate was still changing at the end of {length}"),
                _ => format!("the steady part of {length} is too short to state a ceiling within 1 %"),
            }),
        }
        evidence.push(reasons(load, window, context).0);
        return (if short { VerdictKind::Inconclusive } else { VerdictKind::ServiceBound }, evidence);
    }
    if counts.throttled == 0 {
        let kind = if short {
            VerdictKind::ClientBound
        } else if unanswered >= CLIENT_SHORT {
            VerdictKind::Inconclusive
        } else {
            VerdictKind::CeilingNotReached
        };
        let evidence = if kind == VerdictKind::CeilingNotReached {
            let units = units_in_words(window.spec.rate.per_s(), so_far.units_per_request);
            format!("accepted all of {rate}/s{units} for {length}")
        } else {
            format!("nothing of {rate}/s was throttled in {length}")
        };
        return (kind, vec![evidence]);
    }
    let share = counts.throttled as f64 / counts.offered as f64;
    let evidence = format!(
        "{} of {} were throttled in {length} at {rate}/s, not steadily",
        count_in_words(counts.throttled as f64),
        count_in_words(counts.offered as f64)
    );
    let kind = match (short, share < STEADY_SHARE) {
        (true, true) => VerdictKind::ClientBound,
        (false, true) if unanswered < CLIENT_SHORT => VerdictKind::CeilingNotReached,
        _ => VerdictKind::Inconclusive,
    };
    (kind, vec![evidence])
}

/// What the mean over the whole window is made of, so that nobody takes it for the ceiling.
fn average(shown: &Assessment, sustained: f64, above: f64, span_s: f64) -> Option<String> {
    let mean = shown.accepted_per_s?;
    if (mean - sustained).abs() < WORTH_SAYING * sustained {
        return None;
    }
    let whole = format!("{}/s over the whole {} window", per_s_in_words(mean), seconds(span_s));
    let (sustained, above) = (per_s_in_words(sustained), count_in_words(above));
    Some(if mean < shown.sustained?.per_s {
        format!("{whole} is less than the {sustained}/s of its steady part: the accepted rate rose within it")
    } else if shown.burst_units.is_some() {
        format!("{whole} = {sustained}/s sustained + a burst of {above} spread over it")
    } else {
        format!("{whole} = {sustained}/s sustained + {above} accepted above that before it was steady")
    })
}

/// What the service said of why, and which limit that is, for the answers first seen in or before this window that it can
/// have given.
pub(super) fn reasons(load: &Snapshot, window: &Window, context: &Context) -> (String, Limit) {
    let end = window.end.unwrap_or(load.at);
    let given = |t: &&Tally<Refusal>| t.first <= end && t.last >= window.spec.start;
    let Some(main) = load.refusals.iter().filter(given).max_by_key(|t| t.count) else {
        return ("the answers were not kept".to_owned(), Limit::Unknown);
    };
    let reasons = if main.what.reasons.is_empty() { String::new() } else { format!(" {}", main.what.reasons.join(", ")) };
    let limit = limit::meaning(load, main, context).limit;
    (format!("{} {}{reasons}: {}", main.what.http_status, main.what.code, limit.in_words()), limit)
}

pub(super) fn failure_evidence(window: &Window) -> Option<String> {
    let counts = &window.counts;
    (counts.failed + counts.timed_out > 0).then(|| {
        format!(
            "{} failed and {} timed out; the figures speak of the rest",
            count_in_words(counts.failed as f64),
            count_in_words(counts.timed_out as f64)
        )
    })
}
