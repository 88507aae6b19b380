//! A session told as the entries that its journal would hold.
#![allow(dead_code, unreachable_pub, missing_docs, reason = "each test binary uses its part of it")]

use throttlescope::analysis::assess;
use throttlescope::load::{Failure, FailureKind, Offset, Op, Rate, Setpoint, Tally, WindowId};
use throttlescope::report::facts::{PartitionLedger, PlannedWindow};
use throttlescope::report::{
    Cost, Entry, Event, EventKind, Host, JOURNAL_SCHEMA, Phase, PlanFacts, Recorder, Recording, SessionFacts, StopReason, TargetFacts,
    TargetKind, TargetLedger, WorkloadFacts, context,
};

use super::bench::{Bench, Client};

pub const RATES: [u32; 7] = [1_000, 2_000, 3_000, 4_000, 5_000, 6_000, 8_000];

pub fn start() -> Entry {
    Entry::Session {
        schema: JOURNAL_SCHEMA.to_owned(),
        session: SessionFacts {
            id: "ts-7f3a09".to_owned(),
            started_at: "2026-09-01T12:00:00Z".to_owned(),
            version: "0.1.0".to_owned(),
            client: "wire".to_owned(),
            ..SessionFacts::default()
        },
        workload: WorkloadFacts {
            item_bytes: 1_000,
            keys: "uniform".to_owned(),
            timeout_s: 8.0,
            max_in_flight: 4_096,
            shards: 1,
            seed: 7,
            late_limit_s: 0.1,
            ..WorkloadFacts::default()
        },
    }
}

pub fn simulated_target() -> TargetFacts {
    TargetFacts {
        kind: TargetKind::Embedded,
        simulated: true,
        endpoint: "http://127.0.0.1:41873".to_owned(),
        region: "us-east-1".to_owned(),
        table: "throttlescope-ts-7f3a09".to_owned(),
        created_by_session: true,
        billing_mode: "on-demand".to_owned(),
        warm_throughput: Some((4_000, 12_000)),
        create_called: Some(Offset::ZERO),
        time_to_active_s: Some(7.4),
        active: Some(Offset::from_millis(7_400)),
        ..TargetFacts::default()
    }
}

pub fn host() -> Host {
    Host {
        cores: 2,
        open_files: Some(20_000),
        open_files_hard: Some(20_000),
        round_trip_ms: 0.31.into(),
        round_trip_min_ms: 0.07.into(),
        round_trips: 23,
        connect_ms: 0.1.into(),
        clock_offset_ms: (-2.5).into(),
        clock_offset_uncertainty_ms: 3.9.into(),
        asked_per_s: 8_000.0.into(),
        connections_needed: Some(120),
        connections_allowed: 4_096,
        ..Host::default()
    }
}

fn phase(at_s: u64, phase: Phase) -> Entry {
    Entry::Phase { at: Offset::from_secs(at_s), phase }
}

fn plan(next: u32) -> Entry {
    let windows = RATES.iter().enumerate().map(|(at, rate)| PlannedWindow {
        label: format!("{}/s", Rate::per_second(*rate)),
        op: Op::Write,
        offered_per_s: Rate::per_second(*rate),
        duration_s: 30.0,
        pause_s: if at == 0 { 0.0 } else { 3.0 },
        offered_to_per_s: None,
        read_share: None,
        item_bytes: None,
        keys: None,
        until: None,
    });
    Entry::Plan(PlanFacts {
        name: "ceiling".to_owned(),
        windows: windows.collect(),
        next,
        ends: Some(Offset::from_secs(238)),
        searches: false,
    })
}

/// The `ceiling` plan on a fresh simulated table, from start to end.
pub fn whole_session() -> Vec<Entry> {
    let mut bench = Bench::fresh_table(3);
    bench.journals = true;
    bench.entries.extend([start(), phase(0, Phase::Creating), Entry::Target(simulated_target()), Entry::Host(host())]);
    bench.pause(8);
    bench.entries.push(phase(8, Phase::Running));
    for (at, rate) in RATES.into_iter().enumerate() {
        bench.entries.push(plan(at as u32));
        let setpoint = |rate, at| Setpoint { rate, at: Offset::from_secs(at) };
        bench.pause(if at == 0 { 1 } else { 3 });
        let now = bench.now_s();
        bench.entries.push(Entry::Requested(setpoint(Some(Rate::per_second(rate)), now)));
        bench.entries.push(Entry::Applied(setpoint(Some(Rate::per_second(rate)), now)));
        bench.window(f64::from(rate), 30);
        let now = bench.now_s();
        bench.entries.push(Entry::Applied(setpoint(None, now)));
        bench.entries.push(Entry::Event(Event {
            at: Offset::from_secs(now),
            kind: EventKind::Window,
            detail: format!("window {at} ended"),
        }));
        let usd = bench.glimpse().totals.consumed.as_f64() * 0.625e-6;
        bench.entries.push(Entry::Cost(Cost { write_usd_per_million: Some(0.625), read_usd_per_million: Some(0.125), usd: Some(usd) }));
    }
    bench.entries.push(plan(RATES.len() as u32));
    let totals = bench.snapshot().totals;
    let now = bench.now_s();
    let target = TargetFacts { deleted: true, delete_confirmed_s: Some(1.2), ..simulated_target() };
    let per_partition = vec![PartitionLedger { share: 0.25, accepted: totals.accepted / 4, throttled: totals.throttled / 4 }; 4];
    bench.entries.extend([
        Entry::TargetLedger(TargetLedger { accepted: totals.accepted, throttled: totals.throttled, per_partition, saturated: false }),
        Entry::Stop(StopReason::Completed),
        phase(now, Phase::Deleting),
        Entry::Target(target),
        phase(now + 2, Phase::Finished),
        Entry::End { at: Offset::from_secs(now + 2), ended_at: "2026-09-01T12:04:01Z".to_owned() },
    ]);
    bench.entries
}

/// A session that failed while a window was open, with failures, timeouts and hostile text from the service.
pub fn failed_session() -> Vec<Entry> {
    let mut bench = Bench::fresh_table(5);
    bench.journals = true;
    let target = TargetFacts {
        kind: TargetKind::Aws,
        simulated: false,
        endpoint: "https://dynamodb.eu-north-1.amazonaws.com".to_owned(),
        region: "eu-north-1".to_owned(),
        ..simulated_target()
    };
    bench.entries.extend([start(), Entry::Target(target), phase(8, Phase::Running)]);
    bench.pause(8);
    let id = bench.open(2_000.0, None);
    bench.run(id, 2_000.0, 12, Client { timed_out: 0.01, ..Client::default() });
    let what =
        Failure::new(FailureKind::Service, Some("InternalServerError"), Some(500), "Internal\u{1b}[31m server error\r\n for 123456789012");
    let at = Offset::from_secs(11);
    for entry in &mut bench.entries {
        if let Entry::Bucket(bucket) = entry
            && bucket.start == at
        {
            bucket.parts[0].counts.accepted -= 7;
            bucket.parts[0].counts.failed += 7;
            bucket.failures = vec![Tally { what: what.clone().into(), window: WindowId(0), count: 7, first: at, last: at }];
        }
    }
    bench.entries.extend([
        Entry::Event(Event {
            at: Offset::from_secs(20),
            kind: EventKind::Error,
            detail: "DeleteTable was answered with AccessDeniedException".to_owned(),
        }),
        Entry::Stop(StopReason::Failed("the table vanished".to_owned())),
        phase(20, Phase::Failed),
        Entry::End { at: Offset::from_secs(21), ended_at: "2026-09-01T12:00:21Z".to_owned() },
    ]);
    bench.entries
}

/// What the entries make, judged.
pub fn told(entries: &[Entry], at_s: u64) -> Recording {
    let mut recorder = Recorder::new();
    for entry in entries {
        recorder.apply(entry);
    }
    let at = Offset::from_secs(at_s);
    let recording = recorder.recording(at);
    recorder.assess(assess(&recording.load, &context(&recording)));
    recorder.recording(at)
}

/// The entries as they stood after so many buckets.
pub fn until(entries: &[Entry], buckets: usize) -> &[Entry] {
    let mut seen = 0;
    let end = entries.iter().position(|entry| {
        seen += usize::from(matches!(entry, Entry::Bucket(_)));
        seen > buckets
    });
    &entries[..end.unwrap_or(entries.len())]
}

/// The entries as journal lines.
pub fn journal(entries: &[Entry]) -> String {
    entries.iter().map(|entry| serde_json::to_string(entry).unwrap_or_default() + "\n").collect()
}
