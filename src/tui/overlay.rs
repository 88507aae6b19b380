//! What may lie over a view, and its state.

use std::time::Duration;

use crate::load::Rate;
use crate::session::remote::Command;

use super::keymap::{Action, Context};

/// A question is answered no sooner than this after it appeared: what was typed before it could be read does not count.
const READ_WITHIN: Duration = Duration::from_millis(150);
/// Characters that a rate may have.
const LONGEST_RATE: usize = 24;

/// What lies over a view.
#[derive(Clone, Debug, PartialEq)]
pub enum Overlay {
    /// All keys, scrolled by this many rows.
    Help(u16),
    /// A question, and when it was asked.
    Question(Question, Duration),
    /// The prompt for an exact rate.
    Prompt(Prompt),
    /// The shipped plans; which one is chosen.
    Plans(usize),
}

impl Overlay {
    /// Where keys are looked up while it is open.
    pub fn context(&self) -> Context {
        match self {
            Self::Help(_) => Context::Help,
            Self::Question(..) => Context::Question,
            Self::Prompt(_) => Context::Prompt,
            Self::Plans(_) => Context::Plans,
        }
    }
}

/// What is asked before it is done.
#[derive(Clone, Debug, PartialEq)]
pub enum Question {
    /// Stop the load, tear down, leave?
    Quit,
    /// End the plan and steer by hand?
    LeavePlan(Command),
}

impl Question {
    /// Whether a question asked at `asked` may be answered by now.
    pub fn may_answer(asked: Duration, up: Duration) -> bool {
        up.saturating_sub(asked) >= READ_WITHIN
    }
}

/// The prompt for an exact rate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prompt {
    /// What was typed.
    pub text: String,
    /// Why it is no rate; empty until it was submitted.
    pub error: String,
}

impl Prompt {
    /// Types or erases a character.
    pub fn edit(&mut self, action: Action) {
        match action {
            Action::Type(c) if self.text.chars().count() < LONGEST_RATE && !super::glyphs::is_unprintable(c) => self.text.push(c),
            Action::Erase => drop(self.text.pop()),
            _ => return,
        }
        self.error.clear();
    }

    /// The typed rate; `None` leaves the text as it is and says what to type instead.
    pub fn rate(&mut self) -> Option<Rate> {
        match self.text.parse::<Rate>() {
            Ok(rate) => Some(rate),
            Err(error) => {
                self.error = error.to_string();
                None
            }
        }
    }
}
