//! Documents and journals as files.

#[path = "support/mod.rs"]
mod bench;
#[path = "support/story.rs"]
mod story;

use std::fs;

use throttlescope::report::{JournalError, Recording, WriteError, check_writable, document, journal, load_document, write_new};

#[test]
fn a_document_is_never_written_over_a_file_unless_that_is_asked_for() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("mine.json");
    fs::write(&path, "precious").expect("written");
    let doc = document(&Recording::default());
    for refused in [check_writable(&path, false), write_new(&path, &doc, false)] {
        let said = refused.expect_err("refused").to_string();
        assert!(said.contains("mine.json is already there; add --force"), "{said}");
    }
    assert_eq!(fs::read_to_string(&path).expect("read"), "precious");
    check_writable(&path, true).expect("with force");
    assert_eq!(fs::read_to_string(&path).expect("read"), "precious", "a check changes nothing");
    write_new(&path, &doc, true).expect("with force");
    assert_eq!(load_document(&path).expect("reads back"), doc);
    assert_eq!(fs::read_dir(dir.path()).expect("listed").count(), 1, "no temporary file is left");
}

#[test]
fn a_document_is_readable_by_its_owner_only() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("new.json");
    check_writable(&path, false).expect("writable");
    assert!(!path.exists(), "a check leaves nothing behind");
    write_new(&path, &document(&Recording::default()), false).expect("written");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(fs::metadata(&path).expect("there").permissions().mode() & 0o777, 0o600);
    }
    assert!(fs::read_to_string(&path).expect("read").ends_with("}\n"));
}

#[test]
fn a_place_that_cannot_be_written_is_named_before_the_load_starts() {
    let dir = tempfile::tempdir().expect("a directory");
    assert!(matches!(check_writable(dir.path(), false), Err(WriteError::Directory { .. })));
    let said = check_writable(&dir.path().join("no/such/x.json"), false).expect_err("refused").to_string();
    assert!(said.contains("is not there; create it"), "{said}");
    assert!(matches!(check_writable(std::path::Path::new(""), false), Err(WriteError::Directory { .. })));
}

#[test]
fn a_journal_gives_the_report_of_its_session() {
    let entries = story::whole_session();
    let from_journal = journal::read(story::journal(&entries).as_bytes()).expect("a journal");
    let live = document(&story::told(&entries, from_journal.load.at.secs() as u64));
    assert_eq!(document(&from_journal), live);
}

#[test]
fn a_killed_session_loses_at_most_its_torn_last_line() {
    let entries = story::whole_session();
    let text = story::journal(story::until(&entries, 200));
    let whole = journal::read(text.as_bytes()).expect("a journal");
    for cut in [2, 40, 300] {
        let torn = &text[..text.len() - cut];
        let recording = journal::read(torn.as_bytes()).expect("a torn journal");
        assert!(recording.load.rows.len() + 1 >= whole.load.rows.len());
        let warnings: Vec<&str> = recording.events.iter().map(|e| e.detail.as_str()).collect();
        assert!(warnings.iter().any(|w| w.contains("is not whole and was left out")), "{warnings:?}");
        assert!(warnings.iter().any(|w| w.contains("has no end")), "{warnings:?}");
    }
    assert!(document(&whole).verdict.sustained_per_s.get().is_some());
}

#[test]
fn what_is_no_journal_is_told_what_it_is() {
    let read = |text: &str| journal::read(text.as_bytes()).expect_err("no journal");
    assert!(matches!(read(""), JournalError::Empty));
    assert!(matches!(read("hello\n"), JournalError::NoSession));
    let text = story::journal(&story::whole_session()[..3]);
    assert!(matches!(read(text.split_once('\n').expect("lines").1), JournalError::NoSession));
    assert!(matches!(read(&text.replace("journal/1", "journal/9")), JournalError::OtherSchema { .. }));
    let broken = text.replacen("\n{", "\n{{", 1);
    assert!(matches!(read(&broken), JournalError::BadLine { line: 2, .. }), "{broken}");
}

#[test]
fn a_file_is_taken_as_document_or_journal_and_else_named_for_what_it_is() {
    let dir = tempfile::tempdir().expect("a directory");
    let put = |name: &str, text: &str| {
        let path = dir.path().join(name);
        fs::write(&path, text).expect("written");
        load_document(&path)
    };
    let entries = story::whole_session();
    let from_journal = put("a.jsonl", &story::journal(&entries)).expect("a journal");
    let text = serde_json::to_string_pretty(&from_journal).expect("JSON");
    assert_eq!(put("b.json", &text), Ok(from_journal), "pretty-printed too");
    for (text, part) in [
        ("", "is empty"),
        ("hello", "is not JSON"),
        ("{\"a\":", "is not JSON"),
        ("[1,2]", "no session document"),
        ("{\"schema\":\"other/1\"}", "is `other/1`, and this version reads"),
        ("{\"schema\":\"throttlescope.session/2\"}", "written by a newer version"),
        ("{\"schema\":\"throttlescope.session/1\"}", "but is not: missing field"),
        ("{\"entry\":\"phase\",\"is\":{\"at\":0,\"phase\":\"running\"}}\n", "does not start a session"),
    ] {
        let said = put("x", text).expect_err(text);
        assert!(said.contains(part), "{text}: {said}");
    }
    assert!(load_document(&dir.path().join("none")).expect_err("no file").contains("cannot read"));
}
