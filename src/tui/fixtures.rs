//! Builders of recordings for tests: a session as a script, second by second, applied as entries like a live one.

use std::sync::Arc;

use crate::analysis::{Assessment, Caveat, Estimate, SessionAssessment, Verdict, VerdictKind};
use crate::load::{
    Bucket, Counts, Failure, FailureKind, Latency, Offset, Op, Part, Rate, Refusal, Setpoint, Tally, Units, WindowId, WindowSpec,
};
use crate::report::facts::{PartitionLedger, PlannedWindow};
use crate::report::recording::Recorder;
use crate::report::{
    Cost, Entry, Event, EventKind, Phase, PlanFacts, Recording, SessionFacts, StopReason, TargetFacts, TargetLedger, WorkloadFacts,
};

/// What the fixture's table accepts in a second, and the most it saves up.
pub const CAPACITY: u64 = 4_000;

/// The refusal that the fixture's table gives.
pub fn refusal() -> Refusal {
    Refusal::new(
        400,
        "ThrottlingException",
        vec!["TableWriteKeyRangeThroughputExceeded".to_owned()],
        Some("arn:aws:dynamodb:us-east-1:123456789012:table/throttlescope-ts-7f3a09"),
        "Throughput exceeds the current capacity of your table or index. DynamoDB is automatically scaling your table or \
         index so please try again shortly. If exceptions persist, check if you have a hot key: \
         https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html",
    )
}

/// A session that is being written.
pub struct Script {
    recorder: Recorder,
    target: TargetFacts,
    at: u64,
    windows: u32,
    open: Option<(WindowId, Rate)>,
    saved: u64,
    /// What the table accepts in a second, and the most it saves up.
    pub capacity: u64,
    /// Share of the offered load that the client sheds, in thousandths.
    pub shed_per_mille: u64,
    /// Requests that fail each second.
    pub failing: u64,
    /// Service latency that is recorded, microseconds.
    pub micros: u64,
}

impl Script {
    /// A session against the simulated endpoint whose table is being created.
    #[expect(clippy::new_without_default, reason = "a script starts with a table that is being created, which is no default")]
    pub fn new() -> Self {
        let mut script = Self {
            recorder: Recorder::new(),
            target: TargetFacts {
                simulated: true,
                endpoint: "http://127.0.0.1:41237".to_owned(),
                region: "us-east-1".to_owned(),
                table: "throttlescope-ts-7f3a09".to_owned(),
                created_by_session: true,
                billing_mode: "on-demand".to_owned(),
                create_called: Some(Offset::from_millis(200)),
                ..TargetFacts::default()
            },
            at: 0,
            windows: 0,
            open: None,
            saved: CAPACITY,
            capacity: CAPACITY,
            shed_per_mille: 0,
            failing: 0,
            micros: 4_300,
        };
        script.begin("wire");
        script.apply(&Entry::Target(script.target.clone()));
        script.apply(&Entry::Cost(Cost { write_usd_per_million: Some(0.625), read_usd_per_million: Some(0.125), usd: Some(0.0) }));
        script.phase(Phase::Creating);
        script
    }

    /// Begins the session, measured through this client.
    pub fn begin(&mut self, client: &str) {
        let session = SessionFacts {
            id: "ts-7f3a09".to_owned(),
            started_at: "2026-08-27T10:00:00Z".to_owned(),
            version: "0.1.0".to_owned(),
            client: client.to_owned(),
            max_cost_usd: Some(5.0),
            max_ops: None,
            max_duration_s: Some(3_600.0),
        };
        let workload = WorkloadFacts {
            op: Op::Write,
            item_bytes: 1_000,
            keys: "uniform".to_owned(),
            timeout_s: 8.0,
            max_in_flight: 512,
            shards: 1,
            seed: 7,
            late_limit_s: 0.1,
            ..WorkloadFacts::default()
        };
        self.apply(&Entry::Session { schema: "throttlescope.journal/1".to_owned(), session, workload });
    }

    /// Lets the table have saved up this much.
    pub fn saved(&mut self, saved: u64) {
        self.saved = saved;
    }

    /// Changes what is known of the target.
    pub fn change_target(&mut self, change: impl FnOnce(&mut TargetFacts)) {
        change(&mut self.target);
        self.apply(&Entry::Target(self.target.clone()));
    }

    /// Applies an entry.
    pub fn apply(&mut self, entry: &Entry) {
        self.recorder.apply(entry);
    }

    /// Changes the phase.
    pub fn phase(&mut self, phase: Phase) {
        let at = Offset::from_secs(self.at);
        self.apply(&Entry::Phase { at, phase });
        self.event(EventKind::Phase, phase.name());
    }

    /// Notes an event.
    pub fn event(&mut self, kind: EventKind, detail: &str) {
        self.apply(&Entry::Event(Event { at: Offset::from_secs(self.at), kind, detail: detail.to_owned() }));
    }

    /// The table is ACTIVE 7.4 s after it was asked for.
    pub fn active(&mut self) {
        self.at = self.at.max(8);
        self.target.time_to_active_s = Some(7.4);
        self.target.active = Some(Offset::from_millis(7_600));
        self.target.warm_throughput = Some((4_000, 12_000));
        let target = self.target.clone();
        self.apply(&Entry::Target(target));
        self.phase(Phase::Running);
    }

    /// Asks for a rate without applying it.
    pub fn request(&mut self, rate: Option<u32>) {
        let setpoint = Setpoint { rate: rate.map(Rate::per_second), at: Offset::from_secs(self.at) };
        self.apply(&Entry::Requested(setpoint));
    }

    /// Asks for a rate and applies it: closes a window and opens the next.
    pub fn set(&mut self, rate: Option<u32>, planned_s: Option<u64>) {
        self.request(rate);
        let at = Offset::from_secs(self.at);
        let rate = rate.map(Rate::per_second);
        self.apply(&Entry::Applied(Setpoint { rate, at }));
        if let Some((window, _)) = self.open.take() {
            self.apply(&Entry::Close { window, end: at });
        }
        if let Some(rate) = rate {
            let id = WindowId(self.windows);
            self.windows += 1;
            self.open = Some((id, rate));
            let planned_end = planned_s.map(|length| Offset::from_secs(self.at + length));
            self.apply(&Entry::Open(WindowSpec::steady(id, format!("{rate}/s"), Op::Write, rate, at, planned_end)));
        }
    }

    /// Announces a plan whose window `next` runs.
    pub fn plan(&mut self, rates: &[u32], next: u32) {
        let windows = rates.iter().map(|rate| PlannedWindow {
            label: format!("{}/s", Rate::per_second(*rate)),
            op: Op::Write,
            offered_per_s: Rate::per_second(*rate),
            duration_s: 30.0,
            pause_s: 3.0,
            offered_to_per_s: None,
            read_share: None,
            item_bytes: None,
            keys: None,
            until: None,
        });
        let ends = Some(Offset::from_secs(self.at + 33 * (rates.len() as u64 - u64::from(next))));
        self.apply(&Entry::Plan(PlanFacts { name: "ceiling".to_owned(), windows: windows.collect(), next, ends, searches: false }));
    }

    /// Lets seconds pass, with the load of the open window.
    pub fn run(&mut self, seconds: u64) {
        for _ in 0..seconds {
            self.second();
        }
    }

    /// Lets one second pass.
    pub fn second(&mut self) {
        let start = Offset::from_secs(self.at);
        let mut bucket = Bucket { start, in_flight: 19, in_flight_max: 37, runners: 1, ..Bucket::default() };
        let (window, rate) = self.open.map_or((None, 0), |(id, rate)| (Some(id), rate.per_s() as u64));
        let available = self.capacity + self.saved;
        let shed = rate * self.shed_per_mille / 1_000;
        let failed = self.failing.min(rate - shed);
        let accepted = (rate - shed - failed).min(available);
        self.saved = (available - accepted).min(self.capacity);
        let throttled = rate - shed - failed - accepted;
        if let Some(window) = window {
            let mut part = Part::of(window);
            part.counts = Counts {
                offered: rate,
                accepted,
                throttled,
                failed,
                shed,
                consumed: Units::from_f64(accepted as f64),
                ..Counts::default()
            };
            let sent = start.plus(std::time::Duration::from_millis(840));
            part.first_throttled_sent = (throttled > 0).then_some(sent);
            part.first_accepted = (accepted > 0).then_some(start.plus(std::time::Duration::from_millis(5)));
            self.latencies(&mut part.service.accepted, accepted, 0);
            self.latencies(&mut part.response.accepted, accepted, 120);
            self.latencies(&mut part.service.throttled, throttled, -900);
            self.latencies(&mut part.response.throttled, throttled, -800);
            self.latencies(&mut part.schedule_error, rate, -4_000);
            bucket.parts.push(part);
            if throttled > 0 {
                bucket.refusals.push(Tally { what: Arc::new(refusal()), window, count: throttled, first: start, last: sent });
            }
            if failed > 0 {
                let failure = Failure::new(FailureKind::Service, Some("InternalServerError"), Some(500), "internal \u{1b}[2Jerror");
                bucket.failures.push(Tally { what: Arc::new(failure), window, count: failed, first: start, last: sent });
            }
        }
        self.at += 1;
        self.apply(&Entry::Bucket(Box::new(bucket)));
        let spent = self.recorder.recording(Offset::ZERO).load.totals.accepted as f64 * 0.625 / 1e6;
        self.apply(&Entry::Cost(Cost { write_usd_per_million: Some(0.625), read_usd_per_million: Some(0.125), usd: Some(spent) }));
    }

    /// A spread of values around the script's latency, the same every time.
    fn latencies(&self, latency: &mut Latency, count: u64, shift: i64) {
        for i in 0..count.min(100) {
            let wobble = (self.at * 37 + i * 61) % 100;
            let tail = if wobble > 97 { self.micros * (self.at % 5) / 4 } else { 0 };
            latency.record_micros((self.micros + wobble * self.micros / 250 + tail).saturating_add_signed(shift).max(20));
        }
    }

    /// The end: load stops, the table is being deleted.
    pub fn stop(&mut self, reason: StopReason) {
        self.set(None, None);
        self.apply(&Entry::Stop(reason));
        self.phase(Phase::Draining);
    }

    /// The simulated endpoint gives its own count.
    pub fn ledger(&mut self) {
        let part = |accepted, throttled| PartitionLedger { share: 0.25, accepted, throttled };
        let per_partition = vec![part(30_120, 9_800), part(30_090, 10_210), part(30_140, 9_950), part(30_100, 10_040)];
        self.apply(&Entry::TargetLedger(TargetLedger { accepted: 120_450, throttled: 40_000, per_partition, saturated: false }));
    }

    /// The recording as it stands, judged.
    pub fn recording(&mut self) -> Arc<Recording> {
        self.recording_at(self.at * 1_000)
    }

    /// The recording as it stands `millis` after the session's zero, judged.
    pub fn recording_at(&mut self, millis: u64) -> Arc<Recording> {
        let at = Offset::from_millis(millis);
        let measured = self.recorder.recording(at);
        self.recorder.assess(judge(&measured));
        Arc::new(self.recorder.recording(at))
    }

    /// The session's clock in seconds.
    pub fn at(&self) -> u64 {
        self.at
    }
}

/// A judgement with the shape of a real one.
fn judge(recording: &Recording) -> SessionAssessment {
    let windows: Vec<Assessment> = recording
        .load
        .windows
        .iter()
        .filter(|window| window.seconds.len() > 3)
        .map(|window| {
            let elapsed = window.seconds.len() as f64;
            let (counts, start) = (window.counts, window.spec.start);
            let throttled = counts.throttled > 0;
            let kind = match (throttled, counts.shed > counts.offered / 200) {
                (true, false) => VerdictKind::ServiceBound,
                (false, true) => VerdictKind::ClientBound,
                (false, false) => VerdictKind::CeilingNotReached,
                (true, true) => VerdictKind::Inconclusive,
            };
            let mut caveats = vec![Caveat::Simulated];
            caveats.extend((counts.shed > 0).then_some(Caveat::ClientSaturated));
            Assessment {
                window: window.spec.id,
                accepted_per_s: Some(counts.accepted as f64 / elapsed),
                sustained: throttled.then_some(Estimate { per_s: 4_000.0, ci95: (3_997.2, 4_002.9) }),
                steady_from_s: throttled.then_some(2.0),
                burst_units: throttled.then_some(3_980.0),
                first_throttle_s: window.first_throttled_sent.map(|sent| sent.since(start).as_secs_f64()),
                verdict: Verdict {
                    kind,
                    evidence: vec![format!("{} of {} intents were throttled", counts.throttled, counts.offered)],
                    caveats,
                },
                ..Assessment::default()
            }
        })
        .collect();
    let last = windows.last().cloned().unwrap_or_default();
    let clean = recording.load.windows.iter().filter(|w| w.counts.throttled == 0).map(|w| w.spec.rate.per_s()).reduce(f64::max);
    SessionAssessment {
        verdict: last.verdict,
        sustained: windows.iter().rev().find_map(|found| found.sustained),
        burst_units: windows.iter().rev().find_map(|found| found.burst_units),
        clean_at_least_per_s: clean.filter(|_| !windows.is_empty()),
        windows,
        ..SessionAssessment::default()
    }
}
