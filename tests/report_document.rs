//! The session document, whenever it is written.

#[path = "support/mod.rs"]
mod bench;
#[path = "support/story.rs"]
mod story;
use bench::{Bench, Change, Client};

use std::sync::LazyLock;

use serde_json::{Value, json};
use throttlescope::load::Latency;
use throttlescope::report::{Document, Entry, Recording, document, text};

static WHOLE: LazyLock<Vec<Entry>> = LazyLock::new(story::whole_session);

fn schema() -> jsonschema::Validator {
    let schema = serde_json::from_str(include_str!("../assets/session.schema.json")).unwrap_or(Value::Null);
    jsonschema::validator_for(&schema).unwrap_or_else(|e| panic!("the schema is no schema: {e}"))
}

fn valid(recording: &Recording) -> (Document, Value) {
    let written = document(recording);
    let value = serde_json::to_value(&written).unwrap_or_else(|e| panic!("not JSON: {e}"));
    let wrong: Vec<String> = schema().iter_errors(&value).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert_eq!(wrong, Vec::<String>::new());
    let read: Document = serde_json::from_value(value.clone()).unwrap_or_else(|e| panic!("does not read back: {e}"));
    assert_eq!(read, written);
    (written, value)
}

#[test]
fn the_schema_holds_in_every_state_of_a_session() {
    let (empty, _) = valid(&Recording::default());
    assert!(empty.windows.is_empty());
    let (creating, _) = valid(&story::told(&WHOLE[..3], 2));
    assert_eq!((creating.session.state.name(), creating.totals.counts.offered), ("creating", 0));
    for buckets in [8, 9, 10, 25, 60, 200] {
        let (mid, value) = valid(&story::told(story::until(&WHOLE, buckets), buckets as u64));
        assert_eq!(value["session"]["state"], "running");
        assert!(mid.session.ended_at.is_none());
    }
    let (failed, _) = valid(&story::told(&story::failed_session(), 21));
    assert_eq!(failed.session.state.name(), "failed");
    assert_eq!(failed.failures[0].count, 7);
    assert!(!failed.failures[0].message.contains("123456789012"));
    valid(&story::told(&WHOLE, 242));
}

#[test]
fn the_schema_refuses_what_is_no_session_document() {
    let validator = schema();
    let (_, good) = valid(&story::told(&WHOLE, 242));
    assert!(validator.is_valid(&good));
    for (pointer, wrong) in [
        ("/schema", json!("throttlescope.session/2")),
        ("/session/state", json!("sleeping")),
        ("/totals/offered", json!(-1)),
        ("/windows/0/latency_ms/accepted/service/p50", json!("4.5")),
        ("/windows/0/verdict", json!("fine")),
        ("/verdict/ci95_per_s", json!([1.0])),
        ("/buckets/accepted/0", json!(0.5)),
        ("/host/cores", json!("two")),
        ("/host/connections_needed", json!(-1)),
    ] {
        let mut bad = good.clone();
        *bad.pointer_mut(pointer).expect(pointer) = wrong;
        assert!(!validator.is_valid(&bad), "{pointer}");
    }
    let mut more = good.clone();
    more["windows"][0]["authorization"] = json!("x");
    assert!(!validator.is_valid(&more));
}

#[test]
fn every_ledger_of_the_document_balances_and_every_column_is_as_long() {
    for buckets in [10, 60, 150, 1_000] {
        let (written, value) = valid(&story::told(story::until(&WHOLE, buckets), buckets as u64));
        let ledgers = written.windows.iter().map(|w| w.counts).chain([written.totals.counts]);
        for c in ledgers {
            assert_eq!(c.offered, c.accepted + c.throttled + c.failed + c.timed_out + c.shed + c.in_flight);
            assert_eq!(c.sent, c.offered - c.shed);
        }
        let offered: u64 = written.windows.iter().map(|w| w.counts.offered).sum();
        assert_eq!(offered, written.totals.counts.offered);
        let columns = value["buckets"].as_object().expect("columns");
        let lengths: Vec<usize> = columns.values().filter_map(Value::as_array).map(Vec::len).collect();
        assert!(lengths.iter().all(|l| *l == written.buckets.start_s.len()), "{lengths:?}");
        assert_eq!(written.buckets.accepted.iter().sum::<u64>(), written.totals.counts.accepted);
    }
}

#[test]
fn percentiles_are_ordered_and_the_full_distribution_says_the_same() {
    let (written, _) = valid(&story::told(&WHOLE, 242));
    for window in &written.windows {
        for both in [&window.latency_ms.accepted, &window.latency_ms.throttled, &window.latency_ms.all] {
            for f in [&both.service, &both.response] {
                let values = [f.p50, f.p90, f.p99, f.p999, f.max].map(throttlescope::report::Finite::get);
                assert!(values.is_sorted(), "{f:?}");
                assert_eq!(f.count == 0, f.p50.get().is_none());
            }
        }
        let text = window.histograms_v2_base64.service_accepted.as_deref().expect("recorded");
        let full = Latency::from_base64(text, 0).expect("reads");
        assert_eq!(full.count(), window.counts.accepted);
        assert_eq!(full.quantiles().p99, window.latency_ms.accepted.service.p99.get());
    }
}

#[test]
fn a_silent_second_is_null_and_not_zero() {
    let mut bench = Bench::fresh_table(1);
    bench.journals = true;
    let id = bench.open(100.0, None);
    bench.run(id, 100.0, 3, Client { stall: Some((1.0, 2.0)), ..Client::default() });
    let (written, value) = valid(&story::told(&bench.entries, 3));
    assert_eq!(value["buckets"]["p99_ms"][1], Value::Null, "{value}");
    assert!(written.buckets.p99_ms[0].get().is_some());
    assert!(!value.to_string().contains("NaN"));
}

#[test]
fn a_document_from_before_anybody_looked_at_the_machine_reads_all_the_same() {
    let (_, mut value) = valid(&story::told(&WHOLE, 242));
    value.as_object_mut().expect("an object").remove("host");
    let read: Document = serde_json::from_value(value).expect("reads");
    assert_eq!(read.host, None);
    assert!(!text(&read).contains("  host  ") && text(&document(&story::told(&WHOLE, 242))).contains("  host  "));
}

#[test]
fn a_document_from_before_limits_and_units_were_told_reads_all_the_same() {
    let (_, mut value) = valid(&story::told(&WHOLE, 242));
    for (pointer, fields) in [
        ("/verdict", &["limit", "sustained_units_per_s"][..]),
        ("/throttles/0", &["last_s", "cause", "meaning"]),
        ("/windows/4", &["accepted_units_per_s", "sustained_units_per_s"]),
    ] {
        let object = value.pointer_mut(pointer).and_then(Value::as_object_mut).expect(pointer);
        assert!(fields.iter().all(|field| object.remove(*field).is_some()), "{pointer}");
    }
    value["steps"] = json!([{ "at_s": 12.5, "from_per_s": 4_000.0, "to_per_s": 5_000.0 }]);
    assert!(schema().is_valid(&value));
    let read: Document = serde_json::from_value(value).expect("reads");
    assert_eq!((read.verdict.limit, read.throttles[0].cause, read.steps[0].window), (None, None, None));
    let page = text(&read);
    assert!(page.contains("at 12.50 s: 4,000 -> 5,000/s") && !page.contains("limit:") && !page.contains("means "), "{page}");
}

#[test]
fn a_growing_session_states_its_steps_its_limit_and_what_refusals_mean() {
    let mut bench = Bench::fresh_table(1).without_latency();
    bench.journals = true;
    bench.changes = vec![(15.5, Change::Split), (33.0, Change::Split)];
    bench.window(8_000.0, 30);
    bench.pause(5);
    bench.window(8_000.0, 30);
    bench.pause(1);
    let mut entries = vec![story::start(), Entry::Target(story::simulated_target())];
    entries.append(&mut bench.entries);
    let (written, value) = valid(&story::told(&entries, 66));
    assert_eq!(written.steps.len(), 2, "{:?}", written.steps);
    assert_eq!((&value["steps"][1]["between_windows"], &value["steps"][1]["window"]), (&json!(true), &json!(1)));
    assert_eq!(value["steps"][1]["at_s"], 35.0);
    assert_eq!((&value["verdict"]["limit"], &value["throttles"][0]["cause"]), (&json!("table-not-scaled"), &json!("table-not-scaled")));
    assert!(written.throttles[0].meaning.as_ref().is_some_and(|m| m.contains("the keys of this load are uniform")), "{value}");
    assert!(written.throttles[0].last_s.get() > written.throttles[0].first_s.get());
    let page = text(&written);
    assert!(page.contains("at 15.5") && page.contains(" in #1: 4,0") && page.contains("confidence over 0.999"), "{page}");
    assert!(page.contains("at 35 s, before #2 or while its burst ran out: "), "{page}");
}

#[test]
fn a_finished_session_shows_the_ceiling_and_what_it_rests_on() {
    let (written, value) = valid(&story::told(&WHOLE, 242));
    assert_eq!(value["verdict"]["kind"], "service-bound");
    let sustained = written.verdict.sustained_per_s.get().expect("a ceiling");
    assert!((3_990.0..=4_010.0).contains(&sustained));
    assert_eq!(value["verdict"]["clean_at_least_per_s"], 4_000.0);
    assert_eq!((value["host"]["clock_offset_ms"].as_f64(), &value["host"]["connections_needed"]), (Some(-2.5), &json!(120)));
    assert_eq!(value["target"]["active_to_first_accepted_s"].as_f64().map(|s| s > 1.0), Some(true));
    assert_eq!(value["target"]["warm_throughput"]["write_units_per_s"], 4_000);
    assert_eq!(value["windows"][4]["caveats"], json!(["simulated"]));
    assert_eq!(value["throttles"][0]["reasons"][0], "TableWriteKeyRangeThroughputExceeded");
    assert_eq!(value["runners"].as_array().map(Vec::len), Some(1));
}
