//! Whose limit it was, when it is known beforehand: the client's in-flight cap, a client without a core, a table's ceiling, and
//! two of them at once. The simulated endpoint runs in the test, so that only the client is short of anything.
#![allow(clippy::expect_used)]

use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use throttlescope::embedded::{Config, Profile, Server, start};

/// An endpoint that answers after 20 ms and accepts so many writes a second, with a tenth of a second of burst.
fn target(write_per_s: u32) -> Server {
    let profile = format!(
        "[partitions]\ncount = 1\nwrite_per_s = {write_per_s}\nread_per_s = 3000\nbucket_s = 0.1\nsplits_after_s = []\n\n\
         [table]\nactivation_s = 0\ndeletion_s = 0\n\n\
         [latency_ms]\nwrite = {{ p50 = 20, p99 = 21 }}\nread = {{ p50 = 20, p99 = 21 }}\nrefusal = {{ p50 = 20, p99 = 21 }}\n"
    );
    start(Config { profile: Profile::parse(&profile, "test.toml").expect("a profile"), ..Config::default() }).expect("an endpoint")
}

/// The program with these arguments, its files in this place.
fn program(place: &Path, target: &Server, arguments: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_throttlescope"));
    command
        .current_dir(place)
        .env("XDG_STATE_HOME", place)
        .env_remove("AWS_PROFILE")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.args(["run", "--headless", "--shards", "1", "--out", "session.json", "--endpoint-url", &format!("http://{}", target.addr())]);
    command.args(arguments.split_whitespace());
    command
}

/// The first window of what was measured.
fn window(place: &Path) -> Value {
    let text = std::fs::read_to_string(place.join("session.json")).expect("a document");
    let document: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(document["target"]["deleted"], true);
    document["windows"][0].clone()
}

fn measured(target: &Server, arguments: &str) -> Value {
    let place = tempfile::tempdir().expect("a folder");
    let status = program(place.path(), target, arguments).status().expect("it runs");
    assert!(status.success(), "{status}");
    window(place.path())
}

fn says(window: &Value, text: &str) -> bool {
    window["evidence"].as_array().into_iter().flatten().filter_map(Value::as_str).any(|sentence| sentence.contains(text))
}

#[test]
fn an_in_flight_cap_on_a_slow_target_is_the_clients_limit_and_says_what_it_needs() {
    let window = measured(&target(100_000), "--rate 1000 --window 4s --max-in-flight 10");
    assert_eq!(window["verdict"], "client-bound", "{window}");
    assert!(window["shed"].as_u64() > Some(1_000), "{window}");
    assert_eq!((window["throttled"].as_u64(), window["client"]["in_flight_max"].as_u64()), (Some(0), Some(10)), "{window}");
    assert!(says(&window, "the in-flight cap of 10 was reached: 1,000/s with a median answer after"), "{window}");
    assert!(says(&window, "raise --max-in-flight"), "{window}");
}

#[test]
fn a_ceiling_of_the_table_is_the_services_limit() {
    // A host that stands still makes the client late as well: then, and only then, it is not told.
    let window = measured(&target(300), "--rate 600 --window 8s --late-limit 5s");
    if window["caveats"].as_array().is_some_and(|caveats| caveats.iter().any(|caveat| caveat == "client-saturated")) {
        assert_eq!(window["verdict"], "inconclusive", "{window}");
        return;
    }
    assert_eq!(window["verdict"], "service-bound", "{window}");
    assert!(says(&window, "were throttled steadily to the end"), "{window}");
    assert!(says(&window, "TableWriteKeyRangeThroughputExceeded"), "{window}");
}

#[test]
fn a_cap_and_a_ceiling_at_once_are_inconclusive() {
    // 20 in flight for 20 ms are at most 1,000 answers a second: more than the table takes, less than what is offered.
    let window = measured(&target(300), "--rate 2000 --window 8s --max-in-flight 20");
    assert_eq!(window["verdict"], "inconclusive", "{window}");
    assert!(window["shed"].as_u64() > Some(4_000) && window["throttled"].as_u64() > Some(1_000), "{window}");
    assert!(says(&window, "were throttled steadily to the end") && says(&window, "the in-flight cap of 20 was reached"), "{window}");
}

/// Programs that do nothing but take a core, until dropped.
struct Burners(Vec<Child>);

impl Burners {
    fn on(core: &str, count: usize) -> Self {
        let burn = || Command::new("taskset").args(["-c", core, "sh", "-c", "while :; do :; done"]).spawn().expect("taskset is there");
        Self((0..count).map(|_| burn()).collect())
    }
}

impl Drop for Burners {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _gone = child.kill();
            let _reaped = child.wait();
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_client_that_has_to_share_its_core_is_the_limit_and_says_that_it_waited() {
    let target = target(100_000);
    let place = tempfile::tempdir().expect("a folder");
    let core = allowed_core();
    let ran = program(place.path(), &target, "--rate 3000 --window 5s");
    // The least of a core among four: the program is nice, those that burn are not.
    let mut starved = Command::new("nice");
    starved.args(["-n", "19", "taskset", "-c", &core]).arg(ran.get_program()).args(ran.get_args());
    starved.current_dir(place.path()).env("XDG_STATE_HOME", place.path()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let burners = Burners::on(&core, 3);
    let status = starved.status().expect("nice and taskset are there");
    drop(burners);
    assert!(status.success(), "{status}");
    let window = window(place.path());
    assert_eq!(window["verdict"], "client-bound", "{window}");
    assert!(says(&window, "a load thread waited for a core"), "{window}");
    assert!(window["client"]["waited_for_core"].as_f64() > Some(0.1), "{window}");
    assert!(window["caveats"].as_array().is_some_and(|caveats| caveats.iter().any(|caveat| caveat == "client-saturated")), "{window}");
}

/// A core that this process may run on.
#[cfg(target_os = "linux")]
fn allowed_core() -> String {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux tells it");
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).expect("Linux tells it");
    list.trim().split([',', '-']).next().expect("at least one").to_owned()
}
