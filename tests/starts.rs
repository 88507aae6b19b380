//! How the program starts: with a screen only where there is one, in the symbols and colours that are there, and not at all
//! where its document could not be written.

mod terminal_support;

use terminal_support::place::{Place, valid};
use terminal_support::program::{Program, entered_and_left_once};

/// One short window against the simulated endpoint in the same process.
const SHORT: [&str; 6] = ["--rate", "50", "--window", "1s", "--embedded-time-scale", "20"];
/// The same, steered by hand.
const BY_HAND: [&str; 4] = ["--rate", "50", "--embedded-time-scale", "20"];

#[test]
fn without_a_terminal_the_program_runs_headless_and_writes_no_escape_code() {
    let place = Place::new();
    let ended = Program::without_screen(&place, &SHORT).end();
    assert_eq!(ended.code, 0, "{}", ended.said);
    assert!(ended.said.contains("SIMULATED finished") && ended.out.starts_with("SIMULATED:"), "{}\n{}", ended.said, ended.out);
    assert!(!ended.said.contains('\u{1b}') && !ended.out.contains('\u{1b}'));
    assert_eq!(place.document()["target"]["simulated"], true);
}

#[test]
fn without_a_terminal_the_document_can_go_to_standard_output_alone() {
    let place = Place::new();
    let ended = Program::without_screen(&place, &[&SHORT[..], &["--out", "-"]].concat()).end();
    assert_eq!(ended.code, 0, "{}", ended.said);
    assert_eq!(valid(&ended.out)["session"]["stop_reason"], "completed");
    assert_eq!(place.written(".json").len(), 0);
}

#[test]
fn on_a_dumb_terminal_the_program_runs_headless_and_writes_no_escape_code() {
    let place = Place::new();
    let mut program = Program::on_screen(&place, &SHORT, &[("TERM", "dumb")]);
    let ended = program.end();
    assert_eq!(ended.code, 0, "{}", ended.said);
    assert!(ended.said.contains("SIMULATED finished") && ended.said.contains("session document:"), "{}", ended.said);
    assert!(!ended.said.contains('\u{1b}'), "{:?}", ended.said);
    assert!(program.is_cooked());
    place.document();
}

#[test]
fn a_failed_session_writes_no_escape_code_without_a_terminal() {
    let place = Place::new();
    let ended = Program::without_screen(&place, &["--endpoint-url", "http://127.0.0.1:1"]).end();
    assert_eq!(ended.code, 1, "{}", ended.said);
    assert!(!ended.said.contains('\u{1b}') && !ended.out.contains('\u{1b}'), "{}", ended.said);
}

/// What the SGR sequences of a text set.
fn styles(said: &str) -> impl Iterator<Item = &str> {
    let codes = said.split("\u{1b}[").skip(1);
    codes
        .filter_map(|code| code.split_once('m').map(|(style, _)| style))
        .filter(|style| style.bytes().all(|b| b.is_ascii_digit() || b == b';'))
}

fn is_colour(style: &str) -> bool {
    style.parse::<u8>().is_ok_and(|style| matches!(style, 30..=38 | 40..=48 | 90..=107))
}

#[test]
fn without_colour_the_screen_says_all_it_says_in_words() {
    let place = Place::new();
    let mut program = Program::on_screen(&place, &BY_HAND, &[("NO_COLOR", "1")]);
    program.see("RUNNING");
    assert!(program.shows().contains("SIMULATED"));
    program.quit();
    let ended = program.end();
    entered_and_left_once(&ended.said);
    assert_eq!(ended.code, 0);
    let colours: Vec<&str> = styles(&ended.said).filter(|style| style.split(';').any(is_colour)).collect();
    assert_eq!(colours, Vec::<&str>::new());
    assert!(styles(&ended.said).any(|style| style == "7"), "nothing is in reverse: {:?}", ended.said);
}

#[test]
fn in_the_c_locale_the_screen_is_plain_ascii() {
    let place = Place::new();
    let mut program = Program::on_screen(&place, &BY_HAND, &[("LANG", "C")]);
    program.see("RUNNING");
    for view in ["2", "3", "4", "5", "6", "1", "?"] {
        program.press(view);
    }
    program.see("? Esc close");
    program.press("\u{1b}");
    program.press("p");
    program.see("run a plan");
    program.press("p");
    program.quit();
    let ended = program.end();
    entered_and_left_once(&ended.said);
    assert!(ended.said.is_ascii(), "{:?}", ended.said.chars().filter(|c| !c.is_ascii()).collect::<String>());
}

#[test]
fn a_document_that_exists_is_refused_before_any_screen_or_load() {
    for screen in [false, true] {
        let place = Place::new();
        let file = place.file("kept.json", "mine");
        let args = [&BY_HAND[..], &["--out", &file]].concat();
        let mut program = if screen { Program::on_screen(&place, &args, &[]) } else { Program::without_screen(&place, &args) };
        let ended = program.end();
        assert_eq!(ended.code, 2, "{}", ended.said);
        assert!(ended.said.contains("kept.json") && ended.said.contains("--force"), "{}", ended.said);
        assert_eq!(ended.said.trim().lines().count(), 1, "more than a sentence: {}", ended.said);
        assert!(!ended.said.contains('\u{1b}') && ended.out.is_empty(), "{:?}", ended.said);
        assert_eq!(std::fs::read_to_string(&file).ok().as_deref(), Some("mine"));
        assert_eq!(place.journal(), None, "a session was begun");
    }
}
