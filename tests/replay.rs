//! A recorded session, played: the same at every moment as it was known then, and the same screen over it.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

#[path = "support/mod.rs"]
mod bench;
#[path = "support/story.rs"]
mod story;
mod terminal_support;

use std::path::Path;

use story::{told, until, whole_session};
use terminal_support::place::Place;
use terminal_support::program::Program;
use throttlescope::analysis::VerdictKind;
use throttlescope::load::Offset;
use throttlescope::report::replay::{Kept, Player};
use throttlescope::report::{Entry, Phase, document, load_document};

/// The journal of these entries.
fn journal(entries: &[Entry]) -> String {
    entries.iter().map(|entry| serde_json::to_string(entry).unwrap() + "\n").collect()
}

fn open(place: &Place, name: &str, text: &str) -> Player {
    Player::open(Path::new(&place.file(name, text))).unwrap()
}

/// The document of a player at a moment, as JSON without what is measured on no clock.
fn at(player: &mut Player, secs: u64) -> String {
    serde_json::to_string(&document(&player.at(Offset::from_secs(secs)))).unwrap()
}

#[test]
fn a_journal_played_to_its_end_is_what_a_report_makes_of_it() {
    let place = Place::new();
    let path = place.file("whole.jsonl", &journal(&whole_session()));
    let mut player = Player::open(Path::new(&path)).unwrap();
    assert_eq!(player.kept(), Kept::Journal);
    let played = document(&player.at(player.ends()));
    assert_eq!(played, load_document(Path::new(&path)).unwrap());
    assert_eq!(played.verdict.kind, VerdictKind::ServiceBound);
}

#[test]
fn at_every_moment_a_journal_shows_what_was_known_then() {
    let place = Place::new();
    let entries = whole_session();
    let mut player = open(&place, "whole.jsonl", &journal(&entries));
    for seconds in [20, 60, 100, 200] {
        let then = told(until(&entries, seconds), seconds as u64);
        let shown = player.at(Offset::from_secs(seconds as u64));
        assert_eq!(shown.load.rows, then.load.rows, "{seconds} s");
        assert_eq!(shown.load.totals, then.load.totals, "{seconds} s");
        assert_eq!(shown.assessment, then.assessment, "{seconds} s");
        assert_eq!(shown.load.at, Offset::from_secs(seconds as u64));
    }
}

#[test]
fn a_jump_back_or_on_shows_what_playing_would_with_or_without_checkpoints() {
    let place = Place::new();
    let text = journal(&whole_session());
    let (mut forward, mut jumping) = (open(&place, "a.jsonl", &text), open(&place, "b.jsonl", &text));
    let moments: Vec<u64> = (0..240).step_by(30).collect();
    let played: Vec<String> = moments.iter().map(|secs| at(&mut forward, *secs)).collect();
    let order = [7, 0, 3, 6, 1, 1, 5, 2, 4];
    for place in order {
        assert_eq!(at(&mut jumping, moments[place]), played[place], "{} s", moments[place]);
    }
    let Player::Journal(player) = &jumping else { panic!("no journal") };
    player.checkpoints().make(|| true);
    for place in order {
        assert_eq!(at(&mut jumping, moments[place]), played[place], "{} s with checkpoints", moments[place]);
    }
}

#[test]
fn a_torn_journal_plays_as_far_as_it_goes_and_says_so() {
    let place = Place::new();
    let text = journal(&whole_session());
    let whole: usize = text.split_inclusive('\n').take(300).map(str::len).sum();
    let cut = format!("{}{{\"entry\":\"event\",\"is\":{{\"at\":12", &text[..whole]);
    let mut player = open(&place, "torn.jsonl", &cut);
    let shown = player.at(player.ends());
    let said: Vec<&str> = shown.events.iter().map(|event| event.detail.as_str()).collect();
    assert!(said.iter().any(|said| said.contains("is not whole")) && said.iter().any(|said| said.contains("has no end")), "{said:?}");
    assert!(!shown.load.rows.is_empty());
    let before = player.at(Offset::from_secs(20));
    assert!(before.events.iter().all(|event| !event.detail.contains("not whole")), "said only where the journal ends");
}

#[test]
fn what_is_no_recording_is_told_in_a_sentence() {
    let place = Place::new();
    let second = "{\"entry\":\"phase\",\"is\":{\"at\":0,\"phase\":\"running\"}}\n";
    let first = journal(&whole_session()[..1]);
    for (name, text, part) in [
        ("empty.jsonl", String::new(), "is empty"),
        ("other.jsonl", second.to_owned(), "does not start a session"),
        ("bad.jsonl", format!("{first}{{\"entry\":\"nonsense\"}}\n{second}"), "line 2 is not an entry"),
        ("text.json", "not json".to_owned(), "is not JSON"),
        ("other.json", "{\"a\": 1}".to_owned(), "no \"schema\""),
    ] {
        let said = Player::open(Path::new(&place.file(name, &text))).map(|_| ()).expect_err(name);
        assert!(said.contains(name) && said.contains(part), "{name}: {said}");
    }
    assert!(Player::open(Path::new("/nowhere.jsonl")).map(|_| ()).expect_err("nothing").contains("cannot read"));
}

#[test]
fn a_document_is_played_as_far_as_it_tells() {
    let place = Place::new();
    let entries = whole_session();
    let whole = document(&told(&entries, 300));
    let mut player = open(&place, "whole.json", &serde_json::to_string(&whole).unwrap());
    assert_eq!(player.kept(), Kept::Document);
    let ends = player.ends();
    let played = document(&player.at(ends));
    for (what, one, other) in [
        ("verdict", serde_json::to_value(&played.verdict), serde_json::to_value(&whole.verdict)),
        ("windows", serde_json::to_value(&played.windows[6].evidence), serde_json::to_value(&whole.windows[6].evidence)),
        ("latencies", serde_json::to_value(&played.windows[3].latency_ms), serde_json::to_value(&whole.windows[3].latency_ms)),
        ("buckets", serde_json::to_value(&played.buckets), serde_json::to_value(&whole.buckets)),
        ("totals", serde_json::to_value(played.totals.counts), serde_json::to_value(whole.totals.counts)),
        ("throttles", serde_json::to_value(&played.throttles), serde_json::to_value(&whole.throttles)),
        ("stopped", serde_json::to_value(&played.session.stop_reason), serde_json::to_value(&whole.session.stop_reason)),
    ] {
        assert_eq!(one.unwrap(), other.unwrap(), "{what}");
    }
    // In the middle of the fifth window: its seconds so far, and neither its latencies nor what it came to.
    let fifth = instant(whole.windows[4].start_s.get().unwrap() + 10.0);
    let then = player.at(fifth);
    let window = then.load.windows.last().unwrap();
    assert_eq!((then.load.windows.len(), window.end, window.seconds.len()), (5, None, 10));
    assert_eq!(window.service.accepted.quantiles().count, 0);
    assert_eq!(then.load.windows[3].service.accepted.quantiles().count, whole.windows[3].latency_ms.accepted.service.count);
    assert!(then.load.rows.iter().all(|row| row.start < fifth) && then.events.iter().all(|event| event.at <= fifth));
    assert_eq!((then.ended_at, then.stop_reason, then.target.deleted, then.cost.usd), (None, None, false, None));
    assert!(!then.phase.is_over());
}

fn instant(seconds: f64) -> Offset {
    Offset::from_nanos((seconds * 1e9) as u64)
}

/// What the text report calls the ceiling.
fn sustained(place: &Place, file: &str) -> String {
    let done = place.run(&["report", file, "--format", "json"]);
    let document: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    let rate = document["verdict"]["sustained_per_s"].as_f64().unwrap().round() as u64;
    format!("{},{:03}/s", rate / 1_000, rate % 1_000)
}

#[test]
fn a_session_is_played_to_its_end_and_shows_the_verdict_of_its_report() {
    let place = Place::new();
    let file = place.file("whole.jsonl", &journal(&whole_session()));
    let mut program = Program::on_screen(&place, &["replay", &file, "--speed", "64"], &[]);
    program.see("REPLAY");
    program.see("SIMULATED");
    program.see("at its end");
    program.see("FINISHED");
    program.see("SERVICE-BOUND");
    program.see(&format!("sustained {}", sustained(&place, &file)));
    program.press("q");
    let ended = program.end();
    assert_eq!(ended.code, 0, "{}", ended.said);
    assert!(program.is_cooked());
    assert!(place.journal().is_none() && place.written("").is_empty(), "a replay leaves nothing behind");
}

#[test]
fn a_replay_is_paused_sought_and_sped_up_by_key() {
    let place = Place::new();
    let file = place.file("whole.jsonl", &journal(&whole_session()));
    let mut program = Program::on_screen(&place, &["replay", &file, "--from", "30s"], &[]);
    program.see("1x playing");
    program.press(" ");
    program.see("1x paused");
    program.press_until("\x1b[H", |screen| screen.contains("T+00:00 of 0"));
    program.press("\x1b[C");
    program.see("T+00:10 of");
    program.press("\x1b[6~");
    program.see("T+01:10 of");
    program.see("1x paused");
    program.press("\x1b[D");
    program.see("T+01:00 of");
    program.press(">");
    program.see("2x paused");
    program.press("+");
    program.see("4x paused");
    program.press("-");
    program.see("2x paused");
    for key in ["p", "r", "s", "\x1b[A", "j"] {
        program.press(key);
        program.see("this is a replay");
    }
    program.press("6");
    program.see("events");
    program.press("\x1b[F");
    program.see("at its end");
    program.press("1");
    program.see(&format!("sustained {}", sustained(&place, &file)));
    program.press(" ");
    program.see("2x playing");
    program.press("\x03");
    assert_eq!(program.end().code, 0);
}

#[test]
fn a_torn_journal_and_a_document_play_on_the_screen_too() {
    let place = Place::new();
    let entries = whole_session();
    let mut text = journal(&entries);
    text.truncate(text.len() - 20);
    let torn = place.file("torn.jsonl", &text);
    let mut program = Program::on_screen(&place, &["replay", &torn, "--speed", "64", "--from", "200s"], &[]);
    program.see("at its end");
    program.see("SERVICE-BOUND");
    program.press("6");
    program.see("is not whole");
    program.press("q");
    assert_eq!(program.end().code, 0);
    let document = serde_json::to_string(&document(&told(&entries, 300))).unwrap();
    let file = place.file("whole.json", &document);
    let mut program = Program::on_screen(&place, &["replay", &file, "--from", "120s"], &[]);
    program.see("REPLAY");
    program.press("\x1b[F");
    program.see("at its end");
    program.see(&format!("sustained {}", sustained(&place, &file)));
    program.press("5");
    program.see("a document does not tell the limit");
    program.press("q");
    assert_eq!(program.end().code, 0);
}

#[test]
fn a_replay_whose_terminal_goes_away_ends() {
    let place = Place::new();
    let file = place.file("whole.jsonl", &journal(&whole_session()));
    let mut program = Program::on_screen(&place, &["replay", &file], &[]);
    program.see("REPLAY");
    program.lose_terminal();
    assert_eq!(program.end().code, 129);
}

#[test]
fn without_a_terminal_the_report_is_named_instead() {
    let place = Place::new();
    let file = place.file("whole.jsonl", &journal(&whole_session()));
    let done = place.run(&["replay", &file]);
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert_eq!(done.status.code(), Some(2), "{said}");
    assert!(said.contains("use throttlescope report"), "{said}");
    for (args, part) in [(vec!["--speed", "65"], "65 is not in 1..=64"), (vec!["--from", "soon"], "for example 30s")] {
        let line: Vec<&str> = ["replay", &file].into_iter().chain(args).collect();
        let done = place.run(&line);
        assert!(String::from_utf8_lossy(&done.stderr).contains(part), "{}", String::from_utf8_lossy(&done.stderr));
    }
    let mut program = Program::on_screen(&place, &["replay", &file, "--from", "2h"], &[]);
    let ended = program.end();
    assert_eq!(ended.code, 2);
    assert!(ended.said.contains("type a --from before that"), "{}", ended.said);
}

#[test]
fn a_phase_is_what_it_was() {
    let place = Place::new();
    let mut player = open(&place, "whole.jsonl", &journal(&whole_session()));
    for (secs, phase) in [(1, Phase::Creating), (60, Phase::Running)] {
        assert_eq!(player.at(Offset::from_secs(secs)).phase, phase);
    }
    assert!(player.at(player.ends()).phase.is_over());
}
