//! A server that does nothing: it reads a request and answers at once that one unit was consumed, so that what a client
//! costs can be measured with as little as possible at the other end. `scripts/bench` drives it.
//!
//! ```text
//! do_nothing [--listen 127.0.0.1:0] [--tls CERTIFICATES.pem KEY.pem]
//! ```
//!
//! It prints its address on one line and serves until it is killed: one thread, HTTP/1.1 with keep-alive and pipelining.
//! Tables can be created, described and deleted; every other request is answered with the fixed answer. `GET /` gives
//! what it has counted, `GET /last` the last request with the fixed answer, as it came.

use std::cell::RefCell;
use std::collections::HashSet;
use std::error::Error;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;

use memchr::memmem;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: application/x-amz-json-1.0\r\ncontent-length: 58\r\n\r\n\
{\"ConsumedCapacity\":{\"TableName\":\"t\",\"CapacityUnits\":1.0}}";
const TARGET: &[u8] = b"DynamoDB_20120810.";
/// Longest head; longer ones end the connection.
const LONGEST_HEAD: usize = 64 << 10;

#[derive(Default)]
struct Served {
    requests: u64,
    bytes: u64,
    last: Vec<u8>,
    tables: HashSet<String>,
}

/// One request in the buffer: its head, and where its body ends.
struct Frame {
    head: usize,
    end: usize,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (mut listen, mut tls) = (SocketAddr::from(([127, 0, 0, 1], 0)), None);
    while let Some(argument) = arguments.next() {
        let mut next = || arguments.next().ok_or(format!("{argument} needs a value"));
        match argument.as_str() {
            "--listen" => listen = next()?.parse()?,
            "--tls" => tls = Some(acceptor(&next()?, &next()?)?),
            _ => return Err(format!("`{argument}` is not an option; type --listen ADDRESS or --tls CERTIFICATES KEY").into()),
        }
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    tokio::task::LocalSet::new().block_on(&runtime, accept(listen, tls))
}

fn acceptor(certificates: &str, key: &str) -> Result<TlsAcceptor, Box<dyn Error>> {
    let chain = CertificateDer::pem_file_iter(certificates)?.collect::<Result<Vec<_>, _>>()?;
    let config = rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, PrivateKeyDer::from_pem_file(key)?)?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

async fn accept(listen: SocketAddr, tls: Option<TlsAcceptor>) -> Result<(), Box<dyn Error>> {
    let listener = TcpListener::bind(listen).await?;
    println!("{}", listener.local_addr()?);
    let served = Rc::new(RefCell::new(Served::default()));
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let (served, tls) = (Rc::clone(&served), tls.clone());
        // How a connection ends is the client's business.
        tokio::task::spawn_local(async move {
            match tls {
                None => serve(stream, &served).await,
                Some(tls) => serve(tls.accept(stream).await?, &served).await,
            }
        });
    }
}

async fn serve(mut stream: impl AsyncRead + AsyncWrite + Unpin, served: &RefCell<Served>) -> std::io::Result<()> {
    let (mut read, mut answers) = (Vec::with_capacity(16 << 10), Vec::with_capacity(4 << 10));
    loop {
        if stream.read_buf(&mut read).await? == 0 {
            return Ok(());
        }
        let mut taken = 0;
        while let Some(frame) = frame(&read[taken..])? {
            let request = &read[taken..taken + frame.end];
            answer(request, frame.head, &mut served.borrow_mut(), &mut answers);
            taken += frame.end;
        }
        if taken == read.len() {
            read.clear();
        } else {
            read.drain(..taken);
        }
        if !answers.is_empty() {
            stream.write_all(&answers).await?;
            stream.flush().await?;
            answers.clear();
        }
    }
}

/// The next whole request, if it is there.
fn frame(read: &[u8]) -> std::io::Result<Option<Frame>> {
    let Some(end_of_head) = memmem::find(read, b"\r\n\r\n") else {
        return if read.len() > LONGEST_HEAD { Err(std::io::ErrorKind::InvalidData.into()) } else { Ok(None) };
    };
    let head = end_of_head + 4;
    let length = content_length(&read[..head]).ok_or(std::io::ErrorKind::InvalidData)?;
    Ok((read.len() >= head + length).then_some(Frame { head, end: head + length }))
}

/// The length of the body: 0 unless stated, `None` when what is stated is no number.
fn content_length(head: &[u8]) -> Option<usize> {
    const NAME: &[u8] = b"content-length:";
    // Lines begin after a line feed, and few of them with a C.
    for at in memchr::memchr_iter(b'\n', head) {
        let line = &head[at + 1..];
        if line.len() > NAME.len() && line[..NAME.len()].eq_ignore_ascii_case(NAME) {
            let end = memchr::memchr(b'\r', line)?;
            return std::str::from_utf8(&line[NAME.len()..end]).ok()?.trim().parse().ok();
        }
    }
    Some(0)
}

fn answer(request: &[u8], head: usize, served: &mut Served, answers: &mut Vec<u8>) {
    if request.starts_with(b"GET ") {
        let body = if request.starts_with(b"GET /last ") {
            served.last.clone()
        } else {
            format!(r#"{{"requests":{},"bytes":{}}}"#, served.requests, served.bytes).into_bytes()
        };
        return push(200, &body, answers);
    }
    let operation = memmem::find(&request[..head], TARGET).map_or(&b""[..], |at| &request[at + TARGET.len()..head]);
    if !operation.starts_with(b"PutItem") && memmem::find(operation, b"Table").is_some_and(|at| at < 16) {
        return control(operation, &request[head..], served, answers);
    }
    served.requests += 1;
    served.bytes += request.len() as u64;
    served.last.clear();
    served.last.extend_from_slice(request);
    answers.extend_from_slice(ANSWER);
}

/// Answers CreateTable, DescribeTable and DeleteTable: a table is ACTIVE as soon as it is there.
fn control(operation: &[u8], body: &[u8], served: &mut Served, answers: &mut Vec<u8>) {
    let name = table_name(body);
    let (known, kind) = if operation.starts_with(b"CreateTable") {
        served.tables.insert(name.clone());
        (true, "TableDescription")
    } else if operation.starts_with(b"DeleteTable") {
        (served.tables.remove(&name), "TableDescription")
    } else {
        (served.tables.contains(&name), "Table")
    };
    if known {
        push(200, format!(r#"{{"{kind}":{{"TableName":"{name}","TableStatus":"ACTIVE"}}}}"#).as_bytes(), answers);
    } else {
        push(400, br#"{"__type":"com.amazonaws.dynamodb.v20120810#ResourceNotFoundException","message":"no such table"}"#, answers);
    }
}

/// The table that a request names. Names are letters, digits, `_`, `-` and `.`, so nothing in them is escaped.
fn table_name(body: &[u8]) -> String {
    let Some(at) = memmem::find(body, b"\"TableName\"") else { return String::new() };
    let after = body[at..].split(|byte| *byte == b'"').nth(3);
    String::from_utf8_lossy(after.unwrap_or_default()).into_owned()
}

fn push(status: u16, body: &[u8], answers: &mut Vec<u8>) {
    let reason = if status == 200 { "OK" } else { "Bad Request" };
    let length = body.len();
    let head = format!("HTTP/1.1 {status} {reason}\r\ncontent-type: application/x-amz-json-1.0\r\ncontent-length: {length}\r\n\r\n");
    answers.extend_from_slice(head.as_bytes());
    answers.extend_from_slice(body);
}
