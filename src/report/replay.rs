//! A session as it was at any moment of it, from what it left: exactly from its journal, and as far as it is known from its
//! document.

mod document;
mod journal;
mod judged;

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::Path;

use crate::load::Offset;

use super::recording::Recording;

pub use document::Rebuilt;
pub use journal::{Checkpoints, JournalPlayer};

/// What a session left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// Its journal: everything.
    Journal,
    /// Its document: seconds, windows and events. What else there was at a moment is not known.
    Document,
}

/// How a recorded session is being played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Playback {
    /// From what.
    pub kept: Kept,
    /// When the session ends.
    pub ends: Offset,
    /// Seconds of the session per second.
    pub speed: u32,
    /// Whether it stands still.
    pub paused: bool,
    /// How often its position was changed by other than time.
    pub skips: u32,
}

/// Gives the recording of a session at any moment.
#[derive(Debug)]
pub enum Player {
    /// From a journal.
    Journal(Box<JournalPlayer>),
    /// From a document.
    Document(Box<Rebuilt>),
}

impl Player {
    /// Opens a journal or a session document. The error is a sentence with the file's name.
    pub fn open(path: &Path) -> Result<Self, String> {
        let name = path.display();
        let file = File::open(path).map_err(|e| format!("cannot read {name}: {e}"))?;
        let mut first = Vec::new();
        BufReader::new(&file).read_until(b'\n', &mut first).map_err(|e| format!("cannot read {name}: {e}"))?;
        if journal::starts_one(&first) {
            let player = JournalPlayer::open(File::open(path).map_err(|e| format!("cannot read {name}: {e}"))?);
            return player.map(|player| Self::Journal(Box::new(player))).map_err(|e| format!("{name}: {e}"));
        }
        super::load_document(path).map(|document| Self::Document(Box::new(Rebuilt::new(document))))
    }

    /// What it plays from.
    pub const fn kept(&self) -> Kept {
        match self {
            Self::Journal(_) => Kept::Journal,
            Self::Document(_) => Kept::Document,
        }
    }

    /// When the session ends, or where what is known of it does.
    pub fn ends(&self) -> Offset {
        match self {
            Self::Journal(player) => player.ends(),
            Self::Document(rebuilt) => rebuilt.ends(),
        }
    }

    /// The recording as it was then.
    pub fn at(&mut self, at: Offset) -> Recording {
        match self {
            Self::Journal(player) => player.at(at),
            Self::Document(rebuilt) => rebuilt.at(at),
        }
    }
}
