//! The curve: what one tick costs to merge, and what a look at everything costs, with one runner to a thousand, and what a
//! snapshot costs from a minute to four hours of seconds. A cost per runner that stays the same is a cost that grows
//! linearly.
//!
//! ```text
//! cargo bench --bench runners
//! ```

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use throttlescope::load::tick::RunnerId;
use throttlescope::load::{Counts, History, Merger, Offset, Op, Rate, Refusal, TICK, Tally, Tick, Units, WindowId, WindowSpec};

const RUNNERS: [u32; 4] = [1, 10, 100, 1_000];
const SECONDS: [u64; 4] = [60, 600, 3_600, 14_400];
/// Ticks that are measured of each number of runners, at least.
const TICKS: u64 = 20_000;
const RATE: u32 = 8_000;
/// Snapshots that are timed together.
const TIMES: u32 = 100;

/// A runner's tick of 100 ms: a hundred answers, most of them accepted.
fn tick(runner: u32, refusal: &Arc<Refusal>) -> Tick {
    let mut tick = Tick { runner: RunnerId(runner), in_flight: 3, in_flight_max: 9, cpu_nanos: 2_000_000, ..Tick::default() };
    let part = tick.part_mut(WindowId(0));
    part.counts = Counts { offered: 100, accepted: 90, throttled: 10, consumed: Units::from_f64(90.0), ..Counts::default() };
    for i in 0..100_u64 {
        let micros = 4_000 + (i * 61 + u64::from(runner) * 7) % 100 * 40;
        let (service, response) = if i % 10 == 0 {
            (&mut part.service.throttled, &mut part.response.throttled)
        } else {
            (&mut part.service.accepted, &mut part.response.accepted)
        };
        service.record_micros(micros);
        response.record_micros(micros + 80);
        part.schedule_error.record_micros(60 + i);
    }
    let seen = Tally { what: Arc::clone(refusal), window: WindowId(0), count: 10, first: Offset::ZERO, last: Offset::ZERO };
    tick.refusals.push(seen);
    tick
}

fn refusal() -> Arc<Refusal> {
    let reasons = vec!["TableWriteKeyRangeThroughputExceeded".to_owned()];
    Arc::new(Refusal::new(400, "ThrottlingException", reasons, None, "Throughput exceeds the current capacity of your table or index."))
}

fn window() -> WindowSpec {
    WindowSpec::steady(WindowId(0), format!("{RATE}/s"), Op::Write, Rate::per_second(RATE), Offset::ZERO, None)
}

/// What a second of so many runners costs, by part.
#[derive(Default)]
struct Costs {
    merge: Duration,
    glance: Duration,
    look: Duration,
    second: Duration,
    ticks: u32,
    looks: u32,
    seconds: u32,
}

fn run(runners: u32) -> Costs {
    let answer = refusal();
    // A few different ticks stand for all runners: a tick with its distributions is some 300 KB.
    let patterns: Vec<Tick> = (0..runners.min(8)).map(|runner| tick(runner, &answer)).collect();
    let (mut merger, mut history, mut costs) = (Merger::new((0..runners).map(RunnerId), Offset::ZERO), History::new(), Costs::default());
    history.open_window(window());
    let seconds = (TICKS / (u64::from(runners) * 10)).max(2);
    for turn in 0..(seconds + 1) * 10 {
        // The first second fills what is kept and is not counted.
        if turn == 10 {
            costs = Costs::default();
        }
        let from = Offset::ZERO.plus(TICK * turn as u32);
        for runner in 0..runners {
            let mut tick = patterns[runner as usize % patterns.len()].clone();
            (tick.runner, tick.from, tick.to) = (RunnerId(runner), from, from.plus(TICK));
            let start = Instant::now();
            history.glance(black_box(&tick));
            let glanced = Instant::now();
            merger.absorb(black_box(tick));
            let bucket = merger.pop();
            costs.merge += glanced.elapsed();
            costs.glance += glanced - start;
            costs.ticks += 1;
            if let Some(bucket) = bucket {
                let start = Instant::now();
                history.absorb(black_box(&bucket));
                costs.second += start.elapsed();
                costs.seconds += 1;
            }
        }
        let start = Instant::now();
        history.refresh();
        black_box(history.snapshot(from));
        costs.look += start.elapsed();
        costs.looks += 1;
    }
    costs
}

fn micros(total: Duration, times: u32) -> f64 {
    total.as_secs_f64() * 1e6 / f64::from(times.max(1))
}

#[expect(clippy::print_stdout, reason = "a benchmark prints what it measured")]
fn main() {
    println!("| runners | merge a tick, us | glance at a tick, us | a look, us | close a second, us | all of a second, us per runner |");
    println!("| --- | --- | --- | --- | --- | --- |");
    for runners in RUNNERS {
        let costs = run(runners);
        let all = costs.merge + costs.glance + costs.look + costs.second;
        println!(
            "| {runners} | {:.2} | {:.2} | {:.1} | {:.1} | {:.1} |",
            micros(costs.merge, costs.ticks),
            micros(costs.glance, costs.ticks),
            micros(costs.look, costs.looks),
            micros(costs.second, costs.seconds),
            micros(all, costs.seconds * runners),
        );
    }
    println!("\n| seconds recorded | snapshot, us | add a second while a snapshot is held, us |");
    println!("| --- | --- | --- |");
    for seconds in SECONDS {
        let (snapshot, second) = after(seconds);
        println!("| {seconds} | {snapshot:.2} | {second:.1} |");
    }
}

/// What a snapshot and another second cost after so many.
fn after(seconds: u64) -> (f64, f64) {
    let answer = refusal();
    let (mut merger, mut history) = (Merger::new([RunnerId(0)], Offset::ZERO), History::new());
    history.open_window(window());
    let mut next = |history: &mut History, at: u64| {
        let mut tick = tick(0, &answer);
        (tick.from, tick.to) = (Offset::from_secs(at), Offset::from_secs(at + 1));
        merger.absorb(tick);
        let bucket = merger.pop().unwrap_or_default();
        let start = Instant::now();
        history.absorb(&bucket);
        start.elapsed()
    };
    for at in 0..seconds {
        next(&mut history, at);
    }
    let start = Instant::now();
    for _ in 0..TIMES {
        black_box(history.snapshot(Offset::from_secs(seconds)));
    }
    let snapshot = micros(start.elapsed(), TIMES);
    let mut spent = Duration::ZERO;
    for at in seconds..seconds + u64::from(TIMES) {
        let _held = history.snapshot(Offset::from_secs(at));
        spent += next(&mut history, at);
    }
    (snapshot, micros(spent, TIMES))
}
