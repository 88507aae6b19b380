//! A connection: sends one rendered request at a time and reads its answer, with buffers that are used again.
//!
//! There is no task behind it: what the server did while the connection was idle is seen when it is next taken up.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use super::answer::LARGEST_BODY;
use super::endpoint::failure;
use super::head::{Framing, Head};
use crate::load::{Failure, FailureKind};

/// Room made for each read; an answer to a write fits many times over.
const READ_AHEAD: usize = 2_048;

/// Plain or encrypted bytes.
#[derive(Debug)]
pub(super) enum Stream {
    Plain(TcpStream),
    Secure(Box<TlsStream<TcpStream>>),
}

/// One open connection.
#[derive(Debug)]
pub(super) struct Connection {
    stream: Stream,
    /// What was read of the answer.
    read: Vec<u8>,
    /// The answer's body, where it had to be put together from chunks.
    joined: Vec<u8>,
}

/// One answer.
#[derive(Debug)]
pub(super) struct Answer<'a> {
    pub(super) status: u16,
    /// The `x-amzn-errortype` header.
    pub(super) error_type: Option<Box<str>>,
    pub(super) body: &'a [u8],
    /// Whether another request may be sent on this connection.
    pub(super) keeps_open: bool,
    /// What `Keep-Alive: timeout` said.
    pub(super) idle_timeout: Option<Duration>,
}

/// Why a request was not sent whole.
#[derive(Debug)]
pub(super) enum SendError {
    /// Not a byte of it went out: sending it on another connection is still the first attempt.
    Unsent,
    /// Some of it may have reached the server.
    Broken(Arc<Failure>),
}

impl SendError {
    /// What it amounts to where nothing more is tried.
    pub(super) fn into_failure(self) -> Arc<Failure> {
        match self {
            Self::Unsent => failure(FailureKind::Closed, "the server closed the connection before it took a request"),
            Self::Broken(failure) => failure,
        }
    }
}

impl Connection {
    pub(super) fn new(stream: Stream) -> Self {
        Self { stream, read: Vec::new(), joined: Vec::new() }
    }

    /// Whether the server has left: it closed, failed, or said something that nobody asked for. Costs no system call
    /// unless there is something to read.
    pub(super) fn is_stale(&mut self) -> bool {
        let mut byte = [0];
        let mut unasked = ReadBuf::new(&mut byte);
        Pin::new(&mut self.stream).poll_read(&mut Context::from_waker(Waker::noop()), &mut unasked).is_ready()
    }

    /// Sends a whole request.
    pub(super) async fn send(&mut self, request: &[u8]) -> Result<(), SendError> {
        let mut sent = 0;
        while let Some(rest) = request.get(sent..).filter(|rest| !rest.is_empty()) {
            match self.stream.write(rest).await {
                Ok(0) => return Err(SendError::Broken(failure(FailureKind::Closed, "the connection takes no more bytes"))),
                Ok(bytes) => sent += bytes,
                Err(_) if sent == 0 && matches!(self.stream, Stream::Plain(_)) => return Err(SendError::Unsent),
                Err(error) => return Err(SendError::Broken(broken("while the request was sent", &error))),
            }
        }
        if let Stream::Secure(stream) = &mut self.stream {
            stream.flush().await.map_err(|error| SendError::Broken(broken("while the request was sent", &error)))?;
        }
        Ok(())
    }

    /// Reads the answer to the request that was sent.
    pub(super) async fn receive(&mut self) -> Result<Answer<'_>, Arc<Failure>> {
        self.read.clear();
        let head = loop {
            if self.read_more("before the answer's head was complete").await? == 0 {
                let when = if self.read.is_empty() { "before it answered" } else { "amid the answer's head" };
                return Err(failure(FailureKind::Closed, format!("the server closed the connection {when}")));
            }
            if let Some(head) = Head::read_final(&mut self.read)? {
                break head;
            }
        };
        let (start, end) = match head.framing {
            Framing::Nothing => (head.length, head.length),
            Framing::Length(length) => {
                let end = head.length.saturating_add(within_limit(length)?);
                while self.read.len() < end {
                    if self.read_more("amid the answer's body").await? == 0 {
                        let got = self.read.len() - head.length;
                        return Err(failure(FailureKind::Garbled, format!("the answer ended after {got} of {length} bytes")));
                    }
                }
                (head.length, end)
            }
            Framing::Chunked => return self.receive_chunks(head).await,
            Framing::UntilClosed => {
                while self.read_more("amid the answer's body").await? > 0 {
                    within_limit((self.read.len() - head.length) as u64)?;
                }
                (head.length, self.read.len())
            }
        };
        let surplus = self.read.len() > end;
        Ok(answer(self.read.get(start..end).unwrap_or_default(), head, surplus))
    }

    async fn receive_chunks(&mut self, head: Head) -> Result<Answer<'_>, Arc<Failure>> {
        self.joined.clear();
        let mut at = head.length;
        loop {
            match next_chunk(self.read.get(at..).unwrap_or_default())? {
                Chunk::Partial => {
                    if self.read_more("amid the answer's chunks").await? == 0 {
                        return Err(failure(FailureKind::Garbled, "the answer ended amid its chunks"));
                    }
                    within_limit((self.read.len() - at) as u64)?;
                }
                Chunk::Data { skip, size, whole } => {
                    self.joined.extend_from_slice(self.read.get(at + skip..at + skip + size).unwrap_or_default());
                    within_limit(self.joined.len() as u64)?;
                    at += whole;
                }
                Chunk::Last { whole } => {
                    let surplus = self.read.len() > at + whole;
                    return Ok(answer(&self.joined, head, surplus));
                }
            }
        }
    }

    async fn read_more(&mut self, when: &str) -> Result<usize, Arc<Failure>> {
        self.read.reserve(READ_AHEAD);
        self.stream.read_buf(&mut self.read).await.map_err(|error| broken(when, &error))
    }
}

fn answer(body: &[u8], head: Head, surplus: bool) -> Answer<'_> {
    Answer {
        status: head.status,
        error_type: head.error_type,
        body,
        keeps_open: head.keeps_open && !surplus,
        idle_timeout: head.idle_timeout,
    }
}

fn within_limit(length: u64) -> Result<usize, Arc<Failure>> {
    usize::try_from(length)
        .ok()
        .filter(|length| *length <= LARGEST_BODY)
        .ok_or_else(|| failure(FailureKind::Garbled, format!("the answer is longer than {LARGEST_BODY} bytes")))
}

enum Chunk {
    Partial,
    /// So many bytes of size line, so many of data, so many in all.
    Data {
        skip: usize,
        size: usize,
        whole: usize,
    },
    /// The last chunk and the trailers.
    Last {
        whole: usize,
    },
}

fn next_chunk(bytes: &[u8]) -> Result<Chunk, Arc<Failure>> {
    let garbled = || failure(FailureKind::Garbled, "the answer's chunks are not as HTTP says");
    let (skip, size) = match httparse::parse_chunk_size(bytes).map_err(|_| garbled())? {
        httparse::Status::Complete((skip, size)) => (skip, within_limit(size)?),
        // Eighteen bytes hold the longest size; what is longer is an extension that does not end.
        httparse::Status::Partial if bytes.len() > READ_AHEAD => return Err(garbled()),
        httparse::Status::Partial => return Ok(Chunk::Partial),
    };
    let rest = bytes.get(skip..).unwrap_or_default();
    if size == 0 {
        let mut trailers = [httparse::EMPTY_HEADER; 16];
        return Ok(match httparse::parse_headers(rest, &mut trailers).map_err(|_| garbled())? {
            httparse::Status::Complete((length, _)) => Chunk::Last { whole: skip + length },
            httparse::Status::Partial => Chunk::Partial,
        });
    }
    match rest.get(size..size + 2) {
        Some(b"\r\n") => Ok(Chunk::Data { skip, size, whole: skip + size + 2 }),
        Some(_) => Err(garbled()),
        None => Ok(Chunk::Partial),
    }
}

/// What an error of the connection amounts to. Where the stream ended without the end that its protocol has, the answer
/// itself was too short.
fn broken(when: &str, error: &io::Error) -> Arc<Failure> {
    let kind = match error.kind() {
        io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData => FailureKind::Garbled,
        _ => FailureKind::Closed,
    };
    failure(kind, format!("the connection failed {when}: {error}"))
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(context, into),
            Self::Secure(stream) => Pin::new(stream).poll_read(context, into),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Secure(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(context),
            Self::Secure(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Secure(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tokio::net::TcpListener;

    use super::*;

    /// What a connection makes of these bytes, sent in pieces, and whether it stays open.
    fn received(bytes: &[u8], piece: usize) -> Result<(u16, Vec<u8>, bool), FailureKind> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().expect("a runtime");
        runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
            let client = TcpStream::connect(listener.local_addr().expect("an address")).await.expect("connects");
            let (mut server, _) = listener.accept().await.expect("accepts");
            let serve = async {
                for piece in bytes.chunks(piece.max(1)) {
                    if server.write_all(piece).await.is_err() {
                        break;
                    }
                    tokio::task::yield_now().await;
                }
                drop(server);
            };
            let mut connection = Connection::new(Stream::Plain(client));
            let read = async {
                let answer = connection.receive().await.map_err(|failure| failure.kind)?;
                Ok((answer.status, answer.body.to_vec(), answer.keeps_open))
            };
            let (read, ()) = tokio::join!(read, serve);
            read
        })
    }

    fn body(text: &str, piece: usize) -> Result<String, FailureKind> {
        received(text.as_bytes(), piece).map(|(_, body, _)| String::from_utf8_lossy(&body).into_owned())
    }

    #[test]
    fn a_body_is_read_however_it_is_framed_and_cut() {
        let framed = [
            "HTTP/1.1 200 OK\r\ncontent-length: 7\r\n\r\n{\"a\":1}",
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n{\"a\":1}",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n{\"a\r\n4;x=y\r\n\":1}\r\n0\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\nContent-Length: 1\r\n\r\n7\r\n{\"a\":1}\r\n0\r\nTrailer: t\r\n\r\n",
            "HTTP/1.1 200 OK\r\n\r\n{\"a\":1}",
            "HTTP/1.0 200 OK\r\n\r\n{\"a\":1}",
        ];
        for text in framed {
            for piece in [1, 2, 7, 1_000] {
                assert_eq!(body(text, piece).as_deref(), Ok("{\"a\":1}"), "{text:?} in pieces of {piece}");
            }
        }
        assert_eq!(body("HTTP/1.1 204 No Content\r\n\r\n", 1).as_deref(), Ok(""));
    }

    #[test]
    fn a_connection_is_used_again_only_where_both_know_where_the_answer_ended() {
        let keeps = |text: &str| received(text.as_bytes(), 1_000).map(|(_, _, keeps)| keeps);
        assert_eq!(keeps("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"), Ok(true));
        assert_eq!(keeps("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: Close\r\n\r\n{}"), Ok(false));
        assert_eq!(keeps("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}surplus"), Ok(false));
        assert_eq!(keeps("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}"), Ok(false));
        assert_eq!(keeps("HTTP/1.0 200 OK\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\n{}"), Ok(true));
        assert_eq!(keeps("HTTP/1.1 200 OK\r\n\r\n{}"), Ok(false));
    }

    #[test]
    fn what_is_cut_short_or_no_answer_is_told_apart() {
        for (text, kind) in [
            ("", FailureKind::Closed),
            ("HTTP/1.1 200", FailureKind::Closed),
            ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{", FailureKind::Garbled),
            ("HTTP/1.1 200 OK\r\nContent-Length: 9999999999\r\n\r\n{", FailureKind::Garbled),
            ("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n{", FailureKind::Garbled),
            ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}", FailureKind::Garbled),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{}", FailureKind::Garbled),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}!!", FailureKind::Garbled),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nnonsense\r\n", FailureKind::Garbled),
            ("SSH-2.0-OpenSSH\r\n\r\n", FailureKind::Garbled),
            ("\u{0}\u{1}\u{2}\u{3}", FailureKind::Garbled),
        ] {
            assert_eq!(received(text.as_bytes(), 3).map(|(status, ..)| status), Err(kind), "{text:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn no_bytes_make_it_panic_or_hang(bytes in prop::collection::vec(any::<u8>(), 0..200), head in any::<bool>(), piece in 1usize..50) {
            let mut text = if head { b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec() } else { Vec::new() };
            text.extend(bytes);
            // Whatever it makes of it, it ends.
            let _any = received(&text, piece);
        }
    }
}
