//! The terminal: the only place that writes escape codes. It is entered once and left once, on whatever path.

use std::io::{self, BufWriter, Stdout, Write as _};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Once, PoisonError, mpsc};
use std::thread::{self, ThreadId};
use std::time::Duration;

use crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use crossterm::{cursor, execute};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

/// Whether the screen is up. Whoever turns it off leaves the screen, so it is left exactly once.
static UP: AtomicBool = AtomicBool::new(false);
/// The thread that owns the screen.
static OWNER: Mutex<Option<ThreadId>> = Mutex::new(None);
/// What other threads' panics said while the screen was up.
static HELD_BACK: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Bytes of a frame that are gathered before they are written.
const FRAME_BYTES: usize = 64 * 1024;

/// The screen while it is up. Dropping it leaves the screen.
#[derive(Debug)]
pub struct Screen {
    terminal: Terminal<CrosstermBackend<BufWriter<Stdout>>>,
}

impl Screen {
    /// Goes to the alternate screen with raw input and bracketed paste. What was done is undone when a later part fails.
    pub fn enter() -> io::Result<Self> {
        hold_back_panics();
        *OWNER.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread::current().id());
        enable_raw_mode()?;
        UP.store(true, Ordering::SeqCst);
        let entered = execute!(io::stdout(), EnterAlternateScreen, EnableBracketedPaste, cursor::Hide)
            .and_then(|()| Terminal::new(CrosstermBackend::new(BufWriter::with_capacity(FRAME_BYTES, io::stdout()))));
        match entered {
            Ok(terminal) => Ok(Self { terminal }),
            Err(error) => {
                leave();
                Err(error)
            }
        }
    }

    /// Draws a frame. After an error the screen is not to be used any more: what it shows is no longer known.
    pub fn draw(&mut self, render: impl FnOnce(Rect, &mut Buffer)) -> io::Result<()> {
        self.terminal.draw(|frame| render(frame.area(), frame.buffer_mut())).map(drop)
    }

    /// Makes the next frame paint every cell. Does not ask the terminal anything.
    pub fn repaint(&mut self) -> io::Result<()> {
        let size = self.terminal.size()?;
        self.terminal.resize(Rect::new(0, 0, size.width, size.height))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        leave();
    }
}

/// Leaves the screen on behalf of its thread, which may be stuck, before the process ends. A terminal that nobody reads takes
/// no more codes; after `limit` at least its input is cooked again.
pub fn leave_within(limit: Duration) {
    let (left, done) = mpsc::channel();
    let leaving = thread::Builder::new().name("leave".to_owned()).spawn(move || {
        leave();
        left.send(())
    });
    if leaving.is_ok() {
        let _stuck = done.recv_timeout(limit);
    }
    let _gone = disable_raw_mode();
}

/// Leaves the screen if it is up: main screen, cooked input, cursor shown.
fn leave() {
    if UP.swap(false, Ordering::SeqCst) {
        // On a terminal that is gone these fail, and there is nobody to tell.
        let _gone = execute!(io::stdout(), DisableBracketedPaste, LeaveAlternateScreen, cursor::Show);
        let _gone = disable_raw_mode();
        for said in HELD_BACK.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            let _gone = writeln!(io::stderr(), "{said}");
        }
    }
}

/// Panics that other threads reported since the last call, for a notice; they are printed when the screen is left.
pub fn held_back_panics() -> usize {
    HELD_BACK.lock().map_or(0, |held| held.len())
}

/// From now on a panic of the screen's thread leaves the screen before it is reported, and other threads' panics are
/// reported once the screen was left. While no screen is up, panics are reported as before.
fn hold_back_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let report = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let owner = OWNER.lock().map_or(None, |owner| *owner);
            if UP.load(Ordering::SeqCst) && owner != Some(thread::current().id()) {
                if let Ok(mut held) = HELD_BACK.lock() {
                    held.push(panic.to_string());
                }
                return;
            }
            leave();
            report(panic);
        }));
    });
}

/// Stops this process as Ctrl-Z does in a shell, and returns when it is continued. The screen must have been left. The
/// error says that this system cannot.
pub fn stop_process() -> io::Result<()> {
    #[cfg(unix)]
    {
        rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::TSTP).map_err(io::Error::from)
    }
    #[cfg(not(unix))]
    {
        Err(io::Error::from(io::ErrorKind::Unsupported))
    }
}
