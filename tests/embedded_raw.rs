//! The embedded endpoint byte by byte: headers, checksums, garbage, limits, the ledger.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

#[allow(dead_code, reason = "each test binary uses its part of the client")]
#[path = "support/embedded.rs"]
mod support;

use std::time::{Duration, Instant};

use serde_json::json;
use support::{Client, put, server};

const QUICK: &str = "[table]\nactivation_s = 0\ndeletion_s = 0\nupdating_s = 0\n[latency_ms]\nwrite = { p50 = 0, p99 = 0 }\nread = { p50 = 0, p99 = 0 }\nrefusal = { p50 = 0, p99 = 0 }\n";

#[test]
fn an_accepted_write_answers_an_empty_object_with_its_checksum() {
    let server = server(QUICK);
    let mut client = Client::new(&server);
    client.create("table");
    let answer = client.call("PutItem", &put("table", "a"));
    assert_eq!((answer.status, answer.body.as_slice()), (200, b"{}".as_slice()));
    assert_eq!(answer.header("x-amz-crc32"), Some("2745614147"));
    assert_eq!(answer.header("content-type"), Some("application/x-amz-json-1.0"));
    assert_eq!(answer.header("server"), Some("Server"));
    assert!(answer.header("date").is_some());
    let id = answer.header("x-amzn-requestid").unwrap().to_owned();
    assert!(id.len() == 52 && id.ends_with("VV4KQNSO5AEMVJF66Q9ASUAAJG"), "{id}");
    assert_ne!(client.call("PutItem", &put("table", "a")).header("x-amzn-requestid"), Some(id.as_str()));
}

#[test]
fn every_error_body_carries_its_own_checksum() {
    let server = server(QUICK);
    let mut client = Client::new(&server);
    for (target, body) in [
        (None, b"{}".as_slice()),
        (Some("DynamoDB_20120810.Nonsense"), b"{}"),
        (Some("DynamoDB_20120810.PutItem"), b"{"),
        (Some("DynamoDB_20120810.DescribeTable"), br#"{"TableName":"nope"}"#),
    ] {
        let answer = client.post(target, body).unwrap();
        assert_eq!(answer.status, 400);
        assert_eq!(answer.header("x-amz-crc32").unwrap(), crc32fast::hash(&answer.body).to_string());
    }
}

#[test]
fn what_is_not_an_operation_is_called_so() {
    let server = server(QUICK);
    let mut client = Client::new(&server);
    assert_eq!(client.post(None, b"{}").unwrap().code(), "UnknownOperationException");
    assert_eq!(client.post(Some("DynamoDB_20120810.Scan"), b"{}").unwrap().code(), "UnknownOperationException");
    assert_eq!(client.post(Some("S3.PutItem"), b"{}").unwrap().code(), "UnknownOperationException");
    assert_eq!(client.get("/nothing").status, 404);
    assert!(String::from_utf8(client.get("/").body).unwrap().starts_with("healthy"));
    assert_eq!(client.get("/throttlescope/ledger?table=nope").status, 404);
    assert_eq!(client.get("/throttlescope/ledger").status, 404);
}

#[test]
fn malformed_bodies_are_errors_of_the_serialiser() {
    let server = server(QUICK);
    let mut client = Client::new(&server);
    client.create("table");
    let deep = "[".repeat(100_000);
    for operation in [
        "PutItem",
        "GetItem",
        "UpdateItem",
        "DeleteItem",
        "Query",
        "BatchWriteItem",
        "BatchGetItem",
        "CreateTable",
        "DescribeTable",
        "UpdateTable",
        "DeleteTable",
        "ListTables",
        "TagResource",
        "UntagResource",
        "ListTagsOfResource",
    ] {
        for body in
            [b"".as_slice(), b"{", b"\xff\xfe", b"[1,2", b"{\"TableName\":7}", b"nul", deep.as_bytes(), b"{\"TableName\":\"\\ud800\"}"]
        {
            let answer = client.post(Some(&format!("DynamoDB_20120810.{operation}")), body).unwrap();
            let shown = String::from_utf8_lossy(&answer.body).into_owned();
            // Some operations name no table, and miss another member instead.
            let reads_it = !operation.starts_with("Batch") && !operation.contains("Resource") && operation != "ListTables";
            if reads_it || !body.starts_with(b"{\"TableName\"") {
                assert_eq!((answer.status, answer.code().as_str()), (400, "SerializationException"), "{operation} {shown}");
            }
        }
    }
}

#[test]
fn empty_requests_are_errors_and_never_the_end_of_the_server() {
    let server = server(QUICK);
    let mut client = Client::new(&server);
    for operation in [
        "PutItem",
        "GetItem",
        "UpdateItem",
        "DeleteItem",
        "Query",
        "BatchWriteItem",
        "BatchGetItem",
        "CreateTable",
        "DescribeTable",
        "UpdateTable",
        "DeleteTable",
        "TagResource",
        "UntagResource",
        "ListTagsOfResource",
    ] {
        for body in ["{}", r#"{"TableName":""}"#, r#"{"TableName":"a/b","Item":{},"Key":{},"RequestItems":{}}"#] {
            let answer = client.post(Some(&format!("DynamoDB_20120810.{operation}")), body.as_bytes()).unwrap();
            assert_eq!(answer.status, 400, "{operation} {body}");
        }
    }
}

#[test]
fn too_large_a_body_is_refused_without_being_read() {
    let server = server(QUICK);
    let mut client = Client::new(&server);
    client.send(b"POST / HTTP/1.1\r\nhost: l\r\nx-amz-target: DynamoDB_20120810.PutItem\r\ncontent-length: 17000000\r\n\r\n{").unwrap();
    let answer = client.receive().unwrap();
    assert_eq!((answer.status, answer.code().as_str()), (413, "ValidationException"));
    // A chunked body that never says how large it will be is cut off as well.
    let mut client = Client::new(&server);
    client.send(b"POST / HTTP/1.1\r\nhost: l\r\nx-amz-target: DynamoDB_20120810.PutItem\r\ntransfer-encoding: chunked\r\n\r\n").unwrap();
    let chunk = [b"100000\r\n".as_slice(), &vec![b' '; 1 << 20], b"\r\n"].concat();
    while client.send(&chunk).is_ok() {}
    assert_eq!(Client::new(&server).get("/").status, 200);
}

#[test]
fn bodies_in_pieces_are_put_together() {
    let server = server(QUICK);
    let mut client = Client::new(&server);
    client.create("table");
    let body = put("table", "a").to_string();
    let (first, second) = body.split_at(20);
    let head = format!("POST / HTTP/1.1\r\nhost: l\r\nx-amz-target: DynamoDB_20120810.PutItem\r\ncontent-length: {}\r\n\r\n", body.len());
    client.send(head.as_bytes()).unwrap();
    client.send(first.as_bytes()).unwrap();
    client.send(second.as_bytes()).unwrap();
    assert_eq!(client.receive().unwrap().status, 200);
    let head = "POST / HTTP/1.1\r\nhost: l\r\nx-amz-target: DynamoDB_20120810.PutItem\r\ntransfer-encoding: chunked\r\n\r\n";
    let chunks = [first, second, ""].map(|part| format!("{:x}\r\n{part}\r\n", part.len())).concat();
    client.send(format!("{head}{chunks}").as_bytes()).unwrap();
    assert_eq!(client.receive().unwrap().status, 200);
}

#[test]
fn a_table_lives_from_creating_to_gone_and_its_ledger_stays() {
    let server = server("[table]\nactivation_s = 0.3\ndeletion_s = 0.3\n");
    let mut client = Client::new(&server);
    let definition = json!({
        "TableName": "table", "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    });
    let created = client.call("CreateTable", &definition).json();
    assert_eq!(created["TableDescription"]["TableStatus"], "CREATING");
    let early = client.call("PutItem", &put("table", "a")).json();
    assert_eq!(early["message"], "Requested resource not found");
    let busy = client.call("DeleteTable", &json!({"TableName": "table"}));
    assert_eq!(busy.code(), "ResourceInUseException");
    client.wait_for_status("table", Some("ACTIVE"));
    assert_eq!(client.call("PutItem", &put("table", "a")).status, 200);
    let deleting = client.call("DeleteTable", &json!({"TableName": "table"})).json();
    assert_eq!(deleting["TableDescription"]["TableStatus"], "DELETING");
    assert_eq!(client.call("DeleteTable", &json!({"TableName": "table"})).status, 200, "deleting twice is no error");
    assert_eq!(client.call("PutItem", &put("table", "a")).code(), "ResourceNotFoundException");
    client.wait_for_status("table", None);
    let missing = client.call("DescribeTable", &json!({"TableName": "table"})).json();
    assert_eq!(missing["message"], "Requested resource not found: Table: table not found");
    let ledger = client.ledger("table");
    assert_eq!((&ledger["accepted"], &ledger["throttled"]), (&json!(1), &json!(0)), "only what reached the ACTIVE table counts");
}

#[test]
fn the_ledger_agrees_with_what_the_client_saw_to_the_last_request() {
    let server = server(&format!("{QUICK}[partitions]\ncount = 2\nwrite_per_s = 20\nbucket_s = 2\n"));
    let mut client = Client::new(&server);
    client.create("table");
    let (mut accepted, mut throttled) = (0, 0);
    for key in 0..500 {
        let answer = client.call("PutItem", &put("table", &format!("key-{key}")));
        if answer.status == 200 {
            accepted += 1;
        } else {
            assert_eq!(answer.code(), "ThrottlingException");
            throttled += 1;
        }
    }
    // A batch counts its items one by one; what a condition refused was not accepted.
    let writes: Vec<_> = (0..25).map(|key| json!({"PutRequest": {"Item": {"id": {"S": format!("b-{key}")}}}})).collect();
    let batch = client.call("BatchWriteItem", &json!({"RequestItems": {"table": writes}}));
    let unprocessed = match batch.status {
        200 => batch.json()["UnprocessedItems"]["table"].as_array().map_or(0, Vec::len),
        _ => 25,
    };
    let ledger = client.ledger("table");
    assert!(throttled > 0);
    assert_eq!(ledger["accepted"], accepted + 25 - unprocessed);
    assert_eq!(ledger["throttled"], throttled + unprocessed);
    let sum = |member: &str| ledger["per_partition"].as_array().unwrap().iter().map(|p| p[member].as_u64().unwrap()).sum::<u64>();
    assert_eq!((&ledger["accepted"], &ledger["throttled"]), (&json!(sum("accepted")), &json!(sum("throttled"))));
}

#[test]
fn a_condition_that_does_not_hold_is_paid_for_but_is_no_acceptance() {
    let server = server(&format!("{QUICK}[partitions]\ncount = 1\nwrite_per_s = 1\nbucket_s = 3\n"));
    let mut client = Client::new(&server);
    client.create("table");
    let mut conditional = put("table", "a");
    conditional["ConditionExpression"] = json!("attribute_exists(id)");
    let codes: Vec<String> = (0..50).map(|_| client.call("PutItem", &conditional).code()).collect();
    assert_eq!(codes[..3], ["ConditionalCheckFailedException"; 3]);
    assert!(codes.iter().any(|code| code == "ThrottlingException"), "it was paid for");
    assert_eq!(client.ledger("table")["accepted"], 0);
}

#[test]
fn the_null_profile_accepts_everything_at_once() {
    let config = throttlescope::embedded::Config {
        profile: throttlescope::embedded::Profile::find("null").unwrap(),
        ..throttlescope::embedded::Config::default()
    };
    let server = throttlescope::embedded::start(config).unwrap();
    let mut client = Client::new(&server);
    client.create("table");
    for _ in 0..3_000 {
        assert_eq!(client.call("PutItem", &put("table", "hot")).status, 200);
    }
    assert_eq!(client.ledger("table")["accepted"], 3_000);
}

#[test]
fn stopping_ends_connections_that_wait_and_frees_the_port() {
    let server = server("[table]\nactivation_s = 0\n[[faults]]\nfrom_s = 0\nto_s = 1000\nkind = \"drop\"\n");
    let mut client = Client::new(&server);
    client.create("table");
    let mut waiting = Client::new(&server);
    let body = put("table", "a").to_string();
    let head = format!("POST / HTTP/1.1\r\nhost: l\r\nx-amz-target: DynamoDB_20120810.PutItem\r\ncontent-length: {}\r\n\r\n", body.len());
    waiting.send(format!("{head}{body}").as_bytes()).unwrap();
    client.get("/");
    let (addr, asked) = (server.addr(), Instant::now());
    server.stop();
    assert!(asked.elapsed() < Duration::from_secs(5));
    assert!(waiting.receive().is_err());
    let again = throttlescope::embedded::Config { listen: addr, ..throttlescope::embedded::Config::default() };
    let deadline = Instant::now() + Duration::from_secs(10);
    while throttlescope::embedded::start(again.clone()).is_err() {
        assert!(Instant::now() < deadline, "the port is not free");
        std::thread::yield_now();
    }
}
