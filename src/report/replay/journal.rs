//! A journal, played: entries are applied in their order as their time comes. Only an index is held in memory; checkpoints
//! along the way keep a jump short.

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::FileExt as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::Deserialize;

use crate::analysis;
use crate::load::{BUCKET, Offset};
use crate::report::build::context;
use crate::report::entry::Entry;
use crate::report::facts::{Event, EventKind};
use crate::report::journal::{JournalError, check_start, time_of};
use crate::report::recording::{Recorder, Recording};

/// Most checkpoints that are kept, and the least time of session between two: what a jump applies again at most. Each holds
/// the rows up to it, under a megabyte for an hour.
const CHECKPOINTS: u32 = 48;
const SPACING: Duration = Duration::from_secs(10);

/// Where an entry is.
#[derive(Debug)]
enum Place {
    /// In the file: offset and length of its line.
    Line(u64, usize),
    /// Not in the file: what is to be said of it.
    Said(Box<Entry>),
}

/// An entry and when it is applied: no sooner than any before it.
#[derive(Debug)]
struct Mark {
    at: Offset,
    place: Place,
}

/// What was known before an entry.
#[derive(Debug)]
struct Checkpoint {
    /// Entries that were applied.
    applied: usize,
    recorder: Recorder,
}

/// The journal, shared by those who read it.
#[derive(Debug)]
struct Tape {
    file: File,
    marks: Vec<Mark>,
    ends: Offset,
    checkpoints: Mutex<Vec<Arc<Checkpoint>>>,
}

/// Plays a journal.
#[derive(Debug)]
pub struct JournalPlayer {
    tape: Arc<Tape>,
    applied: usize,
    recorder: Recorder,
}

/// Makes checkpoints.
#[derive(Debug)]
pub struct Checkpoints {
    tape: Arc<Tape>,
}

/// As much of a line as its time needs.
#[derive(Deserialize)]
struct Head<'a> {
    #[serde(borrow)]
    entry: Cow<'a, str>,
    is: Times,
}

#[derive(Deserialize)]
struct Times {
    at: Option<Offset>,
    start: Option<Offset>,
    end: Option<Offset>,
}

/// Whether a first line starts a journal.
pub(super) fn starts_one(line: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Any {
        #[serde(rename = "entry")]
        _entry: String,
    }
    serde_json::from_slice::<Any>(line).is_ok()
}

/// The time of an entry, if its line is one, and whether it ends the session.
fn time_of_line(line: &[u8]) -> Result<(Option<Offset>, bool), serde_json::Error> {
    // The histograms of a bucket are most of a journal; they are not looked at here.
    if let Ok(Head { entry, is }) = serde_json::from_slice::<Head<'_>>(line) {
        match (entry.as_ref(), is.at, is.start, is.end) {
            ("phase" | "requested" | "applied" | "event", Some(at), ..) => return Ok((Some(at), false)),
            ("bucket", _, Some(start), _) => return Ok((Some(start.plus(BUCKET)), false)),
            ("open", _, Some(start), _) => return Ok((Some(start), false)),
            ("close", _, _, Some(end)) => return Ok((Some(end), false)),
            _ => {}
        }
    }
    serde_json::from_slice::<Entry>(line).map(|entry| (time_of(&entry), matches!(entry, Entry::End { .. })))
}

impl JournalPlayer {
    /// Indexes a journal. What a last line that is not whole and a missing end mean is as for a report.
    pub fn open(file: File) -> Result<Self, JournalError> {
        let mut reader = BufReader::new(file.try_clone()?);
        let mut marks = Vec::new();
        let (mut at, mut ended) = (Offset::ZERO, None);
        let mut torn: Option<(usize, String)> = None;
        let (mut number, mut offset) = (0, 0);
        let mut line = Vec::new();
        loop {
            line.clear();
            let length = reader.read_until(b'\n', &mut line)?;
            if length == 0 {
                break;
            }
            let (from, text) = (offset, line.trim_ascii());
            offset += length as u64;
            number += 1;
            if text.is_empty() {
                continue;
            }
            if let Some((line, why)) = torn.take() {
                return Err(JournalError::BadLine { line, why });
            }
            if number == 1 {
                check_start(&serde_json::from_slice(text).map_err(|_| JournalError::NoSession)?, true)?;
            }
            match time_of_line(text) {
                Ok((time, is_end)) => {
                    at = at.max(time.unwrap_or_default());
                    ended = time.filter(|_| is_end).or(ended);
                    marks.push(Mark { at, place: Place::Line(from, length) });
                }
                Err(e) => torn = Some((number, e.to_string())),
            }
        }
        if number == 0 {
            return Err(JournalError::Empty);
        }
        let ends = ended.unwrap_or(at);
        for mark in &mut marks {
            mark.at = mark.at.min(ends);
        }
        let mut say = |detail: String| {
            let event = Event { at, kind: EventKind::Warning, detail };
            marks.push(Mark { at: ends, place: Place::Said(Box::new(Entry::Event(event))) });
        };
        if let Some((line, _)) = torn {
            say(format!("the journal's last line ({line}) is not whole and was left out"));
        }
        if ended.is_none() {
            say("the journal has no end: the session was killed, or still runs".to_owned());
        }
        let tape = Arc::new(Tape { file, marks, ends, checkpoints: Mutex::default() });
        Ok(Self { tape, applied: 0, recorder: Recorder::new() })
    }

    /// When the session ends, or where the journal does.
    pub fn ends(&self) -> Offset {
        self.tape.ends
    }

    /// What makes checkpoints, for a thread of its own.
    pub fn checkpoints(&self) -> Checkpoints {
        Checkpoints { tape: Arc::clone(&self.tape) }
    }

    /// The recording as it was then.
    pub fn at(&mut self, at: Offset) -> Recording {
        let target = self.tape.marks.partition_point(|mark| mark.at <= at);
        let kept = self.tape.before(target);
        let from = if target < self.applied { 0 } else { self.applied };
        match kept.filter(|kept| kept.applied > from || target < self.applied) {
            Some(kept) => (self.applied, self.recorder) = (kept.applied, kept.recorder.clone()),
            None if target < self.applied => (self.applied, self.recorder) = (0, Recorder::new()),
            None => {}
        }
        while self.applied < target {
            self.tape.apply(self.applied, &mut self.recorder);
            self.applied += 1;
        }
        let recording = self.recorder.recording(at);
        self.recorder.assess(analysis::assess(&recording.load, &context(&recording)));
        self.recorder.recording(at)
    }
}

impl Checkpoints {
    /// Goes through the whole journal once, for as long as `goes_on` says.
    pub fn make(&self, goes_on: impl Fn() -> bool) {
        let spacing = (self.tape.ends.since(Offset::ZERO) / CHECKPOINTS).max(SPACING);
        let mut recorder = Recorder::new();
        let mut next = Offset::ZERO.plus(spacing);
        for applied in 0..self.tape.marks.len() {
            if !goes_on() {
                return;
            }
            if self.tape.marks[applied].at >= next {
                next = self.tape.marks[applied].at.plus(spacing);
                self.tape.keep(Checkpoint { applied, recorder: recorder.clone() });
            }
            self.tape.apply(applied, &mut recorder);
        }
        self.tape.keep(Checkpoint { applied: self.tape.marks.len(), recorder });
    }
}

impl Tape {
    /// Applies one entry. A line that cannot be read any more, or is none, is said to be so.
    fn apply(&self, number: usize, recorder: &mut Recorder) {
        let Some(mark) = self.marks.get(number) else { return };
        let (from, length) = match &mark.place {
            Place::Said(entry) => return recorder.apply(entry),
            Place::Line(from, length) => (*from, *length),
        };
        let mut line = vec![0; length];
        let read = self.file.read_exact_at(&mut line, from).map_err(|e| e.to_string());
        match read.and_then(|()| serde_json::from_slice::<Entry>(line.trim_ascii()).map_err(|e| e.to_string())) {
            Ok(entry) => recorder.apply(&entry),
            Err(why) => {
                let detail = format!("an entry of the journal could not be read and is missing here: {why}");
                recorder.apply(&Entry::Event(Event { at: mark.at, kind: EventKind::Warning, detail }));
            }
        }
    }

    fn keep(&self, checkpoint: Checkpoint) {
        self.checkpoints.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::new(checkpoint));
    }

    /// The last checkpoint with no more than so many entries applied.
    fn before(&self, applied: usize) -> Option<Arc<Checkpoint>> {
        let kept = self.checkpoints.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().rev().find(|kept| kept.applied <= applied).cloned()
    }
}
