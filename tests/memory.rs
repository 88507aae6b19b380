//! What a session holds in memory does not grow with what it has measured.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use throttlescope::embedded::{Config, Profile, start};

const RATE: u64 = 2_000;
const SECONDS: u64 = 21;
/// More than this after the first third is a leak, not what an allocator keeps.
const GROWTH_KB: u64 = 10 * 1_024;

struct Session(Child);

impl Drop for Session {
    fn drop(&mut self) {
        // It has mostly ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Resident memory of a process in KB, while it runs.
fn resident_kb(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse().ok()
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "reads /proc")]
fn memory_stays_flat_while_a_session_goes_on() {
    let endpoint = start(Config { profile: Profile::find("null").unwrap(), ..Config::default() }).unwrap();
    let place = tempfile::tempdir().unwrap();
    let out = place.path().join("session.json");
    let mut session = Session(
        Command::new(env!("CARGO_BIN_EXE_throttlescope"))
            .args(["run", "--headless", "--endpoint-url", &endpoint.url(), "--rate", &RATE.to_string()])
            // Few lanes: what a stall of this machine opens in connections is not what is looked for here.
            .args(["--window", &format!("{SECONDS}s"), "--max-in-flight", "32", "--shards", "1", "--out"])
            .arg(&out)
            .current_dir(place.path())
            .env("XDG_STATE_HOME", place.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap(),
    );
    // It writes a line a second: each is a moment to look.
    let lines = BufReader::new(session.0.stderr.take().unwrap()).lines();
    let seen: Vec<(String, Option<u64>)> = lines.map(|line| (line.unwrap(), resident_kb(session.0.id()))).collect();
    assert!(session.0.wait().unwrap().success(), "{seen:?}");
    let document: serde_json::Value = serde_json::from_slice(&std::fs::read(&out).unwrap()).unwrap();
    assert_eq!(document["totals"]["offered"], RATE * SECONDS);
    assert!(document["totals"]["accepted"].as_u64() > Some(0), "{}", document["totals"]);
    let resident: Vec<u64> = seen.iter().filter_map(|(_, resident)| *resident).collect();
    assert!(resident.len() as u64 >= SECONDS / 2, "too few looks: {seen:?}");
    let (early, last) = (resident[resident.len() / 3], resident[resident.len() - 1]);
    assert!(last < early + GROWTH_KB, "{early} KB after a third, {last} KB at the end: {resident:?}");
}
