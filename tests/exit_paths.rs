//! Whatever ends a session, whenever: no table is left, the terminal is as it was, the document and the journal can be read,
//! and the exit code says how it ended.

mod terminal_support;

use std::time::{Duration, Instant};

use rustix::process::Signal;
use terminal_support::place::Place;
use terminal_support::program::{Ended, Program, entered_and_left_once};
use terminal_support::target::Target;

/// A table that takes its time to come and to go.
const SLOW_TABLE: &str = "[table]\nactivation_s = 4\ndeletion_s = 0.5\n";
/// A table that is there soon.
const TABLE: &str = "[table]\nactivation_s = 0.5\ndeletion_s = 0.5\n";
/// Requests that stay in flight for long, so that there is something to drain.
const SLOW_ANSWERS: &str = "[[faults]]\nfrom_s = 0\nto_s = 100000\nkind = \"delay\"\ndelay_ms = 6000\n";
/// Two short windows and a long pause between them.
const LONG_PAUSE: &str = "name = \"two\"\nwindow = \"1s\"\npause = \"10m\"\nrates = [50, 50]\n";
/// One short window.
const SHORT: &str = "name = \"one\"\nwindow = \"1s\"\nrates = [50]\n";

/// When the session is ended.
#[derive(Clone, Copy, Debug, PartialEq)]
enum When {
    Creating,
    Running,
    /// Once it was already told to stop, and requests are in flight.
    Draining,
    /// Between two windows of a plan.
    Pause,
}

/// What ends it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Exit {
    /// `q` and `y`.
    Quit,
    /// Ctrl-C twice, as keys.
    ControlC,
    /// A signal to the process.
    Signal(Signal),
}

#[derive(Clone, Copy, Debug)]
struct Cell {
    screen: bool,
    when: When,
    exit: Exit,
    code: u32,
    reason: &'static str,
}

/// On a screen, the exit code and the reason that each exit leads to.
const ON_SCREEN: [(Exit, u32, &str); 5] = [
    (Exit::Quit, 0, "quit by key"),
    (Exit::ControlC, 130, "interrupted by SIGINT"),
    (Exit::Signal(Signal::INT), 130, "interrupted by SIGINT"),
    (Exit::Signal(Signal::TERM), 143, "interrupted by SIGTERM"),
    (Exit::Signal(Signal::HUP), 129, "interrupted by SIGHUP"),
];

/// Every cell of the matrix for one phase.
fn cells(when: When) -> Vec<Cell> {
    let on_screen = ON_SCREEN.iter().map(|(exit, code, reason)| Cell { screen: true, when, exit: *exit, code: *code, reason });
    let without = ON_SCREEN[2..].iter().map(|(exit, code, reason)| Cell { screen: false, when, exit: *exit, code: *code, reason });
    let cells = on_screen.chain(without);
    if when != When::Draining {
        return cells.collect();
    }
    // What stopped the session first stands: on a screen `q`, without one SIGTERM.
    let first = |cell: Cell| {
        let (code, reason) = if cell.screen { (0, "quit by key") } else { (143, "interrupted by SIGTERM") };
        Cell { code, reason, ..cell }
    };
    cells.filter(|cell| cell.exit != Exit::Quit).map(first).collect()
}

/// Runs all cells of a phase, a few at a time, and tells of all that failed.
fn matrix(when: When) {
    let mut failed = Vec::new();
    for few in cells(when).chunks(4) {
        let threads: Vec<_> = few
            .iter()
            .map(|cell| {
                (
                    *cell,
                    std::thread::spawn({
                        let cell = *cell;
                        move || run(cell)
                    }),
                )
            })
            .collect();
        failed.extend(threads.into_iter().filter_map(|(cell, thread)| thread.join().err().map(|_| format!("{cell:?}"))));
    }
    assert!(failed.is_empty(), "{} cells failed, see above:\n{}", failed.len(), failed.join("\n"));
}

fn run(cell: Cell) {
    let (profile, plan) = match cell.when {
        When::Creating => (SLOW_TABLE.to_owned(), None),
        When::Running => (TABLE.to_owned(), None),
        When::Draining => (format!("{TABLE}{SLOW_ANSWERS}"), None),
        When::Pause => (TABLE.to_owned(), Some(LONG_PAUSE)),
    };
    let (target, place) = (Target::start(&profile), Place::new());
    let plan = plan.map(|plan| place.file("plan.toml", plan));
    let mut args = vec!["--endpoint-url", &target.url];
    match &plan {
        Some(plan) => args.extend(["--plan", plan]),
        None => args.extend(["--rate", "50"]),
    }
    if !cell.screen && plan.is_none() {
        args.extend(["--window", "10m"]);
    }
    let mut program = if cell.screen { Program::on_screen(&place, &args, &[]) } else { Program::without_screen(&place, &args) };
    reach(&mut program, cell);
    apply(&mut program, cell.exit);
    let ended = program.end();
    if cell.screen {
        entered_and_left_once(&ended.said);
        assert!(program.is_cooked(), "{cell:?}: the terminal's modes are not as they were");
    }
    nothing_is_left(&target, &place, &ended, cell.code, cell.reason);
}

/// Waits until the session has come that far.
fn reach(program: &mut Program, cell: Cell) {
    let see = |program: &Program, on_screen: &str, without: &str| program.see(if cell.screen { on_screen } else { without });
    match cell.when {
        When::Creating => see(program, "CREATING", "creating table"),
        When::Running => see(program, "RUNNING", "accepted"),
        When::Pause => see(program, "PAUSE ", "paused"),
        When::Draining => {
            see(program, "RUNNING", "running 50/s: accepted 0/s");
            if cell.screen {
                terminal_support::wait_for(|| !program.shows().contains("in flight   -"), || "requests in flight".to_owned());
                program.quit();
            } else {
                program.signal(Signal::TERM);
            }
            see(program, "DRAINING", "draining");
        }
    }
}

fn apply(program: &mut Program, exit: Exit) {
    match exit {
        Exit::Quit => program.quit(),
        Exit::ControlC if program.shows().contains("DRAINING") => {
            program.press("\u{3}");
            program.see("Ctrl-C again abandons");
            program.press("\u{3}");
        }
        Exit::ControlC => {
            program.press("\u{3}");
            program.see("stop?");
            program.press("\u{3}");
        }
        Exit::Signal(signal) => program.signal(signal),
    }
}

/// The table is gone, document and journal say how it ended, and so does the exit code.
fn nothing_is_left(target: &Target, place: &Place, ended: &Ended, code: u32, reason: &str) {
    assert_eq!(target.tables(), Vec::<String>::new(), "a table is left");
    let document = place.document();
    let session = &document["session"];
    assert_eq!(session["stop_reason"].as_str().map(|said| said.starts_with(reason)), Some(true), "{session}: not {reason}");
    assert_eq!(ended.code, code, "{}", ended.said);
    assert_eq!(session["state"], if code == 1 { "failed" } else { "finished" });
    if document["target"]["created_by_session"] == true {
        assert_eq!(document["target"]["deleted"], true);
        assert!(document["target"]["delete_confirmed_s"].is_f64());
    }
    let rendered = terminal_support::place::valid(&place.reported("json"));
    for part in ["session", "target", "totals", "windows", "throttles", "failures"] {
        assert_eq!(rendered[part], document[part], "the journal says something else than the document of: {part}");
    }
    assert!(place.reported("text").contains(session["id"].as_str().unwrap_or("no id")));
}

#[test]
fn a_session_ended_while_its_table_is_being_created_leaves_nothing() {
    matrix(When::Creating);
}

#[test]
fn a_session_ended_while_it_runs_leaves_nothing() {
    matrix(When::Running);
}

#[test]
fn a_session_told_again_to_end_while_it_drains_leaves_nothing() {
    matrix(When::Draining);
}

#[test]
fn a_session_ended_in_a_pause_of_its_plan_leaves_nothing() {
    matrix(When::Pause);
}

#[test]
fn a_plan_that_ends_leaves_nothing() {
    let (target, place) = (Target::start(TABLE), Place::new());
    let plan = place.file("plan.toml", SHORT);
    let ended = Program::without_screen(&place, &["--endpoint-url", &target.url, "--plan", &plan]).end();
    nothing_is_left(&target, &place, &ended, 0, "completed");
}

#[test]
fn a_plan_that_ends_on_a_screen_waits_for_a_key_and_leaves_nothing() {
    let (target, place) = (Target::start(TABLE), Place::new());
    let plan = place.file("plan.toml", SHORT);
    let mut program = Program::on_screen(&place, &["--endpoint-url", &target.url, "--plan", &plan], &[]);
    program.see("PLAN ENDED");
    program.press("q");
    let ended = program.end();
    entered_and_left_once(&ended.said);
    assert!(program.is_cooked());
    nothing_is_left(&target, &place, &ended, 0, "quit by key");
}

#[test]
#[cfg(debug_assertions)]
fn a_panic_of_a_load_thread_leaves_nothing() {
    for screen in [false, true] {
        let (target, place) = (Target::start(TABLE), Place::new());
        let args = ["--endpoint-url", &target.url, "--rate", "50", "--panic-after", "1s"];
        let mut program = if screen { Program::on_screen(&place, &args, &[]) } else { Program::without_screen(&place, &args) };
        let ended = program.end();
        if screen {
            entered_and_left_once(&ended.said);
            assert!(program.is_cooked());
            assert!(ended.said.rfind("a fault that was asked for") > ended.said.find("\u{1b}[?1049l"), "{:?}", ended.said);
        }
        assert!(ended.said.contains("a fault that was asked for"), "{}", ended.said);
        nothing_is_left(&target, &place, &ended, 1, "failed: ");
    }
}

#[test]
fn a_killed_session_leaves_a_journal_that_names_its_table() {
    let (target, place) = (Target::start(TABLE), Place::new());
    let mut program = Program::without_screen(&place, &["--endpoint-url", &target.url, "--rate", "50", "--window", "10m"]);
    terminal_support::wait_for(|| place.journal_text().matches("\"bucket\"").count() >= 3, || place.journal_text());
    program.signal(Signal::KILL);
    program.end();
    let tables = target.tables();
    assert_eq!(tables.len(), 1);
    let document = terminal_support::place::valid(&place.reported("json"));
    assert_eq!(document["target"]["table"], tables[0].as_str());
    assert_eq!(document["target"]["created_by_session"], true);
    assert_eq!(document["session"]["state"], "running");
    assert!(document["totals"]["accepted"].as_u64() > Some(0));
    assert!(place.reported("text").contains(&tables[0]));
}

#[test]
fn a_terminal_that_nobody_reads_stalls_neither_the_load_nor_the_end() {
    let (target, place) = (Target::start(TABLE), Place::new());
    let mut program = Program::unread(&place, &["--endpoint-url", &target.url, "--rate", "50"]);
    let seconds = || place.journal_text().matches("\"bucket\"").count();
    terminal_support::wait_for(|| seconds() >= 3, || place.journal_text());
    for _repaint in 0..12 {
        program.press("\u{c}");
    }
    let so_far = seconds();
    terminal_support::wait_for(|| seconds() >= so_far + 5, || format!("more load while nobody reads: {}", place.journal_text()));
    program.signal(Signal::TERM);
    let ended = program.end();
    assert!(!ended.said.contains("\u{1b}[?1049l"), "there was room to leave the screen: it was never stuck");
    assert!(program.is_cooked(), "keys stay raw for whoever uses the terminal next");
    nothing_is_left(&target, &place, &ended, 143, "interrupted by SIGTERM");
}

#[test]
fn a_terminal_that_goes_away_ends_the_session_in_order() {
    let (target, place) = (Target::start(TABLE), Place::new());
    let mut program = Program::on_screen(&place, &["--endpoint-url", &target.url, "--rate", "50"], &[]);
    program.see("RUNNING");
    let begun = Instant::now();
    program.lose_terminal();
    let ended = program.end();
    assert!(begun.elapsed() < Duration::from_secs(60), "took {:?}", begun.elapsed());
    nothing_is_left(&target, &place, &ended, 129, "interrupted by SIGHUP");
}

#[test]
fn a_summary_that_nobody_reads_does_not_keep_the_process_from_ending() {
    let (target, place) = (Target::start(TABLE), Place::new());
    let plan = place.file("plan.toml", SHORT);
    let (_reader, mut writer) = std::io::pipe().expect("a pipe");
    // As much as a pipe holds: there is no room for a summary.
    std::io::Write::write_all(&mut writer, &vec![b'.'; 65_536]).expect("room");
    let mut program = Program::piped(&place, &["--endpoint-url", &target.url, "--plan", &plan], writer.into());
    program.see("finished");
    assert_eq!(target.tables(), Vec::<String>::new());
    terminal_support::wait_for(
        || {
            program.signal(Signal::TERM);
            program.has_ended()
        },
        || "its end".to_owned(),
    );
    assert_eq!(program.end().code, 143);
}

#[test]
fn a_screen_that_is_killed_is_seen_to_leave_the_terminal_raw() {
    let (target, place) = (Target::start(TABLE), Place::new());
    let mut program = Program::on_screen(&place, &["--endpoint-url", &target.url, "--rate", "50"], &[]);
    program.see("RUNNING");
    program.signal(Signal::KILL);
    program.end();
    assert!(!program.is_cooked(), "what every other test asks here, none of them could see");
}
