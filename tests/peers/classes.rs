//! Two clients, one truth: whatever a server answers, both clients make the same of it.

use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use throttlescope::load::{Clock, FailureKind, Key, Keys, KindId, Lane as _, Op, Outcome, Request, Target, Units, Workload};
use throttlescope::sdk::SdkTarget;
use throttlescope::wire::{Endpoint, Identities, Identity, WireTarget};
use tokio::sync::watch;
use tokio::task::LocalSet;

use crate::stub::{ACCEPTED, After, Behaviour, Stub, header, reset, text, until_closed, whole};

/// A request timeout that only a server reaches that does not answer.
const TIMEOUT: Duration = Duration::from_secs(60);
const REGION: &str = "us-east-1";

/// What one request amounts to, as a shard would see it.
fn made_of(mut target: impl Target, op: Op, timeout: Duration) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let outcome = LocalSet::new().block_on(&runtime, async {
        let mut lane = target.lane();
        let request = Request::new(op, Key(7), KindId::FIRST, Clock::start());
        tokio::time::timeout(timeout, lane.call(&request)).await.unwrap_or(Outcome::TimedOut)
    });
    runtime.shutdown_background();
    outcome
}

/// What `wire` and `sdk` make of the same endpoint.
fn both_within(url: &str, op: Op, timeout: Duration) -> [Outcome; 2] {
    let workload = Workload::new(1_000, Keys::Uniform, 1, false, 10);
    let identities = Identities::fixed(Identity::dummy());
    let endpoint = Endpoint::parse(url, REGION).expect("an endpoint");
    let wire = WireTarget::new(endpoint, identities.clone(), "table", &workload);
    let sdk = SdkTarget::new(url, REGION, identities, "table", &workload);
    [made_of(wire, op, timeout), made_of(sdk, op, timeout)]
}

fn both(url: &str, op: Op) -> [Outcome; 2] {
    both_within(url, op, TIMEOUT)
}

/// An answer that came whole: both read the same in it, down to the words.
fn same(status: u16, headers: &str, body: &str) -> Outcome {
    let answer = text(status, body).replacen("\r\n", &format!("\r\n{headers}"), 1);
    let stub = Stub::start(Behaviour::items(move |stream, _| {
        stream.write_all(answer.as_bytes())?;
        Ok(After::Keep)
    }));
    for op in [Op::Write, Op::Read] {
        let [wire, sdk] = both(&stub.url, op);
        assert_eq!(wire, sdk, "{op} answered with {status} {headers:?} {body:?}");
    }
    assert_eq!(stub.items(), 4, "each of four requests arrived once: {status} {body:?}");
    both(&stub.url, Op::Write).into_iter().next().expect("an outcome")
}

/// A request that got no whole answer: both say where it failed. The words are each client's own.
fn same_kind(wire: &Outcome, sdk: &Outcome) -> FailureKind {
    let (Outcome::Failed(wire), Outcome::Failed(sdk)) = (wire, sdk) else { panic!("{wire:?}\n{sdk:?}") };
    assert_eq!((wire.kind, &wire.code, wire.http_status), (sdk.kind, &sdk.code, sdk.http_status), "{wire:?}\n{sdk:?}");
    assert!(!wire.message.is_empty() && !sdk.message.is_empty(), "{wire:?}\n{sdk:?}");
    wire.kind
}

/// How both fail when items are answered like this.
fn fails_as(answer: impl Fn(&mut TcpStream, u64) -> std::io::Result<After> + Send + Sync + 'static) -> FailureKind {
    let stub = Stub::start(Behaviour::items(answer));
    let [wire, sdk] = both(&stub.url, Op::Write);
    assert_eq!(stub.items(), 2, "neither sends it again: {wire:?} {sdk:?}");
    same_kind(&wire, &sdk)
}

fn throttled(outcome: &Outcome) -> &throttlescope::load::Refusal {
    match outcome {
        Outcome::Throttled(refusal) => refusal,
        other => panic!("{other:?}"),
    }
}

fn failed(outcome: &Outcome) -> &throttlescope::load::Failure {
    match outcome {
        Outcome::Failed(failure) => failure,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_throttle_is_the_same_to_both_whatever_its_code_reasons_and_spelling() {
    let reasons = r#"[{"reason":"TableWriteKeyRangeThroughputExceeded","resource":"arn:aws:dynamodb:us-east-1:123456789012:table/t"},{"reason":"IndexWriteMaxOnDemandThroughputExceeded"}]"#;
    let message = "Grüße: 123456789012 exceeds the \\u0022current capacity\\u0022 of your table or index.";
    for code in ["ThrottlingException", "ProvisionedThroughputExceededException", "RequestLimitExceeded"] {
        for (status, spelled) in [
            (400, format!("com.amazonaws.dynamodb.v20120810#{code}")),
            (400, format!("com.amazon.coral.availability#{code}:http://internal.amazon.com/coral/")),
            (429, code.to_owned()),
            (503, code.to_owned()),
        ] {
            let body = format!(r#"{{"__type":"{spelled}","message":"{message}","throttlingReasons":{reasons}}}"#);
            let outcome = same(status, "", &body);
            let refusal = throttled(&outcome);
            assert_eq!((refusal.code.as_str(), refusal.http_status), (code, status));
            assert_eq!(refusal.reasons, ["TableWriteKeyRangeThroughputExceeded", "IndexWriteMaxOnDemandThroughputExceeded"]);
            assert_eq!(refusal.resource.as_deref(), Some("arn:aws:dynamodb:us-east-1:************:table/t"));
            assert_eq!(refusal.message, "Grüße: ************ exceeds the \"current capacity\" of your table or index.");
        }
    }
    let capital = format!(r#"{{"__type":"x#ThrottlingException","Message":"capital","ThrottlingReasons":{reasons}}}"#);
    assert_eq!(throttled(&same(400, "", &capital)).message, "capital");
    assert_eq!(throttled(&same(400, "", r#"{"code":"ThrottlingException"}"#)).message, "");
    let in_header = "x-amzn-ErrorType: ThrottlingException:http://internal/\r\n";
    assert_eq!(throttled(&same(400, in_header, r#"{"__type":"x#ValidationException","message":"m"}"#)).message, "m");
    assert_eq!(throttled(&same(400, in_header, "<html>")).message, "");
}

#[test]
fn an_error_with_a_code_is_the_same_to_both() {
    for (status, code, kind) in [
        (400, "ValidationException", FailureKind::Invalid),
        (400, "SerializationException", FailureKind::Invalid),
        (400, "UnknownOperationException", FailureKind::Invalid),
        (400, "ItemCollectionSizeLimitExceededException", FailureKind::Invalid),
        (400, "ResourceNotFoundException", FailureKind::NotFound),
        (400, "UnrecognizedClientException", FailureKind::Denied),
        (400, "MissingAuthenticationTokenException", FailureKind::Denied),
        (400, "InvalidSignatureException", FailureKind::Denied),
        (403, "SignatureDoesNotMatch", FailureKind::Denied),
        (400, "IncompleteSignatureException", FailureKind::Denied),
        (403, "InvalidClientTokenId", FailureKind::Denied),
        (400, "ExpiredTokenException", FailureKind::Denied),
        (400, "AccessDeniedException", FailureKind::Denied),
        (403, "OptInRequired", FailureKind::Denied),
        (500, "InternalServerError", FailureKind::Service),
        (500, "InternalFailure", FailureKind::Service),
        (503, "ServiceUnavailable", FailureKind::Service),
        (400, "ConditionalCheckFailedException", FailureKind::OtherAnswer),
        (400, "TransactionConflictException", FailureKind::OtherAnswer),
        (400, "ReplicatedWriteConflictException", FailureKind::OtherAnswer),
        (400, "InvalidEndpointException", FailureKind::OtherAnswer),
        (400, "LimitExceededException", FailureKind::OtherAnswer),
        (400, "SomethingNew", FailureKind::OtherAnswer),
    ] {
        let body = format!(r#"{{"__type":"com.amazonaws.dynamodb.v20120810#{code}","message":"no, 123456789012"}}"#);
        let outcome = same(status, "", &body);
        let failure = failed(&outcome);
        assert_eq!((failure.kind, failure.code.as_deref(), failure.http_status), (kind, Some(code), Some(status)));
        assert_eq!(failure.message, "no, ************");
    }
}

#[test]
fn an_error_without_a_code_is_the_same_to_both() {
    let page = "<html><body><h1>no</h1></body></html>";
    for status in [500, 502, 503, 504] {
        for body in [page, "", "{}", "[1]", r#"{"message":5}"#, r#"{"__type":"#] {
            assert_eq!(failed(&same(status, "", body)).kind, FailureKind::Service, "{status} {body}");
        }
    }
    for status in [201, 202, 301, 307, 400, 401, 403, 404, 405, 413, 429] {
        let kind = if matches!(status, 401 | 403) { FailureKind::Denied } else { FailureKind::OtherAnswer };
        for body in [page, "", "{}"] {
            let outcome = same(status, "Location: /elsewhere\r\n", body);
            assert_eq!((failed(&outcome).kind, failed(&outcome).http_status), (kind, Some(status)), "{body}");
        }
    }
}

#[test]
fn a_success_is_the_same_to_both_and_so_is_one_that_says_nothing() {
    let units = |units: f64| Outcome::Accepted(Units::from_f64(units));
    assert_eq!(same(200, "", ACCEPTED), units(1.0));
    assert_eq!(same(200, "", r#"{"ConsumedCapacity":{"CapacityUnits":0.5,"TableName":"t","Table":{"CapacityUnits":7}}}"#), units(0.5));
    assert_eq!(same(200, "", r#"{"Item":{"pk":{"S":"\u0000"},"n":{"N":"1"}},"ConsumedCapacity":{"CapacityUnits":2E1}}"#), units(20.0));
    assert_eq!(same(200, "", "{}"), units(0.0));
    // Neither checks the checksum that DynamoDB sends along.
    assert_eq!(same(200, "x-amz-crc32: 1\r\n", ACCEPTED), units(1.0));
    // An error type is no error where the status says success.
    assert_eq!(same(200, "x-amzn-ErrorType: ThrottlingException\r\n", ACCEPTED), units(1.0));
    for body in ["", "<html>", "\u{0}\u{1}certainly not JSON", r#"{"ConsumedCapacity":{"#] {
        assert_eq!(failed(&same(200, "", body)).kind, FailureKind::Garbled, "{body}");
    }
}

#[test]
fn json_that_is_no_answer_of_the_operation_is_garbled_to_the_sdk_alone() {
    let stub = Stub::start(Behaviour::items(|stream, _| whole(stream, 200, r#"{"ConsumedCapacity":{"CapacityUnits":"many"}}"#)));
    let [wire, sdk] = both(&stub.url, Op::Write);
    assert_eq!(wire, Outcome::Accepted(Units::ZERO));
    let failure = failed(&sdk);
    assert_eq!((failure.kind, failure.http_status), (FailureKind::Garbled, Some(200)));
    assert!(failure.message.starts_with("the SDK cannot read the answer: "), "{}", failure.message);
}

#[test]
fn an_answer_that_is_too_long_is_garbled_to_both() {
    let length = 5 * 1_024 * 1_024;
    let stated = fails_as(move |stream, _| {
        stream.write_all(format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n").as_bytes())?;
        // The client may close before all of it is written.
        let _read_or_not = stream.write_all(&vec![b' '; length]);
        Ok(After::Close)
    });
    let unstated = fails_as(move |stream, _| {
        stream.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{")?;
        let _read_or_not = stream.write_all(&vec![b' '; length]).and_then(|()| stream.write_all(b"}"));
        Ok(After::Close)
    });
    assert_eq!((stated, unstated), (FailureKind::Garbled, FailureKind::Garbled));
}

#[test]
fn an_answer_that_breaks_off_or_is_not_http_is_the_same_to_both() {
    let closed = fails_as(|_, _| Ok(After::Close));
    assert_eq!(closed, FailureKind::Closed);
    let head_only = fails_as(|stream, _| stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Le").map(|()| After::Close));
    assert_eq!(head_only, FailureKind::Closed);
    for cut in ["Content-Length: 100\r\n\r\n{\"Consumed", "Transfer-Encoding: chunked\r\n\r\n9\r\n{\"Con"] {
        for status in [200, 400] {
            let answer = format!("HTTP/1.1 {status} Stub\r\n{cut}");
            let kind = fails_as(move |stream, _| stream.write_all(answer.as_bytes()).map(|()| After::Close));
            assert_eq!(kind, FailureKind::Garbled, "{status} {cut}");
        }
    }
    for nonsense in [
        "SSH-2.0-OpenSSH_9.2\r\n\r\n".to_owned(),
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nnonsense\r\n{}\r\n0\r\n\r\n".to_owned(),
        format!("HTTP/1.1 200 OK\r\n{}\r\n", "X-Header: x\r\n".repeat(300)),
        "HTTP/1.1 200 OK\r\nContent-Length: soon\r\n\r\n{}".to_owned(),
    ] {
        let answer = nonsense.clone();
        let kind = fails_as(move |stream, _| {
            stream.write_all(answer.as_bytes())?;
            until_closed(stream);
            Ok(After::Close)
        });
        assert_eq!(kind, FailureKind::Garbled, "{nonsense}");
    }
}

#[test]
fn a_reset_is_the_same_to_both() {
    let before = fails_as(|stream, _| {
        reset(stream);
        Ok(After::Close)
    });
    assert_eq!(before, FailureKind::Closed);
}

#[test]
fn no_answer_in_time_is_a_timeout_to_both() {
    for begun in ["", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"] {
        let stub = Stub::start(Behaviour::items(move |stream, _| stream.write_all(begun.as_bytes()).map(|()| After::Hang)));
        let outcomes = both_within(&stub.url, Op::Write, Duration::from_millis(500));
        assert_eq!(outcomes, [Outcome::TimedOut, Outcome::TimedOut], "{begun}");
    }
}

/// Sends two requests, with other credentials for the second.
fn signed_by(client: &str) -> Vec<String> {
    let stub = Stub::start(Behaviour::default());
    let named = |name: &str| {
        let (access_key_id, session_token) = (name.to_owned(), Some(format!("token-of-{name}")));
        Arc::new(Identity { access_key_id, secret_access_key: "secret".to_owned(), session_token })
    };
    let (sender, receiver) = watch::channel(named("old"));
    let workload = Workload::new(1_000, Keys::Uniform, 1, false, 10);
    let refresh = || sender.send_replace(named("new"));
    match client {
        "wire" => {
            let endpoint = Endpoint::parse(&stub.url, REGION).expect("an endpoint");
            twice(WireTarget::new(endpoint, Identities::new(receiver), "table", &workload), refresh);
        }
        _ => twice(SdkTarget::new(&stub.url, REGION, Identities::new(receiver), "table", &workload), refresh),
    }
    let heads = stub.counted.heads.lock().expect("no panic");
    let signer = |head: &String| {
        let authorization = header(head, "authorization").expect("a signature");
        let key = authorization.split("Credential=").nth(1).and_then(|rest| rest.split('/').next()).expect("a key");
        format!("{key} {}", header(head, "x-amz-security-token").expect("a token"))
    };
    heads.iter().map(signer).collect()
}

fn twice<T>(mut target: impl Target, between: impl Fn() -> T) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    LocalSet::new().block_on(&runtime, async {
        let mut lane = target.lane();
        for _ in 0..2 {
            let request = Request::new(Op::Write, Key(7), KindId::FIRST, Clock::start());
            assert_eq!(lane.call(&request).await, Outcome::Accepted(Units::from_f64(1.0)));
            between();
        }
    });
}

#[test]
fn refreshed_credentials_sign_the_next_request_of_either_client() {
    for client in ["wire", "sdk"] {
        assert_eq!(signed_by(client), ["old token-of-old", "new token-of-new"], "{client}");
    }
}

#[test]
fn an_endpoint_that_is_not_there_is_the_same_to_both_down_to_the_words() {
    let unused = TcpListener::bind(("127.0.0.1", 0)).expect("a port").local_addr().expect("an address");
    for url in [format!("http://{unused}"), format!("https://{unused}")] {
        let [wire, sdk] = both(&url, Op::Write);
        assert_eq!(failed(&wire).kind, FailureKind::Connect);
        assert_eq!(wire, sdk);
        assert!(failed(&sdk).message.starts_with(&format!("cannot connect to {unused}: ")), "{sdk:?}");
    }
    for url in ["http://throttlescope.invalid", "https://throttlescope.invalid:8000"] {
        let [wire, sdk] = both(url, Op::Read);
        assert_eq!(failed(&wire).kind, FailureKind::Dns);
        assert_eq!(wire, sdk);
    }
}

#[test]
fn an_endpoint_that_does_not_speak_tls_is_the_same_to_both_down_to_the_words() {
    for greeting in ["HTTP/1.1 400 Bad Request\r\n\r\n", ""] {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let url = format!("https://{}", listener.local_addr().expect("an address"));
        let listening = std::thread::spawn(move || {
            for stream in listener.incoming().take(2) {
                let mut stream = stream.expect("a connection");
                stream.set_read_timeout(Some(Duration::from_millis(100))).expect("a socket");
                // All of the greeting is read first: closing on unread bytes would be a reset.
                let mut bytes = [0; 8_192];
                let read = std::io::Read::read(&mut stream, &mut bytes).expect("a greeting");
                assert!(read > 0);
                stream.write_all(greeting.as_bytes()).expect("written");
                if !greeting.is_empty() {
                    until_closed(&mut stream);
                }
            }
        });
        let [wire, sdk] = both(&url, Op::Write);
        assert_eq!(failed(&wire).kind, FailureKind::Tls, "{wire:?}");
        assert_eq!(wire, sdk);
        listening.join().expect("no panic");
    }
}
