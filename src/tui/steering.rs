//! Steering: what was asked of the load. Steps act on the rate asked for, so that presses add up even before the load
//! engine has answered the first of them.

use std::time::Duration;

use crate::load::{Rate, Setpoint};
use crate::report::{Phase, Recording};
use crate::session::remote::Command;

use super::keymap::Action;

/// How long a request may stay unconfirmed while load runs before it is taken as not heard.
const UNHEARD_AFTER: Duration = Duration::from_secs(3);

/// What may be asked of the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// Offer nothing.
    Rest,
    /// Offer this rate.
    Offer(Rate),
}

impl Wish {
    /// The wish of a setpoint.
    pub fn of(setpoint: Setpoint) -> Self {
        setpoint.rate.map_or(Self::Rest, Self::Offer)
    }

    /// The rate to offer; `None` for rest.
    pub fn rate(self) -> Option<Rate> {
        match self {
            Self::Rest => None,
            Self::Offer(rate) => Some(rate),
        }
    }
}

/// What was asked of the load, and what the session says was asked.
#[derive(Debug)]
pub struct Steering {
    step: Rate,
    /// Asked for and not in a recording yet, and when.
    pending: Option<(Wish, Duration)>,
    /// The newest rate that any recording says was asked for; a pause does not change it.
    last_rate: Option<Rate>,
    requested: Option<Wish>,
    paused_by_key: bool,
    left_plan: bool,
}

impl Steering {
    /// Steers in steps of `step`.
    pub fn new(step: Rate) -> Self {
        Self { step, pending: None, last_rate: None, requested: None, paused_by_key: false, left_plan: false }
    }

    /// Takes what a recording says was asked for.
    pub fn observe(&mut self, recording: &Recording) {
        self.requested = recording.load.requested.map(Wish::of);
        self.last_rate = self.requested.and_then(Wish::rate).or(self.last_rate);
        if self.pending.is_some_and(|(wish, _)| self.requested == Some(wish)) {
            self.pending = None;
        }
        if self.pending.is_none() && self.requested.and_then(Wish::rate).is_some() {
            self.paused_by_key = false;
        }
    }

    /// Gives up on a request that no recording confirms. Before load runs there is no hurry.
    pub fn expire(&mut self, phase: Phase, up: Duration) {
        if phase.has_load() && self.pending.is_some_and(|(_, asked)| up.saturating_sub(asked) >= UNHEARD_AFTER) {
            self.forget();
        }
    }

    /// Forgets what was asked and not confirmed.
    pub fn forget(&mut self) {
        self.pending = None;
    }

    /// What was asked for last; `None` when nothing was.
    pub fn wanted(&self) -> Option<Wish> {
        self.pending.map(|(wish, _)| wish).or(self.requested)
    }

    /// The rate that a step key asks for; `None` when there is nothing to halve or lower.
    pub fn stepped(&self, action: Action) -> Option<Rate> {
        let base = self.wanted().and_then(Wish::rate).or(self.last_rate);
        match action {
            Action::RateUp => Some(base.map_or(self.step, |rate| rate.plus(self.step))),
            Action::RateDown => base.map(|rate| rate.minus(self.step)),
            Action::RateDouble => base.map(Rate::doubled),
            Action::RateHalve => base.map(Rate::halved),
            _ => None,
        }
    }

    /// The command of the pause key. Between the windows of a plan the load rests by itself: the key pauses there, too.
    pub fn toggled(&self, plan_runs: bool) -> Command {
        let rests = self.wanted() == Some(Wish::Rest) && !plan_runs;
        if self.paused_by_key || rests { Command::Resume } else { Command::Pause }
    }

    /// Notes what is being sent.
    pub fn asked(&mut self, command: &Command, up: Duration) {
        match command {
            Command::SetRate(rate) => {
                self.pending = Some((Wish::Offer(*rate), up));
                self.last_rate = Some(*rate);
                self.paused_by_key = false;
            }
            Command::Pause => {
                self.pending = Some((Wish::Rest, up));
                self.paused_by_key = true;
            }
            Command::Resume => {
                self.pending = self.last_rate.map(|rate| (Wish::Offer(rate), up));
                self.paused_by_key = false;
            }
            _ => {}
        }
    }

    /// Notes that the person chose to end the plan.
    pub fn leave_plan(&mut self) {
        self.left_plan = true;
    }

    /// Notes that a plan was asked for.
    pub fn enter_plan(&mut self) {
        self.left_plan = false;
        self.paused_by_key = false;
        self.forget();
    }

    /// Whether the person chose to end the plan.
    pub fn left_plan(&self) -> bool {
        self.left_plan
    }
}
