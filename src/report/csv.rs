//! The CSV renderings, RFC 4180: one table each, buckets or windows. Units are in the column names, null is empty, and the
//! first column says what answered, so that a row keeps saying SIMULATED wherever it is copied to.

use super::clean::clean;
use super::document::{Buckets, Document, Figures, Window};
use super::finite::Finite;

/// What answered: `SIMULATED`, else the kind of endpoint.
fn source(document: &Document) -> &'static str {
    if document.target.simulated { "SIMULATED" } else { document.target.kind.name() }
}

/// A figure in full; empty where there is none.
fn figure(value: Finite) -> String {
    value.get().map_or(String::new(), |value| value.to_string())
}

/// Text as no spreadsheet takes for a formula.
fn text(text: &str) -> String {
    let text = clean(text);
    if text.starts_with(['=', '+', '-', '@']) { format!("'{text}") } else { text }
}

/// The rows as one CSV text.
fn written(head: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut writer = ::csv::WriterBuilder::new().terminator(::csv::Terminator::CRLF).from_writer(Vec::new());
    let mut put = |cells: &[String]| {
        // Memory takes all that is written, and every row is as long as the head.
        let _cannot_fail = writer.write_record(cells);
    };
    put(&head.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
    rows.for_each(|row| put(&row));
    writer.into_inner().map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}

const BUCKETS: [&str; 16] = [
    "source",
    "start_s",
    "span_s",
    "window",
    "offered",
    "accepted",
    "throttled",
    "failed",
    "timed_out",
    "shed",
    "in_flight",
    "service_p50_ms",
    "service_p99_ms",
    "response_p50_ms",
    "response_p99_ms",
    "session",
];

/// Second by second: one row per bucket. `window` counts from 1, as the other renderings do; latencies are those of
/// accepted requests. `start_s` is seconds from the start of the session.
pub fn csv_buckets(document: &Document) -> String {
    let b: &Buckets = &document.buckets;
    let count = |column: &[u64], at: usize| column.get(at).map_or(String::new(), u64::to_string);
    let value = |column: &[Finite], at: usize| column.get(at).map_or(String::new(), |value| figure(*value));
    let session = text(&document.session.id);
    let row = |at: usize| {
        vec![
            source(document).to_owned(),
            value(&b.start_s, at),
            b.span_s.get(at).map_or(String::new(), u32::to_string),
            b.window.get(at).copied().flatten().map_or(String::new(), |index| (u64::from(index) + 1).to_string()),
            count(&b.offered, at),
            count(&b.accepted, at),
            count(&b.throttled, at),
            count(&b.failed, at),
            count(&b.timed_out, at),
            count(&b.shed, at),
            b.in_flight.get(at).map_or(String::new(), u32::to_string),
            value(&b.p50_ms, at),
            value(&b.p99_ms, at),
            value(&b.response_p50_ms, at),
            value(&b.response_p99_ms, at),
            session.clone(),
        ]
    };
    written(&BUCKETS, (0..b.start_s.len()).map(row))
}

const WINDOWS: [&str; 29] = [
    "source",
    "session",
    "window",
    "label",
    "op",
    "beside_window",
    "item_bytes",
    "keys",
    "offered_per_s",
    "offered_to_per_s",
    "start_s",
    "duration_s",
    "offered",
    "sent",
    "accepted",
    "throttled",
    "failed",
    "timed_out",
    "shed",
    "in_flight",
    "consumed_units",
    "accepted_per_s",
    "sustained_per_s",
    "sustained_ci95_low_per_s",
    "sustained_ci95_high_per_s",
    "steady_from_s",
    "burst_units",
    "first_throttle_s",
    "verdict",
];

/// Names of the latency columns: outcome, which latency, figure.
fn latency_names() -> Vec<String> {
    let mut names = Vec::new();
    for outcome in ["accepted", "throttled"] {
        for latency in ["service", "response"] {
            names.extend(["p50", "p90", "p99", "p999", "max"].map(|figure| format!("{outcome}_{latency}_{figure}_ms")));
        }
    }
    names
}

/// One row per window, with its ledger, rates, latencies, verdict and caveats. `window` counts from 1.
pub fn csv_windows(document: &Document) -> String {
    let latency = latency_names();
    let mut head: Vec<&str> = WINDOWS.to_vec();
    head.extend(latency.iter().map(String::as_str));
    head.push("caveats");
    written(&head, document.windows.iter().map(|window| window_row(document, window)))
}

fn window_row(document: &Document, window: &Window) -> Vec<String> {
    let c = &window.counts;
    let [low, high] = window.sustained_ci95_per_s.unwrap_or([Finite::NULL; 2]);
    let mut row = vec![
        source(document).to_owned(),
        text(&document.session.id),
        (u64::from(window.index) + 1).to_string(),
        text(&window.label),
        window.op.to_string(),
        window.beside.map_or(String::new(), |index| (u64::from(index) + 1).to_string()),
        window.item_bytes.unwrap_or(document.workload.item_bytes).to_string(),
        text(window.keys.as_ref().unwrap_or(&document.workload.keys)),
        figure(window.offered_per_s),
        figure(window.offered_to_per_s),
        figure(window.start_s),
        figure(window.duration_s),
    ];
    row.extend([c.offered, c.sent, c.accepted, c.throttled, c.failed, c.timed_out, c.shed, c.in_flight].map(|n| n.to_string()));
    row.extend(
        [
            window.consumed_units,
            window.accepted_per_s,
            window.sustained_per_s,
            low,
            high,
            window.steady_from_s,
            window.burst_units,
            window.first_throttle_s,
        ]
        .map(figure),
    );
    row.push(window.verdict.name().to_owned());
    for both in [&window.latency_ms.accepted, &window.latency_ms.throttled] {
        for Figures { p50, p90, p99, p999, max, .. } in [&both.service, &both.response] {
            row.extend([p50, p90, p99, p999, max].map(|value| figure(*value)));
        }
    }
    row.push(window.caveats.iter().map(|caveat| caveat.name()).collect::<Vec<_>>().join(" "));
    row
}
