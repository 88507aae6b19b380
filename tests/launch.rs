//! `plan launch` on the command line.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod terminal_support;

use serde_json::Value;
use terminal_support::place::Place;
use terminal_support::program::Program;

/// What it prints, and what it says where it refuses.
fn launch(place: &Place, line: &str) -> (u32, String, String) {
    let args: Vec<&str> = ["plan", "launch"].into_iter().chain(line.split_whitespace()).collect();
    let ended = Program::without_screen(place, &args).end();
    (ended.code, ended.out, ended.said)
}

fn json(place: &Place, line: &str) -> Value {
    let (code, out, said) = launch(place, &format!("{line} --json"));
    assert_eq!(code, 0, "{said}");
    serde_json::from_str(&out).unwrap_or_else(|e| panic!("{e}: {out}"))
}

/// A document of the plan quick on the simulated endpoint.
fn measured(place: &Place) -> std::path::PathBuf {
    let path = place.work().join("measured.json");
    std::fs::write(&path, include_str!("documents/quick.json")).unwrap();
    path
}

#[test]
fn a_launch_on_a_fresh_table_is_answered_from_the_documented_figures() {
    let place = Place::new();
    let (code, out, _) = launch(&place, "--target-rate 10k --ramp 10m --from 1000");
    assert_eq!(code, 0);
    for part in [
        "WILL THROTTLE: first 3m36s to 3m43s after the start",
        "documented for a fresh on-demand table",
        "(--warm 11000,12000)",
        "10 % above",
        "is not known here: look it up",
        "$22.50 an hour at 10,000/s",
        "--rate 10000 --window 300s --warm 11000,12000",
        "twice its previous peak",
        "one key, or one partition, gets at most 1,000 units/s",
    ] {
        assert!(out.split_whitespace().collect::<Vec<_>>().join(" ").contains(part), "{part}:\n{out}");
    }
    assert!(out.is_ascii() && out.lines().all(|line| line.len() <= 100 || line.starts_with("  throttlescope ")), "{out}");
}

#[test]
fn the_answer_as_json_has_the_ledger_of_ramp_and_hold() {
    let place = Place::new();
    let answer = json(&place, "--target-rate 6000 --ramp 10m --hold 1m");
    assert_eq!(answer["verdict"], "will-throttle");
    assert_eq!(answer["capacity"]["basis"], "documented");
    assert_eq!(answer["ramp"]["offered"], 1_800_000);
    assert_eq!(answer["ramp"]["throttled"], 196_000);
    assert_eq!(answer["hold"]["throttled"], 120_000);
    assert_eq!(answer["warm_throughput_usd"], Value::Null);
    let earliest = answer["first_throttle"]["earliest_s"].as_f64().unwrap();
    let latest = answer["first_throttle"]["latest_s"].as_f64().unwrap();
    assert!(400.0 < earliest && earliest < latest && latest < 428.3, "{earliest} {latest}");
}

#[test]
fn a_launch_below_the_capacity_needs_nothing() {
    let place = Place::new();
    let answer = json(&place, "--target-rate 3000 --ramp 1m");
    assert_eq!(
        (&answer["verdict"], &answer["warm_throughput"], &answer["first_throttle"]),
        (&"will-not-throttle".into(), &Value::Null, &Value::Null)
    );
    let reads = json(&place, "--target-rate 20000 --ramp 1m --op read");
    assert_eq!((&reads["verdict"], reads["units_per_request"].as_f64()), (&"will-not-throttle".into(), Some(0.5)));
    let strong = json(&place, "--target-rate 20000 --ramp 1m --op read --consistent-read");
    assert_eq!((&strong["verdict"], &strong["warm_throughput"]["read_units_per_s"]), (&"will-throttle".into(), &22_000.into()));
    let large = json(&place, "--target-rate 3000 --ramp 1m --item-bytes 4096");
    assert_eq!((&large["verdict"], &large["warm_throughput"]["write_units_per_s"]), (&"will-throttle".into(), &13_200.into()));
}

#[test]
fn a_session_that_measured_is_reckoned_with_and_named() {
    let place = Place::new();
    let session = measured(&place);
    let answer = json(&place, &format!("--target-rate 4500 --ramp 0s --session {}", session.display()));
    assert_eq!(answer["capacity"]["basis"], "measured");
    assert_eq!(answer["capacity"]["simulated"], true);
    assert!((answer["capacity"]["units_per_s"].as_f64().unwrap() - 4_000.0).abs() < 20.0, "{answer}");
    assert_eq!(answer["verdict"], "will-throttle");
    let (_, out, _) = launch(&place, &format!("--target-rate 4500 --ramp 0s --session {}", session.display()));
    assert!(out.contains("measured by session ts-") && out.contains("SIMULATED"), "{out}");
}

#[test]
fn what_cannot_be_answered_is_said_in_one_sentence() {
    let place = Place::new();
    let session = measured(&place);
    let session = session.display();
    let mut document: Value = serde_json::from_str(include_str!("documents/quick.json")).unwrap();
    document["workload"]["keys"] = "hot".into();
    std::fs::write(place.work().join("hot.json"), document.to_string()).unwrap();
    document["workload"]["keys"] = "uniform".into();
    document["windows"] = Value::Array(Vec::new());
    std::fs::write(place.work().join("empty.json"), document.to_string()).unwrap();
    for (line, part) in [
        ("--ramp 1m", "--target-rate"),
        ("--target-rate 5k", "--ramp"),
        ("--target-rate 0 --ramp 1m", "at least 0.001/s"),
        ("--target-rate fast --ramp 1m", "for example 2500"),
        ("--target-rate 5k --ramp soon", "for example 30s"),
        ("--target-rate 5k --ramp 0s --hold 0s", "offers nothing"),
        ("--target-rate 5k --ramp 1m --op scan", "type write or read"),
        ("--target-rate 5k --ramp 1m --item-bytes 9999999", "type 23 to 409600"),
        ("--target-rate 5k --ramp 1m --session nowhere.json", "cannot read nowhere.json"),
        (&format!("--target-rate 5k --ramp 1m --op read --session {session}"), "says nothing of reads"),
        ("--target-rate 5k --ramp 1m --session hot.json", "uniform keys"),
        ("--target-rate 5k --ramp 1m --session empty.json", "found no ceiling"),
    ] {
        let (code, out, said) = launch(&place, line);
        assert_eq!(code, 2, "{line}: {out}");
        assert!(said.contains(part), "{line}: {said}");
    }
    let (code, out, _) = launch(&place, "--target-rate 5k --ramp 1m --region eu-north-1");
    assert!(code == 0 && out.contains("the price in eu-north-1 is not known here"), "{out}");
}
