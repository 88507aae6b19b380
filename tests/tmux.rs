//! A session in tmux, from its first second to the shell's prompt: steered by keys, resized, and left without a trace but its
//! summary and its files.

#![expect(clippy::expect_used, clippy::print_stdout, reason = "a helper that cannot go on fails its test, and a skipped test says so")]

mod terminal_support;

use std::process::Command;

use terminal_support::place::{PROGRAM, Place, valid};
use terminal_support::{starting, wait_for};

/// A private tmux server with one pane, in which the program runs. Dropping it ends them.
struct Tmux {
    name: String,
    place: Place,
}

impl Tmux {
    /// `None`, and a word about it, where there is no tmux; on CI there must be one.
    fn start(width: u16, height: u16, args: &str) -> Option<Self> {
        if Command::new("tmux").arg("-V").output().is_err() {
            assert!(std::env::var("CI").is_err(), "tmux is not installed");
            println!("skipped: tmux is not installed");
            return None;
        }
        let tmux = Self { name: format!("throttlescope-{}-{width}x{height}", std::process::id()), place: Place::new() };
        let line = format!("{PROGRAM} {args}; echo \"LEFT $?\"; stty -a; exec sleep 100000");
        let (width, height) = (width.to_string(), height.to_string());
        tmux.ask(&["-f", "/dev/null", "new-session", "-d", "-x", &width, "-y", &height, "sh", "-c", &line]);
        Some(tmux)
    }

    fn ask(&self, args: &[&str]) -> String {
        let mut command = Command::new("tmux");
        command.args(["-L", &self.name, "-u"]).args(args).current_dir(self.place.work()).env_clear().envs(self.place.environment());
        let done = {
            let _starting = starting();
            command.output().expect("tmux")
        };
        assert!(done.status.success(), "tmux {args:?}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8_lossy(&done.stdout).into_owned()
    }

    fn screen(&self) -> String {
        self.ask(&["capture-pane", "-p"])
    }

    /// Waits for something on a screen that is stamped all the while.
    fn see_that(&self, what: &str, mut there: impl FnMut(&str) -> bool) {
        let mut screen = self.screen();
        wait_for(
            || {
                screen = self.screen();
                there(&screen)
            },
            || format!("{what}:\n{}", self.screen()),
        );
        assert!(screen.contains("SIMULATED"), "not stamped:\n{screen}");
    }

    fn see(&self, what: &str) {
        self.see_that(what, |screen| screen.contains(what));
    }

    /// Presses a key, no sooner after the last one than a hand would.
    fn press(&self, key: &str) {
        std::thread::sleep(std::time::Duration::from_millis(200));
        self.ask(&["send-keys", key]);
    }

    /// Presses a key and waits until the rate is applied.
    fn step(&self, key: &str, rate: &str) {
        self.press(key);
        self.see_rate(rate);
    }

    fn see_rate(&self, rate: &str) {
        let is_applied = |screen: &str| {
            let mut words = screen.lines().nth(1).unwrap_or_default().split_whitespace();
            words.next() == Some("rate") && words.next() == Some(rate) && words.next() != Some("->")
        };
        self.see_that(&format!("rate {rate}"), is_applied);
    }

    /// Answers a question with yes; it is deaf until it could be read.
    fn confirm(&self, question: &str) {
        self.see(question);
        let is_gone = || !self.screen().contains(question);
        wait_for(
            || {
                self.press("y");
                is_gone()
            },
            || format!("an end of the question {question}"),
        );
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        let mut command = Command::new("tmux");
        let _ended = command.args(["-L", &self.name, "kill-server"]).env_clear().envs(self.place.environment()).output();
    }
}

fn a_whole_session(width: u16, height: u16) {
    let Some(tmux) = Tmux::start(width, height, "--rate 400 --step 100 --embedded-time-scale 10") else { return };
    tmux.see("RUNNING");
    tmux.see_rate("400/s");
    steer(&tmux);
    look_around(&tmux);
    resize(&tmux, width, height);
    leave(&tmux);
}

/// Every way to change the load.
fn steer(tmux: &Tmux) {
    for (key, rate) in [
        ("Up", "500/s"),
        ("k", "600/s"),
        ("j", "500/s"),
        ("Down", "400/s"),
        ("+", "500/s"),
        ("-", "400/s"),
        ("PageUp", "800/s"),
        ("PageDown", "400/s"),
    ] {
        tmux.step(key, rate);
    }
    tmux.press("r");
    tmux.see("offer an exact rate");
    for key in ["4", "x", "Enter"] {
        tmux.press(key);
    }
    tmux.see("> 4x");
    tmux.see("type for example");
    tmux.see_rate("400/s");
    for key in ["BSpace", "5", "0", "Enter"] {
        tmux.press(key);
    }
    tmux.see_rate("450/s");
    tmux.press("Space");
    tmux.see("PAUSED");
    tmux.see("space resume");
    tmux.press("Space");
    tmux.see("RUNNING");
    tmux.see_rate("450/s");
    tmux.press("p");
    tmux.see("run a plan");
    tmux.press("Enter");
    tmux.see("plan quick starts");
    tmux.see_rate("2,000/s");
    tmux.press("Down");
    tmux.confirm("end the plan?");
    tmux.see_that("a rate steered by hand", |screen| screen.contains("RUNNING") && !screen.contains(" -> "));
}

/// The snapshot, the help and the views.
fn look_around(tmux: &Tmux) {
    tmux.press("s");
    wait_for(|| tmux.place.written("-001.json").len() == 1, || format!("a snapshot:\n{}", tmux.screen()));
    let snapshot = valid(&std::fs::read_to_string(&tmux.place.written("-001.json")[0]).expect("a snapshot"));
    assert_eq!((&snapshot["session"]["state"], &snapshot["target"]["simulated"]), (&"running".into(), &true.into()));
    tmux.press("?");
    tmux.see("? Esc close");
    tmux.press("Escape");
    tmux.see_that("the help closed", |screen| !screen.contains("? Esc close"));
    let views = ["p50", "response", "offered/s", "throttles throttled", "endpoint", "applied"];
    for (view, part) in views.iter().enumerate() {
        tmux.press(&(view + 1).to_string());
        tmux.see(part);
    }
    tmux.press("Tab");
    tmux.see("last second");
    tmux.see("RUNNING");
}

/// The load runs at every size, and the screen says what it can.
fn resize(tmux: &Tmux, width: u16, height: u16) {
    for (columns, rows, part) in
        [(60, 16, "RUNNING"), (24, 6, "accepted"), (12, 3, "q quits"), (40, 10, "q quit"), (160, 50, "RUNNING"), (width, height, "RUNNING")]
    {
        tmux.ask(&["resize-window", "-x", &columns.to_string(), "-y", &rows.to_string()]);
        tmux.see(part);
    }
}

fn leave(tmux: &Tmux) {
    tmux.press("q");
    tmux.confirm("stop?");
    wait_for(|| tmux.screen().contains("min = 1"), || format!("the shell:\n{}", tmux.screen()));
    let modes = tmux.ask(&["display-message", "-p", "#{alternate_on} #{cursor_flag} #{mouse_any_flag}"]);
    assert_eq!(modes.trim(), "0 1 0");
    let scrollback = tmux.ask(&["capture-pane", "-p", "-J", "-S", "-"]);
    for part in
        ["SIMULATED: the simulated endpoint answered", "quit by key", "session document: throttlescope-ts-", "LEFT 0", " icanon", " echo "]
    {
        assert!(scrollback.contains(part), "no `{part}` in:\n{scrollback}");
    }
    let documents: Vec<_> =
        tmux.place.written(".json").into_iter().filter(|path| !path.display().to_string().ends_with("-001.json")).collect();
    assert_eq!(documents.len(), 1, "{documents:?}");
    let document = valid(&std::fs::read_to_string(&documents[0]).expect("a document"));
    assert_eq!((&document["session"]["stop_reason"], &document["target"]["deleted"]), (&"quit by key".into(), &true.into()));
    valid(&tmux.place.reported("json"));
}

#[test]
fn a_session_in_a_standard_pane_is_steered_by_keys_and_leaves_no_trace() {
    a_whole_session(80, 24);
}

#[test]
fn a_session_in_a_full_pane_is_steered_by_keys_and_leaves_no_trace() {
    a_whole_session(100, 30);
}

#[test]
fn a_session_whose_tmux_is_killed_tears_down() {
    let Some(tmux) = Tmux::start(90, 26, "--rate 50 --embedded-time-scale 10") else { return };
    tmux.see("RUNNING");
    tmux.ask(&["kill-server"]);
    wait_for(|| tmux.place.written(".json").len() == 1, || "a document".to_owned());
    let document = tmux.place.document();
    assert_eq!((&document["session"]["stop_reason"], &document["target"]["deleted"]), (&"interrupted by SIGHUP".into(), &true.into()));
}
