//! Scripted faults as a client meets them.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

#[allow(dead_code, reason = "each test binary uses its part of the client")]
#[path = "support/embedded.rs"]
mod support;

use std::time::{Duration, Instant};

use serde_json::json;
use support::{Client, put, server};

fn profile(fault: &str) -> String {
    format!("[table]\nactivation_s = 0\n[[faults]]\nfrom_s = 0\nto_s = 1000\n{fault}\n")
}

#[test]
fn a_closed_and_a_reset_connection_end_without_an_answer_and_without_a_write() {
    for (kind, expected) in [("close", std::io::ErrorKind::UnexpectedEof), ("reset", std::io::ErrorKind::ConnectionReset)] {
        let server = server(&profile(&format!("kind = \"{kind}\"")));
        let mut client = Client::new(&server);
        client.create("table");
        let body = put("table", "a").to_string();
        let error = client.post(Some("DynamoDB_20120810.PutItem"), body.as_bytes()).unwrap_err();
        assert_eq!(error.kind(), expected, "{kind}");
        let ledger = Client::new(&server).ledger("table");
        assert_eq!((&ledger["accepted"], &ledger["throttled"]), (&json!(0), &json!(0)));
    }
}

#[test]
fn garbage_is_not_http() {
    let server = server(&profile("kind = \"garbage\""));
    let mut client = Client::new(&server);
    client.create("table");
    match client.post(Some("DynamoDB_20120810.PutItem"), put("table", "a").to_string().as_bytes()) {
        Ok(answer) => assert!(!answer.head.starts_with("HTTP/1.1"), "{}", answer.head),
        Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::UnexpectedEof),
    }
    assert_eq!(Client::new(&server).get("/").status, 200);
}

#[test]
fn an_internal_error_is_one_of_dynamodbs() {
    let server = server(&profile("kind = \"500\""));
    let mut client = Client::new(&server);
    client.create("table");
    let answer = client.call("PutItem", &put("table", "a"));
    assert_eq!((answer.status, answer.code().as_str()), (500, "InternalServerError"));
}

#[test]
fn a_share_of_the_requests_is_a_share() {
    let server = server(&format!(
        "{}share = 0.5\n[latency_ms]\nwrite = {{ p50 = 0, p99 = 0 }}\nrefusal = {{ p50 = 0, p99 = 0 }}\n",
        profile("kind = \"500\"")
    ));
    let mut client = Client::new(&server);
    client.create("table");
    let failed = (0..400).filter(|_| client.call("PutItem", &put("table", "a")).status == 500).count();
    assert!((140..260).contains(&failed), "{failed} of 400");
}

#[test]
fn a_delay_comes_on_top_and_a_stall_lasts_to_the_end_of_its_span() {
    let server = server("[table]\nactivation_s = 0\n[[faults]]\nfrom_s = 0\nto_s = 1000\nkind = \"delay\"\ndelay_ms = 150\n");
    let mut client = Client::new(&server);
    client.create("table");
    let asked = Instant::now();
    assert_eq!(client.call("PutItem", &put("table", "a")).status, 200);
    assert!(asked.elapsed() > Duration::from_millis(140), "{:?}", asked.elapsed());

    let server = support::server("[table]\nactivation_s = 0\n[[faults]]\nfrom_s = 0\nto_s = 0.6\nkind = \"stall\"\n");
    let mut client = Client::new(&server);
    let created = Instant::now();
    client.create("table");
    assert_eq!(client.call("PutItem", &put("table", "a")).status, 200);
    assert!(created.elapsed() > Duration::from_millis(590), "{:?}", created.elapsed());
}
