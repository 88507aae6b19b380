//! The summary and the status line.

#[path = "support/mod.rs"]
mod bench;
#[path = "support/story.rs"]
mod story;

use throttlescope::load::Offset;
use throttlescope::report::{Cost, Entry, Finite, Phase, Recording, TargetFacts, document, status, text};

fn is_page(page: &str) {
    for line in page.lines() {
        assert!(line.len() <= 100, "{} columns: {line}", line.len());
    }
    is_plain(page);
}

fn is_plain(page: &str) {
    assert!(page.bytes().all(|b| b == b'\n' || (0x20..0x7f).contains(&b)), "{page}");
}

#[test]
fn the_summary_of_a_finished_session() {
    let page = text(&document(&story::told(&story::whole_session(), 242)));
    is_page(&page);
    insta::assert_snapshot!("finished", page);
}

#[test]
fn the_summary_of_a_session_that_failed_says_loudly_what_is_left() {
    let page = text(&document(&story::told(&story::failed_session(), 21)));
    is_page(&page);
    assert!(!page.starts_with("SIMULATED"));
    assert!(page.contains("TABLE throttlescope-ts-7f3a09 MAY BE LEFT BEHIND") && page.contains("aws dynamodb delete-table"), "{page}");
    assert!(page.contains("price unknown"), "{page}");
    insta::assert_snapshot!("failed", page);
}

#[test]
fn the_summary_of_a_session_without_data_has_no_figures() {
    let page = text(&document(&Recording::default()));
    is_page(&page);
    assert!(page.contains("INCONCLUSIVE") && !page.contains("NaN"), "{page}");
}

#[test]
fn a_ledger_that_disagrees_is_said_loudly() {
    let mut doc = document(&story::told(&story::whole_session(), 242));
    assert!(text(&doc).contains("counted the same to the last request"));
    if let Some(ledger) = &mut doc.target_ledger {
        ledger.accepted += 3;
    }
    assert!(text(&doc).contains("DISAGREES"));
    doc.totals.counts.failed += 3;
    assert!(text(&doc).contains("within the 3 that failed"), "{}", text(&doc));
}

#[test]
fn hostile_and_endless_text_stays_within_the_page() {
    let mut doc = document(&story::told(&story::failed_session(), 21));
    doc.target.table = "x".repeat(255);
    doc.session.id = "\u{1b}]0;title\u{7}".to_owned();
    doc.failures[0].message = "\u{202e}\u{9b}2J".repeat(200);
    doc.windows[0].accepted_per_s = Finite::from(1e300);
    doc.windows[0].duration_s = Finite::from(1e12);
    is_page(&text(&doc));
}

fn status_at(entries: &[Entry], at_s: u64) -> String {
    let line = status::line(&story::told(entries, at_s));
    is_plain(&line);
    assert!(!line.contains('\n'));
    line
}

#[test]
fn the_status_line_says_how_the_session_stands() {
    let entries = story::whole_session();
    assert_eq!(status_at(&[], 0), "T+00:00 starting");
    assert_eq!(status_at(&entries[..3], 5), "T+00:05 SIMULATED creating table throttlescope-ts-7f3a09, not ACTIVE after 5 s");
    let mid = status_at(story::until(&entries, 160), 160);
    assert!(mid.starts_with("T+02:40 SIMULATED running 5,000/s: accepted "), "{mid}");
    assert!(mid.contains("throttled ") && mid.contains(" p50 ") && mid.contains(" ms in flight ") && mid.contains(" $0.19"), "{mid}");
    assert!(mid.ends_with("  window 5/7 11 s left"), "{mid}");
    let end = status_at(&entries, 242);
    assert_eq!(end, "T+04:02 SIMULATED finished (completed): service-bound 4,000/s, table deleted in 1.20 s");
    let failed = status_at(&story::failed_session(), 21);
    assert!(failed.ends_with("TABLE throttlescope-ts-7f3a09 IS LEFT BEHIND"), "{failed}");
}

#[test]
fn the_status_line_is_sensible_in_every_phase() {
    for phase in [Phase::Seeding, Phase::Warming, Phase::Running, Phase::Paused, Phase::PlanEnded, Phase::Draining, Phase::Deleting] {
        let mut recording = Recording { phase, phase_since: Offset::from_secs(3), ..Recording::default() };
        recording.load.at = Offset::from_secs(10);
        recording.cost = Cost { usd: Some(0.001), ..Cost::default() };
        recording.target = TargetFacts { simulated: true, table: "t".to_owned(), ..TargetFacts::default() };
        let line = status::line(&recording);
        is_plain(&line);
        assert!(line.starts_with("T+00:10 SIMULATED "), "{line}");
    }
}
