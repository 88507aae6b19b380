//! Which limit it was, in which unit, and how well it is known.

mod support;

use support::{Bench, Partition};
use throttlescope::analysis::{Billing, Caveat, Context, Estimate, Limit, SessionAssessment, VerdictKind, assess};
use throttlescope::load::{Keys, Op, Refusal};

fn known() -> Context {
    Context { billing: Billing::OnDemand, table_units: Some((4_000, 12_000)), keys: Some(Keys::Uniform), ..Context::default() }
}

fn quick(partitions: Vec<Partition>, seed: u64) -> Bench {
    Bench::new(partitions, seed).without_latency()
}

fn even(per_s: f64, count: usize, seed: u64) -> Bench {
    quick(vec![Partition::new(per_s, 1.0, 1.0 / count as f64); count], seed)
}

fn answer(code: &str, reasons: &[&str], message: &str) -> Refusal {
    Refusal::new(400, code, reasons.iter().map(|r| (*r).to_owned()).collect(), None, message)
}

/// What a session makes of a table that refuses so.
fn refused(refusal: Refusal, context: &Context) -> SessionAssessment {
    let mut bench = even(100.0, 4, 1);
    bench.refusal = refusal;
    bench.window(800.0, 30);
    assess(&bench.snapshot(), context)
}

#[test]
fn every_limit_is_told_by_its_reason_else_its_message_else_its_code() {
    const SCALING: &str = "Throughput exceeds the current capacity of your table or index. DynamoDB is automatically scaling";
    const MAXIMUM: &str = "Throughput exceeds the maximum OnDemandThroughput configured on table or index";
    const PROVISIONED: &str = "The level of configured provisioned throughput for the table was exceeded.";
    const ACCOUNT: &str = "Throughput exceeds the current throughput limit for your account.";
    let provisioned = Context { billing: Billing::Provisioned(400, 400), ..known() };
    let capped = Context { max_units: Some((400, 400)), ..known() };
    let nobody_knows = Context::default();
    for (refusal, context, limit, says) in [
        (
            answer("ThrottlingException", &["TableWriteKeyRangeThroughputExceeded"], ""),
            &known(),
            Limit::TableNotScaled,
            "keys of this load are uniform",
        ),
        (answer("ThrottlingException", &[], SCALING), &known(), Limit::TableNotScaled, "default text"),
        (
            answer("ThrottlingException", &["TableWriteMaxOnDemandThroughputExceeded"], ""),
            &capped,
            Limit::ConfiguredMaximum,
            "(400 write and 400 read units/s)",
        ),
        (answer("ThrottlingException", &[], MAXIMUM), &known(), Limit::ConfiguredMaximum, "raise or remove it"),
        (
            answer("ProvisionedThroughputExceededException", &["TableWriteProvisionedThroughputExceeded"], ""),
            &known(),
            Limit::Provisioned,
            "provision more",
        ),
        (
            answer("ProvisionedThroughputExceededException", &[], PROVISIONED),
            &provisioned,
            Limit::Provisioned,
            "(400 write and 400 read units/s)",
        ),
        (answer("ProvisionedThroughputExceededException", &[], "?"), &nobody_knows, Limit::Provisioned, "provision more"),
        // On-demand tables word it so too.
        (
            answer("ProvisionedThroughputExceededException", &[], PROVISIONED),
            &known(),
            Limit::Unknown,
            "which an on-demand table does not have",
        ),
        (answer("RequestLimitExceeded", &["TableWriteAccountLimitExceeded"], ""), &known(), Limit::Account, "quota"),
        (answer("RequestLimitExceeded", &[], ACCOUNT), &known(), Limit::Account, "quota"),
        (answer("RequestLimitExceeded", &[], ""), &nobody_knows, Limit::Account, "quota"),
        (answer("ThrottlingException", &[], "Rate of requests exceeds the allowed throughput."), &known(), Limit::Unknown, "does not say"),
    ] {
        let shown = refused(refusal.clone(), context);
        assert_eq!(shown.verdict.kind, VerdictKind::ServiceBound);
        assert_eq!((shown.limit, shown.throttling.len()), (Some(limit), 1), "{refusal:?}");
        assert_eq!(shown.throttling[0].limit, limit);
        assert!(shown.throttling[0].meaning.contains(says), "{refusal:?}: {}", shown.throttling[0].meaning);
    }
}

#[test]
fn a_limit_is_named_only_where_the_service_was_the_limit() {
    let mut bench = even(1_000.0, 4, 1);
    bench.window(2_000.0, 20);
    let shown = assess(&bench.snapshot(), &known());
    assert_eq!((shown.verdict.kind, shown.limit, shown.throttling.len()), (VerdictKind::CeilingNotReached, None, 0));
}

#[test]
fn a_hot_key_is_named_only_where_the_keys_and_the_table_show_one() {
    // One of four partitions gets everything.
    let hot = || {
        let mut bench = quick(vec![Partition::new(1_000.0, 1.0, 1.0)], 1);
        bench.window(3_000.0, 20);
        bench.snapshot()
    };
    let limit = |context: &Context| assess(&hot(), context).throttling[0].clone();
    let named = limit(&Context { keys: Some(Keys::Hot), ..known() });
    assert_eq!(named.limit, Limit::HotKey);
    assert!(named.meaning.contains("asked for 3,000 write units/s, more than the 1,000"), "{}", named.meaning);
    // Counted, whatever the distribution says.
    let counted = |shares: &[f64], hottest, keys| {
        let mut bench = quick(shares.iter().map(|share| Partition::new(1_000.0, 1.0, *share)).collect(), 1);
        bench.hottest = Some(hottest);
        bench.window(3_000.0, 20);
        assess(&bench.snapshot(), &Context { keys: Some(keys), ..known() }).throttling[0].limit
    };
    assert_eq!(counted(&[0.8, 0.2], 0, Keys::Zipf(0.5)), Limit::HotKey);
    assert_eq!(counted(&[0.3, 0.7], 0, Keys::Hot), Limit::TableNotScaled);
    // Keys spread by construction; a key that a partition can serve; a table of which nothing is known, or with no more than that.
    assert_eq!(limit(&known()).limit, Limit::TableNotScaled);
    let mild = limit(&Context { keys: Some(Keys::Zipf(0.5)), ..known() });
    assert_eq!(mild.limit, Limit::TableNotScaled);
    assert!(mild.meaning.contains("no key is asked for more than 5 units/s, and a partition serves 1,000"), "{}", mild.meaning);
    assert_eq!(limit(&Context { keys: Some(Keys::Zipf(2.0)), ..known() }).limit, Limit::HotKey);
    let nothing_known = limit(&Context { keys: Some(Keys::Hot), table_units: None, ..known() });
    assert_eq!(nothing_known.limit, Limit::TableNotScaled);
    assert!(nothing_known.meaning.contains("is not shown"), "{}", nothing_known.meaning);
    assert_eq!(limit(&Context { keys: Some(Keys::Hot), table_units: Some((1_000, 3_000)), ..known() }).limit, Limit::TableNotScaled);
}

#[test]
fn half_unit_reads_are_seen_to_be_half_as_many_units() {
    // A fresh table serves 12,000 read units/s: 24,000 of these.
    let mut bench = even(6_000.0, 4, 3);
    (bench.op, bench.milli_units) = (Op::Read, 500);
    for rate in [16_000.0, 28_000.0] {
        bench.window(rate, 20);
        bench.pause(3);
    }
    let shown = assess(&bench.snapshot(), &known());
    let (quiet, driven) = (&shown.windows[0], &shown.windows[1]);
    assert!((quiet.in_units(quiet.accepted_per_s).expect("units") - 8_000.0).abs() < 1.0, "{quiet:?}");
    assert!(quiet.verdict.evidence[0].contains("accepted all of 16,000/s (8,000 units/s) for 20 s"), "{quiet:?}");
    let sustained = driven.sustained.expect("a ceiling").per_s;
    assert!((sustained - 24_000.0).abs() < 60.0, "{driven:?}");
    assert!((driven.in_units(Some(sustained)).expect("units") - sustained / 2.0).abs() < 1e-6);
    assert!((shown.sustained_units_per_s.expect("units") - 12_000.0).abs() < 30.0, "{shown:?}");
    let said = driven.verdict.evidence.join("\n");
    assert!(said.contains("(12,000 units/s)") || said.contains("(11,999 units/s)") || said.contains("(12,001 units/s)"), "{said}");
    assert!(shown.verdict.evidence[0].contains(" units/s)"), "{:?}", shown.verdict.evidence);
}

#[test]
fn windows_with_items_of_other_sizes_are_one_ceiling_in_units() {
    let mut bench = even(1_000.0, 4, 3);
    for (units, per_s) in [(1, 1_000.0), (2, 500.0), (4, 250.0)] {
        bench.milli_units = units * 1_000;
        bench.item_bytes = Some(units as u32 * 1_000);
        bench.partitions = vec![Partition::new(per_s, 1.0, 0.25); 4];
        bench.window(5_000.0, 30);
        bench.pause(3);
    }
    let shown = assess(&bench.snapshot(), &known());
    assert!((shown.sustained_units_per_s.expect("units") - 4_000.0).abs() < 10.0, "{shown:?}");
    assert!((shown.sustained.expect("pooled").per_s - 1_000.0).abs() < 3.0, "{shown:?}");
    assert!(!shown.verdict.caveats.contains(&Caveat::CeilingMoved), "{shown:?}");
    // Fewer requests of larger items are no step of the ceiling, and what small items took leaves larger ones their burst.
    assert_eq!(shown.steps, Vec::new());
    for window in &shown.windows {
        let burst = window.burst_units.unwrap_or_else(|| panic!("no burst: {window:?}"));
        assert!((burst - 4_000.0).abs() < 120.0, "{burst} units");
        assert_eq!(window.above_ceiling_units, window.burst_units);
    }
}

#[test]
fn the_mean_of_a_window_is_explained_by_its_ceiling_and_its_burst() {
    let mut bench = even(1_000.0, 4, 5);
    bench.window(8_000.0, 30);
    let shown = assess(&bench.snapshot(), &known());
    let said = shown.windows[0].verdict.evidence.iter().find(|e| e.contains("over the whole")).unwrap_or_else(|| panic!("{shown:?}"));
    assert!(said.starts_with("4,133/s over the whole 30 s window = 4,000/s sustained + a burst of 3,9"), "{said}");
    assert!(said.ends_with("spread over it"), "{said}");
}

/// Whether an interval holds the truth, and is no narrower than counting allows over so many seconds.
fn covers(e: Estimate, truth: f64, seconds: f64) -> bool {
    let half = (e.ci95.1 - e.ci95.0) / 2.0;
    assert!(half >= 2.0 / seconds - 1e-9 && half >= e.per_s * 4.9e-5, "{e:?} over {seconds} s");
    e.ci95.0 <= truth && truth <= e.ci95.1
}

#[test]
fn the_intervals_of_a_simulated_table_cover_its_capacity_as_often_as_they_say() {
    let (mut windows, mut covered, mut sessions, mut pooled) = (0, 0, 0, 0);
    for seed in 0..60 {
        let mut bench = even(1_000.0, 4, seed);
        for rate in [5_000.0, 6_000.0, 8_000.0] {
            bench.pause(3);
            bench.window(rate, 30);
        }
        let shown = assess(&bench.snapshot(), &known());
        for window in &shown.windows {
            if let (Some(e), Some(from)) = (window.sustained, window.steady_from_s) {
                windows += 1;
                covered += usize::from(covers(e, 4_000.0, 30.0 - from));
            }
        }
        if let Some(e) = shown.sustained {
            sessions += 1;
            pooled += usize::from(covers(e, 4_000.0, 90.0));
        }
    }
    println!("{covered} of {windows} windows, {pooled} of {sessions} sessions");
    assert!(windows >= 170 && sessions == 60, "{windows} windows, {sessions} sessions");
    assert!(covered * 100 >= windows * 93, "{covered} of {windows} windows");
    assert!(pooled * 100 >= sessions * 93, "{pooled} of {sessions} sessions");
}

#[test]
fn the_intervals_of_a_table_that_accepts_in_part_what_falls_on_it_cover_the_truth_too() {
    let (mut windows, mut covered, mut sessions, mut pooled) = (0, 0, 0, 0);
    for seed in 0..150 {
        // Two partitions are over-driven, four take what falls on them, at random.
        let partition = |share| Partition::new(1_000.0, 0.3, share);
        let mut bench = quick([0.25, 0.25, 0.125, 0.125, 0.125, 0.125].map(partition).to_vec(), seed);
        for seconds in [30, 45] {
            bench.window(6_000.0, seconds);
            bench.pause(2);
        }
        let shown = assess(&bench.snapshot(), &known());
        for e in shown.windows.iter().filter_map(|window| window.sustained) {
            windows += 1;
            covered += usize::from(covers(e, 5_000.0, 45.0));
        }
        if let Some(e) = shown.sustained {
            sessions += 1;
            pooled += usize::from(covers(e, 5_000.0, 75.0));
        }
    }
    println!("{covered} of {windows} windows, {pooled} of {sessions} sessions");
    assert!(windows >= 270 && sessions >= 140, "{windows} windows, {sessions} sessions");
    assert!(covered * 100 >= windows * 93, "{covered} of {windows} windows");
    assert!(pooled * 100 >= sessions * 93, "{pooled} of {sessions} sessions");
}

#[test]
fn a_ramp_shows_where_throttling_began_and_no_ceiling() {
    for seed in 0..10 {
        let mut bench = even(1_000.0, 4, seed);
        bench.pause(1);
        bench.ramp(1_000.0, 8_000.0, 70);
        let shown = assess(&bench.snapshot(), &known());
        let ramp = &shown.windows[0];
        assert_eq!((ramp.verdict.kind, ramp.sustained, ramp.burst_units), (VerdictKind::ServiceBound, None, None), "{ramp:?}");
        assert!(ramp.verdict.caveats.contains(&Caveat::Ramp) && shown.steps.is_empty());
        let said = &ramp.verdict.evidence[0];
        // 4,000/s is offered after 30 s; a burst of 1,000 a partition lasts for nine seconds more.
        assert!(said.starts_with("throttling began at 4,") && said.ends_with(" into a ramp from 1,000 to 8,000/s"), "{said}");
        assert_eq!(shown.verdict.kind, VerdictKind::ServiceBound);
        assert!(shown.verdict.evidence.contains(said), "{:?}", shown.verdict.evidence);
        assert_eq!((shown.sustained, shown.clean_at_least_per_s, shown.clean_below_per_s), (None, None, None));
        assert_eq!(shown.limit, Some(Limit::TableNotScaled));
    }
    let mut bench = even(1_000.0, 4, 1);
    bench.ramp(1_000.0, 3_000.0, 20);
    let shown = assess(&bench.snapshot(), &known());
    assert_eq!(shown.verdict.kind, VerdictKind::CeilingNotReached);
    assert_eq!(shown.windows[0].verdict.evidence[0], "accepted all of a ramp from 1,000 to 3,000/s for 20 s");
    assert!(shown.verdict.evidence[0].ends_with("highest offered 3,000/s"), "{shown:?}");
    assert_eq!(shown.clean_at_least_per_s, None);
}
