//! The remote: how a screen, a headless run or a signal handler steers a session and sees it. Commands go one way over a
//! bounded channel, recordings the other way, newest only.

use std::sync::Arc;

use tokio::sync::{mpsc, watch};

use crate::load::Rate;
use crate::plan::Plan;
use crate::report::{Recording, StopReason};

/// Commands that may wait; a full channel means a session that is stuck, and the sender is told.
pub const COMMANDS_WAITING: usize = 256;

/// What can be asked of a session.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Offer this rate; resumes a paused load. Before ACTIVE it becomes the first rate.
    SetRate(Rate),
    /// Pause the load: a window boundary.
    Pause,
    /// Resume at the rate before the pause.
    Resume,
    /// Stop steering by hand, and run this plan on the next bucket edge after a short pause.
    RunPlan(Box<Plan>),
    /// Write the session document as it stands; an event tells its path.
    Dump,
    /// Stop the load, drain, delete the table, write the document. Later reasons are ignored.
    Stop(StopReason),
    /// Give up waiting: skip what is left of the drain and of confirming the deletion.
    Abandon,
    /// Steer a replay; a session that runs ignores it.
    Play(Play),
}

/// What can be asked of a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Play {
    /// Pause it, or let it go on; at its end, start again.
    PauseResume,
    /// Go back, where negative, or on by so many seconds.
    Skip(i64),
    /// Go to the start.
    ToStart,
    /// Go to the end.
    ToEnd,
    /// Play twice as fast.
    Faster,
    /// Play half as fast.
    Slower,
}

/// One end of the wire to a session. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Remote {
    commands: mpsc::Sender<Command>,
    recordings: watch::Receiver<Arc<Recording>>,
}

/// The session's end.
#[derive(Debug)]
pub struct Desk {
    /// Commands to carry out.
    pub commands: mpsc::Receiver<Command>,
    /// Where recordings are published.
    pub recordings: watch::Sender<Arc<Recording>>,
}

/// A remote and the session's end of it.
pub fn remote() -> (Remote, Desk) {
    let (command_sender, commands) = mpsc::channel(COMMANDS_WAITING);
    let (recordings, recording_receiver) = watch::channel(Arc::new(Recording::default()));
    (Remote { commands: command_sender, recordings: recording_receiver }, Desk { commands, recordings })
}

impl Remote {
    /// Sends a command without waiting. `false` when the session is over or its channel is full.
    pub fn send(&self, command: Command) -> bool {
        self.commands.try_send(command).is_ok()
    }

    /// The newest recording.
    pub fn recording(&mut self) -> Arc<Recording> {
        self.recordings.borrow_and_update().clone()
    }

    /// Whether there is a recording that [`Remote::recording`] has not given out yet.
    pub fn has_news(&self) -> bool {
        self.recordings.has_changed().unwrap_or(true)
    }

    /// Whether the session's end is gone: nothing will change any more.
    pub fn is_closed(&self) -> bool {
        self.commands.is_closed()
    }
}
