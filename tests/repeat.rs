//! `run --repeat`: fresh tables one after the other, guards over all of them, and ends that come early.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod terminal_support;

use rustix::process::Signal;
use serde_json::Value;
use terminal_support::place::{Place, valid};
use terminal_support::program::{Ended, Program};
use terminal_support::target::Target;

const TABLE: &str = "[table]\nactivation_s = 0.3\ndeletion_s = 0.2\n";
/// One short window.
const SHORT: &str = "name = \"one\"\nwindow = \"1s\"\nrates = [50]\n";
/// One that nobody waits for.
const LONG: &str = "name = \"one\"\nwindow = \"10m\"\nrates = [50]\n";

fn documents(place: &Place) -> Vec<Value> {
    place.written(".json").iter().map(|path| valid(&std::fs::read_to_string(path).unwrap())).collect()
}

fn names(place: &Place) -> Vec<String> {
    place.written(".json").iter().map(|path| path.file_name().unwrap().to_string_lossy().into_owned()).collect()
}

fn run(place: &Place, plan: &str, more: &[&str]) -> Ended {
    let plan = place.file("plan.toml", plan);
    Program::without_screen(place, &[&["run", "--plan", plan.as_str()], more].concat()).end()
}

fn distinct(documents: &[Value], pointer: &str) -> usize {
    documents.iter().map(|document| document.pointer(pointer).expect(pointer).to_string()).collect::<std::collections::BTreeSet<_>>().len()
}

#[test]
fn three_runs_are_three_sessions_on_three_tables_and_end_with_their_spread() {
    let (target, place) = (Target::start(TABLE), Place::new());
    let expected = ["--expect", "totals.offered == 50"];
    let ended = run(
        &place,
        SHORT,
        &[&["--endpoint-url", target.url.as_str(), "--repeat", "3", "--out", "x.json", "--seed", "7"], &expected[..]].concat(),
    );
    assert_eq!(ended.code, 0, "{}", ended.said);
    assert_eq!(names(&place), ["x-1.json", "x-2.json", "x-3.json"]);
    let made = documents(&place);
    assert_eq!(made.iter().map(|document| document["workload"]["seed"].as_u64()).collect::<Vec<_>>(), [Some(7), Some(8), Some(9)]);
    for pointer in ["/session/id", "/target/table"] {
        assert_eq!(distinct(&made, pointer), 3, "{pointer}");
    }
    for document in &made {
        assert_eq!((&document["session"]["stop_reason"], &document["target"]["deleted"]), (&"completed".into(), &true.into()));
    }
    assert_eq!(target.tables(), Vec::<String>::new());
    for part in ["plan one, 3 of 3 runs", "x-3.json: ", "3 tables treated alike", "time to ACTIVE s"] {
        assert!(ended.out.contains(part), "{part}: {}", ended.out);
    }
    for part in ["run 1 of 3: session ts-", "run 3 of 3: session ts-", "expected of x-2.json: met", "session document: x-3.json"] {
        assert!(ended.said.contains(part), "{part}: {}", ended.said);
    }
}

#[test]
fn each_run_has_a_simulated_endpoint_of_its_own_and_a_document_named_by_its_session() {
    let place = Place::new();
    let ended = run(&place, SHORT, &["--repeat", "2", "--embedded-time-scale", "100", "--expect", "sustained_per_s > 1"]);
    assert_eq!(ended.code, 3, "an expectation that is not met ends nothing early: {}", ended.said);
    let made = documents(&place);
    assert_eq!(made.len(), 2, "{}", ended.said);
    assert_eq!(distinct(&made, "/target/endpoint"), 2);
    for document in &made {
        assert!(names(&place).contains(&format!("throttlescope-{}.json", document["session"]["id"].as_str().unwrap())));
        assert_eq!(document["target_ledger"]["accepted"], document["totals"]["accepted"], "it counted this session alone");
    }
    assert!(ended.out.starts_with("SIMULATED"), "{}", ended.out);
}

#[test]
fn a_signal_in_the_second_of_three_ends_it_in_order_and_starts_no_third() {
    let (target, place) = (Target::start(TABLE), Place::new());
    let plan = place.file("plan.toml", SHORT);
    let mut program =
        Program::without_screen(&place, &["run", "--endpoint-url", &target.url, "--plan", &plan, "--repeat", "3", "--out", "x.json"]);
    program.see("run 2 of 3");
    program.signal(Signal::INT);
    let ended = program.end();
    assert_eq!(ended.code, 130, "{}", ended.said);
    assert_eq!(target.tables(), Vec::<String>::new());
    let made = documents(&place);
    assert_eq!(names(&place), ["x-1.json", "x-2.json"], "{}", ended.said);
    assert_eq!(
        (&made[0]["session"]["stop_reason"], &made[1]["session"]["stop_reason"]),
        (&"completed".into(), &"interrupted by SIGINT".into())
    );
    assert!(ended.out.contains("2 of 3 runs") && !ended.said.contains("run 3 of 3"), "{}{}", ended.out, ended.said);
}

#[test]
fn a_signal_while_the_first_runs_leaves_one_document_and_its_code() {
    let (target, place) = (Target::start(TABLE), Place::new());
    let plan = place.file("plan.toml", LONG);
    let mut program = Program::without_screen(&place, &["run", "--endpoint-url", &target.url, "--plan", &plan, "--repeat", "2"]);
    program.see("running");
    program.signal(Signal::TERM);
    let ended = program.end();
    assert_eq!((ended.code, documents(&place).len()), (143, 1), "{}", ended.said);
    assert_eq!(target.tables(), Vec::<String>::new());
}

#[test]
fn guards_hold_over_all_runs_together_before_the_first_starts() {
    let place = Place::new();
    for (more, part) in [
        (&["--max-ops", "149"][..], "plan one, 3 times, offers 150 operations, above --max-ops 149; type --max-ops 150"),
        (&["--max-duration", "2s"], "longer than --max-duration 2s"),
        (&["--max-cost", "0.00008"], "plan one, 3 times, may cost $0.00, above --max-cost 0.00008; type --max-cost 0.01"),
        (&["--out", "-"], "name a file with --out"),
        (&["--endpoint-url", "http://127.0.0.1:1", "--table", "abc", "--write-to-existing"], "leave out --table"),
        (&["--out", "/no/such/place/x.json"], "is not there"),
    ] {
        let ended = run(&place, SHORT, &[&["--repeat", "3"], more].concat());
        assert_eq!(ended.code, 2, "{more:?}: {}", ended.said);
        assert!(ended.said.contains(part), "{more:?}: {}", ended.said);
    }
    for times in ["0", "1", "101"] {
        assert_eq!(run(&place, SHORT, &["--repeat", times]).code, 2, "{times}");
    }
    assert!(place.journal().is_none() && place.written(".json").is_empty());
}

#[test]
fn a_document_that_is_there_already_is_not_replaced_by_a_later_run() {
    let place = Place::new();
    let there = place.work().join("x-2.json");
    std::fs::write(&there, "mine").unwrap();
    let ended = run(&place, SHORT, &["--repeat", "2", "--out", "x.json"]);
    assert_eq!(ended.code, 2, "{}", ended.said);
    assert!(ended.said.contains("x-2.json is already there"), "{}", ended.said);
    assert_eq!((std::fs::read_to_string(there).unwrap().as_str(), names(&place).len()), ("mine", 1));
}

#[test]
fn time_that_is_used_up_by_one_run_is_not_there_for_the_next() {
    // Each run takes two seconds until its table is ACTIVE, and one of load.
    let (target, place) = (Target::start("[table]\nactivation_s = 2\ndeletion_s = 0\n"), Place::new());
    let ended = run(&place, SHORT, &["--endpoint-url", &target.url, "--repeat", "3", "--max-duration", "5s", "--out", "x.json"]);
    assert_eq!(ended.code, 4, "{}", ended.said);
    assert!(documents(&place).len() < 3, "{}", ended.said);
    assert_eq!(target.tables(), Vec::<String>::new());
}
