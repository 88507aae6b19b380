//! The screen, steered by hand, against third-party servers.

use std::io::{Read as _, Write};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use portable_pty::{CommandBuilder, MasterPty, PtySize, native_pty_system};
use serde_json::Value;

use crate::support::{PATIENCE, PROGRAM, Peer, is_consistent, is_gone, settings};

/// A session on a terminal; killed if its test fails.
struct Screen {
    directory: tempfile::TempDir,
    keys: Option<Box<dyn Write + Send>>,
    wrote: Arc<Mutex<Vec<u8>>>,
    process: Box<dyn portable_pty::Child + Send + Sync>,
    _terminal: Box<dyn MasterPty + Send>,
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ended_already = self.process.kill();
        let _reaped = self.process.wait();
    }
}

impl Screen {
    fn start(url: &str) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let pty = native_pty_system().openpty(PtySize { rows: 30, cols: 100, pixel_width: 0, pixel_height: 0 }).expect("a pty");
        let mut command = CommandBuilder::new(PROGRAM);
        command.args(["--endpoint-url", url, "--rate", "50", "--step", "25", "--out", "session.json", "--glyphs", "ascii"]);
        command.cwd(directory.path());
        command.env("TERM", "xterm-256color");
        for (name, value) in settings(directory.path()) {
            command.env(name, value);
        }
        let process = pty.slave.spawn_command(command).expect("the program starts");
        let wrote = Arc::<Mutex<Vec<u8>>>::default();
        let mut reader = pty.master.try_clone_reader().expect("a reader");
        let into = Arc::clone(&wrote);
        std::thread::spawn(move || {
            let mut bytes = [0; 4_096];
            while let Ok(n @ 1..) = reader.read(&mut bytes) {
                into.lock().expect("no panic").extend_from_slice(&bytes[..n]);
            }
        });
        let keys = Some(pty.master.take_writer().expect("a writer"));
        Self { directory, keys, wrote, process, _terminal: pty.master }
    }

    fn shown(&self) -> String {
        let size = |n| std::num::NonZero::new(n).expect("above zero");
        let mut parser = vt100::Parser::new(size(30), size(100), 0);
        parser.process(&self.wrote.lock().expect("no panic"));
        parser.screen().contents()
    }

    /// The words of the screen, without its layout.
    fn words(&self) -> String {
        self.shown().split_whitespace().collect::<Vec<_>>().join(" ")
    }

    fn see(&mut self, what: &str, there: impl Fn(&str) -> bool) {
        let begun = Instant::now();
        loop {
            if there(&self.words()) {
                return;
            }
            let ended = self.process.try_wait().expect("a child");
            assert!(ended.is_none() && begun.elapsed() < PATIENCE, "never saw {what} ({ended:?}):\n{}", self.shown());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Presses a key, no sooner after the last one than a hand would: what comes faster counts as held.
    fn press(&mut self, key: &str) {
        std::thread::sleep(Duration::from_millis(250));
        let keys = self.keys.as_mut().expect("open until the end");
        keys.write_all(key.as_bytes()).expect("a key");
        keys.flush().expect("a key");
    }

    /// The document, once the program has ended.
    fn ended(&mut self) -> Value {
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = self.process.try_wait().expect("a child") {
                break status;
            }
            assert!(begun.elapsed() < PATIENCE, "never ended:\n{}", self.shown());
            std::thread::sleep(Duration::from_millis(20));
        };
        assert!(status.success(), "{status:?}:\n{}", self.shown());
        let document = std::fs::read(self.directory.path().join("session.json")).expect("a document");
        serde_json::from_slice(&document).expect("JSON")
    }
}

fn steered_and_left(peer: &Peer) {
    let mut screen = Screen::start(&peer.url);
    screen.see("load that is accepted", |shown| shown.contains("RUNNING") && shown.contains("rate 50/s") && is_accepted(shown));
    assert!(!screen.shown().contains("SIMULATED"), "{}", screen.shown());
    assert_eq!(peer.tables().len(), 1, "the session's table");
    screen.press("\x1b[A");
    screen.see("the rate stepped up", |shown| shown.contains("rate 75/s"));
    screen.press("\x1b[B");
    screen.see("the rate stepped down", |shown| shown.contains("rate 50/s"));
    screen.press("q");
    screen.see("the question", |shown| shown.contains("stop?"));
    screen.press("y");
    let document = screen.ended();
    is_consistent(&document);
    is_gone(&document);
    assert!(document["totals"]["accepted"].as_u64() > Some(0), "{}", document["totals"]);
    setpoints_are_dated(&document);
    assert_eq!(peer.tables(), Vec::<String>::new());
}

/// Every rate that was asked for took effect 20 ms later, and the events say when: not when it became known.
fn setpoints_are_dated(document: &Value) {
    let events = document["events"].as_array().expect("events");
    let seconds = |of: &Value, name: &str| of[name].as_f64().unwrap_or_else(|| panic!("no {name}: {of}"));
    assert!(events.windows(2).all(|two| seconds(&two[0], "at_s") <= seconds(&two[1], "at_s")), "{events:?}");
    let of_kind = |kind: &'static str| events.iter().filter(move |event| event["kind"] == kind && event["detail"] != "paused");
    let delays: Vec<f64> = of_kind("applied")
        .map(|applied| {
            let before = |event: &&Value| seconds(event, "at_s") <= seconds(applied, "at_s");
            let asked = of_kind("requested").filter(before).rfind(|event| event["detail"] == applied["detail"]);
            let asked = asked.unwrap_or_else(|| panic!("never asked for: {applied} in {events:?}"));
            seconds(applied, "at_s") - seconds(asked, "at_s")
        })
        .collect();
    assert!(of_kind("applied").any(|event| event["detail"] == "75/s"), "{events:?}");
    // A busy machine may delay one or the other.
    assert!(delays.iter().any(|delay| (0.019..0.022).contains(delay)), "{delays:?} s from asking to effect");
}

/// Whether the rate behind `accepted` is above zero.
fn is_accepted(shown: &str) -> bool {
    let mut rates = shown.split("accepted ").skip(1).filter_map(|behind| behind.split_once("/s")?.0.replace(',', "").parse::<u32>().ok());
    rates.next().is_some_and(|rate| rate > 0)
}

#[test]
fn a_slow_table_is_explored_by_hand_and_deleted() {
    let Some(peer) = Peer::dynalite() else { return };
    steered_and_left(&peer);
}

#[test]
fn a_fast_table_is_explored_by_hand_and_deleted() {
    let Some(peer) = Peer::dynoxide() else { return };
    steered_and_left(&peer);
}
