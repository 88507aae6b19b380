//! The engine: starts the shards, passes them their orders, and hands on what they report.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::runtime::LocalOptions;
use tokio::sync::mpsc;

use super::clock::Clock;
use super::rate::Offset;
use super::segment::{Segment, SegmentLoad};
use super::shard::{Assignment, End, Order, Report, Shard};
use super::target::Target;
use super::tick::RunnerId;
use super::usage::WaitedNanos;
use super::workload::Workload;

/// A setpoint takes effect this long after it was given, so that every shard has it before its instant and all change
/// together.
pub const LEAD: Duration = Duration::from_millis(20);
/// Reports that may wait per shard before ticks are coalesced.
const REPORTS_WAITING: usize = 64;

/// What the load consists of and what it may take.
#[derive(Clone, Debug)]
pub struct EngineConfig {
    /// Shard threads.
    pub shards: u32,
    /// Most requests in flight over all shards.
    pub max_in_flight: u32,
    /// Request timeout, connecting included.
    pub timeout: Duration,
    /// An intent that is later than this is shed.
    pub late_limit: Duration,
    /// Operations after which nothing is sent any more.
    pub max_ops: Option<u64>,
    /// What is sent.
    pub workload: Workload,
    /// Tells how long a shard's thread, which calls it, has waited for a core.
    pub waited: WaitedNanos,
}

/// The running shards.
#[derive(Debug)]
pub struct Engine {
    clock: Clock,
    orders: Vec<mpsc::UnboundedSender<Order>>,
    threads: Vec<JoinHandle<()>>,
}

impl Engine {
    /// Starts one thread per shard. `target` is called once per shard, here.
    pub fn start<T: Target>(
        config: &EngineConfig,
        clock: Clock,
        mut target: impl FnMut(RunnerId) -> T,
    ) -> std::io::Result<(Self, mpsc::Receiver<Report>)> {
        // A shard without a share of the cap could send nothing.
        let shards = config.shards.clamp(1, config.max_in_flight.max(1));
        let (reports, receiver) = mpsc::channel(REPORTS_WAITING * shards as usize);
        let mut engine = Self { clock, orders: Vec::new(), threads: Vec::new() };
        for shard in 0..shards {
            let runner = RunnerId(shard);
            // The cap is shared out to the last request: the first shards take the remainder.
            let share = config.max_in_flight / shards + u32::from(shard < config.max_in_flight % shards);
            let assignment = Assignment {
                runner,
                shard,
                shards,
                max_in_flight: share,
                timeout: config.timeout,
                late_limit: config.late_limit,
                max_ops: config.max_ops,
                workload: config.workload.clone(),
                waited: config.waited,
            };
            let (order_sender, orders) = mpsc::unbounded_channel();
            let (target, reports) = (target(runner), reports.clone());
            let thread = std::thread::Builder::new()
                .name(format!("shard-{shard}"))
                .spawn(move || run_shard(assignment, target, clock, orders, &reports))?;
            engine.orders.push(order_sender);
            engine.threads.push(thread);
        }
        Ok((engine, receiver))
    }

    /// The earliest instant at which a setpoint given now takes effect on all shards together.
    pub fn soonest(&self) -> Offset {
        self.clock.now().plus(LEAD)
    }

    /// Schedules a load, or a pause, from `start` on, in place of everything scheduled after it.
    pub fn schedule(&self, start: Offset, load: Option<SegmentLoad>) {
        self.order(&Order::Schedule(Segment { start, load }));
    }

    /// Opens connections ahead, shared out over the shards. Each shard reports when it is done.
    pub fn warm(&self, connections: u32) {
        let shards = self.orders.len() as u32;
        self.order(&Order::Warm(connections.div_ceil(shards.max(1))));
    }

    /// Offers nothing from `at` on; each shard waits for its requests in flight, reports its last tick and ends.
    pub fn stop(&self, at: Offset) {
        self.order(&Order::Stop(at));
    }

    /// Ends every shard at once.
    pub fn abandon(&self) {
        self.order(&Order::Abandon);
    }

    /// How many shards there are.
    pub fn shards(&self) -> u32 {
        self.orders.len() as u32
    }

    /// Waits for the threads of shards that have reported their end.
    pub fn join(self) {
        drop(self.orders);
        for thread in self.threads {
            // A panic in the thread was reported as the shard's fault.
            let _reported = thread.join();
        }
    }

    fn order(&self, order: &Order) {
        for shard in &self.orders {
            // A shard that has ended has said so; orders to it are moot.
            let _ended = shard.send(order.clone());
        }
    }
}

fn run_shard<T: Target>(
    assignment: Assignment,
    target: T,
    clock: Clock,
    orders: mpsc::UnboundedReceiver<Order>,
    reports: &mpsc::Sender<Report>,
) {
    let runner = assignment.runner;
    let ticks = reports.clone();
    let ended = catch_unwind(AssertUnwindSafe(move || {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_io().enable_time().build_local(LocalOptions::default()).map_err(|e| e.to_string())?;
        let shard = runtime.spawn_local(async move { Shard::new(assignment, target, clock, orders, ticks).with_fine_timer().run().await });
        let end = match runtime.block_on(shard) {
            Ok(end) => end,
            // Nothing cancels it, so it panicked.
            Err(error) => resume_unwind(error.try_into_panic().unwrap_or_else(|error| Box::new(error.to_string()))),
        };
        // A name lookup that hangs in the runtime's pool must not keep the last tick from being reported.
        runtime.shutdown_background();
        Ok::<End, String>(end)
    }));
    let (in_flight, fault) = match ended {
        Ok(Ok(End { last, in_flight, fault })) => {
            // Waits for room if need be: the session reads until every shard has ended, and a session that is gone closes
            // the channel.
            let _session_gone = reports.blocking_send(Report::Tick(last));
            (in_flight, fault)
        }
        Ok(Err(message)) => (0, Some(format!("shard {} could not start: {message}", runner.0))),
        Err(panic) => (0, Some(format!("shard {} panicked: {}", runner.0, panic_text(panic.as_ref())))),
    };
    let _session_gone = reports.blocking_send(Report::Ended { runner, in_flight, fault });
}

/// What a panic said.
pub fn panic_text(panic: &(dyn Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned())
}
