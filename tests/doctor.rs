//! `doctor`, and the quick part of it that `run` does by itself.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

#[path = "doctor/service.rs"]
mod service;
mod terminal_support;

use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use service::{Manner, Service, ahead, date};
use terminal_support::place::{PROGRAM, Place, valid};
use terminal_support::program::Program;
use terminal_support::target::Target;
use terminal_support::wait_for;
use throttlescope::doctor::{ClockOffset, Distance, Probe, Survey};
use throttlescope::wire::{Endpoint, Identity};

const AT_ONCE: Duration = Duration::ZERO;

/// What `doctor` said, and its exit code.
fn doctor(args: &[&str]) -> (i32, String) {
    let place = Place::new();
    let done = place.run(&[&["doctor"], args].concat());
    assert!(place.written("").is_empty(), "it leaves files: {:?}", place.written(""));
    assert_eq!(place.journal(), None, "it begins a session");
    let said = String::from_utf8(done.stderr).unwrap();
    assert_eq!(said, "", "{args:?}");
    (done.status.code().unwrap(), String::from_utf8(done.stdout).unwrap())
}

fn json(args: &[&str]) -> (i32, Value) {
    let (code, out) = doctor(&[args, &["--json"]].concat());
    let found: Value = serde_json::from_str(&out).unwrap_or_else(|e| panic!("{e}: {out}"));
    assert_eq!(found["schema"], "throttlescope.doctor/1");
    assert_eq!(found["verdict"]["can"], code == 0, "{found:#}");
    (code, found)
}

fn number(found: &Value, pointer: &str) -> f64 {
    found.pointer(pointer).and_then(Value::as_f64).unwrap_or_else(|| panic!("{pointer} in {found:#}"))
}

#[test]
fn doctor_says_each_fact_with_what_it_rests_on_and_one_verdict_within_eighty_columns() {
    // A machine that is busy with other tests may fall short of any rate for a moment.
    let mut page = String::new();
    wait_for(
        || {
            let (code, out) = doctor(&["--rate", "20"]);
            assert_eq!(code == 0, out.contains("\nOK: "), "{out}");
            assert!(code < 2, "{out}");
            page = out;
            code == 0
        },
        || "a verdict that 20/s can be held".to_owned(),
    );
    for part in [
        "SIMULATED: ",
        "plan one-window, at most 20 writes/s of 1,000 bytes",
        "  cores        ",
        "  open files   ",
        " ms median, ",
        "  clock        the service's is ",
        "  connections  the plan needs 1 (20/s x 10.0 ms",
        " us of CPU per request: CPU time of ",
        "/s was paced for half a",
        "from here; the plan asks 20/s.",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(page.lines().all(|line| line.len() <= 80), "{page}");
    assert!(page.is_ascii() && !page.contains('\u{1b}'), "{page}");
}

#[test]
fn doctor_refuses_a_rate_that_no_machine_holds_and_says_what_to_change() {
    let (code, found) = json(&["--rate", "5000k"]);
    assert_eq!(code, 1);
    assert!(number(&found, "/client/cpu_us_per_request") > 1.0);
    assert_eq!(found["verdict"]["asked_per_s"], 5_000_000.0);
    assert_eq!(found["simulated"], true);
    let changes = found["verdict"]["changes"].to_string();
    assert!(changes.contains("--shards") || changes.contains("more cores") || changes.contains("other work"), "{found:#}");
    assert!(changes.contains("it needs 75000 connections, and "), "{found:#}");
}

#[test]
fn doctor_finds_the_offset_and_the_distance_of_a_slow_service_and_asks_it_for_nothing_but_descriptions() {
    let service = Service::start(Manner { delay: Duration::from_millis(100), clock: ahead(2_300), closes: false });
    let (code, found) = json(&["--endpoint-url", &service.url, "--rate", "2000", "--max-in-flight", "100"]);
    let (offset, either_way) = (number(&found, "/clock/offset_ms"), number(&found, "/clock/uncertainty_ms"));
    assert!((offset - either_way..=offset + either_way).contains(&2_300.0), "{found:#}");
    assert!(either_way < 500.0, "no more is known than any one reply says: {found:#}");
    let trip = number(&found, "/distance/round_trip_ms");
    assert!(number(&found, "/distance/round_trip_min_ms") >= 100.0 && trip >= 100.0, "{found:#}");
    assert!(number(&found, "/distance/connect_ms") < trip, "connecting is apart: {found:#}");
    // 2,000/s times the round trip, and half as many again.
    let needed = number(&found, "/connections/needed");
    assert!((needed - 3.0 * trip).abs() <= 1.0, "{found:#}");
    assert_eq!(code, 1, "{found:#}");
    assert!(found["verdict"]["holds_per_s"].as_f64().is_none_or(|holds| holds < 2_000.0), "{found:#}");
    assert!(found["verdict"]["changes"].to_string().contains(&format!("type --max-in-flight {needed}")), "{found:#}");
    assert_eq!(found["simulated"], false);
    let asked = service.asked();
    assert!(asked.iter().all(|operation| operation == "DescribeTable"), "{asked:?}");
    assert!(asked.len() >= 3 && asked.len() == number(&found, "/distance/round_trips") as usize, "{asked:?}");
}

#[test]
fn doctor_refuses_a_plan_that_needs_more_connections_than_files_may_be_open() {
    let service = Service::start(Manner { delay: Duration::from_millis(100), clock: ahead(0), closes: false });
    let place = Place::new();
    let typed = format!("ulimit -n 150; exec {PROGRAM} doctor --rate 2000 --endpoint-url {}", service.url);
    let done = Command::new("sh")
        .args(["-c", &typed])
        .current_dir(place.work())
        .env_clear()
        .envs(place.environment())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let out = String::from_utf8(done.stdout).unwrap();
    assert_eq!(done.status.code(), Some(1), "{out}");
    let flowed = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flowed.contains("open files 150 (hard limit 150): 86 connections"), "{out}");
    assert!(flowed.contains("and the open-file limit allows 86; raise `ulimit -n`"), "{out}");
    assert!(flowed.contains("NOT ENOUGH: ") || flowed.contains("NOT KNOWN: "), "{out}");
}

#[test]
fn doctor_says_when_nobody_answers_and_when_the_answer_is_not_dynamodbs() {
    let (code, out) = doctor(&["--endpoint-url", "http://127.0.0.1:1", "--rate", "20"]);
    assert_eq!(code, 1);
    assert!(out.contains("NOT KNOWN: ") && out.contains("check --endpoint-url"), "{out}");
    for (typed, part) in [
        ("--json --out x.json", "for run"),
        ("--plan celing", "type one of quick"),
        ("--rate 0", "pause it instead"),
        // What it would say is of the other client.
        ("--client sdk", "leave out --client sdk"),
    ] {
        let place = Place::new();
        let done = place.run(&["doctor"].into_iter().chain(typed.split(' ')).collect::<Vec<_>>());
        let said = String::from_utf8(done.stderr).unwrap();
        assert_eq!(done.status.code(), Some(2), "{typed}: {said}");
        assert!(said.contains(part) && done.stdout.is_empty(), "{typed}: {said}");
    }
}

#[test]
fn doctor_promises_its_exit_codes_and_offers_only_options_that_mean_something_to_it() {
    let (code, help) = doctor(&["--help"]);
    let flowed = help.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(code, 0);
    assert!(flowed.contains("Exit code: 0 if this machine can, 1 if it cannot"), "{help}");
    for option in ["--json", "--plan", "--endpoint-url", "--max-in-flight", "--shards"] {
        assert!(help.contains(option), "{option}: {help}");
    }
    for option in ["--headless", "--out ", "--force", "--glyphs", "--theme", "--step", "--client"] {
        assert!(!help.contains(option), "{option}: {help}");
    }
}

/// The doctor while it runs; dropping it kills it.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ended = self.0.kill().and_then(|()| self.0.wait());
    }
}

/// Processes whose parent this is.
fn children(parent: u32) -> Vec<u32> {
    let listed = std::fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).unwrap_or_default();
    listed.split_whitespace().map(|child| child.parse().unwrap()).collect()
}

/// Whether a process runs this program's simulated endpoint.
fn serves(process: u32) -> bool {
    std::fs::read(format!("/proc/{process}/cmdline")).is_ok_and(|line| String::from_utf8_lossy(&line).contains("--until-stdin-ends"))
}

#[test]
fn however_doctor_ends_the_endpoint_that_it_started_ends_too() {
    for (signal, code) in [(Signal::INT, Some(130)), (Signal::TERM, Some(143)), (Signal::HUP, Some(129)), (Signal::KILL, None)] {
        let place = Place::new();
        let mut command = Command::new(PROGRAM);
        command.args(["doctor", "--endpoint-url", "http://127.0.0.1:1"]).current_dir(place.work()).env_clear().envs(place.environment());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut doctor = {
            let _starting = terminal_support::starting();
            Running(command.spawn().unwrap())
        };
        let mut endpoint = None;
        wait_for(
            || {
                endpoint = children(doctor.0.id()).into_iter().find(|child| serves(*child));
                endpoint.is_some() || doctor.0.try_wait().unwrap().is_some()
            },
            || "its endpoint".to_owned(),
        );
        let endpoint = endpoint.expect("an endpoint before it ended");
        kill_process(Pid::from_raw(doctor.0.id() as i32).unwrap(), signal).unwrap();
        wait_for(|| doctor.0.try_wait().unwrap().is_some(), || format!("its end by {signal:?}"));
        assert_eq!(doctor.0.wait().unwrap().code(), code, "{signal:?}");
        wait_for(|| !serves(endpoint), || format!("the endpoint's end after {signal:?}"));
    }
}

/// What a quick survey finds of a service.
fn surveyed(service: &Service) -> Distance {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let probe = Probe::new(Endpoint::parse(&service.url, "us-east-1").unwrap(), Arc::new(Identity::dummy()));
    let (_nobody_hurries, hurry) = tokio::sync::watch::channel(false);
    runtime.block_on(Survey::QUICK.run(probe, "throttlescope-survey", hurry))
}

#[test]
fn a_service_without_a_readable_date_has_no_offset_and_it_says_why() {
    for (clock, part) in [
        (Box::new(|_: usize, _: i128| None) as Box<dyn Fn(usize, i128) -> Option<String> + Send + Sync>, "no Date header"),
        (Box::new(|_, _| Some("tomorrow".to_owned())), "does not read"),
    ] {
        let service = Service::start(Manner { delay: AT_ONCE, clock, closes: false });
        let found = surveyed(&service);
        assert_eq!(found.clock.offset(), ClockOffset::Unknown);
        assert!(found.clock_trouble().unwrap().contains(part), "{found:?}");
        assert!(found.round_trip.is_some() && found.endpoint_answers().is_ok(), "{found:?}");
    }
}

#[test]
fn a_service_whose_clock_is_stepped_has_no_offset_and_it_says_why() {
    let clock = Box::new(|number: usize, now: i128| Some(date(now + if number < 2 { 0 } else { 60_000_000_000 })));
    let service = Service::start(Manner { delay: AT_ONCE, clock, closes: false });
    let found = surveyed(&service);
    assert_eq!(found.clock.offset().middle_ms(), None);
    assert!(found.clock_trouble().unwrap().contains("contradict each other by"), "{found:?}");
}

#[test]
fn a_service_that_closes_after_each_answer_is_surveyed_all_the_same() {
    let service = Service::start(Manner { delay: AT_ONCE, clock: ahead(-7_700), closes: true });
    let found = surveyed(&service);
    let (offset, either_way) = found.clock.offset().middle_ms().unwrap();
    assert!((offset - either_way..=offset + either_way).contains(&-7_700.0), "{found:?}");
    assert!(found.connections > 1 && found.connections == found.round_trips, "{found:?}");
}

#[test]
fn run_notes_what_it_found_about_the_machine_and_the_way_to_the_endpoint() {
    let place = Place::new();
    let ended = Program::without_screen(&place, &["--rate", "50", "--window", "1s", "--embedded-time-scale", "20"]).end();
    assert_eq!(ended.code, 0, "{}", ended.said);
    let document = place.document();
    assert!(number(&document, "/host/cores") >= 1.0);
    assert!(number(&document, "/host/round_trip_ms") > 0.0 && number(&document, "/host/connect_ms") > 0.0);
    assert!(number(&document, "/host/round_trips") >= 3.0);
    let (offset, either_way) = (number(&document, "/host/clock_offset_ms"), number(&document, "/host/clock_offset_uncertainty_ms"));
    assert!(offset.abs() <= either_way + 20.0, "it is this machine's own clock: {}", document["host"]);
    assert_eq!(document["host"]["asked_per_s"], 50.0);
    assert_eq!(document["host"]["connections_allowed"], document["workload"]["max_in_flight"]);
    assert!(ended.out.contains("  host         "), "{}", ended.out);
}

#[test]
fn run_warns_when_a_rate_needs_more_connections_than_there_may_be() {
    let place = Place::new();
    let args = ["--rate", "500", "--window", "1s", "--max-in-flight", "2", "--embedded-time-scale", "20"];
    let ended = Program::without_screen(&place, &args).end();
    assert_eq!(ended.code, 0, "{}", ended.said);
    let document = place.document();
    let warnings = document["events"].as_array().unwrap().iter().filter(|event| event["kind"] == "warning");
    let said: Vec<&str> = warnings.filter_map(|event| event["detail"].as_str()).collect();
    assert!(said.iter().any(|said| said.starts_with("500/s is more") && said.contains("type --max-in-flight ")), "{said:?}");
    assert!(ended.out.contains("warning at "), "{}", ended.out);
}

#[test]
fn a_killed_session_leaves_what_it_found_about_the_machine() {
    let (target, place) = (Target::start("[table]\nactivation_s = 0.5\n"), Place::new());
    let mut program = Program::without_screen(&place, &["--endpoint-url", &target.url, "--rate", "50", "--window", "10m"]);
    wait_for(|| place.journal_text().contains("\"bucket\""), || place.journal_text());
    program.signal(Signal::KILL);
    program.end();
    let document = valid(&place.reported("json"));
    assert!(number(&document, "/host/round_trip_ms") > 0.0, "{document:#}");
    assert!(place.reported("text").contains("  host         "));
}
