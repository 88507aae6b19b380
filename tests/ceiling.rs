//! The shipped plan `ceiling` from pacer to verdict under a paused clock, against the capacity model: what the acceptance
//! run shows in real time, shown here on any machine however busy.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod paused;

use std::sync::Arc;
use std::time::Duration;

use paused::{Setup, run_paused};
use throttlescope::analysis::{Context, SessionAssessment, VerdictKind, assess};
use throttlescope::embedded::model::{Admission, Capacity, KeyHash, Kind, Limits, Shape, Units as Capacities};
use throttlescope::load::Segment;
use throttlescope::load::shard::Order;
use throttlescope::load::{
    BUCKET, Clock, History, Keys, Offset, Outcome, Refusal, Request, SegmentLoad, Snapshot, Units, WindowId, WindowSpec, Workload,
};
use throttlescope::plan::{Plan, find};

struct Table {
    capacity: Capacity,
    refusal: Arc<Refusal>,
    created: Option<Offset>,
    accepted: u64,
    throttled: u64,
}

impl paused::Service for Table {
    fn answer(&mut self, request: &Request) -> (Duration, Outcome) {
        let sent = request.sent().unwrap();
        let now = sent.since(*self.created.get_or_insert(sent));
        let key = KeyHash::of(&request.key.digits());
        // 4 to 6 ms, by key: enough to shuffle the answers.
        let after = Duration::from_micros(4_000 + request.key.0 % 2_000);
        match self.capacity.admit(key, Kind::Write, Capacities::whole(1), now) {
            Admission::Accepted => {
                self.accepted += 1;
                (after, Outcome::Accepted(Units::from_milli(1_000)))
            }
            Admission::Refused { .. } => {
                self.throttled += 1;
                (after, Outcome::Throttled(Arc::clone(&self.refusal)))
            }
        }
    }
}

/// Runs a plan of writes in virtual time; gives what was measured and what the table itself counted.
fn measure(plan: &Plan, shards: u32, seed: u64) -> (Snapshot, SessionAssessment, (u64, u64)) {
    let reasons = vec!["TableWriteKeyRangeThroughputExceeded".to_owned()];
    let table = Table {
        capacity: Capacity::new(Shape::default(), Limits::default()),
        refusal: Arc::new(Refusal::new(400, "ThrottlingException", reasons, None, "Throughput exceeds the current capacity")),
        created: None,
        accepted: 0,
        throttled: 0,
    };
    let setup = Setup { shards, workload: Workload::new(1_000, Keys::Uniform, seed, false, 1_000), ..Setup::default() };
    let table = Arc::new(std::sync::Mutex::new(table));
    let (served, windows) = (Arc::clone(&table), plan.windows.clone());
    let specs = std::cell::RefCell::new(Vec::new());
    let mut ran = run_paused(
        &setup,
        move |request: &Request| paused::Service::answer(&mut *served.lock().unwrap(), request),
        |clock: Clock, orders| {
            let specs = &specs;
            async move {
                let mut edge = clock.now().ceil_to(BUCKET).plus(BUCKET);
                for (window, id) in windows.iter().zip(0..) {
                    edge = edge.plus(window.pause);
                    let (start, end, window_id) = (edge, edge.plus(window.length), WindowId(id));
                    let load = SegmentLoad::steady(window_id, window.rate, window.op);
                    orders.all(&Order::Schedule(Segment { start, load: Some(load) }));
                    orders.all(&Order::Schedule(Segment { start: end, load: None }));
                    let (label, op, rate) = (window.label.clone(), window.op, window.rate);
                    specs.borrow_mut().push(WindowSpec::steady(window_id, label, op, rate, start, Some(end)));
                    edge = end;
                }
                tokio::time::sleep_until(clock.instant(edge.plus(BUCKET))).await;
            }
        },
    );
    let mut history = History::new();
    for spec in specs.into_inner() {
        let (id, end) = (spec.id, spec.planned_end.unwrap());
        history.open_window(spec);
        history.close_window(id, end);
    }
    while let Some(bucket) = ran.merger.pop_rest() {
        history.absorb(&bucket);
    }
    let snapshot = history.snapshot(ran.clock.now());
    let context = Context { simulated: true, in_flight_cap: Some(setup.max_in_flight), item_bytes: 1_000, ..Context::default() };
    let assessment = assess(&snapshot, &context);
    let counted = table.lock().map(|table| (table.accepted, table.throttled)).unwrap();
    (snapshot, assessment, counted)
}

fn within(what: &str, value: Option<f64>, low: f64, high: f64) {
    assert!(value.is_some_and(|value| (low..=high).contains(&value)), "{what}: {value:?} is not within {low}..{high}");
}

#[test]
fn the_ceiling_plan_recovers_the_partition_model() {
    let plan = find("ceiling").unwrap();
    let (snapshot, assessment, counted) = measure(&plan, 2, 1);
    assert_eq!((snapshot.totals.accepted, snapshot.totals.throttled), counted, "both ledgers, to the last request");
    for ((window, shown), planned) in snapshot.windows.iter().zip(&assessment.windows).zip(&plan.windows) {
        let rate = planned.rate.per_s();
        let what = |figure: &str| format!("{figure} at {rate}/s");
        assert_eq!(window.counts.offered, planned.rate.count_in(planned.length), "{}", what("offered"));
        assert_eq!(window.counts.open(), 0, "{}", what("ledger"));
        if rate <= 4_000.0 {
            assert_eq!((window.counts.throttled, shown.sustained), (0, None), "{}", what("no throttle"));
            assert_eq!(shown.verdict.kind, VerdictKind::CeilingNotReached, "{}", what("verdict"));
            continue;
        }
        within(&what("accepted_per_s"), shown.accepted_per_s, 4_125.0, 4_140.0);
        within(&what("sustained_per_s"), shown.sustained.map(|s| s.per_s), 3_990.0, 4_010.0);
        within(&what("burst_units"), shown.burst_units, 3_850.0, 4_100.0);
        let (low, high) = if rate < 5_500.0 {
            (2.9, 4.1)
        } else if rate < 7_000.0 {
            (1.6, 2.05)
        } else {
            (0.80, 1.05)
        };
        within(&what("first_throttle_s"), shown.first_throttle_s, low, high);
        assert_eq!(shown.verdict.kind, VerdictKind::ServiceBound, "{}", what("verdict"));
    }
    assert_eq!(assessment.verdict.kind, VerdictKind::ServiceBound);
    within("pooled sustained_per_s", assessment.sustained.map(|s| s.per_s), 3_990.0, 4_010.0);
    assert_eq!(assessment.clean_at_least_per_s, Some(4_000.0));
    assert_eq!(assessment.clean_below_per_s, Some(5_000.0));
}

#[test]
fn a_window_of_t_seconds_accepts_4_000_and_the_burst_spread_over_it() {
    let text = "name = 'x'\npause = '3s'\n[[windows]]\nrate = 8000\nlength = '10s'\n[[windows]]\nrate = 6000\nlength = '20s'";
    let plan = throttlescope::plan::parse(text, "x").unwrap();
    for (shards, seed) in [(1, 7), (3, 8)] {
        let (_, assessment, _) = measure(&plan, shards, seed);
        for (shown, seconds) in assessment.windows.iter().zip([10.0, 20.0]) {
            let expected = 4_000.0 + 4_000.0 / seconds;
            within("accepted_per_s", shown.accepted_per_s, expected - 10.0, expected + 10.0);
            within("sustained_per_s", shown.sustained.map(|s| s.per_s), 3_990.0, 4_010.0);
            within("burst_units", shown.burst_units, 3_850.0, 4_100.0);
        }
    }
}
