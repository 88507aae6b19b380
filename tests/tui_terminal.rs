//! The terminal is entered once and left once, on every path, and the screen never asks it anything.
//!
//! Each test runs this very program again inside a pseudo-terminal, as a child that shows a session, and reads what the
//! child wrote.

#![expect(clippy::expect_used, reason = "a helper that cannot go on fails its test")]

use std::io::{Read, Write};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use portable_pty::{CommandBuilder, MasterPty, PtySize, native_pty_system};
use throttlescope::load::Rate;
use throttlescope::report::{Phase, Recording};
use throttlescope::session::remote::{Command, Desk, remote};
use throttlescope::tui::terminal::Screen;
use throttlescope::tui::{GlyphChoice, Options, ThemeChoice, run};

const ROLE: &str = "TUI_TERMINAL_CHILD";
const PATIENCE: Duration = Duration::from_secs(60);

fn recording(phase: Phase) -> Arc<Recording> {
    let mut recording = Recording { phase, ..Recording::default() };
    recording.session.id = "ts-1".to_owned();
    recording.target.simulated = true;
    Arc::new(recording)
}

/// What the child does, by the role it is given: not a test of its own.
#[test]
fn child() {
    let Ok(role) = std::env::var(ROLE) else { return };
    if role == "screen panics" {
        let mut screen = Screen::enter().expect("a terminal");
        screen.draw(|_, _| panic!("the screen failed")).expect("never drawn");
    }
    let options = Options { step: Rate::per_second(250), glyphs: GlyphChoice::Ascii, theme: ThemeChoice::Auto };
    let (remote, desk) = remote();
    desk.recordings.send_replace(recording(Phase::Running));
    let session = std::thread::spawn(move || session(&role, desk));
    let left = run(remote, &options);
    println!("CHILD LEFT {left:?} BY {}", session.join().expect("the session"));
}

/// A session without a load; says what ended it.
fn session(role: &str, mut desk: Desk) -> String {
    let tell = |phase, desk: &Desk| drop(desk.recordings.send_replace(recording(phase)));
    while let Some(command) = desk.commands.blocking_recv() {
        match command {
            Command::Dump if role == "vanishes" => return "nothing".to_owned(),
            Command::Dump => {
                let failed = std::thread::spawn(|| panic!("a worker failed")).join();
                assert!(failed.is_err());
            }
            Command::Stop(_) if role == "stubborn" => tell(Phase::Draining, &desk),
            Command::Stop(reason) => {
                tell(Phase::Finished, &desk);
                return format!("{reason:?}");
            }
            Command::Abandon => {
                tell(Phase::Failed, &desk);
                return "Abandon".to_owned();
            }
            other => return format!("{other:?}, which nobody asked for"),
        }
    }
    "silence".to_owned()
}

/// What a terminal makes of bytes.
fn parser() -> vt100::Parser {
    let size = |n| std::num::NonZero::new(n).expect("above zero");
    vt100::Parser::new(size(24), size(80), 0)
}

struct Child {
    master: Box<dyn MasterPty + Send>,
    keys: Box<dyn Write + Send>,
    wrote: Arc<Mutex<Vec<u8>>>,
    process: Box<dyn portable_pty::Child + Send + Sync>,
}

impl Child {
    fn start(role: &str, environment: &[(&str, &str)]) -> Self {
        let pty = native_pty_system().openpty(PtySize { rows: 24, cols: 80, pixel_width: 0, pixel_height: 0 }).expect("a pty");
        let mut command = CommandBuilder::new(std::env::current_exe().expect("this program"));
        command.args(["--exact", "child", "--nocapture", "--test-threads=1"]);
        command.env_remove("NO_COLOR");
        for (name, value) in [(ROLE, role), ("TERM", "xterm-256color")].iter().chain(environment) {
            command.env(name, value);
        }
        let process = pty.slave.spawn_command(command).expect("a child");
        let wrote = Arc::new(Mutex::new(Vec::new()));
        let mut reader = pty.master.try_clone_reader().expect("a reader");
        let into = Arc::clone(&wrote);
        std::thread::spawn(move || {
            let mut bytes = [0; 4_096];
            while let Ok(n @ 1..) = reader.read(&mut bytes) {
                into.lock().expect("no panic").extend_from_slice(&bytes[..n]);
            }
        });
        let keys = pty.master.take_writer().expect("a writer");
        Self { master: pty.master, keys, wrote, process }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.wrote.lock().expect("no panic")).into_owned()
    }

    fn screen(&self) -> String {
        let mut parser = parser();
        parser.process(&self.wrote.lock().expect("no panic"));
        parser.screen().contents()
    }

    fn wait_for(&mut self, what: &str, mut there: impl FnMut(&mut Self) -> bool) {
        let begun = Instant::now();
        while !there(self) {
            assert!(begun.elapsed() < PATIENCE, "never saw {what}:\n{}", self.screen());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn see(&mut self, what: &str) {
        self.wait_for(what, |child| child.screen().contains(what));
    }

    /// Presses keys, no sooner after the last ones than a hand would: what comes faster counts as a held key, and an
    /// answer counts only once its question could be read.
    fn press(&mut self, keys: &str) {
        std::thread::sleep(Duration::from_millis(250));
        self.keys.write_all(keys.as_bytes()).expect("a key");
        self.keys.flush().expect("a key");
    }

    fn quit(&mut self) {
        self.press("q");
        self.see("stop?");
        self.press("y");
    }

    /// Everything written until the child had ended.
    fn end(mut self) -> String {
        self.wait_for("its end", |child| child.process.try_wait().expect("a child").is_some());
        self.wait_for("its result", |child| child.text().contains("test result"));
        drop(self.keys);
        drop(self.master);
        String::from_utf8_lossy(&self.wrote.lock().expect("no panic")).into_owned()
    }
}

fn entered_and_left_once(text: &str) {
    let times = |code: &str| text.matches(code).count();
    assert_eq!((times("\u{1b}[?1049h"), times("\u{1b}[?1049l")), (1, 1), "{text:?}");
    assert_eq!((times("\u{1b}[?2004h"), times("\u{1b}[?2004l")), (1, 1), "{text:?}");
    assert!(text.rfind("\u{1b}[?25h") > text.rfind("\u{1b}[?25l"), "the cursor stays hidden: {text:?}");
    assert_eq!(times("\u{1b}[6n"), 0, "asks where the cursor is");
    assert!(!["?1000h", "?1002h", "?1003h", "?1006h", "[>1u"].iter().any(|code| text.contains(code)), "captures the mouse or more keys");
}

#[test]
fn quitting_by_key_leaves_the_terminal_as_it_was() {
    let mut child = Child::start("plain", &[]);
    child.see("SIMULATED");
    child.quit();
    let text = child.end();
    entered_and_left_once(&text);
    assert!(text.contains("CHILD LEFT Ok(Over) BY Quit"), "{text:?}");
}

#[test]
fn control_c_asks_then_stops_then_abandons() {
    let mut child = Child::start("stubborn", &[]);
    child.see("SIMULATED");
    child.press("\u{3}");
    child.see("stop?");
    child.press("\u{3}");
    child.see("DRAINING");
    child.press("\u{3}");
    let text = child.end();
    entered_and_left_once(&text);
    assert!(text.contains("CHILD LEFT Ok(Over) BY Abandon"), "{text:?}");
}

#[test]
fn a_session_that_vanishes_ends_the_screen() {
    let mut child = Child::start("vanishes", &[]);
    child.see("SIMULATED");
    child.press("s");
    let text = child.end();
    entered_and_left_once(&text);
    assert!(text.contains("CHILD LEFT Ok(Closed) BY nothing"), "{text:?}");
}

#[test]
fn a_panic_of_the_screen_is_reported_on_the_terminal_that_was_left() {
    let text = Child::start("screen panics", &[]).end();
    entered_and_left_once(&text);
    assert!(text.find("the screen failed") > text.find("\u{1b}[?1049l"), "{text:?}");
}

#[test]
fn a_panic_of_another_thread_does_not_touch_the_screen_and_is_reported_afterwards() {
    let mut child = Child::start("plain", &[]);
    child.see("SIMULATED");
    child.press("s");
    child.see("a part of the program failed");
    assert!(!child.text().contains("a worker failed"), "printed while the screen is up");
    child.quit();
    let text = child.end();
    entered_and_left_once(&text);
    assert!(text.find("a worker failed") > text.find("\u{1b}[?1049l"), "{text:?}");
}

#[test]
fn a_paste_fires_nothing_with_and_without_bracketing() {
    let mut child = Child::start("plain", &[]);
    child.see("SIMULATED");
    child.press("\u{1b}[200~q y r 9999\r p\r \u{1b}[201~");
    child.see("a paste was ignored");
    child.press("q y r 9999\r p\r and more of the same");
    child.see("keys at once were ignored");
    child.quit();
    let text = child.end();
    entered_and_left_once(&text);
    assert!(text.contains("BY Quit"), "{text:?}");
}

#[test]
fn without_colour_the_screen_is_bold_and_reverse_but_never_coloured() {
    let mut child = Child::start("plain", &[("NO_COLOR", "1")]);
    child.see("SIMULATED");
    child.quit();
    let text = child.end();
    let start = text.find("\u{1b}[?1049h").expect("entered");
    let drawn = &text[start..text.find("\u{1b}[?1049l").expect("left")];
    assert!(drawn.contains("\u{1b}[1m") && drawn.contains("\u{1b}[7m"), "{drawn:?}");
    assert!(!drawn.contains("[38;") && !drawn.contains("[48;"), "{drawn:?}");
    let mut parser = parser();
    parser.process(drawn.as_bytes());
    let stamp = (0..80).filter_map(|column| parser.screen().cell(0, column)).find(|cell| cell.contents() == "S").expect("the stamp");
    assert!(stamp.inverse() && stamp.bold(), "the stamp lost its reverse");
}

#[test]
fn a_repaint_and_a_resize_ask_the_terminal_nothing() {
    let mut child = Child::start("plain", &[]);
    child.see("SIMULATED");
    child.press("\u{c}");
    child.master.resize(PtySize { rows: 10, cols: 40, pixel_width: 0, pixel_height: 0 }).expect("a size");
    child.wait_for("the figures alone", |child| child.screen().contains("q quit up/dn rate"));
    child.press("q");
    child.wait_for("the question", |child| child.screen().contains("stop? y"));
    child.press("y");
    entered_and_left_once(&child.end());
}
