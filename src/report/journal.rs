//! Reading what a session left: a journal, also of a session that was killed, or a document.

use std::fs::File;
use std::io::{BufRead, BufReader, Read as _};
use std::path::Path;

use serde::Deserialize;

use crate::analysis;
use crate::load::{BUCKET, Offset};

use super::build::{context, document};
use super::document::{Document, SCHEMA};
use super::entry::Entry;
use super::facts::{Event, EventKind};
use super::recording::{Recorder, Recording};

/// Name and version of the journal's layout.
pub const JOURNAL_SCHEMA: &str = "throttlescope.journal/1";

/// Why a text is not a journal.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// Nothing in it.
    #[error("the journal is empty: the session was stopped before it wrote anything")]
    Empty,
    /// The first entry does not start a session.
    #[error("the first line does not start a session; is this a journal of throttlescope?")]
    NoSession,
    /// Another layout.
    #[error("this is `{found}`, and this version reads `{JOURNAL_SCHEMA}`; use the version that wrote it, or a newer one")]
    OtherSchema {
        /// What it says it is.
        found: String,
    },
    /// A line in the middle is no entry.
    #[error("line {line} is not an entry: {why}; remove the line to read the rest")]
    BadLine {
        /// Which, counted from 1.
        line: usize,
        /// Why.
        why: String,
    },
    /// It could not be read.
    #[error("cannot read the journal: {0}")]
    Io(#[from] std::io::Error),
}

/// Reads a journal and judges what it holds. A last line that is not whole, as a killed session leaves it, is left out
/// and named by an event, and so is an end that is missing.
pub fn read(mut lines: impl BufRead) -> Result<Recording, JournalError> {
    let mut recorder = Recorder::new();
    let mut at = Offset::ZERO;
    let (mut number, mut ended) = (0, None);
    let mut torn: Option<(usize, String)> = None;
    let mut line = Vec::new();
    loop {
        line.clear();
        if lines.read_until(b'\n', &mut line)? == 0 {
            break;
        }
        number += 1;
        let text = line.trim_ascii();
        if text.is_empty() {
            continue;
        }
        if let Some((line, why)) = torn.take() {
            return Err(JournalError::BadLine { line, why });
        }
        match serde_json::from_slice::<Entry>(text) {
            Ok(entry) => {
                check_start(&entry, at == Offset::ZERO && number == 1)?;
                at = at.max(time_of(&entry).unwrap_or_default());
                if let Entry::End { at, .. } = &entry {
                    ended = Some(*at);
                }
                recorder.apply(&entry);
            }
            Err(_) if number == 1 => return Err(JournalError::NoSession),
            Err(e) => torn = Some((number, e.to_string())),
        }
    }
    if number == 0 {
        return Err(JournalError::Empty);
    }
    let warn = |detail: String| Entry::Event(Event { at, kind: EventKind::Warning, detail });
    if let Some((line, _)) = torn {
        recorder.apply(&warn(format!("the journal's last line ({line}) is not whole and was left out")));
    }
    if ended.is_none() {
        recorder.apply(&warn("the journal has no end: the session was killed, or still runs".to_owned()));
    }
    // The last second reaches beyond the end of a session that is over.
    let at = ended.unwrap_or(at);
    let recording = recorder.recording(at);
    recorder.assess(analysis::assess(&recording.load, &context(&recording)));
    Ok(recorder.recording(at))
}

pub(super) fn check_start(entry: &Entry, first: bool) -> Result<(), JournalError> {
    match entry {
        Entry::Session { schema, .. } if schema == JOURNAL_SCHEMA => Ok(()),
        Entry::Session { schema, .. } => Err(JournalError::OtherSchema { found: schema.clone() }),
        _ if first => Err(JournalError::NoSession),
        _ => Ok(()),
    }
}

pub(super) fn time_of(entry: &Entry) -> Option<Offset> {
    match entry {
        Entry::Phase { at, .. } | Entry::End { at, .. } => Some(*at),
        Entry::Requested(setpoint) | Entry::Applied(setpoint) => Some(setpoint.at),
        Entry::Open(spec) => Some(spec.start),
        Entry::Close { end, .. } => Some(*end),
        Entry::Bucket(bucket) => Some(bucket.start.plus(BUCKET)),
        Entry::Event(event) => Some(event.at),
        Entry::Claim(claim) => Some(claim.last),
        Entry::Session { .. }
        | Entry::Target(_)
        | Entry::Host(_)
        | Entry::Plan(_)
        | Entry::Cost(_)
        | Entry::TargetLedger(_)
        | Entry::Stop(_) => None,
    }
}

/// The document in a file that is a session document or a journal. The error says what was found instead.
pub fn load_document(path: &Path) -> Result<Document, String> {
    let name = path.display();
    let file = File::open(path).map_err(|e| format!("cannot read {name}: {e}"))?;
    let mut reader = BufReader::new(file);
    let mut first = Vec::new();
    reader.read_until(b'\n', &mut first).map_err(|e| format!("cannot read {name}: {e}"))?;
    if first.trim_ascii().is_empty() {
        return Err(format!("{name} is empty; name a session document (.json) or a journal (.jsonl)"));
    }
    if serde_json::from_slice::<EntryHead>(&first).is_ok() {
        let lines = std::io::Cursor::new(first).chain(reader);
        return read(lines).map(|recording| document(&recording)).map_err(|e| format!("{name}: {e}"));
    }
    let whole = std::io::Cursor::new(first).chain(reader);
    let value: serde_json::Value = serde_json::from_reader(whole)
        .map_err(|e| format!("{name} is not JSON ({e}); name a session document (.json) or a journal (.jsonl)"))?;
    let Some(schema) = value.get("schema").and_then(serde_json::Value::as_str) else {
        return Err(format!("{name} is JSON but no session document: it has no \"schema\"; name a file that throttlescope wrote"));
    };
    if schema != SCHEMA {
        let advice = match (version(schema), version(SCHEMA)) {
            (Some(theirs), Some(ours)) if theirs > ours => "it was written by a newer version; use that version to read it",
            _ => "name a file that throttlescope wrote",
        };
        return Err(format!("{name} is `{}`, and this version reads `{SCHEMA}`; {advice}", super::clean(schema)));
    }
    serde_json::from_value(value).map_err(|e| format!("{name} says it is `{SCHEMA}` but is not: {e}"))
}

#[derive(Deserialize)]
struct EntryHead {
    #[serde(rename = "entry")]
    _entry: String,
}

/// The version in a schema name of ours.
fn version(schema: &str) -> Option<u32> {
    schema.strip_prefix("throttlescope.session/")?.parse().ok()
}
