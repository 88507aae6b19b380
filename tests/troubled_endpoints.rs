//! Endpoints that refuse, stall or die: the session ends within its bounds, and says what may be left and how to remove it.

mod terminal_support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::Signal;
use serde_json::Value;
use terminal_support::place::{Place, valid};
use terminal_support::program::{Ended, Program, entered_and_left_once};
use terminal_support::target::{Say, Script, Target};

const CREATED: Say = Say::This(200, r#"{"TableDescription":{"TableName":"t","TableStatus":"CREATING"}}"#);
const CREATING: Say = Say::This(200, r#"{"Table":{"TableName":"t","TableStatus":"CREATING"}}"#);
const ACTIVE: Say = Say::This(200, r#"{"Table":{"TableName":"t","TableStatus":"ACTIVE"}}"#);
const DONE: Say = Say::This(200, "{}");
const DENIED: Say = Say::This(400, r#"{"__type":"com.amazonaws.dynamodb.v20120810#AccessDeniedException","message":"no"}"#);
const FAULTY: Say = Say::This(500, r#"{"__type":"com.amazonaws.dynamodb.v20120810#InternalServerError","message":"no"}"#);
const ABSENT: Say = Say::This(400, r#"{"__type":"com.amazonaws.dynamodb.v20120810#ResourceNotFoundException","message":"no"}"#);

fn start(place: &Place, url: &str, screen: bool) -> Program {
    let args = ["--endpoint-url", url, "--rate", "20"];
    if screen { Program::on_screen(place, &args, &[]) } else { Program::without_screen(place, &args) }
}

/// What both the document and the journal say, and what the terminal is like.
fn written(program: &Program, place: &Place, ended: &Ended, screen: bool) -> Value {
    if screen {
        entered_and_left_once(&ended.said);
        assert!(program.is_cooked());
    } else {
        assert!(!ended.said.contains('\u{1b}') && !ended.out.contains('\u{1b}'), "{}", ended.said);
    }
    let document = place.document();
    assert_eq!(valid(&place.reported("json"))["target"], document["target"]);
    document
}

#[test]
fn a_refused_table_fails_the_session_and_nobodys_table_is_deleted() {
    for screen in [false, true] {
        let script = Script::start(|operation| if operation == "CreateTable" { DENIED } else { ABSENT });
        let place = Place::new();
        let mut program = start(&place, &script.url, screen);
        let ended = program.end();
        let document = written(&program, &place, &ended, screen);
        assert_eq!(ended.code, 1, "{}", ended.said);
        assert!(ended.said.contains("CreateTable was refused: AccessDeniedException"), "{}", ended.said);
        assert_eq!((&document["session"]["state"], &document["target"]["created_by_session"]), (&"failed".into(), &false.into()));
        assert!(place.reported("text").contains("nothing was created"));
        assert_eq!((script.asked("CreateTable"), script.asked("DeleteTable")), (1, 0));
    }
}

#[test]
fn a_table_that_may_have_been_created_all_the_same_is_deleted() {
    let script = Script::start(|operation| if operation == "CreateTable" { FAULTY } else { ABSENT });
    let place = Place::new();
    let mut program = start(&place, &script.url, false);
    let ended = program.end();
    let document = written(&program, &place, &ended, false);
    assert_eq!(ended.code, 1, "{}", ended.said);
    assert_eq!((&document["target"]["created_by_session"], &document["target"]["deleted"]), (&true.into(), &true.into()));
    assert_eq!(script.asked("CreateTable"), 1);
    // It may appear yet: that it is not there is believed only after asking for a while.
    assert!(script.asked("DeleteTable") > 5);
}

#[test]
fn a_table_that_never_becomes_active_is_deleted_when_the_session_is_told_to_end() {
    for screen in [false, true] {
        let deleted = Arc::new(AtomicBool::new(false));
        let script = Script::start(move |operation| match operation {
            "CreateTable" => CREATED,
            "DeleteTable" => {
                deleted.store(true, Ordering::SeqCst);
                DONE
            }
            _ if deleted.load(Ordering::SeqCst) => ABSENT,
            _ => CREATING,
        });
        let place = Place::new();
        let mut program = start(&place, &script.url, screen);
        program.see(if screen { "CREATING" } else { "creating table" });
        program.signal(Signal::TERM);
        let ended = program.end();
        let document = written(&program, &place, &ended, screen);
        assert_eq!(ended.code, 143, "{}", ended.said);
        assert_eq!(document["session"]["stop_reason"], "interrupted by SIGTERM");
        assert!(document["target"]["delete_confirmed_s"].is_f64());
        assert_eq!(document["totals"]["offered"], 0);
    }
}

/// The session gave up, and says which command removes what may be left.
fn names_the_command(ended: &Ended, document: &Value) {
    let table = document["target"]["table"].as_str().unwrap_or("no table");
    let said = format!("{}{}", ended.said, ended.out).replace("\r\n", "\n");
    assert_eq!(ended.code, 5, "{said}");
    assert!(said.contains("may still exist (waiting for it was abandoned)"), "{said}");
    assert!(
        said.contains(&format!("aws dynamodb delete-table --table-name {table} --region us-east-1 --endpoint-url http://127.0.0.1:")),
        "{said}"
    );
    assert!(said.contains(&format!("TABLE {table} MAY BE LEFT BEHIND")), "{said}");
    assert_eq!((&document["target"]["deleted"], &document["target"]["delete_confirmed_s"]), (&false.into(), &Value::Null));
}

#[test]
fn a_second_signal_gives_up_a_deletion_that_stalls_and_names_the_command() {
    for screen in [false, true] {
        let script = Script::start(|operation| match operation {
            "CreateTable" => CREATED,
            "DescribeTable" => ACTIVE,
            "DeleteTable" => Say::Nothing,
            _ => DONE,
        });
        let place = Place::new();
        let mut program = start(&place, &script.url, screen);
        program.see(if screen { "RUNNING" } else { "running" });
        program.signal(Signal::INT);
        program.see(if screen { "DELETING" } else { "deleting table" });
        program.signal(Signal::TERM);
        let ended = program.end();
        let document = written(&program, &place, &ended, screen);
        names_the_command(&ended, &document);
        assert_eq!(document["session"]["stop_reason"], "interrupted by SIGINT");
    }
}

#[test]
fn control_c_as_a_key_gives_up_a_deletion_that_stalls_and_names_the_command() {
    let script = Script::start(|operation| match operation {
        "CreateTable" => CREATED,
        "DescribeTable" => ACTIVE,
        "DeleteTable" => Say::Nothing,
        _ => DONE,
    });
    let place = Place::new();
    let mut program = start(&place, &script.url, true);
    program.see("RUNNING");
    program.quit();
    program.see("DELETING");
    program.press("\u{3}");
    program.see("Ctrl-C again abandons");
    program.press("\u{3}");
    let ended = program.end();
    let document = written(&program, &place, &ended, true);
    names_the_command(&ended, &document);
    assert_eq!(document["session"]["stop_reason"], "quit by key");
}

#[test]
fn an_endpoint_that_dies_is_waited_for_until_the_second_signal() {
    for creating in [true, false] {
        let activation = if creating { 100_000 } else { 0 };
        let mut target = Target::start(&format!("[table]\nactivation_s = {activation}\n"));
        let place = Place::new();
        let mut program = start(&place, &target.url, true);
        program.see(if creating { "CREATING" } else { "RUNNING" });
        target.die();
        program.signal(Signal::TERM);
        program.see("DELETING");
        program.signal(Signal::TERM);
        let ended = program.end();
        let document = written(&program, &place, &ended, true);
        names_the_command(&ended, &document);
    }
}

#[test]
fn an_endpoint_that_cannot_be_reached_ends_the_session_at_once_with_one_sentence() {
    for screen in [false, true] {
        let gone = {
            let mut target = Target::start("");
            target.die();
            target.url.clone()
        };
        let place = Place::new();
        let mut program = start(&place, &gone, screen);
        let ended = program.end();
        let document = written(&program, &place, &ended, screen);
        assert_eq!(ended.code, 1, "{}", ended.said);
        let sentence = format!("cannot reach {gone}: Connection refused");
        assert!(document["session"]["stop_reason"].as_str().is_some_and(|reason| reason.contains(&sentence)), "{document}");
        assert!(!format!("{}{}", ended.said, ended.out).contains("LEFT BEHIND"), "{}", ended.said);
        assert!(place.reported("text").contains("nothing was created"));
    }
}
