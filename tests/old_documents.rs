//! What earlier versions wrote is read by this one: a document and the journal of the same session, written before documents
//! knew of ramps, mixed load, claims, units per window and which limit it was.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

use std::path::{Path, PathBuf};

use throttlescope::report::{load_document, text};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

#[test]
fn a_document_and_a_journal_of_an_earlier_version_give_the_same_report() {
    let document = load_document(&data("session-1.first.json")).expect("a document");
    let journal = load_document(&data("journal-1.first.jsonl")).expect("a journal");
    assert_eq!(document.totals, journal.totals);
    assert_eq!((document.totals.counts.offered, document.windows.len()), (6_000, 1));
    assert_eq!(document.windows[0].sustained_per_s, journal.windows[0].sustained_per_s);
    for report in [text(&document), text(&journal)] {
        assert!(report.contains("SERVICE-BOUND") && report.contains("keys hot"), "{report}");
    }
}

#[test]
fn an_old_document_is_valid_by_the_schema_of_today() {
    let schema: serde_json::Value = serde_json::from_str(include_str!("../assets/session.schema.json")).expect("JSON");
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let document: serde_json::Value = serde_json::from_str(include_str!("data/session-1.first.json")).expect("JSON");
    let errors: Vec<String> = validator.iter_errors(&document).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:?}");
}
