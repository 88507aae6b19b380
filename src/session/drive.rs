//! Driving: while load runs, commands become steps, steps become orders, ticks become seconds, and guards are watched.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until, timeout_at};

use super::config::{Client, Start};
use super::guard;
use super::provision::Reach;
use super::remote::Command;
use super::steering::{Steering, Step};
use super::supervisor::{BEAT, Session, Stopped};
use crate::doctor::need;
use crate::load::{Engine, EngineConfig, Merger, Rate, Report, RunnerId, Setpoint, Target, Tick};
use crate::report::{Entry, EventKind, Phase, StopReason};
use crate::sdk::SdkTarget;
use crate::wire::WireTarget;

/// Connections are opened ahead for at most this long.
const WARM_TIMEOUT: Duration = Duration::from_secs(5);
/// Connections that are opened ahead beyond those that a rate needs.
const SPARE: u32 = 8;
/// At most this many connections are opened ahead; more open when they are needed.
const MOST_WARMED: u32 = 512;
/// So many beats without a word from any shard: the session is stuck.
const SILENT_BEATS: u32 = 50;
/// Waiting for the shards' end, beyond the request timeout.
pub(super) const DRAIN_MARGIN: Duration = Duration::from_secs(2);

/// The load engine and what is known of its shards.
pub(super) struct Driven {
    pub(super) engine: Engine,
    reports: mpsc::Receiver<Report>,
    merger: Merger,
    pub(super) steering: Steering,
    /// A search is to decide on its next window, at the latest by then.
    pub(super) search_by: Option<Instant>,
    applied: Option<Setpoint>,
    ended: u32,
    exhausted: u32,
    warming: u32,
    /// Connections that were asked for ahead of load.
    warmed: u32,
    silent: u32,
    round_trip: Duration,
}

impl Driven {
    /// Opens the connections that a rate needs ahead of it: rate times round trip, with headroom.
    fn warm(&mut self, rate: Rate, most: u32) {
        let connections = need::connections(rate, self.round_trip).saturating_add(SPARE).min(MOST_WARMED).min(most);
        if connections > self.warmed {
            self.warmed = connections;
            self.engine.warm(connections);
        }
    }
}

impl Session {
    /// Runs load until told to stop, then drains.
    pub(super) async fn load(&mut self, reach: Reach) -> Result<(), Stopped> {
        let config = EngineConfig {
            shards: self.config.shards,
            max_in_flight: self.config.max_in_flight,
            timeout: self.config.timeout,
            late_limit: self.config.late_limit,
            max_ops: self.config.guards.max_ops,
            workload: self.kinds.workload().clone(),
            waited: crate::doctor::waited_nanos,
        };
        let table = self.scribe.target.table.clone();
        let (endpoint, identities, workload) = (reach.endpoint, reach.identities, &config.workload);
        let started = match self.config.client {
            Client::Wire => self.start(&config, WireTarget::new(endpoint, identities, &table, workload)),
            Client::Sdk => self.start(&config, SdkTarget::new(&reach.url, endpoint.region(), identities, &table, workload)),
        };
        let (engine, reports) = match started {
            Ok(started) => started,
            Err(error) => {
                self.fail(format!("cannot start the load threads: {error}"));
                return Err(Stopped);
            }
        };
        let rate = self.first_rate();
        let mut driven = Driven {
            merger: Merger::new((0..engine.shards()).map(RunnerId), self.clock.now()),
            steering: Steering::new(self.config.op, rate, self.kinds.clone()),
            search_by: None,
            applied: None,
            ended: 0,
            exhausted: 0,
            warming: engine.shards(),
            warmed: 0,
            silent: 0,
            round_trip: reach.round_trip,
            engine,
            reports,
        };
        let outcome = self.drive(&mut driven, rate).await;
        self.drain(driven).await;
        outcome
    }

    fn start<T: Target + Clone>(&self, config: &EngineConfig, target: T) -> std::io::Result<(Engine, mpsc::Receiver<Report>)> {
        #[cfg(debug_assertions)]
        let target = super::fault::Faulty::new(target, self.config.panic_after);
        Engine::start(config, self.clock, |_| target.clone())
    }

    /// What to offer first: what was asked for while the table was created, else what the session was started with.
    fn first(&mut self) -> Start {
        if let Some(plan) = self.early.plan.take() {
            return Start::Plan(plan);
        }
        match (self.early.rate, &self.config.start) {
            (Some(rate), _) => Start::Explore(rate),
            (None, start) => start.clone(),
        }
    }

    /// The rate that connections are opened for.
    pub(super) fn first_rate(&self) -> Rate {
        let of_plan = |plan: &crate::plan::Plan| plan.peak().unwrap_or(Rate::MIN);
        match (&self.early.plan, &self.config.start) {
            (Some(plan), _) => of_plan(plan),
            (None, Start::Plan(plan)) => self.early.rate.unwrap_or_else(|| of_plan(plan)),
            (None, Start::Explore(rate)) => self.early.rate.unwrap_or(*rate),
        }
    }

    async fn drive(&mut self, driven: &mut Driven, rate: Rate) -> Result<(), Stopped> {
        self.warm(driven, rate).await?;
        let (now, at) = (self.clock.now(), driven.engine.soonest());
        let mut steps = match self.first() {
            Start::Explore(rate) => driven.steering.set_rate(rate, now, at),
            Start::Plan(plan) => driven.steering.run_plan(*plan, now, at),
        };
        if self.early.paused {
            steps.extend(driven.steering.pause(now, at));
        }
        self.carry_out(driven, steps)?;
        let mut beat = interval(BEAT);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut claims = self.watch_claims();
        loop {
            let edge = driven.steering.next_edge().map(|edge| self.clock.instant(edge));
            tokio::select! {
                biased;
                // Reports come last: with many shards there is always one, and none of the others may wait for it.
                command = self.desk.commands.recv() => self.take_command(driven, command)?,
                () = sleep_until(edge.unwrap_or_else(Instant::now)), if edge.is_some() => {}
                Some(table) = claims.recv() => self.claim(&table),
                _ = beat.tick() => self.on_beat(driven)?,
                report = driven.reports.recv() => self.take_report(driven, report)?,
            }
            let steps = driven.steering.advance(self.clock.now());
            self.carry_out(driven, steps)?;
            self.decide_search(driven)?;
        }
    }

    /// Opens connections ahead, so that the first window does not measure handshakes.
    async fn warm(&mut self, driven: &mut Driven, rate: Rate) -> Result<(), Stopped> {
        self.scribe.phase(Phase::Warming);
        driven.warm(rate, self.config.max_in_flight);
        let bound = Instant::now() + WARM_TIMEOUT;
        while driven.warming > 0 {
            tokio::select! {
                report = driven.reports.recv() => self.take_report(driven, report)?,
                () = sleep_until(bound) => {
                    self.scribe.event(EventKind::Warning, "not all connections opened within 5 s; the load starts without them");
                    break;
                }
                command = self.desk.commands.recv() => self.take_early(command)?,
            }
        }
        Ok(())
    }

    fn take_report(&mut self, driven: &mut Driven, report: Option<Report>) -> Result<(), Stopped> {
        driven.silent = 0;
        match report {
            Some(Report::Tick(tick)) => {
                if self.take_tick(driven, tick) {
                    self.end_if_shown(driven)?;
                }
            }
            Some(Report::Warmed { failed, .. }) => {
                driven.warming = driven.warming.saturating_sub(1);
                if let Some((count, why)) = failed {
                    self.scribe.event(EventKind::Warning, format!("{count} connections could not be opened ahead: {why}"));
                }
            }
            Some(Report::Exhausted(_)) => {
                driven.exhausted += 1;
                if driven.exhausted == driven.engine.shards() {
                    let limit = self.config.guards.max_ops.unwrap_or_default();
                    return self.stop(StopReason::Guard(format!("--max-ops {limit}")));
                }
            }
            Some(Report::Ended { runner, fault, .. }) => {
                driven.ended += 1;
                driven.merger.forget(runner);
                if let Some(fault) = fault {
                    self.fail(fault);
                    return Err(Stopped);
                }
            }
            None => {
                self.fail("every load thread has ended");
                return Err(Stopped);
            }
        }
        Ok(())
    }

    /// Takes a tick; whether a second became complete with it.
    fn take_tick(&mut self, driven: &mut Driven, tick: Tick) -> bool {
        let newer = |setpoint: &Setpoint| driven.applied.is_none_or(|known| known.rate != setpoint.rate && known.at <= setpoint.at);
        if let Some(setpoint) = tick.applied.filter(newer) {
            if driven.applied.is_some() || setpoint.rate.is_some() {
                self.scribe.apply(&Entry::Applied(setpoint));
                let what = setpoint.rate.map_or_else(|| "paused".to_owned(), |rate| format!("{rate}/s"));
                // A tick tells of it later; it took effect then.
                self.scribe.event_at(setpoint.at, EventKind::Applied, what);
            }
            driven.applied = Some(setpoint);
        }
        self.scribe.glance(&tick);
        driven.merger.absorb(tick);
        let mut counted = false;
        while let Some(bucket) = driven.merger.pop() {
            self.second(bucket);
            counted = true;
        }
        counted
    }

    fn second(&mut self, bucket: crate::load::Bucket) {
        let (price, seeded) = (self.config.price, self.seed_units);
        self.scribe.second(bucket, |recording| guard::cost(recording, price, seeded));
    }

    fn take_command(&mut self, driven: &mut Driven, command: Option<Command>) -> Result<(), Stopped> {
        let (now, at) = (self.clock.now(), driven.engine.soonest());
        let steps = match command {
            Some(Command::SetRate(mut rate)) => {
                // Presses that have queued up are one setpoint: the last.
                while let Ok(next) = self.desk.commands.try_recv() {
                    match next {
                        Command::SetRate(newer) => rate = newer,
                        other => {
                            let steps = driven.steering.set_rate(rate, now, at);
                            self.carry_out(driven, steps)?;
                            return self.take_command(driven, Some(other));
                        }
                    }
                }
                driven.steering.set_rate(rate, now, at)
            }
            Some(Command::Pause) => driven.steering.pause(now, at),
            Some(Command::Resume) => driven.steering.resume(now, at),
            Some(Command::RunPlan(plan)) => {
                if let Some(why) = self.refuses(&plan) {
                    self.scribe.event(EventKind::Warning, why);
                    self.scribe.publish();
                    return Ok(());
                }
                driven.steering.run_plan(*plan, now, at)
            }
            Some(Command::Dump) => {
                self.dump();
                Vec::new()
            }
            Some(Command::Stop(reason)) => return self.stop(reason),
            Some(Command::Abandon) => return self.stop(StopReason::Quit),
            Some(Command::Play(_)) => Vec::new(),
            None => {
                self.fail("nobody steers the session any more");
                return Err(Stopped);
            }
        };
        self.carry_out(driven, steps)?;
        self.scribe.publish();
        Ok(())
    }

    pub(super) fn carry_out(&mut self, driven: &mut Driven, steps: Vec<Step>) -> Result<(), Stopped> {
        for step in steps {
            match step {
                Step::Schedule { start, load } => {
                    if let Some(load) = load {
                        driven.warm(load.peak(), self.config.max_in_flight);
                    }
                    driven.engine.schedule(start, load);
                }
                Step::Requested(setpoint) => {
                    self.scribe.apply(&Entry::Requested(setpoint));
                    let what = setpoint.rate.map_or_else(|| "pause".to_owned(), |rate| format!("{rate}/s"));
                    self.scribe.event_at(setpoint.at, EventKind::Requested, what);
                }
                Step::Open(spec) => self.scribe.apply(&Entry::Open(spec)),
                Step::Close { window, end } => self.scribe.apply(&Entry::Close { window, end }),
                Step::Plan(facts) => self.scribe.apply(&Entry::Plan(facts)),
                Step::Search => self.ask_search(driven),
                Step::PlanEnded if self.config.ends_with_plan => return self.stop(StopReason::Completed),
                Step::PlanEnded => {
                    self.scribe.event(EventKind::Note, "the plan has ended");
                    self.scribe.phase(Phase::PlanEnded);
                }
                Step::Running(true) => self.scribe.phase(Phase::Running),
                Step::Running(false) => self.scribe.phase(Phase::Paused),
                Step::Note(text) => self.scribe.event(EventKind::Note, text),
            }
        }
        Ok(())
    }

    fn on_beat(&mut self, driven: &mut Driven) -> Result<(), Stopped> {
        // Counted in beats of this thread, so that a process that was stopped as a whole is not taken for a stuck one.
        driven.silent += 1;
        if driven.silent >= SILENT_BEATS {
            self.fail(format!(
                "no load thread has reported for {} s; stuck with {} requests in flight",
                (BEAT * SILENT_BEATS).as_secs(),
                self.scribe.recording().load.live.in_flight
            ));
            return Err(Stopped);
        }
        if let Some(guard) = guard::tripped(&self.scribe.recording(), &self.config, self.clock.now()) {
            return self.stop(StopReason::Guard(guard));
        }
        self.scribe.publish();
        Ok(())
    }

    fn stop(&mut self, reason: StopReason) -> Result<(), Stopped> {
        self.scribe.stop(reason);
        Err(Stopped)
    }

    /// Stops the shards and waits for the requests in flight, each of which ends by itself at the request timeout.
    async fn drain(&mut self, mut driven: Driven) {
        // The windows end at the instant from which the shards offer nothing.
        let end = driven.engine.soonest();
        let steps = driven.steering.stop(end);
        if let Err(Stopped) = self.carry_out(&mut driven, steps) {
            tracing::debug!("already stopping");
        }
        self.scribe.phase(Phase::Draining);
        driven.engine.stop(end);
        let bound = Instant::now() + self.config.timeout + DRAIN_MARGIN;
        let mut beat = interval(BEAT);
        while driven.ended < driven.engine.shards() {
            tokio::select! {
                report = timeout_at(bound, driven.reports.recv()) => match report {
                    Ok(Some(Report::Tick(tick))) => {
                        self.take_tick(&mut driven, tick);
                    }
                    Ok(Some(Report::Ended { runner, in_flight, fault })) => {
                        driven.ended += 1;
                        driven.merger.forget(runner);
                        if in_flight > 0 {
                            self.scribe.event(EventKind::Warning, format!("{in_flight} requests of shard {} were abandoned in flight", runner.0));
                        }
                        if let Some(fault) = fault {
                            self.fail(fault);
                        }
                    }
                    Ok(Some(_)) => {}
                    Ok(None) => break,
                    Err(_) => {
                        let missing = driven.engine.shards() - driven.ended;
                        self.scribe.event(EventKind::Error, format!("{missing} load threads did not end in time and were left"));
                        break;
                    }
                },
                command = self.desk.commands.recv() => match command {
                    Some(Command::Abandon) => driven.engine.abandon(),
                    Some(Command::Dump) => self.dump(),
                    _ => {}
                },
                _ = beat.tick() => self.scribe.publish(),
            }
        }
        while let Some(bucket) = driven.merger.pop_rest() {
            self.second(bucket);
        }
        if driven.ended == driven.engine.shards() {
            driven.engine.join();
        }
        self.scribe.publish();
    }
}
