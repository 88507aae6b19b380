//! From a recording to its document. Nothing is computed here that the recording does not hold: the screen, the status
//! line and the file speak of one value.

use crate::analysis::{self, Assessment, Billing, Context, Estimate, Throttling};
use crate::load::{self, Latency, Offset, Quantiles, Row, Tally};

use super::document::{
    BothLatencies, Buckets, Claim, Client, Counts, Document, Event, Failure, Figures, Histograms, KeyCounts, Latencies, Ledger,
    PartitionLedger, Plan, PlannedWindow, Runner, SCHEMA, ScheduleError, Session, SessionVerdict, Step, Target, Throttle, Tool, Totals,
    UnitsPerS, Window, Workload,
};
use super::facts::StopReason;
use super::finite::Finite;
use super::recording::Recording;

/// What the analysis of a recording needs to know besides the measured data.
pub fn context(recording: &Recording) -> Context {
    let unfinished = recording.plan.as_ref().is_some_and(|p| (p.next as usize) < p.windows.len());
    let stopped_early = match &recording.stop_reason {
        None | Some(StopReason::Completed) => false,
        Some(StopReason::Quit) => unfinished,
        Some(StopReason::Guard(_) | StopReason::Signal(_) | StopReason::Failed(_)) => true,
    };
    Context {
        simulated: recording.target.simulated,
        target_saturated: recording.target_ledger.as_ref().is_some_and(|l| l.saturated),
        stopped_early,
        late_runner: false,
        in_flight_cap: (recording.workload.max_in_flight > 0).then_some(recording.workload.max_in_flight),
        item_bytes: recording.workload.item_bytes,
        consistent_read: recording.workload.consistent_read,
        keys: recording.workload.keys.parse().ok(),
        billing: billing(&recording.target.billing_mode),
        max_units: recording.target.max_units,
        table_units: recording.claims.last().and_then(|claim| claim.warm_throughput).or(recording.target.warm_throughput),
    }
}

/// How a table is billed, from `on-demand` or `provisioned:W,R`.
fn billing(mode: &str) -> Billing {
    if mode == "on-demand" {
        return Billing::OnDemand;
    }
    let units = mode.strip_prefix("provisioned:").and_then(|units| units.split_once(','));
    match units.map(|(write, read)| (write.trim().parse(), read.trim().parse())) {
        Some((Ok(write), Ok(read))) => Billing::Provisioned(write, read),
        _ => Billing::Unknown,
    }
}

/// The document of a recording, as it stands.
pub fn document(recording: &Recording) -> Document {
    let load = &recording.load;
    let totals = counts(&load.totals);
    Document {
        schema: SCHEMA.to_owned(),
        tool: Tool {
            name: "throttlescope".to_owned(),
            version: recording.session.version.clone(),
            client: recording.session.client.clone(),
        },
        session: session(recording),
        target: target(recording),
        host: recording.host.clone(),
        workload: workload(recording),
        plan: recording.plan.as_ref().map(plan),
        totals: Totals { counts: totals, consumed_units: load.totals.consumed.as_f64().into(), cost_usd: recording.cost.usd.into() },
        target_ledger: recording.target_ledger.as_ref().map(|ledger| Ledger {
            accepted: ledger.accepted,
            throttled: ledger.throttled,
            per_partition: ledger
                .per_partition
                .iter()
                .map(|p| PartitionLedger { share: p.share.into(), accepted: p.accepted, throttled: p.throttled })
                .collect(),
        }),
        windows: load.windows.iter().map(|w| window(w, recording)).collect(),
        buckets: buckets(&load.rows),
        throttles: load.refusals.iter().enumerate().map(|(at, tally)| throttle(tally, recording.assessment.throttling.get(at))).collect(),
        failures: load.failures.iter().map(failure).collect(),
        steps: recording.assessment.steps.iter().map(step).collect(),
        runners: vec![Runner {
            id: "local".to_owned(),
            kind: "process".to_owned(),
            start_skew_ms: Finite::NULL,
            clock_offset_ms: Finite::NULL,
            counts: totals,
            verdict: recording.assessment.verdict.kind,
            last_heard_s: load.rows.last().map(|row| row.start.secs() + f64::from(row.span_s)).into(),
        }],
        events: recording.events.iter().map(|e| Event { at_s: e.at.secs().into(), kind: e.kind, detail: e.detail.clone() }).collect(),
        verdict: verdict(&recording.assessment),
    }
}

fn session(recording: &Recording) -> Session {
    Session {
        id: recording.session.id.clone(),
        state: recording.phase,
        started_at: recording.session.started_at.clone(),
        ended_at: recording.ended_at.clone(),
        elapsed_s: recording.load.at.secs().into(),
        stop_reason: recording.stop_reason.as_ref().map(StopReason::in_words),
    }
}

fn target(recording: &Recording) -> Target {
    let facts = &recording.target;
    let first_accepted = facts.active.zip(recording.load.first_accepted).map(|(active, first)| first.since(active).as_secs_f64());
    Target {
        kind: facts.kind,
        simulated: facts.simulated,
        endpoint: facts.endpoint.clone(),
        region: facts.region.clone(),
        table: facts.table.clone(),
        created_by_session: facts.created_by_session,
        billing_mode: facts.billing_mode.clone(),
        warm_throughput: facts.warm_throughput.map(UnitsPerS::from),
        max_units: facts.max_units.map(UnitsPerS::from),
        claims: recording.claims.iter().map(claim).collect(),
        time_to_active_s: facts.time_to_active_s.into(),
        active_to_first_accepted_s: first_accepted.into(),
        deleted: facts.deleted,
        delete_confirmed_s: facts.delete_confirmed_s.into(),
    }
}

fn claim(claim: &super::claim::Claim) -> Claim {
    Claim {
        at_s: claim.at.secs().into(),
        last_s: claim.last.secs().into(),
        status: claim.status.clone(),
        warm_throughput: claim.warm_throughput.map(UnitsPerS::from),
        max_units: claim.max_units.map(UnitsPerS::from),
        billing_mode: claim.billing_mode.clone(),
    }
}

fn workload(recording: &Recording) -> Workload {
    let facts = &recording.workload;
    Workload {
        op: facts.op,
        item_bytes: facts.item_bytes,
        keys: facts.keys.clone(),
        consistent_read: facts.consistent_read,
        items: facts.items,
        timeout_s: facts.timeout_s.into(),
        max_in_flight: facts.max_in_flight,
        shards: facts.shards,
        seed: facts.seed,
    }
}

fn plan(facts: &super::facts::PlanFacts) -> Plan {
    Plan {
        name: facts.name.clone(),
        windows: facts
            .windows
            .iter()
            .map(|w| PlannedWindow {
                label: w.label.clone(),
                op: w.op,
                offered_per_s: w.offered_per_s.per_s().into(),
                offered_to_per_s: w.offered_to_per_s.map(load::Rate::per_s).into(),
                read_share: w.read_share.into(),
                duration_s: w.duration_s.into(),
                pause_s: w.pause_s.into(),
                item_bytes: w.item_bytes,
                keys: w.keys.map(|keys| keys.to_string()),
                until: w.until.clone(),
            })
            .collect(),
        windows_done: facts.next,
    }
}

fn counts(counts: &load::Counts) -> Counts {
    Counts {
        offered: counts.offered,
        sent: counts.sent(),
        accepted: counts.accepted,
        throttled: counts.throttled,
        failed: counts.failed,
        timed_out: counts.timed_out,
        shed: counts.shed,
        in_flight: u64::try_from(counts.open()).unwrap_or(0),
    }
}

fn interval(estimate: Option<Estimate>) -> Option<[Finite; 2]> {
    estimate.map(|e| [e.ci95.0.into(), e.ci95.1.into()])
}

fn window(window: &load::Window, recording: &Recording) -> Window {
    let blank = Assessment::default();
    let shown = recording.assessment.windows.iter().rev().find(|a| a.window == window.spec.id).unwrap_or(&blank);
    let client = &window.client;
    let late = client.schedule_error.quantiles();
    Window {
        index: window.spec.id.0,
        label: window.spec.label.clone(),
        op: window.spec.op,
        offered_per_s: if window.is_adjusting() { Finite::NULL } else { window.spec.rate.per_s().into() },
        offered_to_per_s: window.spec.ramp_to.map(load::Rate::per_s).into(),
        beside: window.spec.beside.map(|beside| beside.0),
        item_bytes: window.spec.item_bytes,
        keys: window.spec.keys.map(|keys| keys.to_string()),
        start_s: window.spec.start.secs().into(),
        duration_s: window.duration(recording.load.at).as_secs_f64().into(),
        counts: counts(&window.counts),
        consumed_units: window.counts.consumed.as_f64().into(),
        hottest_key: {
            let (accepted, throttled) = (window.counts.hottest_accepted, window.counts.hottest_throttled);
            (accepted + throttled > 0).then_some(KeyCounts { accepted, throttled })
        },
        accepted_per_s: shown.accepted_per_s.into(),
        accepted_units_per_s: shown.in_units(shown.accepted_per_s).into(),
        sustained_per_s: shown.sustained.map(|e| e.per_s).into(),
        sustained_units_per_s: shown.in_units(shown.sustained.map(|e| e.per_s)).into(),
        sustained_ci95_per_s: interval(shown.sustained),
        steady_from_s: shown.steady_from_s.into(),
        burst_units: shown.burst_units.into(),
        above_ceiling_units: shown.above_ceiling_units.into(),
        first_throttle_s: window.first_throttle().map(|d| d.as_secs_f64()).into(),
        latency_ms: latencies(window),
        histograms_v2_base64: histograms(window),
        client: Client {
            schedule_error_ms: ScheduleError { p50: late.p50.into(), p99: late.p99.into(), max: late.max.into() },
            cpu_cores: (client.seconds > 0).then(|| client.cpu_nanos as f64 / 1e9 / f64::from(client.seconds)).into(),
            busiest_thread_cores: client.busiest_cores().into(),
            waited_for_core: client.waited_share().into(),
            failed_here: window.counts.failed_here,
            in_flight_max: client.in_flight_max,
            connections_opened: client.connections_opened,
        },
        verdict: shown.verdict.kind,
        evidence: shown.verdict.evidence.clone(),
        caveats: shown.verdict.caveats.clone(),
    }
}

fn figures(q: Quantiles) -> Figures {
    Figures { p50: q.p50.into(), p90: q.p90.into(), p99: q.p99.into(), p999: q.p999.into(), max: q.max.into(), count: q.count }
}

fn latencies(window: &load::Window) -> Latencies {
    let (service, response) = (&window.service, &window.response);
    let both = |service: Quantiles, response: Quantiles| BothLatencies { service: figures(service), response: figures(response) };
    Latencies {
        accepted: both(service.accepted.quantiles(), response.accepted.quantiles()),
        throttled: both(service.throttled.quantiles(), response.throttled.quantiles()),
        all: both(Latency::quantiles(&service.all()), Latency::quantiles(&response.all())),
    }
}

fn histograms(window: &load::Window) -> Histograms {
    let text = |d: &load::Distribution| Some(d.to_base64()).filter(|t| !t.is_empty());
    Histograms {
        service_accepted: text(&window.service.accepted),
        service_throttled: text(&window.service.throttled),
        service_other: text(&window.service.other),
        response_accepted: text(&window.response.accepted),
        response_throttled: text(&window.response.throttled),
        response_other: text(&window.response.other),
    }
}

fn buckets(rows: &[Row]) -> Buckets {
    fn column<T>(rows: &[Row], of: impl Fn(&Row) -> T) -> Vec<T> {
        rows.iter().map(of).collect()
    }
    Buckets {
        interval_s: 1,
        start_s: column(rows, |r| r.start.secs().into()),
        span_s: column(rows, |r| r.span_s),
        window: column(rows, |r| r.window.map(|w| w.0)),
        offered: column(rows, |r| r.counts.offered),
        accepted: column(rows, |r| r.counts.accepted),
        throttled: column(rows, |r| r.counts.throttled),
        failed: column(rows, |r| r.counts.failed),
        timed_out: column(rows, |r| r.counts.timed_out),
        shed: column(rows, |r| r.counts.shed),
        in_flight: column(rows, |r| r.in_flight),
        p50_ms: column(rows, |r| r.service.p50.into()),
        p99_ms: column(rows, |r| r.service.p99.into()),
        response_p50_ms: column(rows, |r| r.response.p50.into()),
        response_p99_ms: column(rows, |r| r.response.p99.into()),
    }
}

fn instant(at: Offset) -> Finite {
    at.secs().into()
}

fn step(step: &analysis::Step) -> Step {
    Step {
        window: Some(step.window.0),
        at_s: step.at_s.into(),
        from_per_s: step.from_per_s.into(),
        to_per_s: step.to_per_s.into(),
        dwell_s: step.dwell_s.into(),
        confidence: step.confidence.into(),
        between_windows: step.between_windows,
    }
}

fn throttle(tally: &Tally<load::Refusal>, judged: Option<&Throttling>) -> Throttle {
    Throttle {
        http_status: tally.what.http_status,
        code: tally.what.code.clone(),
        reasons: tally.what.reasons.clone(),
        resource: tally.what.resource.clone(),
        message: tally.what.message.clone(),
        count: tally.count,
        first_s: instant(tally.first),
        last_s: instant(tally.last),
        cause: judged.map(|judged| judged.limit),
        meaning: judged.map(|judged| judged.meaning.clone()),
    }
}

fn failure(tally: &Tally<load::Failure>) -> Failure {
    Failure {
        kind: tally.what.kind,
        code: tally.what.code.clone(),
        http_status: tally.what.http_status,
        message: tally.what.message.clone(),
        count: tally.count,
        first_s: instant(tally.first),
    }
}

fn verdict(assessment: &analysis::SessionAssessment) -> SessionVerdict {
    SessionVerdict {
        kind: assessment.verdict.kind,
        limit: assessment.limit,
        sustained_per_s: assessment.sustained.map(|e| e.per_s).into(),
        sustained_units_per_s: assessment.sustained_units_per_s.into(),
        ci95_per_s: interval(assessment.sustained),
        clean_at_least_per_s: assessment.clean_at_least_per_s.into(),
        clean_below_per_s: assessment.clean_below_per_s.into(),
        clean_ceiling_per_s: assessment.clean_ceiling.map(|(low, high)| [low.into(), high.into()]),
        burst_units: assessment.burst_units.into(),
        evidence: assessment.verdict.evidence.clone(),
        caveats: assessment.verdict.caveats.clone(),
    }
}
