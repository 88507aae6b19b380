//! The figures that one looks for first.

use super::super::clean::clean;
use super::super::document::{Document, Window};
use super::super::figures::{NONE, millis, rate, seconds, usd, whole};
use super::{interval, planned};

/// A figure, its name, and what it rests on.
pub(in super::super) struct KeyFigure {
    pub(in super::super) name: &'static str,
    pub(in super::super) value: String,
    pub(in super::super) note: String,
}

fn key(name: &'static str, value: impl AsRef<str>, note: impl AsRef<str>) -> KeyFigure {
    KeyFigure { name, value: clean(value.as_ref()), note: clean(note.as_ref()) }
}

/// The key figures; a dash where there is none.
pub(in super::super) fn key_figures(document: &Document) -> Vec<KeyFigure> {
    let (verdict, target, totals) = (&document.verdict, &document.target, &document.totals);
    let per_s = |value: Option<f64>| value.map_or(NONE.to_owned(), |v| format!("{}/s", rate(Some(v))));
    let share = totals.counts.throttled as f64 / totals.counts.offered.max(1) as f64 * 100.0;
    let (first, first_note) = first_throttle(document);
    let (latency, latency_note) = latency(document);
    let real = if target.simulated { ", were it real" } else { "" };
    vec![
        ceiling(document),
        key(
            "Burst",
            verdict.burst_units.get().map_or(NONE.to_owned(), |units| format!("{} units", whole(Some(units)))),
            "accepted above the ceiling",
        ),
        key("No throttle up to", per_s(verdict.clean_at_least_per_s.get()), "offered"),
        key("Steady throttling from", per_s(verdict.clean_below_per_s.get()), "offered"),
        key("First throttle", first, first_note),
        key("p50 / p99 service", latency, latency_note),
        key(
            "Throttled",
            whole(Some(totals.counts.throttled as f64)),
            format!("{share:.1} % of {} offered", whole(Some(totals.counts.offered as f64))),
        ),
        key("Time to ACTIVE", target.time_to_active_s.get().map_or(NONE.to_owned(), |s| format!("{s:.1} s")), "from CreateTable"),
        key(
            "Cost",
            usd(totals.cost_usd.get()).unwrap_or_else(|| NONE.to_owned()),
            format!("{} units{real}", whole(totals.consumed_units.get())),
        ),
    ]
}

/// The pooled ceiling; where windows disagree, from the lowest to the highest.
fn ceiling(document: &Document) -> KeyFigure {
    let name = "Sustained ceiling";
    if let Some(per_s) = document.verdict.sustained_per_s.get() {
        return key(name, format!("{}/s", rate(Some(per_s))), format!("95 % interval {}", interval(document.verdict.ci95_per_s)));
    }
    let all = || document.windows.iter().filter_map(|window| window.sustained_per_s.get());
    match all().reduce(f64::min).zip(all().reduce(f64::max)) {
        None => key(name, NONE, "in no window"),
        Some((low, high)) => key(name, format!("{} to {}/s", rate(Some(low)), rate(Some(high))), "it moved, or windows disagree"),
    }
}

/// From window start to the first throttle, over all windows that throttled.
fn first_throttle(document: &Document) -> (String, String) {
    let all: Vec<f64> = document.windows.iter().filter_map(|window| window.first_throttle_s.get()).collect();
    let (low, high) = (all.iter().copied().reduce(f64::min), all.iter().copied().reduce(f64::max));
    let value = if low == high { seconds(low) } else { format!("{} to {}", seconds(low).trim_end_matches(" s"), seconds(high)) };
    (value, if all.is_empty() { "in no window".to_owned() } else { "into a window".to_owned() })
}

/// Latency of accepted requests at the highest offered rate.
fn latency(document: &Document) -> (String, String) {
    let offered = |window: &&Window| window.offered_per_s.get();
    let fastest = document
        .windows
        .iter()
        .filter(|w| offered(w).is_some())
        .max_by(|a, b| offered(a).partial_cmp(&offered(b)).unwrap_or(std::cmp::Ordering::Equal));
    fastest.map_or((NONE.to_owned(), "of accepted requests".to_owned()), |window| {
        let f = &window.latency_ms.accepted.service;
        (format!("{} / {} ms", millis(f.p50.get()), millis(f.p99.get())), format!("accepted, at {}/s offered", planned(window)))
    })
}
