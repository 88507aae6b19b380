//! The shard: one thread that takes due intents from its pacer, hands them to lanes, records what became of them, and
//! sends a tick every 100 ms. Nothing is shared with other shards.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;

use tokio::sync::{Notify, mpsc};
use tokio::time::{Instant, sleep_until, timeout};

use super::clock::Clock;
use super::lanes::{Job, Lanes, Slot};
use super::outcome::Outcome;
use super::pacer::{Drain, Pacer};
use super::rate::Offset;
use super::recorder::{Finished, Recorder};
use super::segment::Segment;
use super::target::{Lane, Request, Target};
use super::tick::{RunnerId, Setpoint, TICK, Tick};
use super::timer::Timer;
use super::usage::{Usage, WaitedNanos};
use super::workload::Workload;

/// Up to this rate of its own, operations/s, a shard wakes for each intent.
const EACH_UP_TO: f64 = 2_000.0;
/// Above it, intents that come due within this span are handed over together: waking for each would cost more CPU time per
/// request than all else, on both sides.
const TOGETHER: Duration = Duration::from_millis(1);
/// An intent that is this late is handed over when the next answer comes, instead of when the timer wakes.
const OVERDUE: Duration = Duration::from_micros(200);

/// What one shard is told when it starts.
#[derive(Clone, Debug)]
pub struct Assignment {
    /// Its number.
    pub runner: RunnerId,
    /// Its place among the shards, from 0.
    pub shard: u32,
    /// How many shards there are.
    pub shards: u32,
    /// Most requests it may have in flight.
    pub max_in_flight: u32,
    /// Request timeout, connecting included.
    pub timeout: Duration,
    /// An intent that is later than this is shed.
    pub late_limit: Duration,
    /// Operations of the whole load after which nothing is sent any more.
    pub max_ops: Option<u64>,
    /// What is sent.
    pub workload: Workload,
    /// Tells how long its thread has waited for a core.
    pub waited: WaitedNanos,
}

/// What a shard can be asked to do.
#[derive(Clone, Debug)]
pub enum Order {
    /// Schedule a segment.
    Schedule(Segment),
    /// Open this many connections ahead.
    Warm(u32),
    /// Offer nothing from this instant on, wait for the requests in flight, send the last tick, end.
    Stop(Offset),
    /// End at once, whatever is in flight.
    Abandon,
}

/// What a shard says.
#[derive(Debug)]
pub enum Report {
    /// What it counted.
    Tick(Tick),
    /// The connections asked for are open, or could not be: how many are not, and why the last one is not.
    Warmed {
        /// Who.
        runner: RunnerId,
        /// Connections that could not be opened, and the last reason.
        failed: Option<(u32, String)>,
    },
    /// The operation limit is reached: nothing will come due any more.
    Exhausted(RunnerId),
    /// It has ended; no tick follows.
    Ended {
        /// Who.
        runner: RunnerId,
        /// Requests still in flight, abandoned.
        in_flight: u32,
        /// Why, if it did not end in order.
        fault: Option<String>,
    },
}

/// What the shard's loop and its lanes share, all on one thread.
struct Shared {
    recorder: RefCell<Recorder>,
    lanes: Lanes,
    clock: Clock,
    timeout: Duration,
    /// When the next intent is due, as far as the loop knows.
    due: Cell<Offset>,
    /// Wakes the shard's loop.
    wake: Notify,
    /// A lane panicked: the shard must not go on as if it had one lane less.
    broken: Cell<bool>,
}

/// Set when a lane task unwinds.
struct Alarm(Rc<Shared>);

impl Drop for Alarm {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.broken.set(true);
            self.0.wake.notify_one();
        }
    }
}

/// One running shard.
pub struct Shard<T: Target> {
    assignment: Assignment,
    target: T,
    pacer: Pacer,
    drain: Drain,
    shared: Rc<Shared>,
    timer: Timer,
    orders: mpsc::UnboundedReceiver<Order>,
    inbox: VecDeque<Order>,
    reports: mpsc::Sender<Report>,
    held: Option<Tick>,
    usage_before: Usage,
    last_pass: Offset,
    said_exhausted: bool,
}

/// How a shard ended.
#[derive(Debug)]
pub struct End {
    /// What it counted last, with everything that had no room before.
    pub last: Tick,
    /// Requests still in flight, abandoned.
    pub in_flight: u32,
    /// Why, if it did not end in order.
    pub fault: Option<String>,
}

enum Next {
    GoOn,
    Drain(Offset),
    Abandon,
}

impl<T: Target> Shard<T> {
    /// A shard that has not been started.
    pub fn new(
        assignment: Assignment,
        target: T,
        clock: Clock,
        orders: mpsc::UnboundedReceiver<Order>,
        reports: mpsc::Sender<Report>,
    ) -> Self {
        let now = clock.now();
        let shared = Shared {
            recorder: RefCell::new(Recorder::new(assignment.runner, now)),
            lanes: Lanes::default(),
            clock,
            timeout: assignment.timeout,
            due: Cell::new(Offset::MAX),
            wake: Notify::new(),
            broken: Cell::new(false),
        };
        Self {
            pacer: Pacer::new(assignment.shard, assignment.shards, assignment.max_ops),
            drain: Drain::default(),
            shared: Rc::new(shared),
            timer: Timer::default(),
            target,
            orders,
            inbox: VecDeque::new(),
            reports,
            held: None,
            usage_before: Usage::of_this_thread(assignment.waited),
            last_pass: now,
            said_exhausted: false,
            assignment,
        }
    }

    /// Wakes by the finest timer that the system has, which does not follow a paused clock. Must be called in the runtime in which
    /// it is to run.
    #[must_use]
    pub fn with_fine_timer(self) -> Self {
        Self { timer: Timer::finest(), ..self }
    }

    /// Runs until told to stop. Must be called where `spawn_local` works.
    pub async fn run(mut self) -> End {
        loop {
            match self.take_orders() {
                Next::GoOn => {}
                Next::Drain(at) => return self.drain_in_flight(at).await,
                Next::Abandon => return self.finish(None),
            }
            if self.shared.broken.get() {
                return self.finish(Some("a request lane panicked".to_owned()));
            }
            let wake = self.pass();
            self.wait(wake).await;
        }
    }

    fn take_orders(&mut self) -> Next {
        loop {
            let order = match self.inbox.pop_front() {
                Some(order) => Ok(order),
                None => self.orders.try_recv(),
            };
            match order {
                Ok(Order::Schedule(segment)) => self.pacer.apply(segment),
                Ok(Order::Warm(count)) => self.warm(count),
                Ok(Order::Stop(at)) => return Next::Drain(at),
                Err(mpsc::error::TryRecvError::Disconnected) => return Next::Drain(self.shared.clock.now()),
                Ok(Order::Abandon) => return Next::Abandon,
                Err(mpsc::error::TryRecvError::Empty) => return Next::GoOn,
            }
        }
    }

    /// Handles everything that is due, and says when to look again.
    fn pass(&mut self) -> Offset {
        let now = self.shared.clock.now();
        let idle_for = now.since(self.last_pass);
        self.last_pass = now;
        let mut gate = None;
        while let Some(intent) = self.pacer.peek().filter(|intent| intent.intended <= now) {
            self.close_ticks_before(intent.intended);
            let late = now.since(intent.intended);
            if late > self.assignment.late_limit {
                self.shared.recorder.borrow_mut().stalled(idle_for.min(late));
                self.shared.recorder.borrow_mut().shed(&intent);
                self.pacer.pop();
                continue;
            }
            let allowed = self.drain.allowed_at(now, intent.rate, self.assignment.shards);
            if allowed > now {
                gate = Some(allowed);
                break;
            }
            match self.free_lane() {
                Some(lane) => {
                    self.drain.sent(now);
                    self.shared.recorder.borrow_mut().sending(&intent);
                    let key = self.assignment.workload.key(&intent);
                    let hottest = self.assignment.workload.is_hottest(intent.kind, key);
                    let request = Request::new(intent.op, key, intent.kind, self.shared.clock);
                    lane.give(Job { intent, request, handed: now, hottest });
                    self.shared.lanes.expect(&lane, now.plus(self.assignment.timeout));
                }
                None => self.shared.recorder.borrow_mut().shed(&intent),
            }
            self.pacer.pop();
        }
        self.pacer.settle(now);
        self.close_ticks_before(now);
        if !self.said_exhausted && self.pacer.is_refused(now) {
            self.said_exhausted = self.reports.try_send(Report::Exhausted(self.assignment.runner)).is_ok();
        }
        let next = self.pacer.peek();
        let due = gate.or(next.map(|intent| intent.intended)).unwrap_or(Offset::MAX);
        let is_fast = next.is_some_and(|intent| intent.rate.per_s() > EACH_UP_TO * f64::from(self.assignment.shards));
        let together = if is_fast { TOGETHER } else { Duration::ZERO };
        self.shared.due.set(due);
        let tick_end = self.shared.recorder.borrow().tick_end();
        due.max(now.plus(together)).min(tick_end).min(self.shared.lanes.give_up(now))
    }

    async fn wait(&mut self, wake: Offset) {
        let wake = self.shared.clock.instant(wake);
        tokio::select! {
            biased;
            // A closed channel is seen by `take_orders`, as are the orders themselves.
            order = self.orders.recv() => self.inbox.extend(order),
            () = self.shared.wake.notified() => {}
            () = self.timer.wait_until(wake) => {}
        }
    }

    fn free_lane(&mut self) -> Option<Rc<Slot>> {
        self.shared.lanes.free().or_else(|| {
            (self.shared.lanes.count() < self.assignment.max_in_flight).then(|| {
                let (slot, lane) = (self.shared.lanes.add(), self.target.lane());
                tokio::task::spawn_local(run_lane(Rc::clone(&slot), lane, Rc::clone(&self.shared)));
                slot
            })
        })
    }

    fn warm(&mut self, count: u32) {
        let (lanes, most) = (self.shared.lanes.count(), self.assignment.max_in_flight);
        let open = lanes.min(self.shared.lanes.idle() + self.shared.recorder.borrow().in_flight());
        let missing = count.min(most).saturating_sub(open).min(most.saturating_sub(lanes));
        let reports = self.reports.clone();
        let runner = self.assignment.runner;
        let opening: Vec<_> = (0..missing)
            .map(|_| {
                let (slot, mut lane, shared) = (self.shared.lanes.add(), self.target.lane(), Rc::clone(&self.shared));
                tokio::task::spawn_local(async move {
                    let opened = match timeout(shared.timeout, lane.open()).await {
                        Ok(Ok(took)) => {
                            if let Some(took) = took {
                                shared.recorder.borrow_mut().connected(took);
                            }
                            Ok(())
                        }
                        Ok(Err(failure)) => Err(failure.message.clone()),
                        Err(_) => Err(format!("no connection within {} s", shared.timeout.as_secs_f64())),
                    };
                    shared.lanes.put_back(Rc::clone(&slot));
                    tokio::task::spawn_local(run_lane(slot, lane, shared));
                    opened
                })
            })
            .collect();
        tokio::task::spawn_local(async move {
            let (mut failed, mut why) = (0, String::new());
            for lane in opening {
                if let Ok(Err(message)) = lane.await {
                    failed += 1;
                    why = message;
                }
            }
            let _the_session_may_be_gone = reports.send(Report::Warmed { runner, failed: (failed > 0).then_some((failed, why)) }).await;
        });
    }

    /// Closes every tick that ends at or before `at`, so that intents are counted in the tick in which they came due.
    fn close_ticks_before(&mut self, at: Offset) {
        while self.shared.recorder.borrow().tick_end() <= at {
            let end = self.shared.recorder.borrow().tick_end();
            let tick = self.close_tick(None, end);
            self.emit(tick);
        }
    }

    fn close_tick(&mut self, end: Option<Offset>, at: Offset) -> Tick {
        let segment = self.pacer.in_force(at);
        let applied = Setpoint { rate: segment.load.map(|load| load.rate), at: segment.start };
        let usage = Usage::of_this_thread(self.assignment.waited);
        let used = usage.since(std::mem::replace(&mut self.usage_before, usage));
        let mut recorder = self.shared.recorder.borrow_mut();
        match end {
            Some(end) => recorder.close_at(end, Some(applied), used),
            None => recorder.close(Some(applied), used),
        }
    }

    /// Sends a tick, or holds it and adds the next to it when there is no room: a tick is never lost.
    fn emit(&mut self, tick: Tick) {
        let tick = match self.held.take() {
            Some(mut held) => {
                held.extend(&tick);
                held
            }
            None => tick,
        };
        if let Err(mpsc::error::TrySendError::Full(Report::Tick(tick))) = self.reports.try_send(Report::Tick(tick)) {
            self.held = Some(tick);
        }
    }

    /// Offers what is due before `end`, then waits for the requests in flight: each ends by itself at the request timeout.
    async fn drain_in_flight(mut self, end: Offset) -> End {
        self.pacer.apply(Segment { start: end, load: None });
        let bound = end.max(self.shared.clock.now()).plus(self.assignment.timeout + TICK * 5);
        loop {
            let wake = self.pass();
            let abandoned = matches!(self.take_orders(), Next::Abandon);
            let now = self.shared.clock.now();
            // A pacer that is paused for good has nothing more to give.
            let over = now >= end && self.pacer.peek().is_none() && self.shared.recorder.borrow().in_flight() == 0;
            if over || now >= bound || abandoned || self.shared.broken.get() {
                return self.finish(None);
            }
            sleep_until(self.shared.clock.instant(wake.min(now.plus(Duration::from_millis(5))))).await;
        }
    }

    /// Closes the last tick.
    fn finish(mut self, fault: Option<String>) -> End {
        let now = self.shared.clock.now();
        self.close_ticks_before(now);
        let tick = self.close_tick(Some(now), now);
        let in_flight = tick.in_flight;
        let last = match self.held.take() {
            Some(mut held) => {
                held.extend(&tick);
                held
            }
            None => tick,
        };
        End { last, in_flight, fault }
    }
}

async fn run_lane<L: Lane>(slot: Rc<Slot>, mut lane: L, shared: Rc<Shared>) {
    let _alarm = Alarm(Rc::clone(&shared));
    loop {
        let job = slot.take().await;
        let outcome = slot.unless_given_up(pin!(lane.call(&job.request))).await.unwrap_or(Outcome::TimedOut);
        let done = shared.clock.offset(Instant::now());
        let finished = Finished {
            intent: &job.intent,
            handed: job.handed,
            sent: job.request.sent().unwrap_or(job.handed),
            done,
            connected: job.request.connected(),
            hottest: job.hottest,
        };
        shared.recorder.borrow_mut().finished(&finished, outcome);
        shared.lanes.put_back(Rc::clone(&slot));
        // Where answers come often, what is overdue need not wait for the timer.
        if done >= shared.due.get().plus(OVERDUE) {
            shared.wake.notify_one();
        }
    }
}
