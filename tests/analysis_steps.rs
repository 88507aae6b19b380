//! Steps of a moving ceiling: each is found, and nothing else is taken for one.
//!
//! `SEED_FACTOR=10` runs ten times as many seeds, `SEED_FROM=1000` others.

mod support;

use support::{Bench, Change, Client, Dice, Partition};
use throttlescope::analysis::{Caveat, Context, SessionAssessment, Step, assess};
use throttlescope::load::Snapshot;

/// Seeds to try.
fn seeds(count: u64) -> std::ops::Range<u64> {
    let set = |name, usual| std::env::var(name).ok().and_then(|set| set.parse().ok()).unwrap_or(usual);
    let (factor, from): (u64, u64) = (set("SEED_FACTOR", 1), set("SEED_FROM", 0));
    from..from + count * factor
}

fn assessed(load: &Snapshot) -> SessionAssessment {
    assess(load, &Context { simulated: true, ..Context::default() })
}

fn steps(bench: &mut Bench) -> Vec<Step> {
    assessed(&bench.snapshot()).steps
}

/// A table whose latencies nobody looks at.
fn quick(partitions: Vec<Partition>, seed: u64) -> Bench {
    Bench::new(partitions, seed).without_latency()
}

fn fresh_table(seed: u64) -> Bench {
    quick(vec![Partition::new(1_000.0, 1.0, 0.25); 4], seed)
}

fn is_step(step: &Step, at_s: f64, from: f64, to: f64) -> bool {
    (step.at_s - at_s).abs() <= 1.0
        && (step.from_per_s / from - 1.0).abs() <= 0.015
        && (step.to_per_s / to - 1.0).abs() <= 0.015
        && step.confidence > 0.99
}

/// Splits at these instants, each within its second as the seed has it.
fn splits(seed: u64, after_s: f64, at: &[f64]) -> Vec<(f64, Change)> {
    let mut dice = Dice(seed ^ 0x5717);
    at.iter().map(|at| (after_s + at + dice.unit(), Change::Split)).collect()
}

#[test]
fn a_growing_table_is_seen_to_step_to_five_six_and_seven_thousand() {
    for seed in seeds(60) {
        let mut bench = fresh_table(seed);
        bench.pause(2);
        bench.changes = splits(seed, 2.0, &[9.0, 20.0, 31.0]);
        let at: Vec<f64> = bench.changes.iter().map(|(at, _)| *at).collect();
        bench.window(8_000.0, 45);
        let shown = assessed(&bench.snapshot());
        let found = &shown.steps;
        assert_eq!(found.len(), 3, "seed {seed}: {found:?}");
        for (n, step) in found.iter().enumerate() {
            let from = 4_000.0 + 1_000.0 * n as f64;
            assert!(is_step(step, at[n], from, from + 1_000.0), "seed {seed}, split at {:.2}: {step:?}", at[n]);
            assert!(!step.between_windows);
            let held = if n == 0 { at[0] - 3.0 } else { at[n] - at[n - 1] };
            assert!((step.dwell_s - held).abs() <= 1.0, "seed {seed}: held {held}: {step:?}");
        }
        let said = shown.verdict.evidence.join("\n");
        assert!(said.contains("in 3 steps (at 1"), "{said}");
    }
}

#[test]
fn a_growth_run_of_four_waves_shows_the_steps_within_them_and_between_them() {
    for seed in seeds(15) {
        let mut bench = fresh_table(seed);
        bench.pause(2);
        // Waves of 60 s, 5 s apart: from 2, 67, 132 and 197 s on. One split within a wave, one in a pause, one at once after.
        bench.changes = splits(seed, 0.0, &[40.0, 129.0, 150.0]);
        let at: Vec<f64> = bench.changes.iter().map(|(at, _)| *at).collect();
        for _ in 0..4 {
            bench.window(8_000.0, 60);
            bench.pause(5);
        }
        let found = steps(&mut bench);
        assert_eq!(found.len(), 3, "seed {seed}: {found:?}");
        assert!(is_step(&found[0], at[0], 4_000.0, 5_000.0) && !found[0].between_windows, "seed {seed}: {found:?}");
        assert!(is_step(&found[1], 132.0, 5_000.0, 6_000.0) && found[1].between_windows, "seed {seed}: {found:?}");
        assert_eq!(found[1].window.0, 2, "{found:?}");
        // Under load: the rest of the first wave and all of the second.
        let dwell = (62.0 - at[0]) + 60.0;
        assert!((found[1].dwell_s - dwell).abs() < 1.5, "seed {seed}, {dwell}: {found:?}");
        assert!(is_step(&found[2], at[2], 6_000.0, 7_000.0) && !found[2].between_windows, "seed {seed}: {found:?}");
    }
}

#[test]
fn a_flat_run_has_no_step() {
    for seed in seeds(60) {
        let rate = [5_000.0, 6_000.0, 8_000.0, 9_000.0][seed as usize % 4];
        let mut bench = fresh_table(seed);
        bench.window(rate, [30, 60, 120][seed as usize % 3]);
        let found = steps(&mut bench);
        assert!(found.is_empty(), "seed {seed}, {rate}/s: {found:?}");
    }
}

#[test]
fn partitions_at_exactly_their_capacity_make_no_step() {
    for seed in seeds(60) {
        let mut partitions = vec![Partition::new(250.0, 1.0, 0.125); 6];
        partitions.push(Partition::new(250.0, 1.0, 0.25));
        let mut bench = quick(partitions, seed);
        for _ in 0..2 {
            bench.window([2_000.0, 2_050.0, 2_200.0, 1_250.0][seed as usize % 4], 90);
            bench.pause(3);
        }
        let found = steps(&mut bench);
        assert!(found.is_empty(), "seed {seed}: {found:?}");
    }
}

#[test]
fn a_burst_that_had_refilled_or_not_is_no_step() {
    for seed in seeds(40) {
        let hold_s = [0.5, 1.0, 5.0, 20.0][seed as usize % 4];
        let mut bench = quick(vec![Partition::new(250.0, hold_s, 0.25); 4], seed);
        bench.pause(1);
        for pause in [1, 2, 5, 30, 300] {
            bench.window([2_000.0, 1_500.0][seed as usize % 2], 45);
            bench.pause(pause);
        }
        bench.window(2_000.0, 45);
        let found = steps(&mut bench);
        assert!(found.is_empty(), "seed {seed}, {hold_s} s: {found:?}");
    }
}

#[test]
fn the_ceiling_plan_has_no_step() {
    for seed in seeds(20) {
        let mut bench = fresh_table(seed);
        for rate in [1_000.0, 2_000.0, 3_000.0, 4_000.0, 5_000.0, 6_000.0, 8_000.0] {
            bench.pause(3);
            bench.window(rate, 30);
        }
        let found = steps(&mut bench);
        assert!(found.is_empty(), "seed {seed}: {found:?}");
    }
}

#[test]
fn partitions_of_any_size_that_run_out_one_by_one_make_no_step() {
    for seed in seeds(120) {
        let mut dice = Dice(seed ^ 0xb1bd);
        let count = 2 + (dice.unit() * 8.0) as usize;
        let drawn: Vec<(f64, f64, f64)> =
            (0..count).map(|_| (dice.between(75.0, 400.0), 0.3 * (60.0_f64 / 0.3).powf(dice.unit()), dice.between(0.4, 1.6))).collect();
        let weight: f64 = drawn.iter().map(|d| d.2).sum();
        let rate = (drawn.iter().map(|d| d.0).sum::<f64>() * dice.between(1.2, 2.5)).round();
        let mut bench = quick(drawn.into_iter().map(|(p, b, w)| Partition::new(p, b, w / weight)).collect(), seed);
        bench.window(rate, 60);
        bench.pause(4);
        bench.window(rate, 40);
        let found = steps(&mut bench);
        assert!(found.is_empty(), "seed {seed}, {rate}/s: {found:?}");
    }
}

#[test]
fn a_client_that_stood_still_makes_no_step() {
    for seed in seeds(50) {
        let length = [0.05, 0.4, 1.5, 4.0, 11.0][seed as usize % 5];
        let at = 8.0 + (seed % 23) as f64 * 0.93;
        let hold_s = [1.0, 6.0][seed as usize % 2];
        let mut bench = quick(vec![Partition::new(1_000.0, hold_s, 0.25); 4], seed);
        bench.window_with(8_000.0, 50, Client { stall: Some((at, at + length)), ..Client::default() });
        let found = steps(&mut bench);
        assert!(found.is_empty(), "seed {seed}, {length} s at {at}: {found:?}");
    }
}

#[test]
fn held_answers_make_no_step() {
    for seed in seeds(72) {
        let length = [0.03, 0.06, 0.12, 0.25, 0.9, 3.3][seed as usize % 6];
        let at = 8.0 + (seed % 23) as f64 - length * [0.2, 0.5, 0.8][seed as usize % 3];
        let mut bench = fresh_table(seed);
        let rate = [5_000.0, 6_000.0, 8_000.0][seed as usize % 3];
        bench.window_with(rate, 40, Client { target_stall: Some((at, at + length)), ..Client::default() });
        let found = steps(&mut bench);
        assert!(found.is_empty(), "seed {seed}, {length} s at {at}: {found:?}");
    }
}

#[test]
fn steps_are_found_beside_held_answers_and_a_client_that_stood_still() {
    for seed in seeds(32) {
        let mut bench = fresh_table(seed);
        bench.changes = splits(seed, 0.0, &[25.0]);
        let trouble = Some([(12.0, 12.2), (38.0, 38.3)][seed as usize % 2]);
        let client = if seed % 4 < 2 {
            Client { target_stall: trouble, ..Client::default() }
        } else {
            Client { stall: trouble, ..Client::default() }
        };
        let at = bench.changes[0].0;
        bench.window_with(8_000.0, 50, client);
        let found = steps(&mut bench);
        assert!(found.len() == 1 && is_step(&found[0], at, 4_000.0, 5_000.0), "seed {seed}, {at}: {found:?}");
    }
}

#[test]
fn a_ceiling_that_falls_is_a_step_too() {
    for seed in seeds(45) {
        let mut bench = fresh_table(seed);
        let by = [0.75, 0.9, 0.5][seed as usize % 3];
        let at = 24.0 + Dice(seed).unit();
        bench.changes = vec![(at, Change::Scale(by))];
        bench.window(8_000.0, 50);
        let found = steps(&mut bench);
        assert!(found.len() == 1 && is_step(&found[0], at, 4_000.0, 4_000.0 * by), "seed {seed}, {at}: {found:?}");
    }
}

#[test]
fn a_table_that_grew_and_shrank_shows_both() {
    for seed in seeds(30) {
        let mut bench = fresh_table(seed);
        let mut dice = Dice(seed);
        let (up, down) = (15.0 + dice.unit(), 30.0 + dice.unit());
        bench.changes = vec![(up, Change::Scale(1.5)), (down, Change::Scale(0.75))];
        bench.window(8_000.0, 50);
        let found = steps(&mut bench);
        let right = found.len() == 2 && is_step(&found[0], up, 4_000.0, 6_000.0) && is_step(&found[1], down, 6_000.0, 4_500.0);
        assert!(right, "seed {seed}: {found:?}");
    }
}

#[test]
fn a_ceiling_that_fell_in_a_pause_is_a_step_between_windows() {
    for seed in seeds(20) {
        let mut bench = fresh_table(seed);
        bench.changes = vec![(33.0, Change::Scale(0.75))];
        bench.window(8_000.0, 30);
        bench.pause(5);
        bench.window(8_000.0, 30);
        let found = steps(&mut bench);
        assert!(found.len() == 1 && is_step(&found[0], 35.0, 4_000.0, 3_000.0) && found[0].between_windows, "seed {seed}: {found:?}");
    }
}

#[test]
fn what_a_lower_rate_accepts_of_an_uneven_table_is_no_step_and_no_clean_ceiling() {
    for seed in seeds(8) {
        let mut bench = fresh_table(seed);
        bench.pause(2);
        bench.changes = splits(seed, 2.0, &[9.0, 20.0, 31.0]);
        bench.window(8_000.0, 60);
        bench.pause(5);
        bench.window(5_000.0, 40);
        let shown = assessed(&bench.snapshot());
        assert_eq!(shown.steps.len(), 3, "seed {seed}: {:?}", shown.steps);
        // One partition of a quarter of the keys serves 1,000 of its 1,250/s; six of an eighth serve all of theirs.
        let accepts = shown.windows[1].sustained.expect("a ceiling").per_s;
        assert!((accepts - 4_750.0).abs() < 24.0, "seed {seed}: {accepts}");
        assert_eq!(shown.clean_below_per_s, Some(5_000.0));
        assert!(shown.clean_at_least_per_s.is_none_or(|least| least <= 4_000.0), "{shown:?}");
        assert!(shown.verdict.caveats.contains(&Caveat::CeilingMoved));
        let said = shown.verdict.evidence.iter().find(|e| e.contains("over-driven at 8,000/s")).unwrap_or_else(|| panic!("{shown:?}"));
        assert!(said.contains("at 5,000/s offered it accepts 4,7") && said.ends_with("its partitions are uneven"), "{said}");
    }
}

#[test]
fn an_open_window_shows_a_step_within_seconds_and_keeps_it() {
    let mut bench = fresh_table(3);
    bench.changes = splits(3, 0.0, &[20.0]);
    let at = bench.changes[0].0;
    let id = bench.open(8_000.0, None);
    for second in 1..=40 {
        bench.run(id, 8_000.0, 1, Client::default());
        let found = assessed(&bench.glimpse()).steps;
        let expected = f64::from(second) >= at + 6.0;
        assert!(f64::from(second) >= at || found.is_empty(), "after {second} s: {found:?}");
        assert!(!expected || found.len() == 1 && is_step(&found[0], at, 4_000.0, 5_000.0), "after {second} s: {found:?}");
    }
}

/// Four waves of eight minutes, as the session judges them again each second. Printed, not held to a time.
#[test]
fn a_whole_growth_run_is_judged() {
    let mut bench = quick(vec![Partition::new(100.0, 1.0, 0.25); 4], 5);
    bench.changes = splits(5, 0.0, &[540.0, 1_560.0, 1_620.0]);
    for _ in 0..4 {
        bench.window(800.0, 480);
        bench.pause(45);
    }
    let load = bench.snapshot();
    let mut took = Vec::new();
    let mut shown = SessionAssessment::default();
    for _ in 0..20 {
        let start = std::time::Instant::now();
        shown = assessed(&load);
        took.push(start.elapsed());
    }
    let took = took.iter().min();
    assert_eq!(shown.steps.len(), 3, "{:?}", shown.steps);
    println!("{} rows judged in {took:?}", load.rows.len());
}
