//! Expectations: the language, what is done without data, the table of names, and the exit codes.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

#[path = "support/mod.rs"]
mod bench;
#[path = "support/story.rs"]
mod story;
mod terminal_support;

use std::sync::OnceLock;

use proptest::prelude::*;
use serde_json::Value;
use terminal_support::place::Place;
use terminal_support::program::Program;
use throttlescope::report::expect::{Expectation, Scope, Subjects, Truth, names, names_markdown};
use throttlescope::report::{Document, Finite, document};

/// The `ceiling` plan on a fresh simulated table: service-bound, 4,000/s, 7 windows, the first four without a throttle.
fn session() -> &'static Document {
    static SESSION: OnceLock<Document> = OnceLock::new();
    SESSION.get_or_init(|| document(&story::told(&story::whole_session(), 242)))
}

fn truth(typed: &str) -> Truth {
    checked(typed, session())
}

fn checked(typed: &str, document: &Document) -> Truth {
    let expectation = Expectation::parse(typed, Scope::One).unwrap_or_else(|error| panic!("{error}"));
    expectation.check(Subjects::One(document)).truth
}

// --- the language ---

fn name() -> impl Strategy<Value = String> {
    let of_session = prop::sample::select(names(false)).prop_filter("a number", |name| !matches!(name.as_str(), "verdict" | "simulated"));
    let of_window = prop::sample::select(names(true)).prop_filter("a number", |name| name != "verdict");
    let which = prop_oneof![
        (1u32..9).prop_map(|n| n.to_string()),
        Just("last".to_owned()),
        "[a-z0-9,/ \"'\\\\]{0,8}".prop_map(|label| format!("\"{}\"", label.replace('\\', "\\\\").replace('"', "\\\""))),
    ];
    prop_oneof![of_session, (which, of_window).prop_map(|(which, name)| format!("window[{which}].{name}"))]
}

fn number() -> impl Strategy<Value = String> {
    let literal = prop_oneof![
        (0.0f64..1e12).prop_map(|n| n.to_string()),
        (0u32..100_000, prop::sample::select(vec!["", "k", "%", ".5", ".25k", "_000"])).prop_map(|(n, rest)| format!("{n}{rest}")),
    ];
    let leaf = prop_oneof![literal, name()];
    leaf.prop_recursive(4, 24, 2, |inner| {
        prop_oneof![
            (inner.clone(), prop::sample::select(vec!["+", "-", "*", "/"]), inner.clone()).prop_map(|(a, op, b)| format!("{a} {op}{b}")),
            inner.clone().prop_map(|a| format!("( {a})")),
            inner.prop_map(|a| format!("-{a}")),
        ]
    })
}

fn condition() -> impl Strategy<Value = String> {
    let kinds = prop::sample::select(vec!["service-bound", "client-bound", "ceiling-not-reached", "'inconclusive'"]);
    let compared =
        (number(), prop::sample::select(vec!["<", "<=", ">", ">=", "==", "!="]), number()).prop_map(|(a, op, b)| format!("{a}{op} {b}"));
    let leaf = prop_oneof![4 => compared, 1 => Just("simulated".to_owned()), 1 => kinds.prop_map(|kind| format!("verdict!={kind}"))];
    leaf.prop_recursive(4, 24, 2, |inner| {
        prop_oneof![
            (inner.clone(), prop::sample::select(vec!["&&", "||"]), inner.clone()).prop_map(|(a, op, b)| format!("{a} {op} {b}")),
            inner.clone().prop_map(|a| format!("({a})")),
            inner.prop_map(|a| format!("!({a})")),
        ]
    })
}

proptest! {
    #[test]
    fn an_expectation_written_again_is_the_same(typed in condition()) {
        let once = Expectation::parse(&typed, Scope::One).map_err(|error| TestCaseError::fail(error.to_string()))?;
        let written = once.expr().to_string();
        let again = Expectation::parse(&written, Scope::One).map_err(|error| TestCaseError::fail(format!("{written}: {error}")))?;
        prop_assert_eq!(once.expr(), again.expr(), "{}", written);
        let subjects = Subjects::One(session());
        prop_assert_eq!(once.check(subjects), again.check(subjects));
    }

    #[test]
    fn whatever_is_typed_nothing_panics(typed in prop_oneof![
        "\\PC{0,60}",
        prop::collection::vec(prop::sample::select(vec![
            "window", "[", "]", "last", ".", "new", "base", "p99_ms", "sustained_per_s", "verdict", "service-bound", "simulated", "(", ")", "!", "-", "+", "*",
            "/", "<", "<=", "==", "!=", "&&", "||", "1", "0", "4k", "5%", "\"5,000/s\"", "\"", "=", "&", " ", "\u{e4}", "throttled", "totals",
        ]), 0..24).prop_map(|words| words.concat()),
    ]) {
        for scope in [Scope::One, Scope::Two] {
            match Expectation::parse(&typed, scope) {
                Ok(expectation) => drop(expectation.check(Subjects::Two { base: session(), new: session() })),
                Err(error) => prop_assert!(error.to_string().contains("column "), "{}", error),
            }
        }
    }
}

#[test]
fn numbers_and_operators_mean_what_they_say() {
    for typed in [
        "4k == 4_000 && 2.5k == 2500 && 1% == 0.01 && 0.1k == 100",
        "1 + 2 * 3 == 7 && (1 + 2) * 3 == 9 && 10 - 4 - 3 == 3 && 12 / 2 / 3 == 2",
        "-2 * -3 == 6 && 1 - -1 == 2",
        "1 < 2 && 2 <= 2 && 3 > 2 && 2 >= 2 && 1 != 2 && !(1 == 2)",
        "1 == 2 || 1 == 1 && 2 == 2",
        "simulated && !(!simulated)",
        "verdict == service-bound && verdict != client-bound && \"service-bound\" == verdict",
        "totals.offered - totals.shed == totals.sent",
        "window[1].throttled / window[1].offered <= 0.5%",
        "window[\"8,000/s\"].offered == window[last].offered && window[7].offered == window[last].offered",
    ] {
        assert_eq!(truth(typed), Truth::Met, "{typed}");
    }
    assert_eq!(truth("1 == 1 || 1 == 1 && 1 == 2"), Truth::Met, "&& binds tighter");
    assert_eq!(truth("(1 == 1 || 1 == 1) && 1 == 2"), Truth::NotMet);
}

#[test]
fn a_mistake_is_pointed_at_and_told_what_to_type() {
    for (typed, column, part) in [
        ("", 1, "for example sustained_per_s >= 3960"),
        ("p99_ms <", 9, "something is missing"),
        ("sustaned_per_s > 1", 1, "did you mean sustained_per_s?"),
        ("1 < window[3].sustaned_per_s", 15, "did you mean sustained_per_s?"),
        ("totals.throtled == 0", 1, "did you mean totals.throttled?"),
        ("first_throttle_s > 1", 1, "window[last].first_throttle_s"),
        ("window[1].cost_usd < 1", 11, "without window[...]"),
        ("window[0].p99_ms < 1", 8, "counted from 1"),
        ("window[1.5].p99_ms < 1", 8, "counted from 1"),
        ("window.p99_ms < 1", 7, "window[last]"),
        ("window[first].p99_ms < 1", 8, "window[\"5,000/s\"]"),
        ("window[1 .p99_ms < 1", 10, "type ]"),
        ("window[1] < 1", 11, "type for example .p99_ms"),
        ("p99_ms < 20ms", 10, "units are in the names"),
        ("sustained_per_s > 4,000", 19, "without commas"),
        ("p99_ms = 3", 8, "type =="),
        ("p99_ms < 3 & simulated", 12, "type &&"),
        ("p99_ms < 3 | simulated", 12, "type ||"),
        ("p99_ms < 3 && 4", 15, "joins conditions"),
        ("p99_ms", 1, "compare it"),
        ("verdict", 1, "verdict == service-bound"),
        ("verdict == 3", 9, "not of one kind"),
        ("verdict < client-bound", 1, "a verdict"),
        ("verdict == \"bound\"", 12, "ceiling-not-reached"),
        ("!p99_ms < 3", 2, "!(p99_ms < 20)"),
        ("1 < p99_ms < 3", 12, "a < b && b < c"),
        ("(p99_ms < 3", 12, "type )"),
        ("p99_ms < 3)", 11, "&& or ||"),
        ("p99_ms < 3 p50_ms < 2", 12, "&& or ||"),
        ("p99_ms < 3 # good", 12, "means nothing here"),
        ("window[\"x].p99_ms < 3", 8, "has no end"),
        ("new.p99_ms < 3", 1, "throttlescope compare"),
        ("\u{fc}\u{fc} < 3", 1, "means nothing here"),
        ("1 < 2 && \"\u{fc}\u{fc}\" == 3 &", 20, "type &&"),
    ] {
        let error = Expectation::parse(typed, Scope::One).map(|_| ()).expect_err(typed).to_string();
        assert!(error.starts_with(&format!("column {column}: ")) && error.contains(part), "{typed}:\n{error}");
        let caret = error.lines().find(|line| line.trim() == "^").unwrap_or_else(|| panic!("no caret: {error}"));
        assert_eq!(caret.find('^'), Some(4 + column - 1), "{error}");
    }
    let error = Expectation::parse("p99_ms < 3", Scope::Two).map(|_| ()).expect_err("no side").to_string();
    assert!(error.contains("new.p99_ms or base.p99_ms"), "{error}");
    for endless in ["(".repeat(3_000), "1+".repeat(2_000), "x".repeat(5_000)] {
        assert!(Expectation::parse(&endless, Scope::One).is_err());
    }
}

// --- without data ---

#[test]
fn missing_data_is_never_met_whatever_stands_around_it() {
    // Nothing was throttled in the first window, and there are seven.
    for gone in ["window[1].first_throttle_s", "window[9].p99_ms", "window[\"9,000/s\"].offered", "window[1].throttled.p99_ms", "1 / 0"] {
        for typed in [
            "{} < 1",
            "!({} < 1)",
            "{} != 1",
            "{} == {}",
            "!({} < 1) || 1 == 2",
            "{} < 1 || {} >= 1",
            "-({} + 1) * 2 < 1e0",
            "simulated && {} < 1",
        ] {
            let typed = typed.replace("{}", gone).replace("1e0", "1");
            assert_eq!(truth(&typed), Truth::NoData, "{typed}");
        }
        assert_eq!(truth(&format!("{gone} < 1 || simulated")), Truth::Met, "the other side is certain");
        assert_eq!(truth(&format!("{gone} < 1 && !simulated")), Truth::NotMet, "the other side is certain");
    }
}

#[test]
fn a_session_without_data_meets_nothing_that_speaks_of_figures() {
    let nothing = document(&throttlescope::report::Recording::default());
    for name in names(false) {
        let typed = match name.as_str() {
            "verdict" | "simulated" => continue,
            // Counts of nothing are zero, and elapsed time is known.
            name if name.starts_with("totals.") || name == "elapsed_s" => format!("{name} != 0"),
            name => format!("{name} >= 0 || {name} < 0"),
        };
        assert_ne!(checked(&typed, &nothing), Truth::Met, "{typed}");
    }
}

// --- names ---

#[test]
fn a_bare_latency_is_the_response_of_accepted_requests_in_the_worst_window() {
    let mut uneven = session().clone();
    for (index, window) in uneven.windows.iter_mut().enumerate() {
        let latencies = &mut window.latency_ms;
        latencies.accepted.response.p99 = (10.0 + index as f64).into();
        latencies.accepted.service.p99 = (30.0 - index as f64).into();
        latencies.throttled.response.p99 = if index > 3 { (50.0 + index as f64).into() } else { Finite::NULL };
        latencies.all.service.p50 = 77.0.into();
    }
    let met = |typed: &str| assert_eq!(checked(typed, &uneven), Truth::Met, "{typed}");
    met("p99_ms == 16 && response.p99_ms == 16 && accepted.p99_ms == 16 && accepted.response.p99_ms == 16");
    met("service.p99_ms == 30 && accepted.service.p99_ms == 30");
    met("throttled.p99_ms == 56 && all.service.p50_ms == 77");
    met("window[2].p99_ms == 11 && window[2].service.p99_ms == 29");
    let said = Expectation::parse("p99_ms < 3", Scope::One).unwrap().check(Subjects::One(&uneven)).lines.concat();
    assert!(said.contains("NOT MET") && said.contains("p99_ms is 16 (worst in window 7, 8,000/s)"), "{said}");
    // A window that accepted nothing shows no latency, and so hides what the worst one is.
    uneven.windows[0].latency_ms.accepted.response.p99 = Finite::NULL;
    assert_eq!(checked("p99_ms < 1000", &uneven), Truth::NoData);
}

#[test]
fn a_name_reads_the_field_of_the_document_that_is_called_so() {
    let json = serde_json::to_value(session()).unwrap();
    let mut read = 0;
    for (number, window) in json["windows"].as_array().unwrap().iter().enumerate() {
        for name in names(true) {
            let Some(value) = window.get(&name) else { continue };
            let typed = match value {
                Value::Number(n) => format!("window[{}].{name} == {n}", number + 1),
                Value::String(kind) => format!("window[{}].{name} == {kind}", number + 1),
                _ => continue,
            };
            assert_eq!(truth(&typed), Truth::Met, "{typed}");
            read += 1;
        }
    }
    for name in names(false) {
        let pointer = format!("/{}", name.replace('.', "/"));
        let parts = ["", "/verdict", "/totals", "/target", "/session"];
        let Some(Value::Number(n)) = parts.iter().find_map(|part| json.pointer(&format!("{part}{pointer}"))) else { continue };
        assert_eq!(truth(&format!("{name} == {n}")), Truth::Met, "{name}");
        read += 1;
    }
    assert!(read > 100, "{read}");
}

/// `THROTTLESCOPE_UPDATE_DOCS=1 cargo test --test expect` writes the names into the documentation.
#[test]
fn the_documentation_lists_the_names_of_the_table() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/expect.md");
    let page = std::fs::read_to_string(path).unwrap();
    let start = page.find("<!-- names:").and_then(|at| page[at..].find("-->\n").map(|end| at + end + 4)).expect("the start of the names");
    let end = page.find("<!-- /names -->").expect("the end of the names");
    let listed = names_markdown();
    if std::env::var_os("THROTTLESCOPE_UPDATE_DOCS").is_some() {
        std::fs::write(path, format!("{}{listed}{}", &page[..start], &page[end..])).unwrap();
        return;
    }
    assert_eq!(&page[start..end], listed, "write it with THROTTLESCOPE_UPDATE_DOCS=1");
    for example in page.lines().filter_map(|line| line.strip_prefix("throttlescope ")) {
        let scope = if example.starts_with("compare") { Scope::Two } else { Scope::One };
        for typed in example.split("--expect '").skip(1).filter_map(|rest| rest.split('\'').next()) {
            Expectation::parse(typed, scope).unwrap_or_else(|error| panic!("an example of the documentation: {error}"));
        }
    }
}

// --- exit codes ---

/// One window of a second on a table that is there at once.
const PLAN: &str = "name = \"one\"\nwindow = \"1s\"\nrates = [50]\n";
const QUICK: [&str; 2] = ["--embedded-time-scale", "100"];

#[test]
fn a_report_checks_what_is_expected_of_a_session() {
    let place = Place::new();
    let file = place.file("session.json", &serde_json::to_string(session()).unwrap());
    for (expected, code, said) in [
        (&["sustained_per_s >= 3960 && p99_ms < 20"][..], 0, "expected: met"),
        (&["sustained_per_s >= 3960", "p99_ms < 1"], 3, "NOT MET  p99_ms < 1: p99_ms is "),
        (&["window[9].p99_ms < 1000"], 3, "NO DATA  window[9].p99_ms < 1000: window[9].p99_ms is no data (there is no such window, of 7)"),
        (&["sustained_per_s >="], 2, "something is missing at the end"),
    ] {
        let mut args = vec!["report", &file];
        for expected in expected {
            args.extend(["--expect", expected]);
        }
        let done = place.run(&args);
        let words = String::from_utf8_lossy(&done.stderr).into_owned();
        assert_eq!(done.status.code(), Some(code), "{expected:?}: {words}");
        assert!(words.contains(said), "{expected:?}: {words}");
        assert_eq!(done.stdout.is_empty(), code == 2, "the report itself goes to standard output");
    }
}

#[test]
fn a_mistake_is_found_before_anything_is_created() {
    let place = Place::new();
    let plan = place.file("plan.toml", PLAN);
    for (expected, said) in [
        ("sustaned_per_s > 1", "did you mean sustained_per_s?"),
        ("window[\"60/s\"].p99_ms < 1", "no window of the plan is called \"60/s\"; they are called \"50/s\""),
        ("window[2].p99_ms < 1", "the plan has 1 windows"),
    ] {
        let done = place.run(&["run", "--headless", "--plan", &plan, "--expect", expected]);
        let words = String::from_utf8_lossy(&done.stderr).into_owned();
        assert_eq!(done.status.code(), Some(2), "{words}");
        assert!(words.contains(said), "{words}");
        assert!(place.journal().is_none() && place.written(".json").is_empty());
    }
}

#[test]
fn a_run_ends_with_3_when_what_was_expected_is_not_so_and_with_a_guard_s_code_when_one_stopped_it() {
    let run = |more: &[&str]| {
        let place = Place::new();
        let plan = place.file("plan.toml", PLAN);
        let mut args = vec!["run", "--headless", "--plan", &plan];
        args.extend(more);
        let ended = Program::without_screen(&place, &args).end();
        let document = place.document();
        (ended, document)
    };
    let counted = "window[\"50/s\"].offered == 50 && totals.offered == 50 && window[last].verdict != service-bound";
    let (ended, document) = run(&[&QUICK[..], &["--expect", counted]].concat());
    assert_eq!(ended.code, 0, "{}", ended.said);
    assert_eq!((ended.said.matches("\n  met  ").count(), &document["totals"]["offered"]), (3, &50.into()), "{}", ended.said);

    let (ended, _) = run(&[&QUICK[..], &["--expect", counted, "--expect", "sustained_per_s >= 3960"]].concat());
    assert_eq!(ended.code, 3, "{}", ended.said);
    assert!(ended.said.contains("NO DATA  sustained_per_s >= 3960: sustained_per_s is no data"), "{}", ended.said);

    // The table is ACTIVE after two seconds only.
    let (ended, _) = run(&["--embedded-time-scale", "3.7", "--max-duration", "1s", "--expect", "sustained_per_s >= 3960"]);
    assert_eq!(ended.code, 4, "{}", ended.said);
    assert!(ended.said.contains("expected: NOT MET"), "{}", ended.said);
}
