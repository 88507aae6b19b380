//! What a session was, what it rests on, and how its figures are defined.

use crate::analysis::{Caveat, VerdictKind};

use super::super::clean::clean;
use super::super::document::{Document, UnitsPerS};
use super::super::figures::{NONE, clock, seconds, usd, whole};
use super::super::finite::Finite;
use super::super::text::{agreement, deletion, ledger, verdict_in_words};
use super::{Fact, Table};

/// Said first wherever the simulated endpoint answered.
pub(in super::super) const SIMULATED: &str =
    "SIMULATED: the simulated endpoint answered, not AWS. These figures show its model, not the service.";

/// What was measured, for a title.
pub(in super::super) fn heading(document: &Document) -> String {
    let target = &document.target;
    let mark = if target.simulated { "SIMULATED: " } else { "" };
    let table = if target.table.is_empty() { "no table".to_owned() } else { format!("table {}", target.table) };
    let place = if target.region.is_empty() { String::new() } else { format!(" in {}", target.region) };
    clean(&format!("{mark}Throughput of {table}{place}, {}", day(document)))
}

/// The day the session started, UTC.
fn day(document: &Document) -> &str {
    let at = document.session.started_at.split('T').next().unwrap_or_default();
    if at.is_empty() { "on a day that is not known" } else { at }
}

/// Tool, session, date, target: what a reader asks first.
pub(in super::super) fn when(document: &Document) -> Vec<Fact> {
    let (session, target, workload) = (&document.session, &document.target, &document.workload);
    let or_dash = |text: &str| if text.is_empty() { NONE.to_owned() } else { text.to_owned() };
    let how = session.stop_reason.clone().unwrap_or_else(|| format!("state {}", session.state));
    let plan = document.plan.as_ref().map_or("steered by hand".to_owned(), |plan| format!("plan {}", plan.name));
    let reads = match (workload.consistent_read, document.windows.iter().any(|w| w.op == crate::load::Op::Read)) {
        (_, false) => "",
        (true, true) => ", reads strongly consistent",
        (false, true) => ", reads eventually consistent",
    };
    vec![
        Fact::new("Session", format!("{}, {plan}: {how}", or_dash(&session.id))),
        Fact::new("Date", format!("{} (UTC), {}", or_dash(&session.started_at), seconds(session.elapsed_s.get()))),
        Fact::new("Region", or_dash(&target.region)),
        Fact::new(
            "Table",
            if target.table.is_empty() { NONE.to_owned() } else { format!("{}, {}", target.table, or_dash(&target.billing_mode)) },
        ),
        Fact::new("Target", format!("{}, {}", kind(document), or_dash(&target.endpoint))),
        Fact::new("Items", format!("{}{reads}", items(document))),
        Fact::new("Tool", format!("throttlescope {}, client {}", or_dash(&document.tool.version), or_dash(&document.tool.client))),
    ]
}

/// Size and keys, of all windows where they agree.
fn items(document: &Document) -> String {
    let workload = &document.workload;
    let bytes = document.windows.iter().any(|window| window.item_bytes.is_some_and(|bytes| bytes != workload.item_bytes));
    let keys = document.windows.iter().any(|window| window.keys.as_ref().is_some_and(|keys| *keys != workload.keys));
    let size = if bytes {
        "a size of its own in each window".to_owned()
    } else {
        format!("{} bytes", whole(Some(f64::from(workload.item_bytes))))
    };
    let keys = match (keys, workload.keys.as_str()) {
        (true, _) => "of its own in each window",
        (false, "") => NONE,
        (false, keys) => keys,
    };
    let seeded = workload.items.map_or(String::new(), |items| format!(", {} items seeded", whole(Some(items as f64))));
    format!("{size}, keys {keys}{seeded}")
}

fn kind(document: &Document) -> &'static str {
    use super::super::facts::TargetKind;
    match (document.target.simulated, document.target.kind) {
        (true, _) => "the simulated endpoint (SIMULATED)",
        (false, TargetKind::Aws) => "Amazon DynamoDB",
        (false, TargetKind::Endpoint | TargetKind::Embedded) => "a DynamoDB-compatible server",
    }
}

/// The verdict: its words, the sentences it rests on, and the reasons to distrust it.
pub(in super::super) fn why(document: &Document) -> (&'static str, Vec<String>, Vec<String>) {
    let verdict = &document.verdict;
    let caveats = verdict.caveats.iter().filter(|caveat| **caveat != Caveat::Simulated);
    let mut evidence: Vec<String> = verdict.evidence.iter().map(|sentence| clean(sentence)).collect();
    if verdict.kind == VerdictKind::Inconclusive && document.windows.is_empty() {
        evidence.push("no window was opened, so nothing was measured".to_owned());
    }
    (verdict_in_words(verdict.kind), evidence, caveats.map(|caveat| format!("{caveat}: {}", caveat.in_words())).collect())
}

/// How the figures are defined.
pub(in super::super) fn definitions() -> Vec<Fact> {
    [
        ("Offered", "requests that came due on the schedule, whether or not they could be sent. The schedule is open-loop: it never waits for an answer."),
        ("Accepted", "answered with success. Throttled: refused for capacity, by the error code. Failed: any other error. Shed: due but not sent, which is the client's doing."),
        ("Sustained", "the saturated ceiling: the accepted rate in the steady part of a window that was offered more than the table takes, with its 95 % confidence interval. The steady part is found from the data. It speaks of this one table."),
        ("Burst", "units accepted above the sustained ceiling before the steady part: capacity saved up while the table was idle."),
        ("First throttle", "from the start of the window to the sending of the first request that was throttled."),
        ("Service latency", "from sending to the answer."),
        ("Response latency", "from the instant a request was due to the answer, so that a client that lags cannot hide it."),
        ("Retries", "none, at any layer: one request is one attempt."),
    ]
    .map(|(name, text)| Fact::new(name, text))
    .into()
}

/// Machine, workload, ledger, cost, and what became of the table.
pub(in super::super) fn environment(document: &Document) -> Vec<Fact> {
    let (target, workload, totals) = (&document.target, &document.workload, &document.totals);
    let mut facts = vec![
        Fact::new(
            "Client",
            format!(
                "{}, {} shard {}, at most {} in flight, timeout {}, seed {}",
                document.tool.client,
                workload.shards,
                if workload.shards == 1 { "thread" } else { "threads" },
                whole(Some(f64::from(workload.max_in_flight))),
                seconds(workload.timeout_s.get()),
                workload.seed
            ),
        ),
        Fact::new("Host", document.host.as_ref().map_or(NONE.to_owned(), super::super::host::Host::in_words)),
    ];
    if target.created_by_session {
        let first = target.active_to_first_accepted_s.get().map_or(String::new(), |s| format!(", first accepted {s:.2} s later"));
        let active = target.time_to_active_s.get().map_or("not seen".to_owned(), |s| format!("{s:.1} s after CreateTable{first}"));
        facts.push(Fact::new("Time to ACTIVE", active));
    }
    let stated = |said: Option<UnitsPerS>| said.map_or(NONE.to_owned(), |said| format!("{}, as the service stated it", units(said)));
    facts.push(Fact::new("WarmThroughput", stated(target.warm_throughput)));
    facts.push(Fact::new("Configured maximum", stated(target.max_units)));
    facts.push(Fact::new("Ledger", ledger(&totals.counts)));
    if let Some(agreement) = agreement(document) {
        facts.push(Fact::new("Endpoint's ledger", agreement));
    }
    let real = if target.simulated { ", were it real" } else { "" };
    let cost = usd(totals.cost_usd.get()).map_or("price not known".to_owned(), |usd| format!("{usd}{real} (on-demand list price)"));
    facts.push(Fact::new("Cost", format!("{cost}, {} units consumed", whole(totals.consumed_units.get()))));
    facts.push(Fact::new("Deletion", deletion(document)));
    facts
}

fn units(said: UnitsPerS) -> String {
    let units = |n: u64| whole(Some(n as f64));
    format!("{} write and {} read units/s", units(said.write_units_per_s), units(said.read_units_per_s))
}

/// What the service said of the table while it was measured.
pub(in super::super) fn claims(document: &Document) -> Table {
    let mut table =
        Table::new("What DescribeTable said", &[">from", ">to", "status", "billing mode", "WarmThroughput", "configured maximum"]);
    let time = |s: Finite| s.get().map_or(NONE.to_owned(), clock);
    for claim in &document.target.claims {
        table.push([
            time(claim.at_s),
            time(claim.last_s),
            claim.status.clone(),
            claim.billing_mode.clone(),
            claim.warm_throughput.map(units).unwrap_or_default(),
            claim.max_units.map(units).unwrap_or_default(),
        ]);
    }
    table
}

/// What happened, in order.
pub(in super::super) fn events(document: &Document) -> Table {
    let mut table = Table::new("Events", &[">at", "kind", "what"]);
    for event in &document.events {
        table.push([event.at_s.get().map_or(NONE.to_owned(), clock), event.kind.name().to_owned(), event.detail.clone()]);
    }
    table
}
