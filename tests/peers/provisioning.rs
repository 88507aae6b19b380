//! Servers that answer CreateTable or DeleteTable in a wrong way: whatever may have been created is deleted.

use std::io::Write as _;

use crate::stub::{After, Behaviour, Stub, whole};
use crate::support::{Ended, is_gone, measure};

const TYPED: &str = "--rate 20 --window 1s";

fn measured(behaviour: Behaviour) -> (Stub, Ended) {
    let stub = Stub::start(behaviour);
    let ended = measure(&stub.url, None, TYPED);
    (stub, ended)
}

/// The session failed with a sentence that says why, sent nothing, and left nothing.
fn failed_cleanly(stub: &Stub, ended: &Ended, why: &str) {
    assert_eq!(ended.code, Some(1), "{}", ended.said);
    assert_eq!(ended.document["session"]["state"], "failed");
    assert!(ended.said.contains(why), "{}", ended.said);
    assert_eq!((ended.total("offered"), stub.items()), (0, 0));
    assert_eq!((stub.deletes(), stub.has_table()), (1, false), "{}", ended.said);
    is_gone(&ended.document);
}

#[test]
fn a_table_whose_creation_was_never_answered_is_deleted() {
    let (stub, ended) = measured(Behaviour { create: Some(Box::new(|_, _| Ok(After::Close))), ..Behaviour::default() });
    failed_cleanly(&stub, &ended, "cannot reach");
}

#[test]
fn a_table_whose_creation_was_answered_with_a_page_is_deleted() {
    let page = |stream: &mut std::net::TcpStream, _| {
        stream.write_all(b"HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/html\r\nContent-Length: 13\r\n\r\n<html></html>")?;
        Ok(After::Keep)
    };
    let (stub, ended) = measured(Behaviour { create: Some(Box::new(page)), ..Behaviour::default() });
    failed_cleanly(&stub, &ended, "is not DynamoDB's");
}

#[test]
fn a_table_that_was_there_before_is_somebody_elses_and_stays() {
    let refuse = |stream: &mut std::net::TcpStream, _| {
        whole(stream, 400, r#"{"__type":"com.amazonaws.dynamodb.v20120810#ResourceInUseException","message":"Table already exists: t"}"#)
    };
    let (stub, ended) = measured(Behaviour { create: Some(Box::new(refuse)), ..Behaviour::default() });
    assert_eq!(ended.code, Some(1), "{}", ended.said);
    assert!(ended.said.contains("ResourceInUseException: Table already exists: t"), "{}", ended.said);
    assert_eq!((ended.total("offered"), stub.items(), stub.deletes()), (0, 0, 0));
    assert!(stub.has_table());
    assert_eq!(ended.document["target"]["created_by_session"], false);
}

#[test]
fn a_creation_that_is_denied_without_a_code_created_nothing_and_says_so_at_once() {
    let deny = |stream: &mut std::net::TcpStream, _| {
        let page = "<?xml version=\"1.0\"?><Error>InvalidClientTokenId</Error>";
        let head = format!("HTTP/1.1 403 Forbidden\r\nContent-Type: text/xml\r\nContent-Length: {}\r\n\r\n", page.len());
        stream.write_all((head + page).as_bytes())?;
        Ok(After::Keep)
    };
    let (stub, ended) = measured(Behaviour { create: Some(Box::new(deny)), ..Behaviour::default() });
    assert_eq!(ended.code, Some(1), "{}", ended.said);
    assert!(ended.said.contains("CreateTable was refused with HTTP 403 and no error code"), "{}", ended.said);
    assert!(!ended.said.contains("MAY BE LEFT"), "{}", ended.said);
    assert_eq!((ended.total("offered"), stub.items(), stub.deletes()), (0, 0, 0));
    assert_eq!(ended.document["target"]["created_by_session"], false);
}

#[test]
fn a_deletion_whose_answer_is_lost_is_asked_for_again() {
    let lose_three = |stream: &mut std::net::TcpStream, number| {
        if number < 3 { Ok(After::Close) } else { whole(stream, 200, r#"{"TableDescription":{"TableStatus":"DELETING"}}"#) }
    };
    let (stub, ended) = measured(Behaviour { delete: Some(Box::new(lose_three)), ..Behaviour::default() });
    ended.is_complete();
    assert_eq!((stub.deletes(), stub.has_table()), (4, false), "{}", ended.said);
}

#[test]
fn a_deletion_that_is_denied_is_said_loudly_with_the_command_that_removes_the_table() {
    let deny = |stream: &mut std::net::TcpStream, _| {
        whole(stream, 400, r#"{"__type":"com.amazon.coral.service#AccessDeniedException","message":"not authorized"}"#)?;
        // The table stays.
        Ok(After::Close)
    };
    let (stub, ended) = measured(Behaviour { delete: Some(Box::new(deny)), ..Behaviour::default() });
    assert_eq!(ended.code, Some(5), "{}", ended.said);
    assert!(stub.has_table());
    assert_eq!(ended.document["target"]["deleted"], false);
    let table = ended.document["target"]["table"].as_str().expect("a name");
    let command = format!("aws dynamodb delete-table --table-name {table} --region us-east-1 --endpoint-url {}", stub.url);
    assert!(ended.said.contains(&command), "{}", ended.said);
}
