//! One intent is one request: what the document counts is what reached a server that counts.

use crate::stub::{Behaviour, Stub, header, whole};
use crate::support::{Ended, measure};

const TYPED: &str = "--rate 200 --window 3s";

/// Every request that was sent arrived once, and nothing else did.
fn agrees(stub: &Stub, ended: &Ended) {
    ended.is_complete();
    assert!(ended.total("sent") > 0, "{}", ended.said);
    assert_eq!((ended.total("in_flight"), ended.total("timed_out")), (0, 0), "{}", ended.said);
    assert_eq!(stub.items(), ended.total("sent"), "requests on the wire, and requests in the document");
    assert_eq!(ended.total("offered"), 600);
    assert_eq!(stub.deletes(), 1);
    assert!(!stub.has_table());
}

#[test]
fn a_request_that_the_service_fails_is_not_sent_again() {
    let body = r#"{"__type":"com.amazonaws.dynamodb.v20120810#InternalServerError","message":"internal"}"#;
    let stub = Stub::start(Behaviour::items(move |stream, _| whole(stream, 500, body)));
    let ended = measure(&stub.url, None, TYPED);
    agrees(&stub, &ended);
    assert_eq!(ended.failed_as("service"), stub.items());
    assert_eq!(ended.document["failures"][0]["code"], "InternalServerError");
}

#[test]
fn a_request_that_is_throttled_is_not_sent_again() {
    let body = r#"{"__type":"com.amazon.coral.availability#ThrottlingException","message":"Throughput exceeds the current capacity of your table or index.","throttlingReasons":[{"reason":"TableWriteKeyRangeThroughputExceeded","resource":"arn:aws:dynamodb:us-east-1:123456789012:table/t"}]}"#;
    let stub = Stub::start(Behaviour::items(move |stream, _| whole(stream, 400, body)));
    let ended = measure(&stub.url, None, TYPED);
    agrees(&stub, &ended);
    assert_eq!(ended.total("throttled"), stub.items());
    let throttle = &ended.document["throttles"][0];
    assert_eq!(throttle["code"], "ThrottlingException");
    assert_eq!(throttle["reasons"][0], "TableWriteKeyRangeThroughputExceeded");
    assert_eq!(throttle["count"], stub.items());
    assert!(!ended.document.to_string().contains("123456789012"), "account ids are masked");
}

#[test]
fn a_mix_of_answers_is_counted_answer_by_answer() {
    let throttle = r#"{"__type":"x#ProvisionedThroughputExceededException","message":"The level of configured provisioned throughput for the table was exceeded."}"#;
    let missing = r#"{"__type":"x#ResourceNotFoundException","message":"Requested resource not found"}"#;
    let stub = Stub::start(Behaviour::items(move |stream, number| match number % 4 {
        0 => whole(stream, 400, throttle),
        1 => whole(stream, 400, missing),
        _ => whole(stream, 200, "{}"),
    }));
    let ended = measure(&stub.url, None, TYPED);
    agrees(&stub, &ended);
    let n = stub.items();
    assert_eq!(ended.total("throttled"), n.div_ceil(4));
    assert_eq!(ended.failed_as("not_found"), (n + 2) / 4);
    assert_eq!(ended.total("accepted"), n - n.div_ceil(4) - (n + 2) / 4);
}

#[test]
fn every_request_is_signed_and_says_what_it_is() {
    let stub = Stub::start(Behaviour::default());
    let ended = measure(&stub.url, None, TYPED);
    agrees(&stub, &ended);
    assert_eq!(ended.total("accepted"), stub.items());
    let host = stub.url.trim_start_matches("http://");
    for head in stub.counted.heads.lock().expect("no panic").iter() {
        assert!(head.starts_with("POST / HTTP/1.1\r\n"), "{head}");
        assert_eq!(header(head, "host"), Some(host));
        assert_eq!(header(head, "content-type"), Some("application/x-amz-json-1.0"));
        assert_eq!(header(head, "x-amz-target"), Some("DynamoDB_20120810.PutItem"));
        let date = header(head, "x-amz-date").expect("a date");
        let authorization = header(head, "authorization").expect("a signature");
        let scope = format!("AWS4-HMAC-SHA256 Credential=throttlescope/{}/us-east-1/dynamodb/aws4_request, ", &date[..8]);
        let rest = authorization.strip_prefix(&scope).unwrap_or_else(|| panic!("{authorization}"));
        let signature = rest.strip_prefix("SignedHeaders=content-type;host;x-amz-date;x-amz-target, Signature=").expect("a signature");
        assert!(signature.len() == 64 && signature.bytes().all(|b| b.is_ascii_hexdigit()), "{signature}");
        // What would be a hidden attempt on the SDK's part carries these.
        assert_eq!(header(head, "amz-sdk-request"), None);
    }
    assert!(!ended.document.to_string().contains("Signature="), "no signature reaches a file");
}
