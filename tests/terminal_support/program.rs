//! The program while it runs, on a pseudo-terminal or without one.

use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use portable_pty::{CommandBuilder, MasterPty, PtySize, SlavePty, native_pty_system};
use rustix::process::{Pid, Signal, kill_process};

use super::place::{PROGRAM, Place};
use super::{starting, wait_for};

const SIZE: PtySize = PtySize { rows: 24, cols: 80, pixel_width: 0, pixel_height: 0 };

/// What is written somewhere, as it comes.
#[derive(Clone, Default)]
struct Words(Arc<Mutex<Vec<u8>>>);

impl Words {
    /// Reads until the end, or until told to close.
    fn from(mut reader: impl Read + Send + 'static, close: &Arc<AtomicBool>) -> (Self, JoinHandle<()>) {
        let words = Self::default();
        let (into, close) = (words.clone(), Arc::clone(close));
        let thread = std::thread::spawn(move || {
            let mut bytes = [0; 4_096];
            while let Ok(n @ 1..) = reader.read(&mut bytes) {
                into.0.lock().expect("no panic").extend_from_slice(&bytes[..n]);
                if close.load(Ordering::SeqCst) {
                    break;
                }
            }
        });
        (words, thread)
    }

    fn bytes(&self) -> Vec<u8> {
        self.0.lock().expect("no panic").clone()
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes()).into_owned()
    }
}

/// How it ended.
pub(crate) struct Ended {
    pub(crate) code: u32,
    /// Everything on the terminal, or on standard error without one.
    pub(crate) said: String,
    /// Standard output, without a terminal.
    pub(crate) out: String,
}

struct Terminal {
    master: Box<dyn MasterPty + Send>,
    /// Open until the program has ended: with its last user a terminal would forget its modes, and whether they were restored.
    slave: Option<Box<dyn SlavePty + Send>>,
    keys: Box<dyn Write + Send>,
    /// Its modes before the program came.
    before: String,
    /// Its modes once the program had ended.
    after: Option<String>,
}

/// The program while it runs. Dropping it kills it.
pub(crate) struct Program {
    process: Box<dyn portable_pty::Child + Send + Sync>,
    terminal: Option<Terminal>,
    said: Words,
    out: Words,
    close: Arc<AtomicBool>,
    readers: Vec<JoinHandle<()>>,
}

impl Program {
    /// On a terminal, in this place, with these changes to its environment.
    pub(crate) fn on_screen(place: &Place, args: &[&str], environment: &[(&str, &str)]) -> Self {
        Self::on_terminal(place, args, environment, true)
    }

    /// On a terminal that nobody reads.
    pub(crate) fn unread(place: &Place, args: &[&str]) -> Self {
        Self::on_terminal(place, args, &[], false)
    }

    fn on_terminal(place: &Place, args: &[&str], environment: &[(&str, &str)], read: bool) -> Self {
        let mut command = CommandBuilder::new(PROGRAM);
        command.args(args);
        command.cwd(place.work());
        command.env_clear();
        for (name, value) in place.environment() {
            command.env(name, value);
        }
        for (name, value) in environment {
            command.env(name, value);
        }
        let _starting = starting();
        let pty = native_pty_system().openpty(SIZE).expect("a pty");
        let before = modes(pty.master.as_ref());
        let process = pty.slave.spawn_command(command).expect("the program");
        let close = Arc::new(AtomicBool::new(false));
        let (said, readers) = if read {
            let (said, reader) = Words::from(pty.master.try_clone_reader().expect("a reader"), &close);
            (said, vec![reader])
        } else {
            (Words::default(), Vec::new())
        };
        let keys = pty.master.take_writer().expect("a writer");
        let terminal = Some(Terminal { master: pty.master, slave: Some(pty.slave), keys, before, after: None });
        Self { process, terminal, said, out: Words::default(), close, readers }
    }

    /// Without a terminal.
    pub(crate) fn without_screen(place: &Place, args: &[&str]) -> Self {
        Self::piped(place, args, Stdio::piped())
    }

    /// Without a terminal, its standard output going elsewhere.
    pub(crate) fn piped(place: &Place, args: &[&str], out: Stdio) -> Self {
        let mut command = Command::new(PROGRAM);
        command.args(args).current_dir(place.work()).env_clear().envs(place.environment());
        command.stdin(Stdio::null()).stdout(out).stderr(Stdio::piped());
        let mut process = {
            let _starting = starting();
            command.spawn().expect("the program")
        };
        let close = Arc::default();
        let (said, reader) = Words::from(process.stderr.take().expect("its words"), &close);
        let (out, readers) = match process.stdout.take() {
            Some(out) => {
                let (out, out_reader) = Words::from(out, &close);
                (out, vec![reader, out_reader])
            }
            None => (Words::default(), vec![reader]),
        };
        Self { process: Box::new(process), terminal: None, said, out, close, readers }
    }

    /// What the terminal shows now; without one, what was said so far.
    pub(crate) fn shows(&self) -> String {
        if self.terminal.is_none() {
            return self.said.text();
        }
        shown(&self.said.bytes()).screen().contents()
    }

    pub(crate) fn see(&self, what: &str) {
        wait_for(|| self.shows().contains(what), || format!("`{what}`:\n{}", self.shows()));
    }

    /// Presses keys, no sooner after the last ones than a hand would.
    pub(crate) fn press(&mut self, keys: &str) {
        std::thread::sleep(Duration::from_millis(200));
        let terminal = self.terminal.as_mut().expect("a terminal");
        terminal.keys.write_all(keys.as_bytes()).and_then(|()| terminal.keys.flush()).expect("a key");
    }

    /// Presses a key until the screen shows what it is to bring about: a question is deaf until it could be read.
    pub(crate) fn press_until(&mut self, key: &str, mut done: impl FnMut(&str) -> bool) {
        let begun = Instant::now();
        while !done(&self.shows()) {
            assert!(begun.elapsed() < super::PATIENCE, "{key:?} does nothing:\n{}", self.shows());
            self.press(key);
            let pressed = Instant::now();
            while pressed.elapsed() < Duration::from_secs(2) && !done(&self.shows()) {
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    }

    /// `q`, and `y` to the question.
    pub(crate) fn quit(&mut self) {
        self.press("q");
        self.see("stop?");
        self.press_until("y", |screen| !screen.contains("stop?"));
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let id = self.process.process_id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)).expect("a process");
        kill_process(id, signal).expect("a signal");
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        self.process.try_wait().expect("a process").is_some()
    }

    /// Takes the terminal away from it, as a window that is closed does.
    pub(crate) fn lose_terminal(&mut self) {
        self.close.store(true, Ordering::SeqCst);
        self.terminal = None;
        for reader in self.readers.drain(..) {
            // It lets go with the next thing that is drawn.
            reader.join().expect("a reader");
        }
    }

    /// Whether the program, now ended, left the terminal's input and output modes as they were before it came.
    pub(crate) fn is_cooked(&self) -> bool {
        self.terminal.as_ref().is_some_and(|terminal| terminal.after.as_ref() == Some(&terminal.before))
    }

    /// Waits for its end and for its last word.
    pub(crate) fn end(&mut self) -> Ended {
        wait_for(
            || self.process.try_wait().expect("a process").is_some(),
            || {
                format!(
                    "its end:\n{}",
                    if self.terminal.is_some() { shown(&self.said.bytes()).screen().contents() } else { self.said.text() }
                )
            },
        );
        if let Some(terminal) = &mut self.terminal {
            terminal.after = Some(modes(terminal.master.as_ref()));
            terminal.slave = None;
            if self.readers.is_empty() {
                let (said, reader) = Words::from(terminal.master.try_clone_reader().expect("a reader"), &self.close);
                (self.said, self.readers) = (said, vec![reader]);
            }
        }
        for reader in self.readers.drain(..) {
            reader.join().expect("a reader");
        }
        let code = self.process.wait().expect("a code").exit_code();
        Ended { code, said: self.said.text(), out: self.out.text() }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if !self.process.try_wait().is_ok_and(|ended| ended.is_some()) {
            let _ended = self.process.kill().and_then(|()| self.process.wait().map(drop));
        }
    }
}

fn modes(master: &dyn MasterPty) -> String {
    format!("{:?}", master.get_termios().expect("a terminal's modes"))
}

/// What a terminal makes of bytes.
pub(crate) fn shown(bytes: &[u8]) -> vt100::Parser {
    let size = |n| std::num::NonZero::new(n).expect("above zero");
    let mut parser = vt100::Parser::new(size(SIZE.rows), size(SIZE.cols), 0);
    parser.process(bytes);
    parser
}

/// The terminal was entered once and left once, and is as it was.
pub(crate) fn entered_and_left_once(said: &str) {
    let times = |code: &str| said.matches(code).count();
    assert_eq!((times("\u{1b}[?1049h"), times("\u{1b}[?1049l")), (1, 1), "{said:?}");
    assert_eq!((times("\u{1b}[?2004h"), times("\u{1b}[?2004l")), (1, 1), "{said:?}");
    assert!(said.rfind("\u{1b}[?25h") > said.find("\u{1b}[?1049l"), "the cursor is not shown after the screen was left: {said:?}");
    assert!(said.rfind("\u{1b}[?25h") > said.rfind("\u{1b}[?25l"), "the cursor stays hidden: {said:?}");
    for code in ["[6n", "?1000h", "?1002h", "?1003h", "?1006h", "[>1u"] {
        assert_eq!(times(code), 0, "{code} is written");
    }
    let parser = shown(said.as_bytes());
    let screen = parser.screen();
    assert!(!screen.alternate_screen() && !screen.hide_cursor() && !screen.bracketed_paste());
}
