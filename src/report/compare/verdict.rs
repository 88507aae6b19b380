//! The verdict of a comparison in words.

use crate::analysis::{VerdictKind, per_s_in_words};
use crate::load::Op;

use super::super::document::Document;
use super::super::figures::{millis, rate, seconds, whole};
use super::windows::{Figure, Judgement, Value};
use super::{Against, Limit};

/// More differences of latency than this are counted, not listed.
const LISTED: usize = 4;

pub(super) fn sentences(against: &Against, met: &[Limit], base: &Document, new: &Document) -> Vec<String> {
    let mut said = Vec::new();
    if !against.incomparable.is_empty() {
        said.push(format!("No difference of ceilings is called: {}.", against.incomparable.join("; ")));
    }
    said.push(format!("{}{}.", ceilings(against, base, new), latency_in_passing(against)));
    said.extend(latencies(against));
    said.extend(without_interval(base, new));
    said.push(format!("Which limit was met: BASE {}; NEW {}.", limits(met), limits(&against.new.limits)));
    said
}

/// What the throttles name, or that there were none.
fn limits(limits: &[Limit]) -> String {
    if limits.is_empty() {
        return "none".to_owned();
    }
    let each = limits.iter().map(|limit| format!("{} ({} throttles)", limit.limit, whole(Some(limit.count as f64))));
    each.collect::<Vec<_>>().join(" and ")
}

/// The operation whose ceiling the session's verdict speaks of.
fn op(document: &Document) -> Op {
    let bound = document.windows.iter().rfind(|w| w.verdict == VerdictKind::ServiceBound);
    bound.or(document.windows.last()).map_or(document.workload.op, |window| window.op)
}

fn ceilings(against: &Against, base: &Document, new: &Document) -> String {
    let what = op(base).plural();
    let value = |side: Option<Value>| side.and_then(|v| v.value.get());
    let sustained = against.sustained.as_ref();
    let (ours, theirs) = (value(sustained.and_then(|f| f.base)), value(sustained.and_then(|f| f.new)));
    match (sustained, ours, theirs) {
        (Some(figure), Some(ours), Some(theirs)) => {
            let beside = format!("{} against {} {what}/s", per_s_in_words(theirs), per_s_in_words(ours));
            match (figure.judgement, figure.difference.get()) {
                (Judgement::Differs, Some(share)) => {
                    let more = if share > 0.0 { "more" } else { "less" };
                    format!("NEW accepts {} {more} before it throttles: {beside}", percent(share.abs()))
                }
                (Judgement::NoDifference, _) => format!("NEW accepts as much as BASE before it throttles, as far as this shows: {beside}"),
                _ => format!("Side by side, not compared: NEW sustains {beside} of BASE"),
            }
        }
        (_, Some(ours), None) => one_sided("BASE", ours, "NEW", new, what),
        (_, None, Some(theirs)) => one_sided("NEW", theirs, "BASE", base, what),
        _ => "Neither session shows a saturated ceiling".to_owned(),
    }
}

fn one_sided(who: &str, ceiling: f64, other: &str, document: &Document, what: &str) -> String {
    let ceiling = per_s_in_words(ceiling);
    match document.verdict.clean_at_least_per_s.get() {
        Some(clean) => format!(
            "{who} sustains {ceiling} {what}/s; {other} was not throttled at up to {}/s, so its ceiling is not known (what it \
             accepted above may have been a burst)",
            per_s_in_words(clean)
        ),
        None => format!("{who} sustains {ceiling} {what}/s; {other} shows no ceiling (its verdict is {})", document.verdict.kind),
    }
}

fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent < 10.0 { format!("{percent:.2} %") } else { format!("{percent:.1} %") }
}

fn is_latency(figure: &Figure) -> bool {
    figure.unit == "ms"
}

/// Figures of latency by what is said about them: those that differ with their window, and how many were tested.
fn tested_latencies(against: &Against) -> (Vec<(String, &Figure)>, usize) {
    let all =
        || against.windows.iter().flat_map(|pair| pair.figures.iter().map(move |figure| (pair, figure))).filter(|(_, f)| is_latency(f));
    let differ = all().filter(|(_, f)| f.judgement == Judgement::Differs).map(|(pair, f)| (pair.base.label.clone(), f)).collect();
    let tested = all().filter(|(_, f)| matches!(f.judgement, Judgement::Differs | Judgement::NoDifference)).count();
    (differ, tested)
}

fn latency_in_passing(against: &Against) -> &'static str {
    match tested_latencies(against) {
        (differ, 1..) if differ.is_empty() => "; latency is the same",
        _ => "",
    }
}

fn latencies(against: &Against) -> Option<String> {
    let (differ, tested) = tested_latencies(against);
    if tested == 0 {
        return Some("Latency is not compared.".to_owned());
    }
    let listed: Vec<String> = differ
        .iter()
        .take(LISTED)
        .filter_map(|(label, figure)| {
            let share = figure.difference.get()?;
            let value = |side: Option<Value>| millis(side.and_then(|v| v.value.get()));
            let more = if share > 0.0 { "higher" } else { "lower" };
            Some(format!(
                "{} at {label} is {} {more} ({} against {} ms)",
                figure.what,
                percent(share.abs()),
                value(figure.new),
                value(figure.base)
            ))
        })
        .collect();
    if listed.is_empty() {
        return None;
    }
    let rest = differ.len().saturating_sub(LISTED);
    let rest = if rest > 0 { format!("; and {rest} more") } else { String::new() };
    Some(format!("Latency of accepted requests differs in NEW: {}{rest}.", listed.join("; ")))
}

/// What one run gives no interval for, so that it stands side by side only.
fn without_interval(base: &Document, new: &Document) -> Option<String> {
    let first = |d: &Document| d.windows.iter().rev().find_map(|w| w.first_throttle_s.get().map(|s| (w.label.clone(), s)));
    let mut beside = Vec::new();
    let (ours, theirs) = (base.verdict.burst_units.get(), new.verdict.burst_units.get());
    if ours.is_some() || theirs.is_some() {
        beside.push(format!("burst {} against {} units", whole(theirs), whole(ours)));
    }
    if let (Some((a, ours)), Some((b, theirs))) = (first(base), first(new))
        && a == b
    {
        beside.push(format!("first throttle at {a} after {} against {}", seconds(Some(theirs)), seconds(Some(ours))));
    }
    let active = (new.target.time_to_active_s.get(), base.target.time_to_active_s.get());
    if active.0.is_some() && active.1.is_some() {
        beside.push(format!("ACTIVE after {} against {} s", rate(active.0), rate(active.1)));
    }
    (!beside.is_empty()).then(|| format!("One run gives no interval for these, so they are not compared: {}.", beside.join(", ")))
}
