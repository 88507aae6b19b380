//! Two clients, one truth: the same plan gives the same counts, and one intent is one request, through either.

use std::io::Write as _;
use std::sync::atomic::Ordering;

use serde_json::Value;

use crate::stub::{ACCEPTED, After, Behaviour, Stub, header, text, whole};
use crate::support::{Ended, Peer, measure, simulate};

/// Nothing is shed: what a busy machine sends late is sent all the same, and waited for.
const PATIENT: &str = "--late-limit 60s --timeout 60s";
const TYPED: &str = "--client sdk --rate 200 --window 3s";

/// Runs the same through both clients.
fn through_both(profile: Option<&str>, plan: &str, typed: &str) -> [Ended; 2] {
    ["wire", "sdk"].map(|client| {
        let ended = simulate(profile, plan, &format!("--client {client} {PATIENT} {typed}"));
        assert_eq!(ended.code, Some(0), "{}", ended.said);
        assert_eq!(ended.document["tool"]["client"], client);
        assert_eq!((ended.total("failed"), ended.total("in_flight")), (0, 0), "{}", ended.document["failures"]);
        ended
    })
}

fn consumed(ended: &Ended) -> f64 {
    ended.document["totals"]["consumed_units"].as_f64().expect("a number")
}

#[test]
fn the_same_plan_through_both_clients_gives_equal_counts() {
    let plan = "name = \"two\"\nwindow = \"2s\"\npause = \"1s\"\nrates = [1000, 3000]\n";
    let ended = through_both(None, plan, "--seed 7");
    for ended in &ended {
        // Only the in-flight cap could shed, on a machine that is busy with much else.
        assert_eq!(ended.total("offered"), 8_000);
        assert_eq!((ended.total("accepted"), ended.total("throttled"), ended.total("timed_out")), (ended.total("sent"), 0, 0));
        assert!((consumed(ended) - ended.total("sent") as f64).abs() < 1e-6, "{} units", consumed(ended));
        assert!(ended.total("sent") > 4_000, "{}", ended.said);
    }
    let [wire, sdk] = ended;
    if (wire.total("shed"), sdk.total("shed")) == (0, 0) {
        let counts = |ended: &Ended| -> Vec<Value> {
            let windows = ended.document["windows"].as_array().expect("windows");
            let count = |name: &str| windows.iter().map(|window| window[name].clone()).collect::<Vec<_>>();
            ["offered", "sent", "accepted", "throttled", "consumed_units"].into_iter().flat_map(count).collect()
        };
        assert_eq!(counts(&wire), counts(&sdk), "window by window");
    }
}

#[test]
fn reads_through_both_clients_give_equal_counts() {
    let plan = "name = \"reads\"\nop = \"read\"\nwindow = \"2s\"\nrates = [1000]\n";
    for consistency in ["", "--consistent-read"] {
        let [wire, sdk] = through_both(None, plan, &format!("--items 50 {consistency}"));
        assert_eq!((wire.total("offered"), sdk.total("offered")), (2_000, 2_000));
        let per_read = |ended: &Ended| consumed(ended) / ended.total("accepted") as f64;
        let expected = if consistency.is_empty() { 0.5 } else { 1.0 };
        for ended in [&wire, &sdk] {
            assert_eq!(ended.total("accepted"), ended.total("sent"));
            assert!((per_read(ended) - expected).abs() < 1e-9, "{} units per read", per_read(ended));
        }
    }
}

#[test]
fn a_table_that_can_take_so_much_takes_as_much_of_either_client() {
    let profile = "about = \"One partition that holds 1,500 units and gains one a second.\"\n\
        [partitions]\ncount = 1\nwrite_per_s = 1\nbucket_s = 1500\nsplits_after_s = []\n\
        [table]\nactivation_s = 0\ndeletion_s = 0\nupdating_s = 0\n\
        [latency_ms]\nwrite = { p50 = 0, p99 = 0 }\nread = { p50 = 0, p99 = 0 }\nrefusal = { p50 = 0, p99 = 0 }\n";
    let plan = "name = \"over\"\nwindow = \"3s\"\nrates = [1000]\n";
    let ended = through_both(Some(profile), plan, "");
    for ended in &ended {
        assert_eq!(ended.total("offered"), 3_000);
        assert_eq!(ended.total("accepted") + ended.total("throttled"), ended.total("sent"));
        let accepted = ended.total("accepted");
        // What it holds, and a unit for every second that the session took.
        assert!((1_500..=1_501 + ended.took.as_secs()).contains(&accepted), "{accepted} in {:?}", ended.took);
        assert!((consumed(ended) - accepted as f64).abs() < 1e-6);
        assert_eq!(ended.document["throttles"].as_array().map(Vec::len), Some(1), "{}", ended.document["throttles"]);
    }
    let refusal = |ended: &Ended| {
        let throttle = &ended.document["throttles"][0];
        ["code", "http_status", "reasons", "message"].map(|name| throttle[name].clone())
    };
    assert_eq!(refusal(&ended[0]), refusal(&ended[1]));
}

/// Every request that was sent arrived once, and nothing else did.
fn agrees(stub: &Stub, ended: &Ended) {
    ended.is_complete();
    assert_eq!(ended.document["tool"]["client"], "sdk");
    assert!(ended.total("sent") > 0, "{}", ended.said);
    assert_eq!((ended.total("in_flight"), ended.total("timed_out")), (0, 0), "{}", ended.said);
    assert_eq!(stub.items(), ended.total("sent"), "requests on the wire, and requests in the document");
    assert_eq!((ended.total("offered"), stub.deletes(), stub.has_table()), (600, 1, false));
}

#[test]
fn the_sdk_sends_no_request_again_that_the_service_throttles() {
    let body = r#"{"__type":"com.amazon.coral.availability#ThrottlingException","message":"Throughput exceeds the current capacity of your table or index."}"#;
    let stub = Stub::start(Behaviour::items(move |stream, _| whole(stream, 400, body)));
    let ended = measure(&stub.url, None, TYPED);
    agrees(&stub, &ended);
    assert_eq!(ended.total("throttled"), stub.items());
}

#[test]
fn the_sdk_sends_no_request_again_that_the_service_fails() {
    let body = r#"{"__type":"com.amazonaws.dynamodb.v20120810#InternalServerError","message":"internal"}"#;
    for status in [500, 503] {
        let stub = Stub::start(Behaviour::items(move |stream, _| whole(stream, status, body)));
        let ended = measure(&stub.url, None, TYPED);
        agrees(&stub, &ended);
        assert_eq!(ended.failed_as("service"), stub.items());
        // As the SDK does for any application: it leaves a connection on which the service failed.
        assert!(stub.counted.connections.load(Ordering::SeqCst) >= stub.items());
    }
}

#[test]
fn the_sdk_sends_no_request_again_whose_connection_breaks() {
    let stub = Stub::start(Behaviour::items(|stream, number| match number % 3 {
        0 => Ok(After::Close),
        1 => stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{").map(|()| After::Close),
        _ => stream.write_all(text(200, ACCEPTED).as_bytes()).map(|()| After::Keep),
    }));
    let ended = measure(&stub.url, None, TYPED);
    agrees(&stub, &ended);
    assert_eq!(ended.failed_as("closed") + ended.failed_as("garbled"), ended.total("failed"), "{}", ended.document["failures"]);
    assert_eq!(ended.total("accepted"), stub.items() / 3);
}

#[test]
fn the_sdk_says_that_it_makes_one_attempt_and_signs_for_this_table() {
    let stub = Stub::start(Behaviour::default());
    let ended = measure(&stub.url, None, TYPED);
    agrees(&stub, &ended);
    assert_eq!(ended.total("accepted"), stub.items());
    assert!(ended.said.contains("client sdk"), "{}", ended.said);
    for head in stub.counted.heads.lock().expect("no panic").iter() {
        assert_eq!(header(head, "amz-sdk-request"), Some("attempt=1; max=1"), "{head}");
        assert_eq!(header(head, "host"), Some(stub.url.trim_start_matches("http://")));
        let authorization = header(head, "authorization").expect("a signature");
        assert!(authorization.starts_with("AWS4-HMAC-SHA256 Credential=throttlescope/"), "dummy credentials only: {authorization}");
        assert!(authorization.contains("/us-east-1/dynamodb/aws4_request"), "{authorization}");
    }
}

fn leaves_nothing(peer: &Peer, plan: &str, offered: u64) {
    let ended = measure(&peer.url, Some(plan), "--client sdk --timeout 30s");
    ended.is_complete();
    assert_eq!(ended.total("offered"), offered);
    assert!(ended.total("accepted") > 0, "{}", ended.said);
    assert_eq!((ended.total("throttled"), ended.total("in_flight")), (0, 0), "{}", ended.said);
    // Unlike `wire`, the SDK may use an idle connection in the moment in which the server closes it.
    assert_eq!(ended.failed_as("closed"), ended.total("failed"), "{}", ended.document["failures"]);
    assert!((consumed(&ended) - ended.total("accepted") as f64).abs() < 1e-6, "{} units", consumed(&ended));
    assert_eq!(peer.tables(), Vec::<String>::new());
}

#[test]
fn a_slow_server_measured_through_the_sdk_keeps_no_table() {
    let Some(peer) = Peer::dynalite() else { return };
    leaves_nothing(&peer, "name = \"two\"\nwindow = \"2s\"\npause = \"1s\"\nrates = [40, 80]\n", 240);
}

#[test]
fn a_fast_server_measured_through_the_sdk_keeps_no_table() {
    let Some(peer) = Peer::dynoxide() else { return };
    leaves_nothing(&peer, "name = \"two\"\nwindow = \"2s\"\npause = \"1s\"\nrates = [200, 400]\n", 1_200);
}
