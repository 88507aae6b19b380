//! A session document, played: what it holds, as far as it was known then. Seconds come from its buckets, windows from its
//! windows once they are over; what a document does not say of a moment stays unknown.

use std::sync::Arc;

use super::judged::assessment;
use crate::analysis::assess;
use crate::load::snapshot::Pair;
use crate::load::{
    BUCKET, Counts, Distribution, Failure, Latency, Offset, Quantiles, Rate, Refusal, Row, Second, Setpoint, Snapshot, Tally, Units,
    Window, WindowId, WindowSpec,
};
use crate::report::build::context;
use crate::report::claim::Claim;
use crate::report::document::{self, Document, Figures};
use crate::report::facts::{
    Cost, Event, EventKind, PartitionLedger, Phase, PlanFacts, PlannedWindow, SessionFacts, StopReason, TargetFacts, TargetLedger,
    WorkloadFacts,
};
use crate::report::finite::Finite;
use crate::report::recording::Recording;

/// A session as its document tells it.
#[derive(Debug)]
pub struct Rebuilt {
    /// The session at its end.
    whole: Recording,
    ends: Offset,
    /// Changes of phase, in order.
    phases: Vec<(Offset, Phase)>,
    /// When the first window of the plan began.
    plan_from: Offset,
    /// Windows of the session before those of the plan.
    before_plan: usize,
}

/// Seconds of the document as an instant.
fn instant(seconds: Finite) -> Offset {
    Offset::from_nanos((seconds.get().unwrap_or_default().max(0.0) * 1e9).round() as u64)
}

impl Rebuilt {
    /// Reads a document.
    pub fn new(document: Document) -> Self {
        let ends = instant(document.session.elapsed_s);
        let rows = rows(&document.buckets);
        let windows: Vec<Arc<Window>> = document.windows.iter().map(|w| Arc::new(window(w, &rows, &document, ends))).collect();
        let events: Vec<Event> =
            document.events.iter().map(|e| Event { at: instant(e.at_s), kind: e.kind, detail: e.detail.clone() }).collect();
        let phase = |event: &Event| {
            let named = |detail: &str| serde_json::from_value(serde_json::Value::String(detail.to_owned())).ok();
            Some((event.at, named(&event.detail).filter(|_| event.kind == EventKind::Phase)?))
        };
        let phases = events.iter().filter_map(phase).collect();
        let assessment = assessment(&document);
        let done = document.plan.as_ref().map_or(0, |plan| plan.windows_done as usize);
        let open = windows.last().is_some_and(|window| window.end.is_none());
        let before_plan = windows.len().saturating_sub(done + usize::from(open));
        let plan_from = if before_plan == 0 { Offset::ZERO } else { windows.get(before_plan).map_or(ends, |window| window.spec.start) };
        let (refusals, failures) = answers(&document);
        let totals = &document.totals;
        let load = Snapshot {
            at: ends,
            applied: applied(&windows, ends),
            requested: applied(&windows, ends),
            rows: Arc::new(rows),
            windows,
            totals: counts(&totals.counts, totals.consumed_units),
            refusals: Arc::new(refusals),
            failures: Arc::new(failures),
            ..Snapshot::default()
        };
        let whole = Recording {
            session: SessionFacts {
                id: document.session.id,
                started_at: document.session.started_at,
                version: document.tool.version,
                client: document.tool.client,
                ..SessionFacts::default()
            },
            workload: workload(&document.workload),
            target: target(&document.target),
            host: document.host,
            phase: document.session.state,
            plan: document.plan.map(plan),
            load,
            assessment: Arc::new(assessment),
            cost: Cost { usd: totals.cost_usd.get(), ..Cost::default() },
            claims: Arc::new(document.target.claims.iter().map(claim).collect()),
            events: Arc::new(events),
            target_ledger: document.target_ledger.as_ref().map(ledger),
            stop_reason: document.session.stop_reason.as_deref().map(stop_reason),
            ended_at: document.session.ended_at,
            ..Recording::default()
        };
        Self { whole, ends, phases, plan_from, before_plan }
    }

    /// When the session ended, or the document was written.
    pub fn ends(&self) -> Offset {
        self.ends
    }

    /// The recording as it was then, as far as it is known.
    pub fn at(&self, at: Offset) -> Recording {
        let (phase_since, phase) = self.phase(at);
        if at >= self.ends {
            return Recording { phase_since, ..self.whole.clone() };
        }
        let whole = &self.whole;
        let mut now = Recording {
            session: whole.session.clone(),
            workload: whole.workload.clone(),
            target: self.target(phase),
            host: whole.host.clone(),
            phase,
            phase_since,
            plan: self.plan(at),
            load: self.load(at),
            claims: Arc::new(whole.claims.iter().filter(|c| c.at <= at).map(|c| Claim { last: c.last.min(at), ..c.clone() }).collect()),
            events: Arc::new(whole.events.iter().filter(|event| event.at <= at).cloned().collect()),
            stop_reason: whole.stop_reason.clone().filter(|_| matches!(phase, Phase::Draining | Phase::Deleting) || phase.is_over()),
            ..Recording::default()
        };
        let mut assessment = assess(&now.load, &context(&now));
        for found in &mut assessment.windows {
            let over = now.load.windows.iter().any(|window| window.spec.id == found.window && window.end.is_some());
            // Of a window that is over the document knows better than its seconds do.
            if let Some(stated) = whole.assessment.windows.iter().find(|stated| over && stated.window == found.window) {
                *found = stated.clone();
            }
        }
        now.assessment = Arc::new(assessment);
        now
    }

    fn phase(&self, at: Offset) -> (Offset, Phase) {
        self.phases.iter().rev().find(|(since, _)| *since <= at).copied().unwrap_or((Offset::ZERO, Phase::Starting))
    }

    fn target(&self, phase: Phase) -> TargetFacts {
        let known = &self.whole.target;
        let before_active = matches!(phase, Phase::Starting | Phase::Creating);
        TargetFacts {
            time_to_active_s: known.time_to_active_s.filter(|_| !before_active),
            warm_throughput: known.warm_throughput.filter(|_| !before_active),
            max_units: known.max_units.filter(|_| !before_active),
            deleted: false,
            delete_confirmed_s: None,
            ..known.clone()
        }
    }

    fn plan(&self, at: Offset) -> Option<PlanFacts> {
        let plan = self.whole.plan.clone().filter(|_| at >= self.plan_from)?;
        let of_plan = self.whole.load.windows.get(self.before_plan..).unwrap_or_default();
        let next = of_plan.iter().filter(|window| window.end.is_some_and(|end| end <= at)).count() as u32;
        Some(PlanFacts { next: next.min(plan.next), ..plan })
    }

    fn load(&self, at: Offset) -> Snapshot {
        let whole = &self.whole.load;
        let over = whole.rows.partition_point(|row| row.start.plus(BUCKET * row.span_s.max(1)) <= at);
        let rows: Vec<Row> = whole.rows.get(..over).unwrap_or_default().to_vec();
        let mut totals = Counts::default();
        for row in &rows {
            totals.add(&row.counts);
        }
        let begun = whole.windows.iter().filter(|window| window.spec.start <= at);
        let windows: Vec<Arc<Window>> = begun
            .map(|window| if window.end.is_some_and(|end| end <= at) { Arc::clone(window) } else { Arc::new(so_far(window, at)) })
            .collect();
        let setpoint = applied(&windows, at);
        Snapshot {
            at,
            applied: setpoint,
            requested: setpoint,
            refusals: Arc::new(seen_by(&whole.refusals, at, totals.throttled)),
            failures: Arc::new(seen_by(&whole.failures, at, totals.failed + totals.timed_out)),
            rows: Arc::new(rows),
            windows,
            totals,
            ..Snapshot::default()
        }
    }
}

/// What its seconds tell of a window that is not over: no latencies, for they are known of all of it only.
fn so_far(whole: &Window, at: Offset) -> Window {
    let mut window = Window::open(whole.spec.clone());
    window.folded = whole.folded;
    window.seconds = whole.seconds.iter().filter(|second| second.start.plus(BUCKET) <= at).copied().collect();
    for second in &window.seconds {
        window.counts.add(&second.counts);
    }
    window.first_throttled_sent = whole.first_throttled_sent.filter(|sent| sent.floor_to(BUCKET).plus(BUCKET) <= at);
    window
}

/// The rate in force as the windows tell it. Between windows the load rests; before the first nothing is known.
fn applied(windows: &[Arc<Window>], at: Offset) -> Option<Setpoint> {
    let last = windows.last()?;
    match last.end.filter(|end| *end <= at) {
        Some(end) => Some(Setpoint { rate: None, at: end }),
        None if last.is_adjusting() => None,
        None => Some(Setpoint { rate: Some(last.spec.rate), at: last.spec.start }),
    }
}

/// Answers that were first seen by then. How often is known where there was but one kind of them; else 0 stands for not known.
fn seen_by<T>(tallies: &[Tally<T>], at: Offset, count: u64) -> Vec<Tally<T>> {
    let known = if tallies.len() == 1 { count } else { 0 };
    let seen = tallies.iter().filter(|tally| tally.first <= at);
    seen.map(|t| Tally { what: Arc::clone(&t.what), window: t.window, count: known, first: t.first, last: at.min(t.last) }).collect()
}

fn rows(buckets: &document::Buckets) -> Vec<Row> {
    let whole = |list: &[u64], at: usize| list.get(at).copied().unwrap_or_default();
    let ms = |list: &[Finite], at: usize| list.get(at).copied().and_then(Finite::get);
    (0..buckets.start_s.len())
        .map(|at| Row {
            start: instant(buckets.start_s[at]),
            span_s: buckets.span_s.get(at).copied().unwrap_or(1),
            counts: Counts {
                offered: whole(&buckets.offered, at),
                accepted: whole(&buckets.accepted, at),
                throttled: whole(&buckets.throttled, at),
                failed: whole(&buckets.failed, at),
                timed_out: whole(&buckets.timed_out, at),
                shed: whole(&buckets.shed, at),
                ..Counts::default()
            },
            in_flight: buckets.in_flight.get(at).copied().unwrap_or_default(),
            window: buckets.window.get(at).copied().flatten().map(WindowId),
            service: Pair { p50: ms(&buckets.p50_ms, at), p99: ms(&buckets.p99_ms, at) },
            response: Pair { p50: ms(&buckets.response_p50_ms, at), p99: ms(&buckets.response_p99_ms, at) },
            ..Row::default()
        })
        .collect()
}

fn counts(counts: &document::Counts, consumed: Finite) -> Counts {
    Counts {
        offered: counts.offered,
        accepted: counts.accepted,
        throttled: counts.throttled,
        failed: counts.failed,
        timed_out: counts.timed_out,
        shed: counts.shed,
        consumed: Units::from_f64(consumed.get().unwrap_or_default()),
        ..Counts::default()
    }
}

fn window(window: &document::Window, rows: &[Row], document: &Document, ends: Offset) -> Window {
    let (start, id) = (instant(window.start_s), WindowId(window.index));
    let end = Offset::from_nanos(start.nanos() + instant(window.duration_s).nanos());
    let is_last = document.windows.last().is_some_and(|last| last.index == window.index);
    let open = is_last && document.session.state == Phase::Running && end.plus(std::time::Duration::from_millis(1)) >= ends;
    let rate = window.offered_per_s.get().and_then(|rate| Rate::from_per_s(rate).ok());
    let planned = document.plan.as_ref().is_some_and(|plan| plan.windows.iter().any(|planned| planned.label == window.label));
    let planned_end = planned.then_some(end);
    let mut rebuilt = Window::open(WindowSpec {
        ramp_to: window.offered_to_per_s.get().and_then(|rate| Rate::from_per_s(rate).ok()),
        item_bytes: window.item_bytes,
        keys: window.keys.as_deref().and_then(|keys| keys.parse().ok()),
        beside: window.beside.map(WindowId),
        ..WindowSpec::steady(id, window.label.clone(), window.op, rate.unwrap_or(Rate::MIN), start, planned_end)
    });
    rebuilt.folded = if rate.is_none() { 2 } else { 0 };
    rebuilt.end = (!open).then_some(end);
    rebuilt.counts = counts(&window.counts, window.consumed_units);
    rebuilt.counts.failed_here = window.client.failed_here;
    rebuilt.first_throttled_sent = window.first_throttle_s.get().map(|_| start.plus(instant(window.first_throttle_s).since(Offset::ZERO)));
    let texts = &window.histograms_v2_base64;
    let of = |text: &Option<String>| distribution(text.as_deref().unwrap_or_default());
    rebuilt.service.accepted = stated(of(&texts.service_accepted), &window.latency_ms.accepted.service);
    rebuilt.service.throttled = stated(of(&texts.service_throttled), &window.latency_ms.throttled.service);
    rebuilt.service.other = of(&texts.service_other);
    rebuilt.response.accepted = stated(of(&texts.response_accepted), &window.latency_ms.accepted.response);
    rebuilt.response.throttled = stated(of(&texts.response_throttled), &window.latency_ms.throttled.response);
    rebuilt.response.other = of(&texts.response_other);
    let client = &window.client;
    let late = &client.schedule_error_ms;
    let quantiles = Quantiles { p50: late.p50.get(), p99: late.p99.get(), max: late.max.get(), ..Quantiles::default() };
    rebuilt.client.schedule_error = Distribution::Packed { quantiles, v2: String::new(), overflow: 0 };
    rebuilt.client.in_flight_max = client.in_flight_max;
    rebuilt.client.connections_opened = client.connections_opened;
    let inside = |row: &&Row| row.window == Some(id) && row.span_s == 1;
    rebuilt.seconds = rows
        .iter()
        .filter(inside)
        .map(|row| Second { start: row.start, counts: row.counts, whole: row.start >= start && row.start.plus(BUCKET) <= end })
        .collect();
    rebuilt
}

fn distribution(text: &str) -> Distribution {
    let latency = Latency::from_base64(text, 0).unwrap_or_default();
    Distribution::Packed { quantiles: latency.quantiles(), v2: text.to_owned(), overflow: 0 }
}

/// The figures as the document states them, also where it holds no histogram.
fn stated(distribution: Distribution, figures: &Figures) -> Distribution {
    let quantiles = Quantiles {
        p50: figures.p50.get(),
        p90: figures.p90.get(),
        p99: figures.p99.get(),
        p999: figures.p999.get(),
        max: figures.max.get(),
        count: figures.count,
    };
    match distribution {
        Distribution::Packed { v2, overflow, .. } => Distribution::Packed { quantiles, v2, overflow },
        live @ Distribution::Live(_) => live,
    }
}

fn answers(document: &Document) -> (Vec<Tally<Refusal>>, Vec<Tally<Failure>>) {
    let ends = instant(document.session.elapsed_s);
    let tally = |count, first: Finite| (WindowId(0), count, instant(first), ends);
    let until = |last: Finite| if last.get().is_some() { instant(last) } else { ends };
    let refusals = document.throttles.iter().map(|t| {
        let what = Arc::new(Refusal::new(t.http_status, &t.code, t.reasons.clone(), t.resource.as_deref(), &t.message));
        let (window, count, first, _) = tally(t.count, t.first_s);
        Tally { what, window, count, first, last: until(t.last_s) }
    });
    let failures = document.failures.iter().map(|f| {
        let what = Arc::new(Failure::new(f.kind, f.code.as_deref(), f.http_status, &f.message));
        let (window, count, first, last) = tally(f.count, f.first_s);
        Tally { what, window, count, first, last }
    });
    (refusals.collect(), failures.collect())
}

fn workload(stated: &document::Workload) -> WorkloadFacts {
    WorkloadFacts {
        op: stated.op,
        item_bytes: stated.item_bytes,
        keys: stated.keys.clone(),
        consistent_read: stated.consistent_read,
        timeout_s: stated.timeout_s.get().unwrap_or_default(),
        max_in_flight: stated.max_in_flight,
        shards: stated.shards,
        seed: stated.seed,
        ..WorkloadFacts::default()
    }
}

fn claim(stated: &document::Claim) -> Claim {
    Claim {
        at: instant(stated.at_s),
        last: instant(stated.last_s),
        status: stated.status.clone(),
        warm_throughput: stated.warm_throughput.map(|warm| (warm.write_units_per_s, warm.read_units_per_s)),
        max_units: stated.max_units.map(|most| (most.write_units_per_s, most.read_units_per_s)),
        billing_mode: stated.billing_mode.clone(),
    }
}

fn target(stated: &document::Target) -> TargetFacts {
    TargetFacts {
        kind: stated.kind,
        simulated: stated.simulated,
        endpoint: stated.endpoint.clone(),
        region: stated.region.clone(),
        table: stated.table.clone(),
        created_by_session: stated.created_by_session,
        billing_mode: stated.billing_mode.clone(),
        warm_throughput: stated.warm_throughput.map(|warm| (warm.write_units_per_s, warm.read_units_per_s)),
        max_units: stated.max_units.map(|most| (most.write_units_per_s, most.read_units_per_s)),
        time_to_active_s: stated.time_to_active_s.get(),
        deleted: stated.deleted,
        delete_confirmed_s: stated.delete_confirmed_s.get(),
        ..TargetFacts::default()
    }
}

fn plan(stated: document::Plan) -> PlanFacts {
    let window = |w: &document::PlannedWindow| {
        Some(PlannedWindow {
            label: w.label.clone(),
            op: w.op,
            offered_per_s: Rate::from_per_s(w.offered_per_s.get()?).ok()?,
            duration_s: w.duration_s.get()?,
            pause_s: w.pause_s.get().unwrap_or_default(),
            offered_to_per_s: w.offered_to_per_s.get().and_then(|rate| Rate::from_per_s(rate).ok()),
            read_share: w.read_share.get(),
            item_bytes: w.item_bytes,
            keys: w.keys.as_deref().and_then(|keys| keys.parse().ok()),
            until: w.until.clone(),
        })
    };
    // A plan of which a window is not known is known by its name only.
    let windows: Vec<Option<PlannedWindow>> = stated.windows.iter().map(window).collect();
    let windows = windows.into_iter().collect::<Option<Vec<_>>>().unwrap_or_default();
    PlanFacts { name: stated.name, windows, next: stated.windows_done, ends: None, searches: false }
}

fn ledger(stated: &document::Ledger) -> TargetLedger {
    let part = |p: &document::PartitionLedger| PartitionLedger {
        share: p.share.get().unwrap_or_default(),
        accepted: p.accepted,
        throttled: p.throttled,
    };
    TargetLedger {
        accepted: stated.accepted,
        throttled: stated.throttled,
        per_partition: stated.per_partition.iter().map(part).collect(),
        saturated: false,
    }
}

/// The reason that these words tell, as [`StopReason::in_words`] gave them.
fn stop_reason(words: &str) -> StopReason {
    let after = |start: &str| words.strip_prefix(start).map(str::to_owned);
    if words == StopReason::Completed.in_words() {
        StopReason::Completed
    } else if words == StopReason::Quit.in_words() {
        StopReason::Quit
    } else if let Some(which) = after("stopped by a guard: ") {
        StopReason::Guard(which)
    } else if let Some(name) = after("interrupted by SIG") {
        StopReason::Signal(name)
    } else {
        StopReason::Failed(after("failed: ").unwrap_or_else(|| words.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_survives_its_words() {
        for reason in [
            StopReason::Completed,
            StopReason::Quit,
            StopReason::Guard("--max-cost".to_owned()),
            StopReason::Signal("TERM".to_owned()),
            StopReason::Failed("no table".to_owned()),
        ] {
            assert_eq!(stop_reason(&reason.in_words()), reason);
        }
    }
}
