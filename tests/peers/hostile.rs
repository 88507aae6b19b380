//! Servers that answer items in every wrong way: each request ends within its bound and in its own class, and the table is
//! deleted all the same.

use std::collections::HashMap;
use std::io::Write as _;
use std::net::TcpStream;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::stub::{ACCEPTED, After, Behaviour, Stub, reset, text, until_closed, whole};
use crate::support::{Ended, measure};

/// A second's timeout, and two seconds of a modest load.
const TYPED: &str = "--rate 40 --window 2s --timeout 1s";

/// What a session left, whose items were answered like this.
fn answered(answer: impl Fn(&mut TcpStream, u64) -> std::io::Result<After> + Send + Sync + 'static) -> (Stub, Ended) {
    measured(Behaviour::items(answer))
}

fn measured(behaviour: Behaviour) -> (Stub, Ended) {
    let stub = Stub::start(behaviour);
    let ended = measure(&stub.url, None, TYPED);
    // The requests fail; the measurement of it does not.
    ended.is_complete();
    assert_eq!((ended.total("offered"), ended.total("in_flight")), (80, 0), "{}", ended.said);
    assert!(stub.items() <= ended.total("sent"), "{} requests on the wire for {} sent", stub.items(), ended.total("sent"));
    assert_eq!((stub.deletes(), stub.has_table()), (1, false), "{}", ended.said);
    // Window, timeout, provisioning and teardown, on a machine that may be slow; a hang would take the whole patience.
    assert!(ended.took < Duration::from_secs(90), "{:?}", ended.took);
    (stub, ended)
}

/// Everything that was sent failed in this way. A machine that stands still may let a request time out.
fn all_failed_as(kind: &str, ended: &Ended) {
    let sent = ended.total("sent");
    assert_eq!(ended.failed_as(kind) + ended.total("timed_out"), sent, "{}", ended.document["failures"]);
    assert!(ended.failed_as(kind) > 0, "{}", ended.said);
}

fn all_accepted(ended: &Ended) {
    assert_eq!(ended.total("failed"), 0, "{}", ended.document["failures"]);
    assert_eq!(ended.total("accepted") + ended.total("timed_out"), ended.total("sent"), "{}", ended.said);
    assert!(ended.total("accepted") > 0, "{}", ended.said);
}

#[test]
fn a_connection_closed_as_soon_as_it_is_accepted_is_a_transport_failure() {
    let (_, ended) = measured(Behaviour { closed_at_once: 40, ..Behaviour::default() });
    let closed = ended.failed_as("closed") + ended.failed_as("connect");
    assert_eq!(closed, ended.total("failed"), "{}", ended.document["failures"]);
    assert!(closed > 0 && ended.total("accepted") > 0, "{}", ended.said);
}

#[test]
fn a_connection_closed_instead_of_an_answer_is_closed() {
    let (stub, ended) = answered(|_, _| Ok(After::Close));
    all_failed_as("closed", &ended);
    assert_eq!(stub.items(), ended.total("sent"), "none is sent twice");
}

#[test]
fn a_connection_reset_in_the_middle_of_an_answer_is_closed_or_garbled() {
    let (stub, ended) = answered(|stream, _| {
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"Consumed")?;
        reset(stream);
        Ok(After::Close)
    });
    let failed = ended.failed_as("closed") + ended.failed_as("garbled");
    assert_eq!(failed + ended.total("timed_out"), ended.total("sent"), "{}", ended.document["failures"]);
    assert!(failed > 0);
    assert_eq!(stub.items(), ended.total("sent"), "none is sent twice");
}

#[test]
fn a_page_of_html_with_status_500_is_the_service_failing() {
    let page = "<html><body><h1>500 Internal Server Error</h1></body></html>";
    let (_, ended) = answered(move |stream, _| {
        let answer =
            format!("HTTP/1.1 500 Internal Server Error\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n{page}", page.len());
        stream.write_all(answer.as_bytes())?;
        Ok(After::Keep)
    });
    all_failed_as("service", &ended);
    assert_eq!(ended.document["failures"][0]["http_status"], 500);
}

#[test]
fn an_answer_cut_short_is_garbled() {
    let (stub, ended) = answered(|stream, _| {
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"Consumed")?;
        Ok(After::Close)
    });
    all_failed_as("garbled", &ended);
    assert_eq!(stub.items(), ended.total("sent"), "none is sent twice");
}

#[test]
fn a_body_shorter_than_its_content_length_is_waited_for_until_the_timeout() {
    let (_, ended) = answered(|stream, _| {
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{}")?;
        Ok(After::Hang)
    });
    assert_eq!(ended.total("timed_out"), ended.total("sent"), "{}", ended.document["failures"]);
}

#[test]
fn a_body_longer_than_its_content_length_is_garbled_and_spoils_no_other_answer() {
    let (_, ended) = answered(|stream, number| {
        if number % 2 == 0 {
            return whole(stream, 200, ACCEPTED);
        }
        stream.write_all(format!("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{ACCEPTED}").as_bytes())?;
        Ok(After::Keep)
    });
    assert_eq!(ended.failed_as("garbled"), ended.total("failed"), "{}", ended.document["failures"]);
    assert!(ended.failed_as("garbled") > 0 && ended.total("accepted") > 0, "{}", ended.said);
}

#[test]
fn success_with_garbage_is_garbled() {
    let (_, ended) = answered(|stream, _| whole(stream, 200, "\u{0}\u{1}certainly not JSON"));
    all_failed_as("garbled", &ended);
}

#[test]
fn what_is_not_http_is_garbled() {
    let (_, ended) = answered(|stream, _| {
        stream.write_all(b"SSH-2.0-OpenSSH_9.2\r\n\r\n")?;
        until_closed(stream);
        Ok(After::Close)
    });
    all_failed_as("garbled", &ended);
}

#[test]
fn an_answer_with_hundreds_of_headers_is_garbled() {
    let (_, ended) = answered(|stream, _| {
        let headers = "X-Header: x\r\n".repeat(300);
        stream.write_all(format!("HTTP/1.1 200 OK\r\n{headers}\r\n").as_bytes())?;
        until_closed(stream);
        Ok(After::Close)
    });
    all_failed_as("garbled", &ended);
}

#[test]
fn a_chunk_that_has_no_length_is_garbled() {
    let (_, ended) = answered(|stream, _| {
        stream.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nnonsense\r\n{}\r\n0\r\n\r\n")?;
        until_closed(stream);
        Ok(After::Close)
    });
    all_failed_as("garbled", &ended);
}

#[test]
fn an_answer_split_into_single_bytes_is_read() {
    let (_, ended) = answered(|stream, _| {
        for byte in text(200, ACCEPTED).as_bytes() {
            stream.write_all(&[*byte])?;
            stream.flush()?;
        }
        Ok(After::Keep)
    });
    all_accepted(&ended);
}

#[test]
fn a_chunked_answer_is_read() {
    let (_, ended) = answered(|stream, _| {
        stream.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")?;
        for chunk in ACCEPTED.as_bytes().chunks(7) {
            stream.write_all(format!("{:x}\r\n{}\r\n", chunk.len(), String::from_utf8_lossy(chunk)).as_bytes())?;
        }
        stream.write_all(b"0\r\n\r\n")?;
        Ok(After::Keep)
    });
    all_accepted(&ended);
    let consumed = ended.document["totals"]["consumed_units"].as_f64();
    assert_eq!(consumed, Some(ended.total("accepted") as f64));
}

#[test]
fn a_server_that_ends_every_connection_costs_connections_and_no_request() {
    let (stub, ended) = answered(|stream, _| {
        let answer = text(200, ACCEPTED).replacen("\r\n", "\r\nConnection: close\r\n", 1);
        stream.write_all(answer.as_bytes())?;
        Ok(After::Close)
    });
    all_accepted(&ended);
    assert!(stub.counted.connections.load(std::sync::atomic::Ordering::SeqCst) >= stub.items());
}

#[test]
fn a_server_that_ends_every_connection_without_saying_so_costs_no_request() {
    let (_, ended) = answered(|stream, _| {
        stream.write_all(text(200, ACCEPTED).as_bytes())?;
        Ok(After::Close)
    });
    all_accepted(&ended);
}

#[test]
fn a_server_that_drops_what_comes_after_its_idle_time_is_not_sent_it() {
    let answered = Mutex::new(HashMap::<_, Instant>::new());
    let stub = Stub::start(Behaviour::items(move |stream, _| {
        let client = stream.peer_addr()?;
        let idle = answered.lock().expect("no panic").get(&client).map(Instant::elapsed);
        if idle.is_some_and(|idle| idle > Duration::from_secs(4)) {
            return Ok(After::Close);
        }
        stream.write_all(text(200, ACCEPTED).replacen("\r\n", "\r\nKeep-Alive: timeout=4\r\n", 1).as_bytes())?;
        answered.lock().expect("no panic").insert(client, Instant::now());
        Ok(After::Keep)
    }));
    let plan = "name = \"idle\"\nwindow = \"1s\"\npause = \"5s\"\nrates = [40, 40]\n";
    let ended = measure(&stub.url, Some(plan), "");
    ended.is_complete();
    all_accepted(&ended);
}

#[test]
fn a_server_that_never_answers_lets_every_request_time_out() {
    let (stub, ended) = answered(|_, _| Ok(After::Hang));
    assert_eq!((ended.total("timed_out"), ended.total("failed")), (ended.total("sent"), 0), "{}", ended.document["failures"]);
    assert!(stub.items() > 0);
}
