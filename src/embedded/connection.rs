//! One connection: reads requests, has the endpoint serve them, waits as long as the answer takes, and answers. Buffers are
//! used again, since what a simulated request costs is taken from the client on the same machine.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant, SystemTime};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::answer::{Answer, Problem};
use super::endpoint::{Endpoint, Outcome, Reply};
use super::fault::Trouble;
use super::http::{self, Asked, Body, Date, Head, LARGEST_BODY, Reading, Unreadable};
use super::latency::Lag;
use super::random::Random;

/// Longest that a client may take over the rest of a request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// Room made for each read: a write of 1 KB fits with its headers.
const READ_AHEAD: usize = 4_096;
/// What goes out in place of an answer.
const GARBAGE: &[u8] = b"\x16\x03\x01\xff\xfe not HTTP at all \x00\x01\x02\r\n\r\n";

/// What all connections share. They all live on one thread.
pub(super) struct Shared {
    pub(super) endpoint: RefCell<Endpoint>,
    pub(super) lag: Lag,
    pub(super) ids: RefCell<Random>,
    pub(super) date: RefCell<Date>,
    pub(super) region: String,
}

/// What the connection does next.
enum Next {
    /// It takes another request.
    GoOn,
    /// It ends, with what has been written so far.
    Close,
    /// It ends without another byte.
    Reset,
}

/// A connection and its buffers.
struct Connection {
    stream: TcpStream,
    shared: Rc<Shared>,
    read: Vec<u8>,
    answer: Vec<u8>,
}

/// A request that has been read, and how many bytes of the buffer it took.
struct Request {
    head: Head,
    body: Body,
}

/// Serves one connection to its end.
pub(super) async fn serve(stream: TcpStream, shared: Rc<Shared>) {
    // Without it answers would wait for acknowledgements; a connection on which that fails is slow, but right.
    let _ = stream.set_nodelay(true);
    let mut connection = Connection { stream, shared, read: Vec::new(), answer: Vec::new() };
    while let Some(request) = connection.next().await {
        match connection.serve(request).await {
            Next::GoOn => {}
            Next::Close => {
                connection.close().await;
                break;
            }
            Next::Reset => {
                // A connection that cannot be reset is closed instead, which is a fault as well.
                let _ = connection.stream.set_zero_linger();
                break;
            }
        }
    }
}

impl Connection {
    /// The next request; `None` when there is none, or none that can be read, which has been answered.
    async fn next(&mut self) -> Option<Request> {
        // A connection may be idle for as long as its client likes.
        if self.read.is_empty() && self.read_more().await? == 0 {
            return None;
        }
        // Nearly every request comes in one piece and needs no timer.
        let request = match self.request_at_once() {
            Some(request) => Ok(request),
            None => tokio::time::timeout(REQUEST_TIMEOUT, self.whole_request()).await.ok()??,
        };
        match request {
            Ok(request) => Some(request),
            Err(why) => {
                let problem = match why {
                    Unreadable::BodyTooLarge => {
                        Problem::too_large(format!("Request size exceeded the maximum allowed size of {LARGEST_BODY} bytes"))
                    }
                    Unreadable::Malformed | Unreadable::HeadTooLarge => {
                        Problem::serialization("the request is not HTTP/1.1 as it should be")
                    }
                };
                let mut answer = problem.answer();
                if why == Unreadable::HeadTooLarge {
                    answer.status = 431;
                }
                // What is left of the request is not read, so the connection cannot go on.
                if self.say(&answer, false).await.is_some() {
                    self.close().await;
                }
                None
            }
        }
    }

    /// The next request, if all of it has been read already.
    fn request_at_once(&self) -> Option<Request> {
        let head = http::head(&self.read).ok()??;
        let body = Reading::new(&head).ok()?.go_on(&self.read).ok()??;
        Some(Request { head, body })
    }

    async fn whole_request(&mut self) -> Option<Result<Request, Unreadable>> {
        let head = loop {
            match http::head(&self.read) {
                Ok(Some(head)) => break head,
                Ok(None) if self.read_more().await? == 0 => return None,
                Ok(None) => {}
                Err(why) => return Some(Err(why)),
            }
        };
        let mut reading = match Reading::new(&head) {
            Ok(reading) => reading,
            Err(why) => return Some(Err(why)),
        };
        if head.awaits_continue {
            self.stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await.ok()?;
        }
        loop {
            match reading.go_on(&self.read) {
                Ok(Some(body)) => return Some(Ok(Request { head, body })),
                Ok(None) if self.read_more().await? == 0 => return None,
                Ok(None) => {}
                Err(why) => return Some(Err(why)),
            }
        }
    }

    async fn read_more(&mut self) -> Option<usize> {
        self.read.reserve(READ_AHEAD);
        self.stream.read_buf(&mut self.read).await.ok()
    }

    async fn serve(&mut self, Request { head, body }: Request) -> Next {
        let arrived = Instant::now();
        let keeps_open = head.keeps_open;
        let (body, end) = match &body {
            Body::There { body, end } => (self.read.get(body.clone()).unwrap_or_default(), *end),
            Body::Joined { body, end } => (body.as_slice(), *end),
        };
        if head.asked != Asked::Operation {
            self.page(&head);
            self.read.drain(..end);
            return self.send(keeps_open).await;
        }
        let target = head.target.and_then(|target| self.read.get(target));
        let Reply { outcome, wait, punctuality } = self.shared.endpoint.borrow_mut().serve(target, body, arrived);
        self.forget(end);
        if !wait.is_zero() {
            let sleep = self.shared.lag.shorten(wait).saturating_sub(arrived.elapsed());
            if !sleep.is_zero() {
                tokio::time::sleep(sleep).await;
            }
            let now = Instant::now();
            let took = now.saturating_duration_since(arrived);
            self.shared.lag.learn(wait, took);
            if let Some(punctuality) = punctuality {
                punctuality.note(now, wait, took);
            }
        }
        match outcome {
            Outcome::Answer(answer) => match self.say(&answer, keeps_open).await {
                Some(()) if keeps_open => Next::GoOn,
                _ => Next::Close,
            },
            Outcome::Trouble(Trouble::Garbage) => {
                // Whether it arrives or not, the connection ends.
                let _ = self.stream.write_all(GARBAGE).await;
                Next::Close
            }
            Outcome::Trouble(Trouble::Reset) => Next::Reset,
            Outcome::Trouble(Trouble::Drop) => std::future::pending().await,
            Outcome::Trouble(Trouble::Close | Trouble::Delay(_) | Trouble::Stall | Trouble::Error) => Next::Close,
        }
    }

    /// Makes room for the next request, and lets go of the room that a large one took.
    fn forget(&mut self, end: usize) {
        self.read.drain(..end);
        if self.read.is_empty() && self.read.capacity() > 16 * READ_AHEAD {
            self.read = Vec::new();
        }
    }

    async fn say(&mut self, answer: &Answer, keeps_open: bool) -> Option<()> {
        let mut id: [u8; 52] = *b"00000000000000000000000000VV4KQNSO5AEMVJF66Q9ASUAAJG";
        let fixed = id.len() - 26;
        if let Some(random) = id.get_mut(..fixed) {
            self.shared.ids.borrow_mut().base32(random);
        }
        self.answer.clear();
        http::put_answer(&mut self.answer, answer, self.shared.date.borrow_mut().at(SystemTime::now()), &id, keeps_open);
        self.stream.write_all(&self.answer).await.ok()
    }

    async fn send(&mut self, keeps_open: bool) -> Next {
        match self.stream.write_all(&self.answer).await {
            Ok(()) if keeps_open => Next::GoOn,
            _ => Next::Close,
        }
    }

    /// Everything that is not an operation: the health page, and the ledgers.
    fn page(&mut self, head: &Head) {
        let path = self.read.get(head.path.clone()).and_then(|path| std::str::from_utf8(path).ok()).unwrap_or_default();
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let (status, kind, body) = match (head.asked, path) {
            (Asked::Page, "/") => (200, "text/plain", format!("healthy: dynamodb.{}.amazonaws.com ", self.shared.region)),
            (Asked::Page, "/throttlescope/ledger") => {
                // The names of tables need no escapes in a URL.
                let name = query.split('&').filter_map(|pair| pair.split_once('=')).find(|(key, _)| *key == "table").map(|(_, name)| name);
                match name.and_then(|name| self.shared.endpoint.borrow().ledger(name)) {
                    Some(ledger) => (200, "application/json", ledger.to_string()),
                    None => (
                        404,
                        "application/json",
                        r#"{"message":"there is and was no such table; ask for /throttlescope/ledger?table=NAME"}"#.to_owned(),
                    ),
                }
            }
            _ => (404, "text/plain", "operations are POSTed to /\n".to_owned()),
        };
        self.answer.clear();
        http::put_page(&mut self.answer, status, kind, self.shared.date.borrow_mut().at(SystemTime::now()), &body, head.keeps_open);
    }

    /// Ends the connection in order: what the client still sends is read for a moment, since a connection that is closed on
    /// unread bytes is reset, and the client would lose the answer.
    async fn close(&mut self) {
        let _ = self.stream.shutdown().await;
        let mut rest = vec![0; READ_AHEAD];
        let drain = async { while self.stream.read(&mut rest).await.is_ok_and(|read| read > 0) {} };
        let _ = tokio::time::timeout(Duration::from_millis(500), drain).await;
    }
}
