//! Leaving: how often Ctrl-C was pressed, what was sent, and since when.

use std::time::Duration;

use crate::report::StopReason;
use crate::session::remote::Command;

/// Once abandoned, the session has this long to say it is over before the screen leaves without it.
pub const ABANDONED_FOR: Duration = Duration::from_secs(5);

/// How far leaving has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stopping {
    /// Nobody wants to leave.
    #[default]
    No,
    /// Ctrl-C was pressed once.
    Asked,
    /// The session was asked to stop.
    Sent {
        /// When.
        since: Duration,
        /// Whether Ctrl-C was pressed since: once more abandons.
        warned: bool,
    },
    /// The session was asked to give up its teardown.
    Abandoned {
        /// When.
        since: Duration,
    },
}

impl Stopping {
    /// Whether the session was asked to stop.
    pub fn is_sent(self) -> bool {
        matches!(self, Self::Sent { .. } | Self::Abandoned { .. })
    }

    /// Whether the screen has waited long enough for an abandoned session.
    pub fn is_given_up(self, up: Duration) -> bool {
        matches!(self, Self::Abandoned { since } if up.saturating_sub(since) >= ABANDONED_FOR)
    }

    /// The person quits.
    pub fn quit(&mut self, up: Duration) -> Command {
        *self = Self::Sent { since: up, warned: false };
        Command::Stop(StopReason::Quit)
    }

    /// Ctrl-C: asks, then stops, then abandons. Where the session stops already it warns first.
    pub fn interrupt(&mut self, stopping: bool, up: Duration) -> Option<Command> {
        let (next, command) = match *self {
            Self::No if stopping => (Self::Sent { since: up, warned: true }, None),
            Self::No => (Self::Asked, None),
            Self::Asked => (Self::Sent { since: up, warned: true }, Some(Command::Stop(StopReason::Signal("INT".to_owned())))),
            Self::Sent { since, warned: false } => (Self::Sent { since, warned: true }, None),
            Self::Sent { warned: true, .. } => (Self::Abandoned { since: up }, Some(Command::Abandon)),
            Self::Abandoned { since } => (Self::Abandoned { since }, Some(Command::Abandon)),
        };
        *self = next;
        command
    }

    /// The person thought better of it.
    pub fn step_back(&mut self) {
        if *self == Self::Asked {
            *self = Self::No;
        }
    }
}
