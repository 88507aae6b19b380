//! The recording: a session as known so far, made by applying entries. Cheap to clone; the screen, the status line, the
//! dump and the summary all read this one value.

use std::sync::Arc;

use crate::analysis::SessionAssessment;
use crate::load::{History, Offset, Snapshot, Tick};

use super::claim::{self, Claim};
use super::entry::Entry;
use super::facts::{Cost, Event, Phase, PlanFacts, SessionFacts, StopReason, TargetFacts, TargetLedger, WorkloadFacts};
use super::host::Host;
use super::replay::Playback;

/// Events kept in memory; the journal keeps all.
pub const EVENTS_KEPT: usize = 2_000;

/// A session as known so far.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// What was fixed at the start.
    pub session: SessionFacts,
    /// What the load consists of.
    pub workload: WorkloadFacts,
    /// The table and its endpoint.
    pub target: TargetFacts,
    /// What DescribeTable said of the table, in order.
    pub claims: Arc<Vec<Claim>>,
    /// This machine and its way to the endpoint, once looked at.
    pub host: Option<Host>,
    /// Where the session stands.
    pub phase: Phase,
    /// Since when.
    pub phase_since: Offset,
    /// The plan that runs or ran last.
    pub plan: Option<PlanFacts>,
    /// Everything measured.
    pub load: Snapshot,
    /// What it shows; brought up to date once a second.
    pub assessment: Arc<SessionAssessment>,
    /// Money.
    pub cost: Cost,
    /// What happened, oldest first, the newest [`EVENTS_KEPT`].
    pub events: Arc<Vec<Event>>,
    /// The simulated endpoint's own count, known after the drain.
    pub target_ledger: Option<TargetLedger>,
    /// Why the session stops or stopped.
    pub stop_reason: Option<StopReason>,
    /// RFC 3339 UTC, once over.
    pub ended_at: Option<String>,
    /// How it is being played, where it is a replay.
    pub playback: Option<Playback>,
}

/// Makes recordings from entries and ticks.
#[derive(Clone, Debug, Default)]
pub struct Recorder {
    recording: Recording,
    history: History,
}

impl Recorder {
    /// An empty recorder.
    pub fn new() -> Self {
        Self::default()
    }

    /// Applies one entry.
    pub fn apply(&mut self, entry: &Entry) {
        let now = &mut self.recording;
        match entry {
            Entry::Session { session, workload, .. } => {
                now.session = session.clone();
                now.workload = workload.clone();
            }
            Entry::Target(target) => now.target = target.clone(),
            Entry::Claim(one) => claim::add(Arc::make_mut(&mut now.claims), one),
            Entry::Host(host) => now.host = Some(host.clone()),
            Entry::Phase { at, phase } => {
                now.phase = *phase;
                now.phase_since = *at;
            }
            Entry::Plan(plan) => now.plan = Some(plan.clone()),
            Entry::Requested(setpoint) => self.history.request(*setpoint),
            Entry::Applied(setpoint) => self.history.applied(*setpoint),
            Entry::Open(spec) => self.history.open_window(spec.clone()),
            Entry::Close { window, end } => self.history.close_window(*window, *end),
            Entry::Bucket(bucket) => self.history.absorb(bucket),
            Entry::Cost(cost) => now.cost = *cost,
            Entry::Event(event) => {
                let events = Arc::make_mut(&mut now.events);
                if events.len() >= EVENTS_KEPT {
                    events.drain(..EVENTS_KEPT / 4);
                }
                // That a rate took effect becomes known after the fact; the order is that of what happened.
                let place = events.partition_point(|earlier| earlier.at <= event.at);
                events.insert(place, event.clone());
            }
            Entry::TargetLedger(ledger) => now.target_ledger = Some(ledger.clone()),
            Entry::Stop(reason) => {
                now.stop_reason.get_or_insert_with(|| reason.clone());
            }
            Entry::End { ended_at, .. } => now.ended_at = Some(ended_at.clone()),
        }
    }

    /// Takes a tick for the live figures, which [`Recorder::refresh`] brings up to date.
    pub fn glance(&mut self, tick: &Tick) {
        self.history.glance(tick);
    }

    /// Brings the live figures up to date.
    pub fn refresh(&mut self) {
        self.history.refresh();
    }

    /// Sets what the recorded data shows.
    pub fn assess(&mut self, assessment: SessionAssessment) {
        self.recording.assessment = Arc::new(assessment);
    }

    /// The recording at `at`.
    pub fn recording(&self, at: Offset) -> Recording {
        Recording { load: self.history.snapshot(at), ..self.recording.clone() }
    }
}
