//! Comparisons: what is called and what is not, what forbids it, the spread between tables, and the renderings.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::float_cmp, missing_docs)]

#[path = "support/mod.rs"]
mod bench;
#[path = "support/story.rs"]
mod story;
mod terminal_support;

use bench::{Bench, Client, Partition};
use serde_json::Value;
use terminal_support::place::Place;
use throttlescope::analysis::VerdictKind;
use throttlescope::load::{Offset, Op};
use throttlescope::report::compare::{Comparison, Judgement, Side, compare, markdown, spread_text, spreads, text};
use throttlescope::report::document::{Plan, Throttle, UnitsPerS};
use throttlescope::report::{Document, Entry, Finite, Phase, StopReason, document};

/// A session of these windows on a table of four even partitions that together accept `per_s`.
fn measured(per_s: f64, seed: u64, windows: &[(f64, u64)], client: Client) -> Document {
    document(&story::told(&entries(per_s, seed, windows, client), windows.iter().map(|(_, length)| length + 6).sum::<u64>() + 2))
}

fn entries(per_s: f64, seed: u64, windows: &[(f64, u64)], client: Client) -> Vec<Entry> {
    let mut bench = Bench::new(vec![Partition::new(per_s / 4.0, 1.0, 0.25); 4], seed);
    bench.journals = true;
    bench.entries.extend([story::start(), Entry::Target(story::simulated_target())]);
    for (rate, length) in windows {
        bench.pause(6);
        bench.window_with(*rate, *length, client);
    }
    bench.pause(1);
    let at = Offset::from_secs(bench.now_s());
    let ended_at = "2026-09-01T12:04:01Z".to_owned();
    bench.entries.extend([Entry::Stop(StopReason::Completed), Entry::Phase { at, phase: Phase::Finished }, Entry::End { at, ended_at }]);
    let mut entries = bench.entries;
    if let Some(Entry::Session { workload, session, .. }) = entries.first_mut() {
        workload.seed = seed;
        session.id = format!("ts-{seed:08x}");
    }
    entries
}

const SHORT: [(f64, u64); 2] = [(1_500.0, 8), (6_000.0, 14)];

fn short(per_s: f64, seed: u64) -> Document {
    measured(per_s, seed, &SHORT, Client::default())
}

fn between(base: &Document, new: &Document) -> Comparison {
    compare(&Side { name: "base.json", document: base }, &[Side { name: "new.json", document: new }])
}

fn called(comparison: &Comparison) -> Vec<&'static str> {
    let one = &comparison.against[0];
    let figures = one.sustained.iter().chain(one.windows.iter().flat_map(|pair| &pair.figures));
    figures.filter(|figure| figure.judgement == Judgement::Differs).map(|figure| figure.what).collect()
}

fn verdict(comparison: &Comparison) -> String {
    comparison.against[0].verdict.join("\n")
}

// --- what is called ---

#[test]
fn a_table_that_accepts_a_quarter_more_is_called_and_said_in_words() {
    let comparison = between(&short(4_000.0, 1), &short(5_000.0, 2));
    assert_eq!(called(&comparison), ["sustained", "sustained"], "the session's and the window's");
    let said = verdict(&comparison);
    assert!(said.contains("more before it throttles: ") && said.contains("against 4,00") || said.contains("against 3,99"), "{said}");
    assert!(said.contains("NEW accepts 25.") || said.contains("NEW accepts 24.9"), "{said}");
    assert!(said.contains("latency is the same") && said.contains("One run gives no interval"), "{said}");
    assert!(said.contains("table not scaled"), "{said}");
    let back = verdict(&between(&short(5_000.0, 2), &short(4_000.0, 1)));
    assert!(back.contains("less before it throttles"), "{back}");
}

#[test]
fn tables_that_are_alike_differ_in_nothing_whatever_their_seeds() {
    let sessions: Vec<Document> = (10..40).map(|seed| short(4_000.0, seed)).collect();
    let wrong: Vec<Vec<&str>> =
        sessions.chunks(2).map(|two| called(&between(&two[0], &two[1]))).filter(|called| !called.is_empty()).collect();
    // Each comparison may be wrong once in twenty.
    assert!(wrong.len() <= 2, "{wrong:?}");
}

#[test]
fn what_is_significant_but_below_half_a_per_cent_is_not_called() {
    let (base, mut new) = (short(4_000.0, 1), short(4_000.0, 1));
    let ceiling = |document: &mut Document, per_s: f64, half: f64| {
        let interval = Some([(per_s - half).into(), (per_s + half).into()]);
        document.verdict.sustained_per_s = per_s.into();
        document.verdict.ci95_per_s = interval;
        let window = document.windows.last_mut().unwrap();
        window.sustained_per_s = per_s.into();
        window.sustained_ci95_per_s = interval;
    };
    let mut base = base;
    for (from, to, half, calls) in
        [(4_000.0, 4_016.0, 0.2, 0), (4_000.0, 4_028.0, 0.2, 2), (4_000.0, 4_028.0, 20.0, 0), (4_000.0, 4_400.0, 20.0, 2)]
    {
        ceiling(&mut base, from, half);
        ceiling(&mut new, to, half);
        assert_eq!(called(&between(&base, &new)).len(), calls, "{from} +/- {half} against {to}");
    }
}

#[test]
fn slower_answers_are_called_by_their_percentiles_and_windows() {
    let slow = Client { slow: 0.05, ..Client::default() };
    let comparison = between(&short(4_000.0, 1), &measured(4_000.0, 2, &SHORT, slow));
    let called = called(&comparison);
    assert!(called.contains(&"p99 service") && called.contains(&"p99 response"), "{called:?}");
    assert!(!called.contains(&"sustained"), "{called:?}");
    let said = verdict(&comparison);
    assert!(said.contains("p99 service at 1,500/s is ") && said.contains("higher ("), "{said}");
}

#[test]
fn more_sessions_at_once_make_each_difference_harder_to_call() {
    let base = short(4_000.0, 1);
    let others: Vec<Document> = (2..8).map(|seed| short(4_000.0, seed)).collect();
    let sides: Vec<Side<'_>> = others.iter().map(|document| Side { name: "x", document }).collect();
    let alone = compare(&Side { name: "base", document: &base }, &sides[..1]);
    let together = compare(&Side { name: "base", document: &base }, &sides);
    assert!(together.tests > 5 * alone.tests && alone.tests >= 8, "{} and {}", together.tests, alone.tests);
    let adjusted = |comparison: &Comparison| -> Vec<f64> {
        comparison.against[0].windows.iter().flat_map(|pair| &pair.figures).filter_map(|figure| figure.p_of_all.get()).collect()
    };
    assert!(adjusted(&alone).iter().zip(adjusted(&together)).all(|(alone, together)| *alone <= together));
    assert!(together.method.contains("Holm") && together.method.contains(&together.tests.to_string()));
}

#[test]
fn counts_without_an_interval_are_shown_and_never_called() {
    let comparison = between(&short(4_000.0, 1), &short(5_000.0, 2));
    for pair in &comparison.against[0].windows {
        for figure in pair.figures.iter().filter(|figure| matches!(figure.what, "accepted" | "burst" | "first throttle")) {
            assert!(matches!(figure.judgement, Judgement::NotComparable | Judgement::NoData), "{figure:?}");
            assert_eq!(figure.p, Finite::NULL);
        }
    }
}

// --- what forbids it ---

#[test]
fn what_cannot_be_compared_is_said_and_nothing_is_called() {
    let (base, larger) = (short(4_000.0, 1), short(5_000.0, 2));
    let mut real = larger.clone();
    real.target.simulated = false;
    let mut reads = larger.clone();
    reads.windows.iter_mut().for_each(|window| window.op = Op::Read);
    let mut planned = larger.clone();
    planned.plan = Some(Plan { name: "other".to_owned(), windows: Vec::new(), windows_done: 0 });
    for (new, why) in
        [(&real, "BASE is simulated and NEW is not"), (&reads, "BASE offered writes and NEW reads"), (&planned, "they ran different plans")]
    {
        let comparison = between(&base, new);
        assert_eq!(called(&comparison), Vec::<&str>::new(), "{why}");
        assert_eq!(comparison.tests, 0);
        let said = verdict(&comparison);
        assert!(said.contains(why) && said.contains("No difference of ceilings is called"), "{said}");
        assert!(!said.contains("accepts as much") && !said.contains("is the same"), "{said}");
    }
}

#[test]
fn a_client_that_fell_short_on_either_side_forbids_to_call_a_ceiling() {
    let (base, larger) = (short(4_000.0, 1), short(5_000.0, 2));
    for side in [0, 1] {
        let mut both = [base.clone(), larger.clone()];
        both[side].windows[1].verdict = VerdictKind::ClientBound;
        let comparison = between(&both[0], &both[1]);
        assert!(!called(&comparison).contains(&"sustained"), "{:?}", called(&comparison));
        let who = ["BASE", "NEW"][side];
        assert!(verdict(&comparison).contains(&format!("the client of {who} fell short in 1 of 2 windows")), "{}", verdict(&comparison));
        assert_eq!(comparison.against[0].windows[1].not_called, Some(format!("the client of {who} fell short")));
        assert_eq!(comparison.against[0].windows[0].not_called, None, "its latency may be compared");
    }
}

#[test]
fn windows_without_a_counterpart_are_listed_and_not_dropped() {
    let base = measured(4_000.0, 1, &[(1_000.0, 4), (1_500.0, 4), (1_500.0, 4)], Client::default());
    let new = measured(4_000.0, 2, &[(1_500.0, 4), (2_000.0, 4)], Client::default());
    let one = &between(&base, &new).against[0];
    let numbers = |windows: &[throttlescope::report::compare::WindowName]| windows.iter().map(|w| w.number).collect::<Vec<_>>();
    assert_eq!(one.windows.iter().map(|pair| (pair.base.number, pair.new.number)).collect::<Vec<_>>(), [(2, 1)]);
    assert_eq!((numbers(&one.only_in_base), numbers(&one.only_in_new)), (vec![1, 3], vec![2]));
    let page = text(&between(&base, &new));
    assert!(
        page.contains("Only in BASE: #1 1,000/s write, #3 1,500/s write.") && page.contains("Only in NEW: #2 2,000/s write."),
        "{page}"
    );
}

#[test]
fn a_table_whose_ceiling_was_not_reached_is_not_said_to_accept_so_much_more() {
    let base = short(4_000.0, 1);
    let said = verdict(&between(&base, &short(9_000.0, 2)));
    assert!(
        said.contains("BASE sustains") && said.contains("NEW was not throttled at up to 6,000/s, so its ceiling is not known"),
        "{said}"
    );
    assert!(said.contains("Which limit was met: BASE table not scaled (") && said.contains("; NEW none."), "{said}");
}

// --- set-ups and limits ---

#[test]
fn set_ups_and_limits_stand_side_by_side() {
    let (base, mut capped) = (short(4_000.0, 1), short(2_000.0, 2));
    capped.workload.item_bytes = 2_000;
    capped.target.warm_throughput = Some(UnitsPerS { write_units_per_s: 12_000, read_units_per_s: 24_000 });
    capped.tool.version = "0.2.0".to_owned();
    capped.throttles[0].reasons = vec!["TableWriteMaxOnDemandThroughputExceeded".to_owned()];
    let first = capped.throttles[0].clone();
    let provisioned = |reason: &str| Throttle { reasons: vec![reason.to_owned()], count: 3, ..first.clone() };
    capped.throttles.push(provisioned("TableWriteProvisionedThroughputExceeded"));
    capped.throttles.push(provisioned("TableWriteAccountLimitExceeded"));
    let comparison = between(&base, &capped);
    let differs: Vec<&str> = comparison.against[0].differs.iter().map(|difference| difference.what).collect();
    assert_eq!(differs, ["warm throughput", "item size", "seed", "tool version"]);
    let limits: Vec<&str> = comparison.against[0].new.limits.iter().map(|limit| limit.limit).collect();
    assert_eq!(limits, ["configured maximum", "provisioned capacity", "account quota"]);
    assert!(verdict(&comparison).contains("NEW configured maximum ("), "{}", verdict(&comparison));
    assert!(called(&comparison).contains(&"sustained"), "other set-ups are what one compares");
}

// --- the spread between tables ---

#[test]
fn the_spread_is_that_of_the_tables_by_students_distribution() {
    let mut tables: Vec<Document> = (1..=3).map(|seed| short(4_000.0, seed)).collect();
    for (table, per_s) in tables.iter_mut().zip([3_990.0, 4_000.0, 4_010.0]) {
        table.verdict.sustained_per_s = per_s.into();
        table.windows[1].first_throttle_s = (per_s / 1_000.0).into();
    }
    let mut other = short(5_000.0, 9);
    other.target.billing_mode = "provisioned:5000,5000".to_owned();
    tables.push(other);
    let sides: Vec<Side<'_>> = tables.iter().map(|document| Side { name: "t", document }).collect();
    let found = spreads(&sides, 3);
    assert_eq!((found.len(), found[0].names.len()), (1, 3), "what was treated otherwise is apart");
    let sustained = found[0].session.iter().find(|figure| figure.what == "sustained").unwrap();
    let [low, high] = sustained.ci95.unwrap().map(|end| end.get().unwrap());
    // t = 4.303 at two degrees of freedom, over the root of three.
    assert!((low - (4_000.0 - 24.843)).abs() < 0.01 && (high - (4_000.0 + 24.843)).abs() < 0.01, "{low} to {high}");
    assert_eq!(
        [sustained.mean, sustained.deviation, sustained.min, sustained.max].map(|f| f.get().unwrap()),
        [4_000.0, 10.0, 3_990.0, 4_010.0]
    );
    let first = found[0].windows[1].figures.iter().find(|figure| figure.what == "first throttle").unwrap();
    assert_eq!((first.tables, first.mean.get()), (3, Some(4.0)));
    assert!(spread_text(&found[0]).contains("3 tables treated alike"));
    assert_eq!(compare(&sides[0], &sides[1..]).spread, found);
    assert_eq!(compare(&sides[0], &sides[1..2]).spread, Vec::new(), "two have no table of their own");
}

// --- renderings ---

#[test]
fn the_page_of_a_comparison() {
    let base = short(4_000.0, 1);
    let mut new = short(5_000.0, 2);
    new.target.warm_throughput = Some(UnitsPerS { write_units_per_s: 5_000, read_units_per_s: 12_000 });
    let comparison = between(&base, &new);
    let page = text(&comparison);
    insta::assert_snapshot!("comparison_text", page);
    insta::assert_snapshot!("comparison_md", markdown(&comparison));
}

#[test]
fn a_page_stays_within_its_width_and_its_tables_whatever_it_is_told() {
    let base = short(4_000.0, 1);
    let mut hostile = base.clone();
    hostile.session.id = "\u{1b}[31m|x|\n# y".repeat(30);
    hostile.workload.keys = "<script>|".repeat(40);
    hostile.windows[0].label = "1500/s | \u{202e}\u{7}".repeat(20);
    let sides = [
        Side { name: "\u{1b}]0;x\u{7}|.json", document: &hostile },
        Side { name: "b", document: &base },
        Side { name: "c", document: &base },
    ];
    let comparison = compare(&sides[1], &sides);
    let page = text(&comparison);
    for line in page.lines() {
        assert!(line.len() <= 100 && line.bytes().all(|b| (0x20..0x7f).contains(&b)), "{line:?}");
    }
    let page = markdown(&comparison);
    assert!(!page.contains('\u{1b}') && !page.replace("\\<", "").contains('<'), "{page}");
    let columns = |line: &str| line.replace("\\|", "").matches('|').count();
    for table in page.split("\n\n").filter(|part| part.starts_with('|')) {
        let widths: Vec<usize> = table.lines().filter(|line| line.starts_with('|')).map(columns).collect();
        assert!(widths.windows(2).all(|two| two[0] == two[1]), "{table}");
    }
}

#[test]
fn sessions_without_data_compare_to_nothing() {
    let nothing = document(&throttlescope::report::Recording::default());
    let comparison = between(&nothing, &nothing);
    assert!(verdict(&comparison).contains("Neither session shows a saturated ceiling"), "{}", verdict(&comparison));
    assert!(!text(&comparison).contains("NaN") && !markdown(&comparison).contains("NaN"));
}

// --- the command ---

#[test]
fn the_command_reads_documents_and_journals_and_ends_with_3_when_an_expectation_is_not_met() {
    let place = Place::new();
    let base = place.file("base.jsonl", &story::journal(&entries(4_000.0, 1, &SHORT, Client::default())));
    let new = place.file("new.json", &serde_json::to_string(&short(5_000.0, 2)).unwrap());
    let run = |more: &[&str]| {
        let done = place.run(&[&["compare", base.as_str(), new.as_str()], more].concat());
        let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (done.status.code(), said(&done.stdout), said(&done.stderr))
    };
    let holds = "new.sustained_per_s >= 1.2 * base.sustained_per_s && new.simulated && base.simulated";
    let (code, page, said) = run(&["--expect", holds]);
    assert_eq!(code, Some(0), "{said}");
    assert!(page.contains("NEW accepts ") && said.contains("expected of new.json against base.jsonl: met"), "{page}{said}");
    let (code, _, said) = run(&["--expect", holds, "--expect", "new.sustained_per_s <= base.sustained_per_s"]);
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("NOT MET  new.sustained_per_s <= base.sustained_per_s: new.sustained_per_s is "), "{said}");
    let (code, page, said) = run(&["--expect", "sustained_per_s > 1"]);
    assert_eq!((code, page.as_str()), (Some(2), ""), "{said}");
    assert!(said.contains("type new.sustained_per_s or base.sustained_per_s"), "{said}");
    let (code, page, _) = run(&["--format", "json"]);
    let json: Value = serde_json::from_str(&page).unwrap();
    assert_eq!((code, &json["schema"]), (Some(0), &"throttlescope.comparison/1".into()));
    assert_eq!(json["against"][0]["sustained"]["judgement"], "differs");
    let (code, page, _) = run(&["--format", "md"]);
    assert!(code == Some(0) && page.starts_with("# Comparison\n"), "{page}");
    let gone = place.run(&["compare", &base, "/no/such/file.json"]);
    assert_eq!(gone.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&gone.stderr).contains("cannot read /no/such/file.json"));
}
