//! Plans as people run them: every kind of window, a search, and a session that becomes a plan.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod terminal_support;

use std::time::Duration;

use serde_json::Value;
use terminal_support::place::Place;
use terminal_support::program::Program;

/// Four partitions of 100 write units/s with a quarter of a second of burst, at once there and gone.
const SMALL: &str =
    "[partitions]\ncount = 4\nwrite_per_s = 100\nread_per_s = 300\nbucket_s = 0.25\n[table]\nactivation_s = 0\ndeletion_s = 0\n";

const EVERYTHING: &str = r#"
name = "everything"
pause = "1s"
items = 50
[[windows]]
rate = 100
to = 500
length = "4s"
[[windows]]
rate = 200
length = "5s"
reads = 0.4
label = "mixed"
[[windows]]
rate = 300
length = "40s"
item_bytes = 3000
until = "first throttle + 3s"
[[windows]]
rate = 300
length = "40s"
keys = "hot"
until = "sustained for 4s"
"#;

fn run(place: &Place, plan: &str, more: &[&str]) -> Value {
    let (plan, profile) = (place.file("plan.toml", plan), place.file("small.toml", SMALL));
    let args: Vec<&str> = ["--headless", "--plan", &plan, "--embedded-profile", &profile].into_iter().chain(more.iter().copied()).collect();
    let ended = Program::without_screen(place, &args).end();
    assert_eq!(ended.code, 0, "{}", ended.said);
    place.document()
}

fn per_s(window: &Value, name: &str) -> f64 {
    window[name].as_f64().unwrap_or_else(|| panic!("no {name}: {window}"))
}

fn events(document: &Value) -> String {
    let events = document["events"].as_array().expect("events");
    events.iter().map(|event| event["detail"].as_str().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

fn said(place: &Place, args: &[&str]) -> String {
    let done = place.run(args);
    assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).expect("text")
}

#[test]
fn every_kind_of_window_offers_what_the_plan_says_and_is_saved_as_a_plan_again() {
    let place = Place::new();
    let document = run(&place, EVERYTHING, &[]);
    let windows = document["windows"].as_array().expect("windows");
    let [ramp, writes, reads, large, hot] = windows.as_slice() else { panic!("{} windows", windows.len()) };
    assert_eq!((ramp["offered"].as_u64(), per_s(ramp, "offered_to_per_s")), (Some(1_200), 500.0), "the mean of the ramp's ends");
    assert_eq!((writes["beside"].clone(), reads["beside"].clone()), (reads["index"].clone(), writes["index"].clone()));
    assert_eq!((writes["op"].as_str(), reads["op"].as_str()), (Some("write"), Some("read")));
    let offered = |window: &Value| window["offered"].as_u64().expect("a count");
    assert_eq!(offered(writes) + offered(reads), 1_000);
    assert!((398..=402).contains(&offered(reads)), "{}", offered(reads));
    // Three units each, and one partition alone: capacity is counted in units and by partition.
    assert!(per_s(large, "duration_s") < 20.0 && per_s(hot, "duration_s") < 20.0, "ended early: {}", events(&document));
    assert!((per_s(large, "consumed_units") - 3.0 * per_s(large, "accepted")).abs() < 1e-6);
    assert!((per_s(hot, "sustained_per_s") - 100.0).abs() < 2.0, "{hot}");
    assert_eq!(hot["keys"], "hot");
    for early in [large, hot] {
        assert!(per_s(early, "duration_s").fract() < 1e-9, "windows end on whole seconds");
    }
    assert!(events(&document).contains("window 4 of plan everything ends early: its ceiling was sustained for"));
    assert_eq!(hot["hottest_key"]["throttled"], hot["throttled"], "all of it was on one key");
    assert_eq!(large["hottest_key"], Value::Null);
    assert!(events(&document).contains("50 items seeded"));
    let claims = document["target"]["claims"].as_array().expect("claims");
    assert!(!claims.is_empty() && claims.iter().all(|claim| claim["status"] == "ACTIVE"), "{claims:?}");
    let ledger = &document["target_ledger"];
    assert_eq!(ledger["accepted"], document["totals"]["accepted"]);

    let written = place.written(".json").pop().expect("a document").display().to_string();
    let saved = place.work().join("again.toml").display().to_string();
    said(&place, &["plan", "save", &written, "--out", &saved]);
    let shown = said(&place, &["plan", "show", &saved]);
    for part in ["100-500", "40 % read", "3,000", "hot", "50 items seeded first", "4 windows"] {
        assert!(shown.contains(part), "{part}:\n{shown}");
    }
    let total = document["totals"]["offered"].as_u64().expect("a count");
    assert!(shown.contains(&format!(" {},{:03} operations", total / 1_000, total % 1_000)), "{total}:\n{shown}");
    let refused = place.run(&["plan", "save", &written, "--out", &saved]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--force"), "an existing plan is never lost");
}

#[test]
fn a_search_brackets_the_clean_ceiling_of_a_table_that_it_does_not_know() {
    let place = Place::new();
    let plan = "name = 'find'\n[[windows]]\nrate = 1000\nlength = '8s'\n[search]\nprecision = 0.01\nmost_operations = 100000\n";
    let document = run(&place, plan, &["--precision", "0.2"]);
    let windows = document["windows"].as_array().expect("windows");
    assert!(windows.len() >= 2 && document["plan"]["windows"].as_array().map(Vec::len) == Some(windows.len()));
    let said = events(&document);
    let found = said.lines().find(|line| line.starts_with("the clean ceiling lies between")).unwrap_or_else(|| panic!("{said}"));
    let figures: Vec<f64> = found.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [low, high, ..] = figures.as_slice() else { panic!("{found}") };
    assert!(*low <= 401.0 && *high >= 399.0 && *high - *low <= 0.2 * high, "{found}");
    assert!(document["totals"]["offered"].as_u64().expect("a count") <= 100_000);
}

#[test]
fn what_was_steered_by_hand_is_saved_as_a_plan() {
    let place = Place::new();
    let profile = place.file("small.toml", SMALL);
    let mut program = Program::on_screen(&place, &["--rate", "100", "--step", "50", "--embedded-profile", &profile], &[]);
    program.see("100/s");
    std::thread::sleep(Duration::from_millis(2_500));
    program.press("+");
    program.see("150/s");
    std::thread::sleep(Duration::from_millis(2_500));
    program.quit();
    assert_eq!(program.end().code, 0);
    let document = place.written(".json").pop().expect("a document").display().to_string();
    let plan = said(&place, &["plan", "save", &document, "--name", "mine"]);
    let file = place.file("mine.toml", &plan);
    let shown = said(&place, &["plan", "show", &file]);
    assert!(shown.starts_with("mine: What session ts-") && shown.contains("2 windows"), "{plan}\n{shown}");
    assert!(shown.contains(" 100 ") && shown.contains(" 150 "), "{shown}");
}
