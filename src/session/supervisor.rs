//! The supervisor: provision, load, drain, tear down, write the document; in this order, on every path.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};

use super::config::{SessionConfig, Start, TableChoice};
use super::guard::affordable;
use super::journal::Journal;
use super::kinds::Kinds;
use super::remote::{Command, Desk};
use super::scribe::Scribe;
use crate::embedded;
use crate::load::engine::panic_text;
use crate::load::{Clock, Rate};
use crate::plan::Plan;
use crate::report::{
    Cost, Entry, EventKind, JOURNAL_SCHEMA, Phase, Recording, SessionFacts, StopReason, TargetLedger, WorkloadFacts, WriteError, document,
    write_new,
};
use crate::table::Control;

/// Recordings are published this often while something is waited for.
pub(super) const BEAT: Duration = Duration::from_millis(100);

/// How a session ended.
#[derive(Debug)]
pub struct Outcome {
    /// Everything that is known.
    pub recording: Arc<Recording>,
    /// The document's path, or why it could not be written. `None` when none was asked for.
    pub document: Option<Result<PathBuf, String>>,
    /// What was left behind, and the command that removes it.
    pub left_behind: Option<String>,
}

impl Outcome {
    /// The exit code that the command line promises.
    pub fn exit_code(&self) -> u8 {
        if self.left_behind.is_some() {
            return 5;
        }
        let by_reason = exit_code_of(self.recording.stop_reason.as_ref());
        if by_reason == 0 && matches!(self.document, Some(Err(_))) { 1 } else { by_reason }
    }
}

/// The exit code that a reason to stop amounts to.
pub fn exit_code_of(reason: Option<&StopReason>) -> u8 {
    match reason {
        Some(StopReason::Failed(_)) => 1,
        Some(StopReason::Guard(_)) => 4,
        Some(StopReason::Signal(name)) => match name.as_str() {
            "TERM" => 143,
            "HUP" => 129,
            _ => 130,
        },
        Some(StopReason::Completed | StopReason::Quit) | None => 0,
    }
}

/// The session was told to stop; the reason is noted.
#[derive(Debug)]
pub(super) struct Stopped;

/// What was asked for before the load could start.
#[derive(Debug, Default)]
pub(super) struct Early {
    pub(super) rate: Option<Rate>,
    pub(super) paused: bool,
    pub(super) plan: Option<Box<Plan>>,
}

/// One running session.
pub(super) struct Session {
    pub(super) config: SessionConfig,
    /// What it can send.
    pub(super) kinds: Kinds,
    pub(super) clock: Clock,
    pub(super) desk: Desk,
    pub(super) scribe: Scribe,
    pub(super) early: Early,
    /// Kept alive until the table is gone.
    pub(super) server: Option<embedded::Server>,
    pub(super) control: Option<Control>,
    /// CreateTable was called and its answer is not known: the table may appear yet.
    pub(super) create_is_open: bool,
    /// Units consumed by seeding, at most.
    pub(super) seed_units: f64,
    /// Whether items have been seeded.
    pub(super) seeded: bool,
    /// Whether it is too late to seed.
    pub(super) seeding_is_past: bool,
    /// What the simulated endpoint had counted when seeding was done.
    pub(super) counted_before: TargetLedger,
    snapshots: u32,
}

/// Runs a session to its end. Never panics and never leaves a table behind without saying so.
pub async fn run(config: SessionConfig, clock: Clock, desk: Desk) -> Outcome {
    let scribe = Scribe::new(clock, desk.recordings.clone());
    let mut session = Session {
        kinds: Kinds::of_session(&config),
        config,
        clock,
        desk,
        scribe,
        early: Early::default(),
        server: None,
        control: None,
        create_is_open: false,
        seed_units: 0.0,
        seeded: false,
        seeding_is_past: false,
        counted_before: TargetLedger::default(),
        snapshots: 0,
    };
    session.begin();
    // A fault of the session itself must not keep it from tearing down what it created.
    if let Err(panic) = caught(Box::pin(session.measure())).await {
        session.fail(format!("the session panicked: {panic}"));
    }
    let left_behind = match caught(Box::pin(session.tear_down())).await {
        Ok(left_behind) => left_behind,
        Err(panic) => Some(session.leftover(&format!("the teardown panicked: {panic}"))),
    };
    session.end(left_behind)
}

impl Session {
    fn begin(&mut self) {
        let config = &self.config;
        let session = SessionFacts {
            id: config.id.clone(),
            started_at: rfc3339(self.clock.wall(crate::load::Offset::ZERO)),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            client: config.client.to_string(),
            max_cost_usd: config.guards.max_cost,
            max_ops: config.guards.max_ops,
            max_duration_s: config.guards.max_duration.map(|d| d.as_secs_f64()),
        };
        let workload = WorkloadFacts {
            op: config.op,
            item_bytes: config.item_bytes,
            keys: config.keys.to_string(),
            consistent_read: config.consistent_read,
            items: Some(config.items),
            timeout_s: config.timeout.as_secs_f64(),
            max_in_flight: config.max_in_flight,
            shards: config.shards,
            seed: config.seed,
            late_limit_s: config.late_limit.as_secs_f64(),
        };
        let journal = config.output.journal.clone().map(|dir| Journal::create(&dir, &config.id));
        let price = config.price;
        match journal {
            Some(Ok(journal)) => {
                tracing::info!(path = %journal.path().display(), "journal");
                self.scribe.keep(journal);
            }
            Some(Err(error)) => self.scribe.event(EventKind::Warning, format!("no journal is kept: {error}")),
            None => {}
        }
        self.scribe.apply(&Entry::Session { schema: JOURNAL_SCHEMA.to_owned(), session, workload });
        self.scribe.apply(&Entry::Cost(Cost {
            write_usd_per_million: price.map(|price| price.write),
            read_usd_per_million: price.map(|price| price.read),
            usd: price.map(|_| 0.0),
        }));
        self.scribe.phase(Phase::Starting);
    }

    async fn measure(&mut self) {
        // Either way the reason is noted, and the teardown follows.
        let stopped = match Box::pin(self.provision()).await {
            Ok(reach) => Box::pin(self.load(reach)).await,
            Err(stopped) => Err(stopped),
        };
        tracing::info!(?stopped, "measured");
    }

    fn end(mut self, left_behind: Option<String>) -> Outcome {
        self.scribe.assess();
        let at = self.scribe.now();
        self.scribe.apply(&Entry::End { at, ended_at: rfc3339(self.clock.wall(at)) });
        let failed = matches!(self.scribe.stop_reason, Some(StopReason::Failed(_)));
        let over = if failed { Phase::Failed } else { Phase::Finished };
        self.scribe.phase = over;
        self.scribe.apply(&Entry::Phase { at, phase: over });
        self.scribe.close_journal();
        let recording = self.scribe.recording_at(at);
        let written = self
            .config
            .output
            .document
            .clone()
            .map(|path| write_new(&path, &document(&recording), self.config.output.force).map(|()| path).map_err(|e| e.to_string()));
        if let Some(Ok(path)) = &written {
            self.scribe.event(EventKind::Snapshot, path.display().to_string());
        }
        // Published last: whoever sees that the session is over finds its document.
        self.scribe.publish();
        Outcome { recording: Arc::new(recording), document: written, left_behind }
    }

    /// Notes that the session cannot go on.
    pub(super) fn fail(&mut self, why: impl Into<String>) {
        let why = why.into();
        tracing::error!("{why}");
        self.scribe.event(EventKind::Error, why.clone());
        self.scribe.stop(StopReason::Failed(why));
    }

    /// Waits for something while commands are taken and the screen is kept up to date.
    pub(super) async fn wait_for<T>(&mut self, future: impl Future<Output = T>) -> Result<T, Stopped> {
        self.wait_and(future, |_| {}).await
    }

    /// The same, and does something each time the screen is brought up to date.
    pub(super) async fn wait_and<T>(&mut self, future: impl Future<Output = T>, mut also: impl FnMut(&mut Self)) -> Result<T, Stopped> {
        let mut future = Box::pin(future);
        let mut beat = interval(BEAT);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                done = &mut future => return Ok(done),
                command = self.desk.commands.recv() => self.take_early(command)?,
                _ = beat.tick() => {
                    also(self);
                    self.scribe.publish();
                }
            }
            if let Some(limit) = self.config.guards.max_duration
                && self.scribe.now().since(crate::load::Offset::ZERO) > limit
            {
                self.scribe.stop(StopReason::Guard(format!("--max-duration {}", crate::plan::show_span(limit))));
                return Err(Stopped);
            }
        }
    }

    pub(super) fn take_early(&mut self, command: Option<Command>) -> Result<(), Stopped> {
        match command {
            Some(Command::SetRate(rate)) => {
                self.early.rate = Some(rate);
                self.early.paused = false;
                self.early.plan = None;
                let at = self.scribe.now();
                self.scribe.apply(&Entry::Requested(crate::load::Setpoint { rate: Some(rate), at }));
                self.scribe.event(EventKind::Requested, format!("{rate}/s, once the table is ACTIVE"));
            }
            Some(Command::Pause) => self.early.paused = true,
            Some(Command::Resume) => self.early.paused = false,
            Some(Command::RunPlan(plan)) => {
                if let Some(why) = self.refuses(&plan) {
                    self.scribe.event(EventKind::Warning, why);
                } else {
                    self.scribe.event(EventKind::Note, format!("plan {} runs once the table is ACTIVE", plan.name));
                    self.early.plan = Some(plan);
                }
            }
            Some(Command::Dump) => self.dump(),
            Some(Command::Play(_)) => {}
            Some(Command::Stop(reason)) => {
                self.scribe.stop(reason);
                return Err(Stopped);
            }
            Some(Command::Abandon) => {
                self.scribe.stop(StopReason::Quit);
                return Err(Stopped);
            }
            None => {
                self.fail("nobody steers the session any more");
                return Err(Stopped);
            }
        }
        self.scribe.publish();
        Ok(())
    }

    /// Writes the document as it stands, under the next free number.
    pub(super) fn dump(&mut self) {
        let document = document(&self.scribe.recording());
        loop {
            self.snapshots += 1;
            let path = self.config.output.snapshots.join(format!("throttlescope-{}-{:03}.json", self.config.id, self.snapshots));
            match write_new(&path, &document, false) {
                Ok(()) => return self.scribe.event(EventKind::Snapshot, path.display().to_string()),
                Err(WriteError::Exists { .. }) if self.snapshots < 999 => {}
                Err(error) => return self.scribe.event(EventKind::Warning, format!("no snapshot: {error}")),
            }
        }
    }

    /// Whether the session creates its table.
    pub(super) fn creates_table(&self) -> bool {
        matches!(self.config.table, TableChoice::Fresh { .. })
    }

    /// Whether any read is or may be asked for, so that items must be seeded.
    pub(super) fn reads(&self) -> bool {
        let early = self.early.plan.as_ref().is_some_and(|plan| plan.reads());
        let planned = matches!(&self.config.start, Start::Plan(plan) if plan.reads());
        // A session that stays after its plan is steered by hand.
        let steered = self.config.op == crate::load::Op::Read && !self.config.ends_with_plan;
        early || planned || steered
    }

    /// Why a plan that was picked cannot run in this session, with what to type instead.
    pub(super) fn refuses(&self, plan: &Plan) -> Option<String> {
        let again = format!("start it with: throttlescope run --plan {}", plan.name);
        if plan.reads() && self.creates_table() && self.seeding_is_past && !self.seeded {
            return Some(format!("plan {} reads, and no items were seeded; {again}", plan.name));
        }
        if plan.windows.iter().any(|window| self.kinds.of(plan, window).is_none()) {
            return Some(format!("plan {} needs other items or keys than this session can send; {again}", plan.name));
        }
        if plan.reads() && self.creates_table() {
            let other = |wanted: bool| wanted.then(|| format!("plan {} reads other items than this session has; {again}", plan.name));
            let fits = plan.items.is_none_or(|items| items == self.config.items)
                && plan.seeded_bytes().is_none_or(|bytes| bytes == self.config.seeded_bytes())
                && plan.consistent_read.is_none_or(|consistent| consistent == self.config.consistent_read);
            if let Some(why) = other(!fits) {
                return Some(why);
            }
        }
        affordable(plan, &self.config).err()
    }
}

/// Runs a future to its end, or to its panic.
async fn caught<T>(future: impl Future<Output = T>) -> Result<T, String> {
    let mut future = Box::pin(future);
    poll_fn(|context| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
        Ok(Poll::Pending) => Poll::Pending,
        Ok(Poll::Ready(done)) => Poll::Ready(Ok(done)),
        Err(panic) => Poll::Ready(Err(panic_text(panic.as_ref()))),
    })
    .await
}

/// A wall-clock time as RFC 3339 UTC with milliseconds.
fn rfc3339(at: std::time::SystemTime) -> String {
    jiff::Timestamp::try_from(at).unwrap_or(jiff::Timestamp::UNIX_EPOCH).strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string()
}
