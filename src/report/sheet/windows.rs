//! Windows and steps as tables.

use crate::analysis::{Caveat, units_per_request};
use crate::load::Rate;

use super::super::clean::clean;
use super::super::document::{Document, Figures, Window};
use super::super::figures::{NONE, clock, millis, rate, seconds, whole};
use super::super::finite::Finite;
use super::Table;

/// A 95 % interval: whole from a width of 20/s up, else to a tenth.
pub(in super::super) fn interval(ci95: Option<[Finite; 2]>) -> String {
    let Some((low, high)) = ci95.and_then(|[low, high]| low.get().zip(high.get())) else { return NONE.to_owned() };
    if high - low >= 20.0 {
        return format!("{} to {}", whole(Some(low)), whole(Some(high)));
    }
    let tenth = |value: f64| {
        let tenths = (value * 10.0).round();
        format!("{}.{}", whole(Some((tenths / 10.0).trunc())), (tenths.abs() % 10.0) as u64)
    };
    format!("{} to {}", tenth(low), tenth(high))
}

/// What one accepted request of a window cost, units: as the service counted, else by the size of an item.
pub(in super::super) fn units_each(document: &Document, window: &Window) -> f64 {
    let workload = &document.workload;
    match window.consumed_units.get() {
        Some(units) if units > 0.0 && window.counts.accepted > 0 => units / window.counts.accepted as f64,
        _ => units_per_request(window.op, window.item_bytes.unwrap_or(workload.item_bytes), workload.consistent_read),
    }
}

fn number(window: &Window) -> String {
    (u64::from(window.index) + 1).to_string()
}

/// What a window offered: a rate, from where to where a ramp went, or the name of a window that consists of several.
pub(in super::super) fn planned(window: &Window) -> String {
    match (window.offered_per_s.get(), window.offered_to_per_s.get()) {
        (None, _) => clean(&window.label),
        (Some(from), Some(to)) => format!("{} to {}", rate(Some(from)), rate(Some(to))),
        (Some(per_s), None) => rate(Some(per_s)),
    }
}

/// The name of a window, and of which it is the other part.
fn named(window: &Window) -> String {
    match window.beside {
        Some(index) => format!("{}, mixed with #{}", window.label, u64::from(index) + 1),
        None => window.label.clone(),
    }
}

fn is_named_by_its_rate(window: &Window) -> bool {
    let Some(per_s) = window.offered_per_s.get().filter(|_| window.beside.is_none()) else { return false };
    Rate::from_per_s(per_s).is_ok_and(|rate| window.label == format!("{rate}/s") || window.label == rate.to_string())
}

/// Rates: what was offered and what the table took of it.
pub(in super::super) fn rates(document: &Document) -> Table {
    let mut table = Table::new(
        "Windows",
        &[
            ">#",
            "window",
            "op",
            ">item, bytes",
            "keys",
            ">offered/s",
            ">length",
            ">accepted/s of the whole window",
            ">sustained/s",
            ">95 % interval",
            ">sustained units/s",
            ">burst, units",
            ">first throttle after",
            "verdict",
        ],
    );
    for window in &document.windows {
        let units = window.sustained_per_s.get().map(|per_s| per_s * units_each(document, window));
        table.push([
            number(window),
            named(window),
            window.op.to_string(),
            whole(window.item_bytes.map(f64::from)),
            window.keys.clone().unwrap_or_default(),
            planned(window),
            seconds(window.duration_s.get()),
            rate(window.accepted_per_s.get()),
            rate(window.sustained_per_s.get()),
            interval(window.sustained_ci95_per_s),
            rate(units),
            whole(window.burst_units.get()),
            seconds(window.first_throttle_s.get()),
            window.verdict.name().to_owned(),
        ]);
    }
    let is_own = |has: fn(&Window) -> bool| document.windows.iter().any(has);
    for (column, needed) in [
        ("window", is_own(|window| !is_named_by_its_rate(window))),
        ("item, bytes", is_own(|window| window.item_bytes.is_some())),
        ("keys", is_own(|window| window.keys.is_some())),
    ] {
        if !needed {
            table = table.without(column);
        }
    }
    table
}

/// Ledgers: what became of the intents of each window, in requests, and in units what was accepted.
pub(in super::super) fn counts(document: &Document) -> Table {
    let columns =
        [">#", ">offered", ">sent", ">accepted", ">throttled", ">failed", ">timed out", ">shed", ">in flight", ">accepted, units"];
    let mut table = Table::new("What became of the requests", &columns);
    let count = |n: u64| whole(Some(n as f64));
    for window in &document.windows {
        let c = &window.counts;
        let row = [c.offered, c.sent, c.accepted, c.throttled, c.failed, c.timed_out, c.shed, c.in_flight].map(count);
        let units = whole(Some(c.accepted as f64 * units_each(document, window)));
        table.push([number(window)].into_iter().chain(row).chain([units]));
    }
    table
}

/// Latencies of accepted requests.
pub(in super::super) fn latencies(document: &Document) -> Table {
    let columns = [
        ">#",
        ">offered/s",
        ">accepted",
        ">service p50",
        ">service p99",
        ">service max",
        ">response p50",
        ">response p99",
        ">response max",
    ];
    let mut table = Table::new("Latency of accepted requests, ms", &columns);
    let three = |f: &Figures| [f.p50, f.p99, f.max].map(|value| millis(value.get()));
    for window in &document.windows {
        let accepted = &window.latency_ms.accepted;
        let row = three(&accepted.service).into_iter().chain(three(&accepted.response));
        table.push([number(window), planned(window), whole(Some(accepted.service.count as f64))].into_iter().chain(row));
    }
    table
}

/// Changes of the accepted level.
pub(in super::super) fn steps(document: &Document) -> Table {
    let mut table = Table::new("Steps of the accepted rate", &[">at", ">from, accepted/s", ">to, accepted/s"]);
    for step in &document.steps {
        let at = step.at_s.get().map_or(NONE.to_owned(), clock);
        table.push([at, rate(step.from_per_s.get()), rate(step.to_per_s.get())]);
    }
    table
}

/// The reasons to distrust a window, with what each means; `simulated` is said elsewhere.
pub(in super::super) fn caveats(document: &Document) -> Vec<String> {
    let told = |window: &Window| {
        let caveats = window.caveats.iter().filter(|caveat| **caveat != Caveat::Simulated);
        let words: Vec<String> = caveats.map(|caveat| format!("{caveat} ({})", caveat.in_words())).collect();
        (!words.is_empty()).then(|| format!("#{} {}", number(window), words.join(", ")))
    };
    document.windows.iter().filter_map(told).collect()
}

/// What the verdict of each window rests on.
pub(in super::super) fn evidence(document: &Document) -> Vec<String> {
    let told = |window: &Window| {
        let sentences = window.evidence.join("; ");
        (!sentences.is_empty()).then(|| format!("#{} {}: {}", number(window), window.verdict.name(), clean(&sentences)))
    };
    document.windows.iter().filter_map(told).collect()
}

/// Why the average of a whole window lies above the sustained ceiling, in the figures of the window where it shows most.
pub(in super::super) fn average_in_words(document: &Document) -> Option<String> {
    let (_, most) = document
        .windows
        .iter()
        .filter_map(|window| Some((window.accepted_per_s.get()? - window.sustained_per_s.get()?, window)))
        .filter(|(above, window)| *above > 0.0 && window.burst_units.get().is_some_and(|units| units > 0.0))
        .max_by(|a, b| a.0.total_cmp(&b.0))?;
    let length = most.duration_s.get().filter(|s| *s > 0.0)?;
    let burst = most.burst_units.get()? / units_each(document, most);
    Some(format!(
        "The average of a whole window lies above the sustained ceiling because it contains the burst, spread over the window: \
         in window #{}, {} requests accepted from the burst over {} are {}/s, on top of {}/s sustained, and the average is {}/s. \
         A longer window would show a lower average of the same table.",
        number(most),
        whole(Some(burst)),
        seconds(Some(length)),
        rate(Some(burst / length)),
        rate(most.sustained_per_s.get()),
        rate(most.accepted_per_s.get()),
    ))
}
