//! The scribe: every fact of a session goes through here, once, to the recording and to the journal.

use std::sync::Arc;

use tokio::sync::watch;

use super::journal::Journal;
use crate::analysis::assess;
use crate::load::{Bucket, Clock, Offset, Tick};
use crate::report::{Cost, Entry, Event, EventKind, Phase, Recorder, Recording, StopReason, TargetFacts, context};

/// Writes down what happens.
#[derive(Debug)]
pub(super) struct Scribe {
    recorder: Recorder,
    journal: Option<Journal>,
    clock: Clock,
    recordings: watch::Sender<Arc<Recording>>,
    pub(super) phase: Phase,
    pub(super) target: TargetFacts,
    pub(super) stop_reason: Option<StopReason>,
}

impl Scribe {
    pub(super) fn new(clock: Clock, recordings: watch::Sender<Arc<Recording>>) -> Self {
        Self {
            recorder: Recorder::new(),
            journal: None,
            clock,
            recordings,
            phase: Phase::Starting,
            target: TargetFacts::default(),
            stop_reason: None,
        }
    }

    /// Writes to a journal from now on.
    pub(super) fn keep(&mut self, journal: Journal) {
        self.journal = Some(journal);
    }

    /// Notes one entry.
    pub(super) fn apply(&mut self, entry: &Entry) {
        if let Some(journal) = &mut self.journal
            && let Err(trouble) = journal.append(entry)
        {
            let event =
                Event { at: self.clock.now(), kind: EventKind::Warning, detail: format!("{trouble}; the session goes on in memory") };
            self.recorder.apply(&Entry::Event(event));
        }
        self.recorder.apply(entry);
    }

    /// Notes something that happened now.
    pub(super) fn event(&mut self, kind: EventKind, detail: impl Into<String>) {
        self.event_at(self.clock.now(), kind, detail);
    }

    /// Notes something that happened then.
    pub(super) fn event_at(&mut self, at: Offset, kind: EventKind, detail: impl Into<String>) {
        let event = Event { at, kind, detail: detail.into() };
        tracing::info!(kind = kind.name(), "{}", event.detail);
        self.apply(&Entry::Event(event));
    }

    /// Notes a change of phase and publishes it.
    pub(super) fn phase(&mut self, phase: Phase) {
        if self.phase != phase {
            self.phase = phase;
            self.apply(&Entry::Phase { at: self.clock.now(), phase });
            self.event(EventKind::Phase, phase.name());
        }
        self.publish();
    }

    /// Notes what has become known about the target.
    pub(super) fn target(&mut self, change: impl FnOnce(&mut TargetFacts)) {
        change(&mut self.target);
        self.apply(&Entry::Target(self.target.clone()));
    }

    /// Notes why the session stops; the first reason stands.
    pub(super) fn stop(&mut self, reason: StopReason) {
        if self.stop_reason.is_none() {
            self.event(EventKind::Note, reason.in_words());
            self.apply(&Entry::Stop(reason.clone()));
            self.stop_reason = Some(reason);
        }
    }

    /// Takes a tick for the live figures.
    pub(super) fn glance(&mut self, tick: &Tick) {
        self.recorder.glance(tick);
    }

    /// Notes a complete second, what it cost, and what everything so far shows.
    pub(super) fn second(&mut self, bucket: Bucket, cost: impl FnOnce(&Recording) -> Cost) {
        self.apply(&Entry::Bucket(Box::new(bucket)));
        let recording = self.recording();
        let cost = cost(&recording);
        if cost != recording.cost {
            self.apply(&Entry::Cost(cost));
        }
        self.assess();
    }

    /// Brings the assessment up to date.
    pub(super) fn assess(&mut self) {
        let recording = self.recording();
        self.recorder.assess(assess(&recording.load, &context(&recording)));
    }

    /// The recording as it stands.
    pub(super) fn recording(&self) -> Recording {
        self.recording_at(self.clock.now())
    }

    /// The recording as it stands, at the time of something that was noted before.
    pub(super) fn recording_at(&self, at: Offset) -> Recording {
        self.recorder.recording(at)
    }

    /// The session's time.
    pub(super) fn now(&self) -> Offset {
        self.clock.now()
    }

    /// Shows the recording to whoever watches.
    pub(super) fn publish(&mut self) {
        self.recorder.refresh();
        self.recordings.send_replace(Arc::new(self.recording()));
    }

    /// Waits, for a bounded time, until what was noted so far is on the disk.
    pub(super) fn sync_journal(&self) {
        if let Some(journal) = &self.journal {
            journal.sync();
        }
    }

    /// Waits until the journal is on the disk.
    pub(super) fn close_journal(&mut self) {
        if let Some(journal) = self.journal.take() {
            journal.close();
        }
    }
}
