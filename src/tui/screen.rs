//! The loop of the screen: poll keys, take the newest recording, draw when something changed.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossterm::event;

use crate::load::Rate;
use crate::session::remote::{Command, Remote};

use super::app::App;
use super::glyphs::{GlyphChoice, Glyphs};
use super::input::{Filter, Input};
use super::keymap::{Action, Chord, lookup};
use super::terminal::{self, Screen};
use super::theme::{Theme, ThemeChoice};
use super::view;

/// Time between frames that no key asked for.
const FRAME: Duration = Duration::from_millis(100);
/// Longest wait for a key: how late a recording may be seen.
const WAIT: Duration = Duration::from_millis(40);
/// Events taken in one reading, so that a flood cannot keep the screen from drawing.
const AT_ONCE: usize = 4_096;
/// How long Ctrl-Z waits for the load to rest before it stops the process.
const REST_WITHIN: Duration = Duration::from_millis(1_500);

/// How the screen looks and steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// What one press of a step key changes.
    pub step: Rate,
    /// Symbols.
    pub glyphs: GlyphChoice,
    /// Colours.
    pub theme: ThemeChoice,
}

/// How the screen came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leave {
    /// The session says that it is over.
    Over,
    /// The session's end of the remote is gone without saying so.
    Closed,
    /// The person abandoned the teardown, and the session did not end in time.
    Abandoned,
}

/// Why the screen could not go on. The terminal has been left as it was found.
#[derive(Debug, thiserror::Error)]
pub enum TuiError {
    /// The terminal could not be set up.
    #[error("cannot set up the terminal: {0}; run with --headless instead")]
    Enter(#[source] io::Error),
    /// A frame could not be written.
    #[error("cannot draw on the terminal any more: {0}")]
    Draw(#[source] io::Error),
    /// Keys could not be read.
    #[error("cannot read keys from the terminal any more: {0}")]
    Read(#[source] io::Error),
}

/// Shows a session until it is over and the screen was left. Blocks the calling thread; the terminal is restored exactly
/// once on every path, also when this thread panics.
pub fn run(remote: Remote, options: &Options) -> Result<Leave, TuiError> {
    let var = |name: &str| std::env::var(name).ok();
    let look = view::Look { theme: Theme::choose(options.theme, var), glyphs: Glyphs::choose(options.glyphs, var) };
    let mut ui =
        Ui { remote, app: App::new(options.step), look, filter: Filter::default(), started: Instant::now(), panics: 0, urgent: true };
    let mut screen = Screen::enter().map_err(TuiError::Enter)?;
    let mut drawn: Option<Instant> = None;
    let mut changed = true;
    loop {
        if let Some(leave) = ui.take_news(&mut changed) {
            return Ok(leave);
        }
        let due = drawn.is_none_or(|drawn| drawn.elapsed() >= FRAME);
        if ui.urgent || (changed && due) {
            screen.draw(|area, buffer| view::draw(&ui.app, &ui.look, area, buffer)).map_err(TuiError::Draw)?;
            (drawn, changed, ui.urgent) = (Some(Instant::now()), false, false);
        }
        if !event::poll(WAIT).map_err(TuiError::Read)? {
            continue;
        }
        let mut events = vec![event::read().map_err(TuiError::Read)?];
        while events.len() < AT_ONCE && event::poll(Duration::ZERO).map_err(TuiError::Read)? {
            events.push(event::read().map_err(TuiError::Read)?);
        }
        for input in ui.filter.take(&events, ui.started.elapsed()) {
            match ui.handle(input) {
                Some(Action::Repaint) => screen.repaint().map_err(TuiError::Draw)?,
                Some(Action::Suspend) => screen = ui.suspend(screen)?,
                _ => {}
            }
        }
    }
}

struct Ui {
    remote: Remote,
    app: App,
    look: view::Look,
    filter: Filter,
    started: Instant,
    panics: usize,
    urgent: bool,
}

impl Ui {
    /// Takes the newest recording and lets time pass; tells how to leave when it is time to.
    fn take_news(&mut self, changed: &mut bool) -> Option<Leave> {
        // Asked first: what was published before the end went away is still taken below.
        let closed = self.remote.is_closed();
        *changed |= self.app.advance(self.started.elapsed());
        if self.remote.has_news() {
            let recording = self.remote.recording();
            if !Arc::ptr_eq(&recording, &self.app.newest) {
                self.app.observe(recording);
                *changed = true;
            }
        }
        let panics = terminal::held_back_panics();
        if panics > self.panics {
            self.app.notify("a part of the program failed; it is reported when the screen is left", true);
            *changed = true;
        }
        self.panics = panics;
        // A replay stays on the screen when the session that it shows is over.
        if self.app.newest.phase.is_over() && self.app.playback().is_none() {
            Some(Leave::Over)
        } else if closed {
            Some(Leave::Closed)
        } else {
            self.app.stopping.is_given_up(self.app.up()).then_some(Leave::Abandoned)
        }
    }

    /// Does what an input asks, but for what only the terminal can do: that is given back.
    fn handle(&mut self, input: Input) -> Option<Action> {
        self.urgent = true;
        match input {
            Input::Key { chord, held } => self.press(chord, held),
            Input::Paste => {
                self.app.notify("a paste was ignored: keys act here", false);
                None
            }
            Input::Storm(keys) => {
                self.app.notify(format!("{keys} keys at once were ignored"), false);
                None
            }
            Input::Resize => None,
        }
    }

    fn press(&mut self, chord: Chord, held: bool) -> Option<Action> {
        let action = lookup(self.app.context(), chord).filter(|action| !held || action.repeats())?;
        if let Some(command) = self.app.update(action) {
            let heard = self.remote.send(command);
            if !heard {
                self.app.refused();
            }
        }
        matches!(action, Action::Repaint | Action::Suspend).then_some(action)
    }

    /// Pauses the load, leaves the screen, stops the process; continued, comes back to a load that is still paused.
    fn suspend(&mut self, screen: Screen) -> Result<Screen, TuiError> {
        if !cfg!(unix) {
            self.app.notify("Ctrl-Z does nothing on this system; space pauses the load", false);
            return Ok(screen);
        }
        let replay = self.app.playback().is_some();
        if self.app.newest.phase.has_load() && !self.app.is_stopping() && !replay {
            self.app.steering.asked(&Command::Pause, self.app.up());
            self.remote.send(Command::Pause);
            let asked = Instant::now();
            while asked.elapsed() < REST_WITHIN && !self.rests() {
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        drop(screen);
        let stopped = terminal::stop_process();
        let screen = Screen::enter().map_err(TuiError::Enter)?;
        self.urgent = true;
        self.app.advance(self.started.elapsed());
        match stopped {
            Ok(()) if replay => self.app.notify("back", false),
            Ok(()) => self.app.notify("back; the load is paused, space resumes it", false),
            Err(error) => self.app.notify(format!("cannot go to the shell: {error}"), true),
        }
        Ok(screen)
    }

    fn rests(&mut self) -> bool {
        let recording = self.remote.recording();
        let rests = recording.load.rate().is_none() && recording.load.live.in_flight == 0;
        self.app.observe(recording);
        rests
    }
}
