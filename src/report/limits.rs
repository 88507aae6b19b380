//! The limits page: what one would paste into the documentation of a service that stands on such a table.

use crate::load::Op;

use super::document::{Document, Window};
use super::figures::{NONE, millis, rate, seconds, usd, whole};
use super::markdown::{Page, escape};
use super::sheet::{self, interval};

/// A session document as a limits page in Markdown. Its first line and its title say SIMULATED where the simulated endpoint
/// answered.
pub fn limits(document: &Document) -> String {
    let mut page = Page::default();
    if document.target.simulated {
        page.simulated();
    }
    page.heading(1, &title(document));
    page.paragraph(&row_table(["Limit", "Measured"], &figures(document)));
    if document.throttles.is_empty() {
        page.paragraph("No request was throttled, so there is no error to show.");
    } else {
        page.heading(2, "What a throttled request looks like");
        for answer in sheet::throttles(document) {
            page.answer(&answer);
        }
        if let Some(sentence) = sheet::monitor_in_words(document) {
            page.paragraph(&escape(&sentence));
        }
    }
    page.heading(2, "Scope");
    page.paragraph(&row_table(["What", "Value"], &scope(document)));
    page.heading(2, "How this was measured");
    page.paragraph(&escape(&method(document)));
    page.heading(2, "Caveats");
    page.list(&caveats(document));
    page.finish()
}

fn title(document: &Document) -> String {
    let mark = if document.target.simulated { "SIMULATED: " } else { "" };
    let mode = &document.target.billing_mode;
    let mode = if mode.is_empty() { String::new() } else { format!(" ({mode})") };
    format!("{mark}Measured limits of a DynamoDB table{mode}")
}

fn row_table([name, value]: [&str; 2], rows: &[(&'static str, String)]) -> String {
    let rows: Vec<String> = rows.iter().map(|(name, value)| format!("| {} | {} |", escape(name), escape(value))).collect();
    format!("| {name} | {value} |\n| --- | --- |\n{}", rows.join("\n"))
}

/// The windows with an over-driven, steady part.
fn saturated(document: &Document) -> impl Iterator<Item = &Window> {
    document.windows.iter().filter(|window| window.sustained_per_s.get().is_some())
}

fn figures(document: &Document) -> Vec<(&'static str, String)> {
    let verdict = &document.verdict;
    let ops = operations(document);
    let mut rows = Vec::new();
    match verdict.sustained_per_s.get() {
        Some(per_s) => rows.push((
            "Sustained ceiling",
            format!("{} {ops}/s (95 % interval {} of this table)", rate(Some(per_s)), interval(verdict.ci95_per_s)),
        )),
        None => rows.push(("Sustained ceiling", by_window(document, ops).unwrap_or_else(|| "not measured: see the caveats".to_owned()))),
    }
    let highest = verdict.clean_at_least_per_s.get().map(|per_s| format!("{} {ops}/s", rate(Some(per_s))));
    rows.push(("Highest rate offered without a throttle", highest.unwrap_or_else(|| "none".to_owned())));
    let lowest = verdict.clean_below_per_s.get().map(|per_s| format!("{} {ops}/s", rate(Some(per_s))));
    rows.push(("Lowest rate offered with steady throttling", lowest.unwrap_or_else(|| "none".to_owned())));
    let burst = verdict.burst_units.get().map(|units| format!("{} units above the ceiling, after a rest", whole(Some(units))));
    rows.push(("Burst", burst.unwrap_or_else(|| "not measured".to_owned())));
    rows.push(("First throttle", first_throttles(document)));
    let active = document.target.time_to_active_s.get().map(|s| format!("{s:.1} s after CreateTable"));
    rows.push(("Time to ACTIVE", active.unwrap_or_else(|| "not measured".to_owned())));
    let fastest = saturated(document).last().or(document.windows.last());
    let latency = fastest.map(|window| {
        let accepted = &window.latency_ms.accepted.service;
        format!("p50 {} ms, p99 {} ms at {}/s offered", millis(accepted.p50.get()), millis(accepted.p99.get()), sheet::planned(window))
    });
    rows.push(("Service latency of accepted requests", latency.unwrap_or_else(|| "not measured".to_owned())));
    rows
}

/// The ceilings of windows that disagree.
fn by_window(document: &Document, ops: &str) -> Option<String> {
    let told: Vec<String> = saturated(document)
        .map(|window| format!("{} {ops}/s in window #{}", rate(window.sustained_per_s.get()), u64::from(window.index) + 1))
        .collect();
    (!told.is_empty()).then(|| format!("not one figure: {}", told.join(", ")))
}

/// From the start of each window that throttled to its first throttle, the highest rate last.
fn first_throttles(document: &Document) -> String {
    let told: Vec<String> = document
        .windows
        .iter()
        .filter(|window| window.first_throttle_s.get().is_some())
        .map(|window| format!("{} at {}/s", seconds(window.first_throttle_s.get()), sheet::planned(window)))
        .collect();
    match told.len() {
        0 => "none".to_owned(),
        1..=6 => format!("after {}", told.join(", ")),
        more => format!("after {}; and {} windows more", told[..5].join(", "), more - 5),
    }
}

fn operations(document: &Document) -> &'static str {
    let of = |op: Op| document.windows.iter().any(|window| window.op == op);
    match (of(Op::Write), of(Op::Read)) {
        (true, false) => "writes",
        (false, true) => "reads",
        _ => "requests",
    }
}

fn scope(document: &Document) -> Vec<(&'static str, String)> {
    let mut rows: Vec<(&'static str, String)> = sheet::when(document).into_iter().map(|fact| (fact.name, fact.text)).collect();
    rows.retain(|(name, _)| *name != "Session");
    rows.extend(
        sheet::environment(document)
            .into_iter()
            .filter(|fact| matches!(fact.name, "WarmThroughput" | "Configured maximum"))
            .map(|fact| (fact.name, fact.text)),
    );
    let age = match (document.target.created_by_session, document.target.table.is_empty()) {
        (true, _) => "created for this measurement",
        (false, false) => "existed before this measurement",
        (false, true) => NONE,
    };
    rows.push(("Age of the table", age.to_owned()));
    let totals = &document.totals;
    let real = if document.target.simulated { ", were it real" } else { "" };
    let cost = usd(totals.cost_usd.get()).map_or("price not known".to_owned(), |usd| format!("{usd}{real}"));
    rows.push((
        "Spent",
        format!("{} requests, {} units, {cost}", whole(Some(totals.counts.sent as f64)), whole(totals.consumed_units.get())),
    ));
    rows
}

fn method(document: &Document) -> String {
    let (windows, length) = (document.windows.len(), document.windows.first().map(|w| seconds(w.duration_s.get())));
    let same = document.windows.windows(2).all(|two| two[0].duration_s == two[1].duration_s);
    let spans = match (windows, length) {
        (0, _) | (_, None) => "No window was measured.".to_owned(),
        (1, Some(length)) => format!(
            "One window of {length} was offered on an open-loop schedule that never waits for an answer, with one attempt per request."
        ),
        (n, Some(length)) => format!(
            "{n} windows of {} were offered on an open-loop schedule that never waits for an answer, with one attempt per request.",
            if same { format!("{length} each") } else { "different length".to_owned() }
        ),
    };
    format!(
        "{spans} The sustained ceiling is the accepted rate in the part of an over-driven window where the throttle rate had become stationary; the burst is what was accepted above it before."
    )
}

fn caveats(document: &Document) -> Vec<String> {
    let (verdict, evidence, mut caveats) = sheet::why(document);
    let mut all = vec![format!("{verdict}{}{}", if evidence.is_empty() { "" } else { ": " }, evidence.join("; "))];
    all.append(&mut caveats);
    all.append(&mut sheet::caveats(document));
    all.extend(sheet::average_in_words(document));
    all.push(
        "One run speaks of one table, on one day, in one region. It cannot know how tables differ, nor how this one will behave \
         when it is older or has been scaled: repeat it on fresh tables for a spread."
            .to_owned(),
    );
    all
}
