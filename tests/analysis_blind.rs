//! The blind check: capacity profiles that the analysis knows nothing of, measured with one over-driven window each.
//!
//! Truth is what the window's own end state accepts at that offered rate: partitions that ran out of burst accept what
//! they refill, the others what falls on them. A partition so slightly over-driven that its burst outlasts the window (or
//! ends in its last three seconds, too short for any steady part) cannot be told from one that is not over-driven, so it
//! counts as such; one that ran out within the first of those seconds may count as either, because the last three whole
//! seconds may or may not show it. The true burst is the tokens that the partitions which ran out had stored.

mod support;

use support::{Bench, Dice, Partition};
use throttlescope::analysis::{Caveat, Context, VerdictKind, assess};

struct Profile {
    partitions: Vec<Partition>,
    rate: f64,
    seconds: u64,
}

fn profile(seed: u64) -> Profile {
    let mut dice = Dice(seed.wrapping_mul(0x51_7c_c1_b7_27_22_0a_95));
    let count = 2 + (dice.unit() * 8.0) as usize;
    let common_burst = 0.3 * (60.0_f64 / 0.3).powf(dice.unit());
    let each_its_own = dice.unit() < 0.5;
    let by_capacity = dice.unit() < 0.5;
    let drawn: Vec<(f64, f64, f64)> = (0..count)
        .map(|_| {
            let per_s = dice.between(300.0, 2_000.0);
            let burst_s = if each_its_own { 0.3 * (60.0_f64 / 0.3).powf(dice.unit()) } else { common_burst };
            (per_s, burst_s, dice.between(0.4, 1.6) * if by_capacity { per_s } else { 1.0 })
        })
        .collect();
    let weight: f64 = drawn.iter().map(|d| d.2).sum();
    let capacity: f64 = drawn.iter().map(|d| d.0).sum();
    let rate = (capacity * dice.between(1.3, 3.0)).round();
    let seconds = if seed % 4 == 3 { dice.between(3.0, 20.0) } else { dice.between(60.0, 240.0) } as u64;
    Profile { partitions: drawn.into_iter().map(|(p, b, w)| Partition::new(p, b, w / weight)).collect(), rate, seconds }
}

#[derive(Debug, PartialEq)]
enum Answer {
    Right,
    Null,
    Wrong,
}

struct Checked {
    ceiling: Answer,
    burst: Answer,
    ample: bool,
    said: String,
}

fn check(seed: u64) -> Checked {
    let Profile { partitions, rate, seconds } = profile(seed);
    let mut bench = Bench::new(partitions, seed);
    bench.pause(5);
    let start = bench.now_s() as f64;
    bench.window(rate, seconds);
    let load = bench.snapshot();
    let assessed = assess(&load, &Context::default());
    let shown = &assessed.windows[0];

    let over = |p: &&Partition| p.share * rate > p.per_s;
    let truth = |cut_s: f64| {
        let ran_out = |p: &Partition| over(&p) && p.first_throttle.is_some_and(|at| at - start < seconds as f64 - cut_s);
        let ceiling: f64 = bench.partitions.iter().map(|p| if ran_out(p) { p.per_s } else { p.share * rate }).sum();
        let burst: f64 = bench.partitions.iter().filter(|p| ran_out(p)).map(|p| p.holds).sum();
        (ceiling, burst)
    };
    let truths = [truth(3.0), truth(2.0)];
    let (ceiling, burst) = truths[0];
    let last_run_out = bench.partitions.iter().filter(over).map(|p| p.holds / (p.share * rate - p.per_s)).fold(0.0, f64::max);

    // A window in which no partition ran out says so by its verdict: the ceiling was not reached.
    let not_reached = burst == 0.0 && shown.verdict.kind == VerdictKind::CeilingNotReached;
    let has = |wanted: &[Caveat]| not_reached || shown.verdict.caveats.iter().any(|c| wanted.contains(c));
    let judge = |measured: Option<f64>, truths: [f64; 2], within: f64, why: &[Caveat]| match measured {
        Some(m) if truths.iter().any(|truth| (m - truth).abs() <= within * truth) => Answer::Right,
        None if has(why) => Answer::Null,
        _ => Answer::Wrong,
    };
    let ceiling_caveats = [Caveat::TooShort, Caveat::NotStationary];
    let burst_caveats = [Caveat::TooShort, Caveat::NotStationary, Caveat::BurstUncertain, Caveat::BurstNotRefilled];
    Checked {
        ceiling: judge(shown.sustained.map(|e| e.per_s), truths.map(|t| t.0), 0.01, &ceiling_caveats),
        burst: judge(shown.burst_units, truths.map(|t| t.1), 0.10, &burst_caveats),
        ample: seconds as f64 >= 20.0 + 2.0 * last_run_out,
        said: format!(
            "seed {seed}: {rate}/s for {seconds} s, truth {ceiling:.0}/s + {burst:.0}; said {:?} from {:?} s + {:?} {:?}; last out {last_run_out:.1} s",
            shown.sustained, shown.steady_from_s, shown.burst_units, shown.verdict.caveats
        ),
    }
}

fn check_all(seeds: std::ops::Range<u64>, wrong_at_most: usize) {
    let checked: Vec<Checked> = seeds.map(check).collect();
    let wrong: Vec<&str> =
        checked.iter().filter(|c| c.ceiling == Answer::Wrong || c.burst == Answer::Wrong).map(|c| c.said.as_str()).collect();
    assert!(wrong.len() <= wrong_at_most, "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    let ample: Vec<&Checked> = checked.iter().filter(|c| c.ample).collect();
    let with_ceiling = ample.iter().filter(|c| c.ceiling == Answer::Right).count();
    let with_burst = ample.iter().filter(|c| c.burst == Answer::Right).count();
    assert!(ample.len() * 3 >= checked.len(), "only {} profiles had an ample window", ample.len());
    assert!(with_ceiling * 10 >= ample.len() * 9, "a ceiling for only {with_ceiling} of {}", ample.len());
    assert!(with_burst * 10 >= ample.len() * 4, "a burst for only {with_burst} of {}", ample.len());
}

#[test]
fn fifty_unknown_profiles_are_measured_right_or_not_at_all() {
    check_all(0..50, 0);
}

#[test]
fn another_hundred_unknown_profiles_are_measured_right_or_not_at_all() {
    check_all(1_000..1_100, 0);
}
