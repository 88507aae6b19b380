//! The summary: what stays in the scrollback and what one pastes into a chat. Plain ASCII, at most [`WIDTH`] columns.

use crate::analysis::{Caveat, VerdictKind};

use super::clean::clean_ascii;
use super::document::{Counts, Document, Throttle, Window};
use super::facts::{EventKind, removal};
use super::figures::{millis, rate, seconds, usd, whole};

/// No line is longer.
pub const WIDTH: usize = 100;

/// A session document in words and figures.
pub fn text(document: &Document) -> String {
    let mut page = Page::default();
    head(document, &mut page);
    verdict(document, &mut page);
    windows(document, &mut page);
    answers(document, &mut page);
    table(document, &mut page);
    caveats(document, &mut page);
    page.text
}

#[derive(Default)]
struct Page {
    text: String,
}

impl Page {
    /// A paragraph, wrapped; the lines after the first are indented by `hang`.
    fn say(&mut self, indent: usize, hang: usize, paragraph: &str) {
        let paragraph = clean_ascii(paragraph);
        let words: Vec<&str> = paragraph.split(' ').filter(|word| !word.is_empty()).collect();
        let (first, next) = (" ".repeat(indent), " ".repeat(hang));
        let options = textwrap::Options::new(WIDTH)
            .initial_indent(&first)
            .subsequent_indent(&next)
            .word_separator(textwrap::WordSeparator::AsciiSpace)
            .word_splitter(textwrap::WordSplitter::NoHyphenation);
        for line in textwrap::wrap(&words.join(" "), options) {
            self.row(&line);
        }
    }

    fn row(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    fn gap(&mut self) {
        self.text.push('\n');
    }

    /// A named line: the name in a column of its own.
    fn fact(&mut self, name: &str, value: &str) {
        let from = self.text.len();
        self.say(15, 15, value);
        // The first line's indent makes room for the name.
        self.text.replace_range(from..from + 15, &format!("  {name:<13}"));
    }
}

fn head(document: &Document, page: &mut Page) {
    if document.target.simulated {
        page.say(0, 2, "SIMULATED: the simulated endpoint answered, not AWS: these figures show its model, not the service.");
    }
    let session = &document.session;
    let how = session.stop_reason.clone().unwrap_or_else(|| format!("state {}", session.state));
    let plan = document.plan.as_ref().map_or(String::new(), |p| format!(", plan {}", p.name));
    page.say(
        0,
        2,
        &format!(
            "throttlescope {} session {}{plan}, {}, {}: {how}",
            document.tool.version,
            session.id,
            session.started_at,
            seconds(session.elapsed_s.get())
        ),
    );
    let target = &document.target;
    let workload = &document.workload;
    let table = if target.table.is_empty() { "no table".to_owned() } else { format!("table {} ({})", target.table, target.billing_mode) };
    page.say(
        0,
        2,
        &format!(
            "{table} at {} {}; items of {} bytes, keys {}, client {}",
            target.endpoint,
            target.region,
            whole(Some(f64::from(workload.item_bytes))),
            workload.keys,
            document.tool.client
        ),
    );
}

/// A verdict and what it says, one clause.
pub(super) const fn verdict_in_words(kind: VerdictKind) -> &'static str {
    match kind {
        VerdictKind::ServiceBound => "SERVICE-BOUND: the table refused what it was offered, and the client kept its schedule",
        VerdictKind::ClientBound => "CLIENT-BOUND: the client fell short before the table refused anything steadily",
        VerdictKind::CeilingNotReached => "CEILING NOT REACHED: the table accepted what it was offered",
        VerdictKind::Inconclusive => "INCONCLUSIVE: the data does not show whose limit was met",
    }
}

fn verdict(document: &Document, page: &mut Page) {
    let verdict = &document.verdict;
    page.gap();
    page.say(0, 2, verdict_in_words(verdict.kind));
    for sentence in &verdict.evidence {
        page.say(2, 4, &format!("- {sentence}"));
    }
}

const COLUMNS: &str = "  #  op     offered/s  for     accepted/s  sustained/s  burst  throttle  p50/p99 ms  verdict";

fn windows(document: &Document, page: &mut Page) {
    if document.windows.is_empty() {
        return;
    }
    page.gap();
    page.row(COLUMNS);
    for window in &document.windows {
        page.row(&window_row(window));
    }
    page.gap();
    page.row("  response latency (from the intended instant) p50/p99 ms of accepted requests:");
    let response = |w: &Window| {
        let r = &w.latency_ms.accepted.response;
        format!("#{} {}/{}", w.index + 1, millis(r.p50.get()), millis(r.p99.get()))
    };
    page.say(4, 4, &document.windows.iter().map(response).collect::<Vec<_>>().join(", "));
    for window in &document.windows {
        let caveats: Vec<&str> = window.caveats.iter().filter(|c| **c != Caveat::Simulated).map(|c| c.name()).collect();
        if !caveats.is_empty() {
            page.say(2, 4, &format!("#{} {}: {}", window.index + 1, caveats.join(", "), window.evidence.join("; ")));
        }
    }
}

fn window_row(window: &Window) -> String {
    let service = &window.latency_ms.accepted.service;
    let offered = window.offered_per_s.get().map_or_else(|| window.label.clone(), |r| rate(Some(r)));
    let verdict = match window.verdict {
        VerdictKind::CeilingNotReached => "not reached",
        other => other.name(),
    };
    let row = format!(
        "{:>3}  {:<5}  {:>9}  {:<6}  {:>10}  {:>11}  {:>6}  {:>8}  {:>10}  {verdict}",
        window.index + 1,
        window.op,
        clean_ascii(&offered),
        seconds(window.duration_s.get()),
        rate(window.accepted_per_s.get()),
        rate(window.sustained_per_s.get()),
        whole(window.burst_units.get()),
        seconds(window.first_throttle_s.get()),
        format!("{}/{}", millis(service.p50.get()), millis(service.p99.get())),
    );
    row.chars().take(WIDTH).collect()
}

fn answers(document: &Document, page: &mut Page) {
    if !document.throttles.is_empty() {
        page.gap();
    }
    for Throttle { http_status, code, reasons, resource, message, count, first_s } in &document.throttles {
        let reasons = if reasons.is_empty() { "no reason given".to_owned() } else { reasons.join(", ") };
        let resource = resource.as_ref().map_or(String::new(), |r| format!(" on {r}"));
        page.say(
            0,
            2,
            &format!(
                "throttled {} times, first at {}: HTTP {http_status} {code} ({reasons}){resource}",
                whole(Some(*count as f64)),
                seconds(first_s.get())
            ),
        );
        page.say(2, 2, &format!("\"{message}\""));
        if *http_status == 400 {
            page.say(2, 2, "A monitor that alarms on 5xx only does not see these.");
        }
    }
    for failure in &document.failures {
        let status = failure.http_status.map_or(String::new(), |s| format!(" HTTP {s}"));
        let code = failure.code.as_ref().map_or(String::new(), |c| format!(" {c}"));
        let count = whole(Some(failure.count as f64));
        page.say(0, 2, &format!("failed {count} times ({}){status}{code}: {}", failure.kind, failure.message));
    }
    if document.totals.counts.timed_out > 0 {
        let timeout = seconds(document.workload.timeout_s.get());
        page.say(0, 2, &format!("timed out {} times after {timeout}", whole(Some(document.totals.counts.timed_out as f64))));
    }
}

fn table(document: &Document, page: &mut Page) {
    let (target, totals) = (&document.target, &document.totals);
    page.gap();
    if target.created_by_session {
        let first = target.active_to_first_accepted_s.get().map_or(String::new(), |s| format!(", first accepted {s:.2} s later"));
        match target.time_to_active_s.get() {
            Some(s) => page.fact("ACTIVE", &format!("{s:.1} s after CreateTable{first}")),
            None => page.fact("ACTIVE", "not seen"),
        }
    }
    if let Some(host) = &document.host {
        page.fact("host", &host.in_words());
    }
    page.fact("ledger", &ledger(&totals.counts));
    if let Some(agreement) = agreement(document) {
        page.fact("target", &agreement);
    }
    let units = whole(totals.consumed_units.get());
    let nobody = if target.simulated { ", were it real" } else { "" };
    let cost = usd(totals.cost_usd.get()).map_or_else(
        || "price unknown; give --price-write and --price-read".to_owned(),
        |usd| format!("{usd}{nobody} (on-demand list price)"),
    );
    page.fact("cost", &format!("{cost}, {units} units consumed"));
    page.fact("deletion", &deletion(document));
}

/// A ledger as the equation that it is.
pub(super) fn ledger(c: &Counts) -> String {
    let count = |n: u64| whole(Some(n as f64));
    format!(
        "offered {} = accepted {} + throttled {} + failed {} + timed out {} + shed {} + in flight {}",
        count(c.offered),
        count(c.accepted),
        count(c.throttled),
        count(c.failed),
        count(c.timed_out),
        count(c.shed),
        count(c.in_flight)
    )
}

/// Whether the client's ledger and the simulated endpoint's agree, as far as failures and timeouts let them.
pub(super) fn agreement(document: &Document) -> Option<String> {
    let ledger = document.target_ledger.as_ref()?;
    let ours = &document.totals.counts;
    let open = ours.failed + ours.timed_out + ours.in_flight;
    let within = |ours: u64, theirs: u64| ours <= theirs && theirs <= ours + open;
    let count = |n: u64| whole(Some(n as f64));
    let theirs = format!("accepted {}, throttled {}", count(ledger.accepted), count(ledger.throttled));
    Some(if ledger.accepted == ours.accepted && ledger.throttled == ours.throttled {
        format!("counted the same to the last request: {theirs}")
    } else if within(ours.accepted, ledger.accepted) && within(ours.throttled, ledger.throttled) {
        format!("counted {theirs}: within the {} that failed, timed out or are in flight", count(open))
    } else {
        format!("DISAGREES: it counted {theirs}; do not trust these figures")
    })
}

/// What became of the table.
pub(super) fn deletion(document: &Document) -> String {
    let target = &document.target;
    let table = &target.table;
    if !target.created_by_session {
        return if table.is_empty() {
            "nothing was created".to_owned()
        } else {
            format!("{table} was not created by this session and is left as it was")
        };
    }
    if let (true, Some(s)) = (target.deleted, target.delete_confirmed_s.get()) {
        return format!("{table} is gone, confirmed {s:.1} s after DeleteTable");
    }
    let Some(command) = removal(target.kind, table, &target.region, &target.endpoint) else {
        return format!("{table} ended with the simulated endpoint; nothing is left behind");
    };
    let how = if target.deleted { "DeleteTable was accepted but never confirmed" } else { "it was not deleted" };
    if document.session.state.is_over() {
        format!("TABLE {table} MAY BE LEFT BEHIND: {how}. It may cost money. To remove it: {command}")
    } else {
        format!("{table} still stood when this was written (state {}). If the session is dead: {command}", document.session.state)
    }
}

fn caveats(document: &Document, page: &mut Page) {
    let caveats = &document.verdict.caveats;
    let warnings: Vec<_> = document.events.iter().filter(|e| matches!(e.kind, EventKind::Warning | EventKind::Error)).collect();
    if caveats.is_empty() && warnings.is_empty() {
        return;
    }
    page.gap();
    for caveat in caveats {
        page.say(0, 2, &format!("caveat {caveat}: {}", caveat.in_words()));
    }
    // The newest matter most; the document has them all.
    for event in warnings.iter().skip(warnings.len().saturating_sub(10)) {
        page.say(0, 2, &format!("{} at {}: {}", event.kind.name(), seconds(event.at_s.get()), event.detail));
    }
}
