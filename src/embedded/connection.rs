//! One connection: reads requests, has the endpoint serve them, waits as long as the answer takes, and answers.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Incoming};
use hyper::header::{CONNECTION, CONTENT_TYPE, HeaderName, HeaderValue, SERVER};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;

use super::answer::{Answer, Problem};
use super::endpoint::{Endpoint, Outcome, Reply};
use super::fault::Trouble;
use super::latency::Lag;
use super::random::Random;
use super::wire::{Manners, Wire};

/// Most bytes of a request's body.
const LARGEST_BODY: usize = 16 << 20;
/// Longest that a client may take over the head of a request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);

const TARGET: HeaderName = HeaderName::from_static("x-amz-target");
const REQUEST_ID: HeaderName = HeaderName::from_static("x-amzn-requestid");
const CRC32: HeaderName = HeaderName::from_static("x-amz-crc32");
const AMZ_JSON: HeaderValue = HeaderValue::from_static("application/x-amz-json-1.0");
const PLAIN_JSON: HeaderValue = HeaderValue::from_static("application/json");
const PLAIN_TEXT: HeaderValue = HeaderValue::from_static("text/plain");

/// What all connections share. They all live on one thread.
pub(super) struct Shared {
    pub(super) endpoint: RefCell<Endpoint>,
    pub(super) lag: Lag,
    pub(super) ids: RefCell<Random>,
    pub(super) region: String,
}

/// The connection is to end without an answer.
#[derive(Debug, thiserror::Error)]
#[error("a fault ended the connection")]
struct Spoiled;

/// Serves one connection to its end.
pub(super) async fn serve(stream: TcpStream, shared: Rc<Shared>) {
    // Without it answers would wait for acknowledgements; a connection on which that fails is slow, but right.
    let _ = stream.set_nodelay(true);
    let manners = Rc::new(Cell::new(Manners::default()));
    let wire = TokioIo::new(Wire::new(stream, Rc::clone(&manners)));
    let service = service_fn(|request| answer(request, &shared, &manners));
    // How a connection ends is the client's business; there is nobody to tell.
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .pipeline_flush(true)
        .serve_connection(wire, service)
        .await;
}

async fn answer(request: Request<Incoming>, shared: &Shared, manners: &Cell<Manners>) -> Result<Response<Full<Bytes>>, Spoiled> {
    let arrived = Instant::now();
    if request.method() != Method::POST || request.uri().path() != "/" {
        return Ok(page(&request, shared));
    }
    let (head, body) = request.into_parts();
    let Some(body) = collect(body).await else {
        let problem = Problem::too_large(format!("Request size exceeded the maximum allowed size of {LARGEST_BODY} bytes"));
        let mut response = respond(shared, problem.answer());
        // What is left of the body is not read, so the connection cannot go on.
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        return Ok(response);
    };
    let target = head.headers.get(TARGET).map(HeaderValue::as_bytes);
    let Reply { outcome, wait, punctuality } = shared.endpoint.borrow_mut().serve(target, &body, arrived);
    drop(body);
    if !wait.is_zero() {
        let sleep = shared.lag.shorten(wait).saturating_sub(arrived.elapsed());
        if !sleep.is_zero() {
            tokio::time::sleep(sleep).await;
        }
        let now = Instant::now();
        let took = now.saturating_duration_since(arrived);
        shared.lag.learn(wait, took);
        if let Some(punctuality) = punctuality {
            punctuality.note(now, wait, took);
        }
    }
    match outcome {
        Outcome::Answer(answer) => Ok(respond(shared, answer)),
        Outcome::Trouble(Trouble::Garbage) => {
            manners.set(Manners::Garbage);
            let mut response = respond(shared, Answer::ok("{}"));
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            Ok(response)
        }
        Outcome::Trouble(Trouble::Reset) => {
            manners.set(Manners::Reset);
            Err(Spoiled)
        }
        Outcome::Trouble(Trouble::Drop) => std::future::pending().await,
        Outcome::Trouble(Trouble::Close | Trouble::Delay(_) | Trouble::Stall | Trouble::Error) => Err(Spoiled),
    }
}

/// The whole body, without a copy where it came in one piece. `None` when it is too large or breaks off.
async fn collect(mut body: Incoming) -> Option<Bytes> {
    if body.size_hint().lower() > LARGEST_BODY as u64 {
        return None;
    }
    let mut first = Bytes::new();
    while first.is_empty() {
        match body.frame().await {
            None => return Some(first),
            Some(frame) => first = frame.ok()?.into_data().unwrap_or_default(),
        }
    }
    if body.is_end_stream() {
        return Some(first);
    }
    let mut all = BytesMut::from(first);
    while let Some(frame) = body.frame().await {
        all.extend_from_slice(&frame.ok()?.into_data().unwrap_or_default());
        if all.len() > LARGEST_BODY {
            return None;
        }
    }
    Some(all.freeze())
}

fn respond(shared: &Shared, answer: Answer) -> Response<Full<Bytes>> {
    let mut id: [u8; 52] = *b"00000000000000000000000000VV4KQNSO5AEMVJF66Q9ASUAAJG";
    let fixed = id.len() - 26;
    if let Some(random) = id.get_mut(..fixed) {
        shared.ids.borrow_mut().base32(random);
    }
    let mut response = Response::new(Full::new(answer.body));
    *response.status_mut() = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.reserve(5);
    headers.insert(SERVER, HeaderValue::from_static("Server"));
    headers.insert(CONTENT_TYPE, AMZ_JSON);
    // Base 32 is ASCII, so this is always a header value.
    if let Ok(id) = HeaderValue::from_bytes(&id) {
        headers.insert(REQUEST_ID, id);
    }
    headers.insert(CRC32, answer.crc32);
    response
}

/// Everything that is not an operation: the health page, and the ledgers.
fn page(request: &Request<Incoming>, shared: &Shared) -> Response<Full<Bytes>> {
    let (status, kind, body) = match (request.method(), request.uri().path()) {
        (&Method::GET, "/") => (StatusCode::OK, PLAIN_TEXT, format!("healthy: dynamodb.{}.amazonaws.com ", shared.region)),
        (&Method::GET, "/throttlescope/ledger") => {
            let pairs = request.uri().query().unwrap_or_default().split('&');
            // The names of tables need no escapes in a URL.
            let name = pairs.filter_map(|pair| pair.split_once('=')).find(|(key, _)| *key == "table").map(|(_, name)| name);
            match name.and_then(|name| shared.endpoint.borrow().ledger(name)) {
                Some(ledger) => (StatusCode::OK, PLAIN_JSON, ledger.to_string()),
                None => (
                    StatusCode::NOT_FOUND,
                    PLAIN_JSON,
                    r#"{"message":"there is and was no such table; ask for /throttlescope/ledger?table=NAME"}"#.to_owned(),
                ),
            }
        }
        _ => (StatusCode::NOT_FOUND, PLAIN_TEXT, "operations are POSTed to /\n".to_owned()),
    };
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}
