//! The state of the screen, and what each action changes in it. Knows no terminal: time comes in, commands go out.

use std::sync::Arc;
use std::time::Duration;

use crate::load::{Offset, Rate, Row};
use crate::plan::{Plan, presets};
use crate::report::replay::Playback;
use crate::report::{Event, EventKind, Phase, Recording, StopReason};
use crate::session::remote::Command;

use super::axis::Scale;
use super::keymap::{Action, Context};
use super::overlay::{Overlay, Prompt, Question};
use super::steering::Steering;
use super::stopping::Stopping;
use super::view::View;

/// How much time the charts show, in seconds; the last choice shows all.
pub const SPANS: [Option<u32>; 5] = [Some(30), Some(60), Some(120), Some(300), None];
/// How long a notice stays.
const NOTICE_FOR: Duration = Duration::from_secs(5);

/// A notice at the foot of the screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// What it says.
    pub text: String,
    /// Whether the person should act on it.
    pub warning: bool,
    until: Duration,
}

/// The state of the screen.
#[derive(Debug)]
pub struct App {
    /// What is drawn: the newest recording, or an older one while the display is frozen.
    pub shown: Arc<Recording>,
    /// The newest recording.
    pub newest: Arc<Recording>,
    /// Since when the display is frozen.
    pub frozen: Option<Offset>,
    /// The view.
    pub view: View,
    /// What lies over it.
    pub overlay: Option<Overlay>,
    /// Which of [`SPANS`] the charts show.
    pub span: usize,
    /// How far the list of the view is scrolled back, in rows.
    pub scroll: u16,
    /// The rate axis.
    pub rate_scale: Scale,
    /// The latency axis.
    pub latency_scale: Scale,
    /// What was asked of the load and is not confirmed yet.
    pub steering: Steering,
    /// How far leaving has come.
    pub stopping: Stopping,
    notice: Option<Notice>,
    last_event: Option<Event>,
    /// Time since the screen came up.
    up: Duration,
    /// When the newest recording came, on the same clock.
    seen: Duration,
}

impl App {
    /// A screen that steps the rate by `step`.
    pub fn new(step: Rate) -> Self {
        Self {
            shown: Arc::default(),
            newest: Arc::default(),
            frozen: None,
            view: View::Overview,
            overlay: None,
            span: 1,
            scroll: 0,
            rate_scale: Scale::default(),
            latency_scale: Scale::default(),
            steering: Steering::new(step),
            stopping: Stopping::default(),
            notice: None,
            last_event: None,
            up: Duration::ZERO,
            seen: Duration::ZERO,
        }
    }

    /// How a recorded session is being played; `None` for one that runs.
    pub fn playback(&self) -> Option<Playback> {
        self.newest.playback
    }

    /// Takes a newer recording.
    pub fn observe(&mut self, recording: Arc<Recording>) {
        self.announce(&recording);
        self.newest = recording;
        self.seen = self.up;
        self.steering.observe(&self.newest);
        if self.frozen.is_none() || self.is_stopping() {
            self.frozen = None;
            self.shown = Arc::clone(&self.newest);
            self.fit_scales();
        }
    }

    /// Lets time pass: `up` is the time since the screen came up. Tells whether anything drawn changed by it.
    pub fn advance(&mut self, up: Duration) -> bool {
        let before = self.tick();
        self.up = self.up.max(up);
        let expired = self.notice.take_if(|notice| notice.until <= self.up).is_some();
        self.steering.expire(self.newest.phase, self.up);
        expired || self.tick() != before
    }

    /// What a changing clock shows: whole seconds, or tenths while something is being waited for.
    fn tick(&self) -> u64 {
        let waits = matches!(self.newest.phase, Phase::Creating | Phase::Seeding | Phase::Warming) || self.is_stopping();
        self.now().nanos() / if waits { 100_000_000 } else { 1_000_000_000 }
    }

    /// The session's clock: it moves even when no recording comes.
    pub fn now(&self) -> Offset {
        if self.newest.session.id.is_empty() || self.newest.phase.is_over() || self.playback().is_some() {
            return self.newest.load.at;
        }
        self.newest.load.at.plus(self.up.saturating_sub(self.seen))
    }

    /// The clock of what is shown: stands still while the display is frozen.
    pub fn shown_now(&self) -> Offset {
        self.frozen.unwrap_or_else(|| self.now())
    }

    /// Time since the screen came up.
    pub fn up(&self) -> Duration {
        self.up
    }

    /// Whether the session is on its way out.
    pub fn is_stopping(&self) -> bool {
        // A replay of how a session stopped is no session that stops.
        self.playback().is_none() && self.is_on_its_way_out()
    }

    fn is_on_its_way_out(&self) -> bool {
        self.stopping.is_sent() || matches!(self.newest.phase, Phase::Draining | Phase::Deleting) || self.newest.phase.is_over()
    }

    /// The notice to show.
    pub fn notice(&self) -> Option<&Notice> {
        self.notice.as_ref()
    }

    /// Shows a notice for a while.
    pub fn notify(&mut self, text: impl Into<String>, warning: bool) {
        self.notice = Some(Notice { text: text.into(), warning, until: self.up + NOTICE_FOR });
    }

    /// The rows in sight of the charts, with the edges of their time axis in seconds.
    pub fn rows_in_sight(&self) -> (&[Row], f64, f64) {
        let rows = self.shown.load.rows.as_slice();
        let newest = rows.last().map_or(0.0, |row| row.start.secs() + f64::from(row.span_s));
        // The newest bucket is complete only a while after its end; a stall shows as a gap that grows at the edge.
        let to = newest.max((self.shown_now().secs() - 2.0).floor());
        let oldest = rows.first().map_or(0.0, |row| row.start.secs());
        match SPANS.get(self.span).copied().flatten() {
            Some(span) => {
                let span = f64::from(span);
                let from = (to - span).max(oldest.min(to));
                let first = rows.partition_point(|row| row.start.secs() + f64::from(row.span_s) <= from);
                (&rows[first..], from, from + span)
            }
            None => (rows, oldest, to.max(oldest + 30.0)),
        }
    }

    /// Where keys are looked up.
    pub fn context(&self) -> Context {
        let screen = if self.playback().is_some() { Context::Replay } else { Context::Screen };
        self.overlay.as_ref().map_or(screen, Overlay::context)
    }

    /// Does what an action asks; gives the command to send, if any.
    pub fn update(&mut self, action: Action) -> Option<Command> {
        match action {
            Action::Play(play) => return Some(Command::Play(play)),
            Action::Quit | Action::Interrupt if self.playback().is_some() => return Some(Command::Stop(StopReason::Quit)),
            _ if steers(action) && self.playback().is_some() => {
                self.notify("this is a replay: its load is done; space pauses it, left and right seek", false);
                return None;
            }
            Action::RateUp | Action::RateDown | Action::RateDouble | Action::RateHalve => return self.step(action),
            Action::PauseResume => return self.pause_or_resume(),
            Action::RatePrompt => self.open(Overlay::Prompt(Prompt::default())),
            Action::PlanPicker => self.open(Overlay::Plans(0)),
            Action::Help => self.open(Overlay::Help(0)),
            Action::Dump => {
                self.notify("writing a snapshot ...", false);
                return Some(Command::Dump);
            }
            Action::Show(view) => self.show(view),
            Action::NextView => self.show(self.view.next()),
            Action::PreviousView => self.show(self.view.previous()),
            Action::SpanShorter => self.set_span(self.span.saturating_sub(1)),
            Action::SpanLonger => self.set_span((self.span + 1).min(SPANS.len() - 1)),
            Action::Freeze => self.freeze(),
            Action::Quit => return self.quit(),
            Action::Interrupt => return self.interrupt(),
            Action::Close => self.close(),
            Action::Yes => return self.confirm(),
            Action::Submit => return self.submit(),
            Action::ScrollBack | Action::RowUp => self.scroll(-1),
            Action::ScrollOn | Action::RowDown => self.scroll(1),
            Action::Erase | Action::Type(_) => {
                if let Some(Overlay::Prompt(prompt)) = &mut self.overlay {
                    prompt.edit(action);
                }
            }
            Action::Repaint | Action::Suspend => {}
        }
        None
    }

    /// Tells that a command could not be handed over: nothing of it will happen.
    pub fn refused(&mut self) {
        self.steering.forget();
        self.notify("the session does not take commands right now; nothing was changed", true);
    }

    fn open(&mut self, overlay: Overlay) {
        if self.is_stopping() && !matches!(overlay, Overlay::Help(_)) {
            self.notify("the session is stopping", false);
        } else {
            self.overlay = Some(overlay);
        }
    }

    fn close(&mut self) {
        self.overlay = None;
        self.stopping.step_back();
    }

    fn show(&mut self, view: View) {
        self.view = view;
        self.scroll = 0;
    }

    fn set_span(&mut self, span: usize) {
        self.span = span;
        self.rate_scale = Scale::default();
        self.latency_scale = Scale::default();
        self.fit_scales();
    }

    fn freeze(&mut self) {
        if self.frozen.take().is_some() {
            self.shown = Arc::clone(&self.newest);
            self.fit_scales();
        } else if !self.is_stopping() {
            self.frozen = Some(self.now());
        }
    }

    fn scroll(&mut self, rows: i16) {
        match &mut self.overlay {
            Some(Overlay::Plans(chosen)) => *chosen = chosen.saturating_add_signed(rows.into()).min(presets().len().saturating_sub(1)),
            Some(Overlay::Help(scroll)) => *scroll = scroll.saturating_add_signed(rows).min(200),
            _ => self.scroll = self.scroll.saturating_add_signed(rows).min(crate::report::recording::EVENTS_KEPT as u16),
        }
    }

    fn step(&mut self, action: Action) -> Option<Command> {
        if self.is_stopping() {
            self.notify("the session is stopping", false);
            return None;
        }
        let Some(rate) = self.steering.stepped(action) else {
            self.notify("no rate to start from yet; r sets one", false);
            return None;
        };
        self.steer(Command::SetRate(rate))
    }

    fn pause_or_resume(&mut self) -> Option<Command> {
        if self.is_stopping() {
            self.notify("the session is stopping", false);
            return None;
        }
        let command = self.steering.toggled(self.plan_runs());
        self.steering.asked(&command, self.up);
        Some(command)
    }

    /// Steers by hand, after a question where that ends a plan.
    fn steer(&mut self, command: Command) -> Option<Command> {
        if self.plan_runs() {
            self.overlay = Some(Overlay::Question(Question::LeavePlan(command), self.up));
            return None;
        }
        self.steering.asked(&command, self.up);
        Some(command)
    }

    /// Whether a plan has windows left to run.
    pub fn plan_runs(&self) -> bool {
        !self.steering.left_plan() && plan_runs(&self.newest)
    }

    fn quit(&mut self) -> Option<Command> {
        if self.is_stopping() {
            self.notify("already stopping; Ctrl-C twice abandons the teardown", true);
            return None;
        }
        if matches!(self.newest.phase, Phase::Starting | Phase::PlanEnded) {
            return Some(self.stopping.quit(self.up));
        }
        self.overlay = Some(Overlay::Question(Question::Quit, self.up));
        None
    }

    fn interrupt(&mut self) -> Option<Command> {
        let command = self.stopping.interrupt(self.is_stopping(), self.up);
        match &command {
            None if self.is_stopping() => self.notify("Ctrl-C again abandons the teardown: the table may be left behind", true),
            None => self.overlay = Some(Overlay::Question(Question::Quit, self.up)),
            Some(Command::Abandon) => self.notify("abandoning the teardown ...", true),
            Some(_) => self.overlay = None,
        }
        command
    }

    fn confirm(&mut self) -> Option<Command> {
        let question = match &self.overlay {
            Some(Overlay::Question(question, asked)) if Question::may_answer(*asked, self.up) => question.clone(),
            _ => return None,
        };
        self.overlay = None;
        match question {
            Question::Quit => Some(self.stopping.quit(self.up)),
            Question::LeavePlan(command) => {
                self.steering.leave_plan();
                self.steering.asked(&command, self.up);
                Some(command)
            }
        }
    }

    fn submit(&mut self) -> Option<Command> {
        match self.overlay.take()? {
            Overlay::Prompt(mut prompt) => {
                let rate = prompt.rate();
                if rate.is_none() {
                    self.overlay = Some(Overlay::Prompt(prompt));
                }
                self.steer(Command::SetRate(rate?))
            }
            Overlay::Plans(chosen) => {
                let plan: Plan = presets().get(chosen)?.plan.clone();
                self.notify(format!("plan {} starts on the next second", plan.name), false);
                self.steering.enter_plan();
                Some(Command::RunPlan(Box::new(plan)))
            }
            other => {
                self.overlay = Some(other);
                None
            }
        }
    }

    fn fit_scales(&mut self) {
        let (rows, ..) = self.rows_in_sight();
        let rate = rows.iter().map(|row| per_second(row, row.counts.offered.max(row.counts.accepted))).reduce(f64::max);
        let target = self.shown.load.rate().map(Rate::per_s);
        let latency =
            rows.iter().flat_map(|row| [row.service.p99, row.response.p99]).flatten().filter(|ms| ms.is_finite()).reduce(f64::max);
        self.rate_scale.fit(rate.into_iter().chain(target).reduce(f64::max));
        self.latency_scale.fit(latency);
    }

    /// Shows what the session tells since the last recording.
    fn announce(&mut self, recording: &Recording) {
        let events = recording.events.as_slice();
        let known = self.last_event.as_ref().and_then(|last| events.iter().rposition(|event| event == last)).map_or(0, |at| at + 1);
        // After a jump in a replay all of it is old.
        let jumped = recording.playback.map(|p| p.skips) != self.newest.playback.map(|p| p.skips);
        for event in events.get(known..).filter(|_| !jumped).unwrap_or_default() {
            match event.kind {
                EventKind::Snapshot => self.notify(format!("snapshot written: {}", event.detail), false),
                EventKind::Warning | EventKind::Error => self.notify(event.detail.clone(), true),
                _ => {}
            }
        }
        self.last_event = events.last().cloned();
    }
}

/// Whether an action is for a session that runs.
fn steers(action: Action) -> bool {
    matches!(
        action,
        Action::RateUp
            | Action::RateDown
            | Action::RateDouble
            | Action::RateHalve
            | Action::RatePrompt
            | Action::PauseResume
            | Action::PlanPicker
            | Action::Dump
    )
}

/// Whether a plan has windows left to run.
pub fn plan_runs(recording: &Recording) -> bool {
    let left = recording.plan.as_ref().is_some_and(|plan| (plan.next as usize) < plan.windows.len());
    left && !matches!(recording.phase, Phase::PlanEnded | Phase::Draining | Phase::Deleting | Phase::Finished | Phase::Failed)
}

/// A count of a row as a rate.
pub fn per_second(row: &Row, count: u64) -> f64 {
    count as f64 / f64::from(row.span_s.max(1))
}
