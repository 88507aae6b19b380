//! A replay: a recorded session fed to whoever holds the remote, as fast and from where they ask.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::remote::{Command, Desk, Play};
use crate::load::Offset;
use crate::report::replay::{Kept, Playback, Player};
use crate::report::{Recording, StopReason};

/// The fastest replay.
pub const FASTEST: u32 = 64;
/// A recording is published this often while it plays.
const BEAT: Duration = Duration::from_millis(50);

/// Where a replay is, and how fast it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Playhead {
    at: Offset,
    playback: Playback,
}

impl Playhead {
    /// At a moment of a session that ends then, playing at this speed.
    pub fn new(kept: Kept, ends: Offset, from: Offset, speed: u32) -> Self {
        let playback = Playback { kept, ends, speed: speed.clamp(1, FASTEST), paused: false, skips: 0 };
        Self { at: from.min(ends), playback }
    }

    /// Where it is.
    pub fn at(&self) -> Offset {
        self.at
    }

    /// How it goes.
    pub fn playback(&self) -> Playback {
        self.playback
    }

    /// Lets time pass. At the end it stands still.
    pub fn advance(&mut self, passed: Duration) {
        if !self.playback.paused {
            self.at = self.at.plus(passed * self.playback.speed).min(self.playback.ends);
            self.playback.paused = self.at == self.playback.ends;
        }
    }

    /// Does what was asked.
    pub fn play(&mut self, asked: Play) {
        let end = self.playback.ends;
        match asked {
            Play::PauseResume if self.playback.paused && self.at == end => {
                self.go_to(Offset::ZERO);
                self.playback.paused = false;
            }
            Play::PauseResume => self.playback.paused = !self.playback.paused,
            Play::Skip(seconds) => {
                let by = seconds.unsigned_abs().saturating_mul(1_000_000_000);
                let to = if seconds < 0 { self.at.nanos().saturating_sub(by) } else { self.at.nanos().saturating_add(by) };
                self.go_to(Offset::from_nanos(to));
            }
            Play::ToStart => self.go_to(Offset::ZERO),
            Play::ToEnd => self.go_to(end),
            Play::Faster => self.playback.speed = (self.playback.speed * 2).min(FASTEST),
            Play::Slower => self.playback.speed = (self.playback.speed / 2).max(1),
        }
    }

    fn go_to(&mut self, to: Offset) {
        let was_at_end = self.at == self.playback.ends;
        self.at = to.min(self.playback.ends);
        self.playback.skips += 1;
        // It stood still because it had ended; from an earlier moment there is something to play again.
        self.playback.paused = (self.playback.paused && !was_at_end) || self.at == self.playback.ends;
    }
}

/// Plays until told to stop, and says why it did.
pub fn play(mut player: Player, mut head: Playhead, mut desk: Desk) -> Result<StopReason, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().map_err(|e| format!("cannot start: {e}"))?;
    let goes_on = Arc::new(AtomicBool::new(true));
    if let Player::Journal(journal) = &player {
        let (checkpoints, goes_on) = (journal.checkpoints(), Arc::clone(&goes_on));
        // Without them a jump takes longer, and nothing else.
        let _thread = thread::Builder::new().name("checkpoints".to_owned()).spawn(move || {
            checkpoints.make(|| goes_on.load(Ordering::Relaxed));
        });
    }
    let mut shown = None;
    let mut then = Instant::now();
    let reason = loop {
        if shown != Some(head) {
            let recording = Recording { playback: Some(head.playback()), ..player.at(head.at()) };
            desk.recordings.send_replace(Arc::new(recording));
            shown = Some(head);
        }
        let command = runtime.block_on(async { tokio::time::timeout(BEAT, desk.commands.recv()).await });
        let now = Instant::now();
        head.advance(now - then);
        then = now;
        match command {
            Err(_nothing_asked) => {}
            Ok(Some(Command::Play(asked))) => head.play(asked),
            Ok(Some(Command::Stop(reason))) => break reason,
            Ok(Some(Command::Abandon) | None) => break StopReason::Quit,
            Ok(Some(_)) => {}
        }
    };
    goes_on.store(false, Ordering::Relaxed);
    Ok(reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(from: u64, speed: u32) -> Playhead {
        Playhead::new(Kept::Journal, Offset::from_secs(100), Offset::from_secs(from), speed)
    }

    #[test]
    fn time_passes_as_fast_as_asked_and_ends_with_the_session() {
        let mut head = head(10, 4);
        head.advance(Duration::from_millis(500));
        assert_eq!((head.at(), head.playback().paused), (Offset::from_secs(12), false));
        head.advance(Duration::from_secs(60));
        assert_eq!((head.at(), head.playback().paused), (Offset::from_secs(100), true));
        head.play(Play::PauseResume);
        assert_eq!((head.at(), head.playback().paused), (Offset::ZERO, false));
    }

    #[test]
    fn a_paused_replay_stands_still_and_can_be_moved() {
        let mut head = head(50, 1);
        head.play(Play::PauseResume);
        head.advance(Duration::from_secs(9));
        assert_eq!(head.at(), Offset::from_secs(50));
        head.play(Play::Skip(-10));
        head.play(Play::Skip(25));
        assert_eq!((head.at(), head.playback().paused, head.playback().skips), (Offset::from_secs(65), true, 2));
        head.play(Play::Skip(-1_000));
        assert_eq!(head.at(), Offset::ZERO);
        head.play(Play::Skip(i64::MAX));
        assert_eq!((head.at(), head.playback().paused), (Offset::from_secs(100), true));
    }

    #[test]
    fn going_back_from_the_end_plays_on() {
        let mut head = head(0, 64);
        head.advance(Duration::from_secs(2));
        assert!(head.playback().paused);
        head.play(Play::Skip(-10));
        assert_eq!((head.at(), head.playback().paused), (Offset::from_secs(90), false));
        head.play(Play::ToEnd);
        assert!(head.playback().paused);
        head.play(Play::ToStart);
        assert_eq!((head.at(), head.playback().paused), (Offset::ZERO, false));
    }

    #[test]
    fn speed_doubles_and_halves_within_its_bounds() {
        let mut head = head(0, 3);
        head.play(Play::Slower);
        assert_eq!(head.playback().speed, 1);
        head.play(Play::Slower);
        assert_eq!(head.playback().speed, 1);
        for _ in 0..9 {
            head.play(Play::Faster);
        }
        assert_eq!(head.playback().speed, FASTEST);
        assert_eq!(Playhead::new(Kept::Document, Offset::from_secs(1), Offset::from_secs(9), 1_000).playback().speed, FASTEST);
    }

    #[test]
    fn a_session_of_no_length_is_at_its_end() {
        let mut head = Playhead::new(Kept::Journal, Offset::ZERO, Offset::ZERO, 1);
        head.advance(Duration::from_millis(50));
        assert_eq!((head.at(), head.playback().paused), (Offset::ZERO, true));
    }
}
