//! The recorder: counts what became of each intent in the tick that is open, in the shard's own thread.

use std::sync::Arc;
use std::time::Duration;

use super::counts::SENT_LATE_NANOS;
use super::outcome::{FailureKind, Outcome};
use super::pacer::Intent;
use super::rate::Offset;
use super::tick::{Other, RunnerId, Setpoint, TICK, Tally, Tick, add_tally, earliest};
use super::usage::Usage;

/// One shard's open tick.
#[derive(Debug)]
pub struct Recorder {
    tick: Tick,
    in_flight: u32,
}

/// One finished request.
#[derive(Debug)]
pub struct Finished<'a> {
    /// The intent it was sent for.
    pub intent: &'a Intent,
    /// When it was handed to its lane.
    pub handed: Offset,
    /// When it was sent; for a request that never got that far, when it was handed to its lane.
    pub sent: Offset,
    /// When its outcome was known.
    pub done: Offset,
    /// How long connecting for it took, if it had to be.
    pub connected: Option<Duration>,
    /// Whether it was on the key that is asked for most.
    pub hottest: bool,
}

impl Recorder {
    /// A recorder whose first tick starts on the grid at or before `now`.
    pub fn new(runner: RunnerId, now: Offset) -> Self {
        let from = now.floor_to(TICK);
        Self { tick: Tick { runner, from, to: from.plus(TICK), ..Tick::default() }, in_flight: 0 }
    }

    /// End of the open tick.
    pub fn tick_end(&self) -> Offset {
        self.tick.to
    }

    /// Requests in flight.
    pub fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// An intent came due and was handed to a lane.
    pub fn sending(&mut self, intent: &Intent) {
        self.tick.part_mut(intent.window).counts.offered += 1;
        self.in_flight += 1;
        self.tick.in_flight_max = self.tick.in_flight_max.max(self.in_flight);
    }

    /// An intent came due and was not sent.
    pub fn shed(&mut self, intent: &Intent) {
        let counts = &mut self.tick.part_mut(intent.window).counts;
        counts.offered += 1;
        counts.shed += 1;
    }

    /// A connection was opened ahead of any request.
    pub fn connected(&mut self, took: Duration) {
        self.tick.connect.record(took);
    }

    /// The shard did not run for `stall` although intents were due.
    pub fn stalled(&mut self, stall: Duration) {
        let nanos = u64::try_from(stall.as_nanos()).unwrap_or(u64::MAX);
        self.tick.longest_stall_nanos = self.tick.longest_stall_nanos.max(nanos);
    }

    /// A request has its outcome.
    pub fn finished(&mut self, of: &Finished<'_>, outcome: Outcome) {
        self.in_flight = self.in_flight.saturating_sub(1);
        if let Some(took) = of.connected {
            self.tick.connect.record(took);
        }
        let window = of.intent.window;
        let part = self.tick.part_mut(window);
        let (service, response) = (of.done.since(of.sent), of.done.since(of.intent.intended));
        // Opening a connection is not the schedule's error: its time is recorded apart.
        let left = if of.connected.is_some() { of.handed } else { of.sent };
        let error = left.since(of.intent.intended);
        part.schedule_error.record(error);
        if error.as_nanos() > u128::from(SENT_LATE_NANOS) {
            part.counts.late += 1;
        }
        let (services, responses) = match &outcome {
            Outcome::Accepted(units) => {
                part.counts.accepted += 1;
                part.counts.hottest_accepted += u64::from(of.hottest);
                part.counts.consumed += *units;
                part.first_accepted = earliest(part.first_accepted, Some(of.done));
                (&mut part.service.accepted, &mut part.response.accepted)
            }
            Outcome::Throttled(_) => {
                part.counts.throttled += 1;
                part.counts.hottest_throttled += u64::from(of.hottest);
                part.first_throttled_sent = earliest(part.first_throttled_sent, Some(of.sent));
                (&mut part.service.throttled, &mut part.response.throttled)
            }
            Outcome::Failed(failure) => {
                part.counts.failed += 1;
                part.counts.failed_here += u64::from(failure.kind == FailureKind::Local);
                (&mut part.service.other, &mut part.response.other)
            }
            Outcome::TimedOut => {
                part.counts.timed_out += 1;
                (&mut part.service.other, &mut part.response.other)
            }
        };
        services.record(service);
        responses.record(response);
        match outcome {
            Outcome::Throttled(what) => tally(&mut self.tick.refusals, what, of),
            Outcome::Failed(what) => tally(&mut self.tick.failures, what, of),
            Outcome::Accepted(_) | Outcome::TimedOut => {}
        }
    }

    /// Closes the open tick and opens the next, which starts where this one ended.
    pub fn close(&mut self, applied: Option<Setpoint>, used: Usage) -> Tick {
        let next = self.tick.to;
        self.close_at(next, applied, used)
    }

    /// Closes the open tick at `end`, for the last one of a shard.
    pub fn close_at(&mut self, end: Offset, applied: Option<Setpoint>, used: Usage) -> Tick {
        let next = Tick {
            runner: self.tick.runner,
            from: end,
            to: end.floor_to(TICK).plus(TICK),
            in_flight_max: self.in_flight,
            ..Tick::default()
        };
        let mut closed = std::mem::replace(&mut self.tick, next);
        closed.to = end;
        closed.in_flight = self.in_flight;
        closed.applied = applied;
        closed.cpu_nanos = used.cpu_nanos;
        closed.waited_nanos = used.waited_nanos;
        closed
    }
}

fn tally<T: PartialEq + Other>(list: &mut Vec<Tally<T>>, what: Arc<T>, of: &Finished<'_>) {
    // The same answer again and again is the usual case; lanes hand out the same allocation for it.
    if let Some(same) = list.iter_mut().find(|tally| Arc::ptr_eq(&tally.what, &what)) {
        same.count += 1;
        same.last = of.done;
        return;
    }
    add_tally(list, Tally { what, window: of.intent.window, count: 1, first: of.done, last: of.done });
}
