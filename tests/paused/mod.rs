//! Shards under a paused clock: the same code as in production, in virtual time, so that a busy machine changes nothing.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used, missing_docs, unreachable_pub)]

use std::cell::RefCell;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use throttlescope::load::shard::{Assignment, End, Order, Shard};
use throttlescope::load::{Clock, Failure, Lane, Merger, Outcome, Report, Request, RunnerId, Target, Tick, Workload};
use tokio::sync::mpsc;
use tokio::task::LocalSet;

/// What a simulated service answers, and after how long.
pub trait Service: Send + 'static {
    fn answer(&mut self, request: &Request) -> (Duration, Outcome);
}

impl<F: FnMut(&Request) -> (Duration, Outcome) + Send + 'static> Service for F {
    fn answer(&mut self, request: &Request) -> (Duration, Outcome) {
        self(request)
    }
}

/// A target whose lanes ask one shared service.
pub struct Simulated<S>(pub Arc<Mutex<S>>);

impl<S> Clone for Simulated<S> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

pub struct SimulatedLane<S>(Arc<Mutex<S>>);

impl<S: Service> Target for Simulated<S> {
    type Lane = SimulatedLane<S>;

    fn lane(&mut self) -> SimulatedLane<S> {
        SimulatedLane(Arc::clone(&self.0))
    }
}

impl<S: Service> Lane for SimulatedLane<S> {
    async fn open(&mut self) -> Result<Option<Duration>, Arc<Failure>> {
        Ok(Some(Duration::from_millis(1)))
    }

    async fn call(&mut self, request: &Request) -> Outcome {
        request.mark_sent();
        let (after, outcome) = self.0.lock().unwrap().answer(request);
        tokio::time::sleep(after).await;
        outcome
    }
}

/// What a run under the paused clock gave.
pub struct Ran {
    pub clock: Clock,
    pub ticks: Vec<Tick>,
    pub merger: Merger,
    pub ends: Vec<(RunnerId, u32, Option<String>)>,
}

pub struct Setup {
    pub shards: u32,
    pub max_in_flight: u32,
    pub timeout: Duration,
    pub late_limit: Duration,
    pub max_ops: Option<u64>,
    pub workload: Workload,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            shards: 2,
            max_in_flight: 4_096,
            timeout: Duration::from_secs(8),
            late_limit: Duration::from_millis(100),
            max_ops: None,
            workload: Workload::new(1_000, throttlescope::load::Keys::Uniform, 1, false, 1_000),
        }
    }
}

/// Runs shards in virtual time. `script` gives the orders of every shard as time goes; when it returns, the shards are told
/// to stop, and drain.
pub fn run_paused<S: Service, F>(setup: &Setup, service: S, script: impl FnOnce(Clock, Orders) -> F) -> Ran
where
    F: Future<Output = ()>,
{
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    let target = Simulated(Arc::new(Mutex::new(service)));
    LocalSet::new().block_on(&runtime, async {
        let clock = Clock::start();
        let (reports, mut receiver) = mpsc::channel(64 * setup.shards as usize);
        let mut orders = Vec::new();
        let mut running = Vec::new();
        for shard in 0..setup.shards {
            let (sender, order_receiver) = mpsc::unbounded_channel();
            let share = setup.max_in_flight / setup.shards + u32::from(shard < setup.max_in_flight % setup.shards);
            let assignment = Assignment {
                waited: || 0,
                runner: RunnerId(shard),
                shard,
                shards: setup.shards,
                max_in_flight: share,
                timeout: setup.timeout,
                late_limit: setup.late_limit,
                max_ops: setup.max_ops,
                workload: setup.workload.clone(),
            };
            let shard = Shard::new(assignment, target.clone(), clock, order_receiver, reports.clone());
            running.push(tokio::task::spawn_local(shard.run()));
            orders.push(sender);
        }
        drop(reports);
        let ticks = RefCell::new(Vec::new());
        let merger = RefCell::new(Merger::new((0..setup.shards).map(RunnerId), clock.now()));
        let collect = async {
            while let Some(report) = receiver.recv().await {
                if let Report::Tick(tick) = report {
                    merger.borrow_mut().absorb(tick.clone());
                    ticks.borrow_mut().push(tick);
                }
            }
        };
        let orders = Orders(orders);
        let drive = async {
            script(clock, orders.clone()).await;
            orders.all(&Order::Stop(clock.now()));
            let mut ends = Vec::new();
            for (shard, run) in running.into_iter().enumerate() {
                ends.push((RunnerId(shard as u32), run.await.unwrap()));
            }
            ends
        };
        let ((), lasts) = tokio::join!(collect, drive);
        // A shard's last tick comes after all it has sent before.
        let mut ends = Vec::new();
        for (runner, End { last, in_flight, fault }) in lasts {
            merger.borrow_mut().absorb(last.clone());
            merger.borrow_mut().forget(runner);
            ticks.borrow_mut().push(last);
            ends.push((runner, in_flight, fault));
        }
        Ran { clock, ticks: ticks.into_inner(), merger: merger.into_inner(), ends }
    })
}

#[derive(Clone)]
pub struct Orders(Vec<mpsc::UnboundedSender<Order>>);

impl Orders {
    pub fn all(&self, order: &Order) {
        for shard in &self.0 {
            let _ended = shard.send(order.clone());
        }
    }
}
