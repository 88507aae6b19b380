//! An answer's head: the status, how the body is framed, and what the server says of the connection.

use std::mem::MaybeUninit;
use std::sync::Arc;
use std::time::Duration;

use super::endpoint::failure;
use crate::load::{Failure, FailureKind};

/// A head is never longer than this.
const LARGEST_HEAD: usize = 32 * 1_024;
/// A head never has more headers than this.
const MOST_HEADERS: usize = 100;

/// Where the body ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    /// There is none.
    Nothing,
    /// After so many bytes.
    Length(u64),
    /// Where the last chunk says so.
    Chunked,
    /// Where the connection ends.
    UntilClosed,
}

/// A complete head.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) status: u16,
    /// Bytes it takes.
    pub(super) length: usize,
    pub(super) framing: Framing,
    /// Whether the server leaves the connection open.
    pub(super) keeps_open: bool,
    /// `Keep-Alive: timeout=SECONDS`.
    pub(super) idle_timeout: Option<Duration>,
    /// `x-amzn-errortype`, which some servers send with an error.
    pub(super) error_type: Option<Box<str>>,
}

impl Head {
    /// The head of the final answer, once it is there. Interim answers (100, 103) are taken out of the buffer.
    pub(super) fn read_final(buffer: &mut Vec<u8>) -> Result<Option<Self>, Arc<Failure>> {
        loop {
            match Self::parse(buffer)? {
                Some(head) if (100..200).contains(&head.status) => {
                    buffer.drain(..head.length);
                }
                found => return Ok(found),
            }
        }
    }

    fn parse(bytes: &[u8]) -> Result<Option<Self>, Arc<Failure>> {
        let mut headers = [const { MaybeUninit::uninit() }; MOST_HEADERS];
        let mut response = httparse::Response::new(&mut []);
        let parsed = httparse::ParserConfig::default()
            .parse_response_with_uninit_headers(&mut response, bytes, &mut headers)
            .map_err(|error| failure(FailureKind::Garbled, format!("the answer is not HTTP/1.1: {error}")))?;
        let (httparse::Status::Complete(length), Some(status)) = (parsed, response.code) else {
            return if bytes.len() > LARGEST_HEAD {
                Err(failure(FailureKind::Garbled, format!("the answer's head is longer than {LARGEST_HEAD} bytes")))
            } else {
                Ok(None)
            };
        };
        let since_1_1 = response.version == Some(1);
        let mut head = Self { status, length, framing: Framing::UntilClosed, keeps_open: since_1_1, idle_timeout: None, error_type: None };
        let (mut content_length, mut chunked) = (None, false);
        for header in &*response.headers {
            let name = header.name;
            if name.eq_ignore_ascii_case("content-length") {
                let given =
                    decimal(header.value).ok_or_else(|| failure(FailureKind::Garbled, "the answer's Content-Length is no number"))?;
                if content_length.is_some_and(|other| other != given) {
                    return Err(failure(FailureKind::Garbled, "the answer has two different Content-Lengths"));
                }
                content_length = Some(given);
            } else if name.eq_ignore_ascii_case("transfer-encoding") {
                chunked = tokens(header.value).next_back().is_some_and(|last| last.eq_ignore_ascii_case(b"chunked"));
            } else if name.eq_ignore_ascii_case("connection") {
                for token in tokens(header.value) {
                    if token.eq_ignore_ascii_case(b"close") {
                        head.keeps_open = false;
                    } else if token.eq_ignore_ascii_case(b"keep-alive") {
                        head.keeps_open = true;
                    }
                }
            } else if name.eq_ignore_ascii_case("keep-alive") {
                head.idle_timeout = idle_timeout(header.value);
            } else if name.eq_ignore_ascii_case("x-amzn-errortype") {
                head.error_type = std::str::from_utf8(header.value).ok().map(|value| value.trim().into());
            }
        }
        head.framing = match (chunked, content_length) {
            _ if status < 200 || matches!(status, 204 | 304) => Framing::Nothing,
            (true, _) => Framing::Chunked,
            (false, Some(length)) => Framing::Length(length),
            (false, None) => Framing::UntilClosed,
        };
        head.keeps_open &= head.framing != Framing::UntilClosed;
        Ok(Some(head))
    }
}

fn tokens(value: &[u8]) -> impl DoubleEndedIterator<Item = &[u8]> {
    value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii)
}

fn decimal(value: &[u8]) -> Option<u64> {
    let value = value.trim_ascii();
    let digits = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(value).ok().filter(|_| digits)?.parse().ok()
}

fn idle_timeout(value: &[u8]) -> Option<Duration> {
    let seconds = tokens(value).find_map(|token| token.strip_prefix(b"timeout="))?;
    decimal(seconds).filter(|seconds| u32::try_from(*seconds).is_ok()).map(Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(text: &str) -> Option<Head> {
        Head::read_final(&mut text.as_bytes().to_vec()).expect("HTTP")
    }

    #[test]
    fn what_the_server_says_of_idle_time_is_read() {
        let said = |value: &str| head(&format!("HTTP/1.1 200 OK\r\nKeep-Alive: {value}\r\n\r\n")).expect("whole").idle_timeout;
        assert_eq!(said("timeout=5"), Some(Duration::from_secs(5)));
        assert_eq!(said("max=100, timeout=1"), Some(Duration::from_secs(1)));
        assert_eq!(said("timeout=0"), Some(Duration::ZERO));
        for value in ["", "max=3", "timeout=soon", "timeout=-1", "timeout=99999999999"] {
            assert_eq!(said(value), None, "{value}");
        }
    }

    #[test]
    fn the_error_type_is_read() {
        let text = "HTTP/1.1 400 Bad Request\r\nX-Amzn-ErrorType:  ThrottlingException \r\nContent-Length: 0\r\n\r\n";
        assert_eq!(head(text).and_then(|head| head.error_type).as_deref(), Some("ThrottlingException"));
    }

    #[test]
    fn a_head_is_waited_for_until_it_is_too_long() {
        assert!(head("HTTP/1.1 200 OK\r\nContent-Le").is_none());
        let mut long = b"HTTP/1.1 200 OK\r\nX: ".to_vec();
        long.resize(LARGEST_HEAD + 1, b'x');
        assert_eq!(Head::read_final(&mut long).expect_err("too long").kind, FailureKind::Garbled);
        let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "A: b\r\n".repeat(MOST_HEADERS + 1));
        assert_eq!(Head::read_final(&mut many.into_bytes()).expect_err("too many").kind, FailureKind::Garbled);
    }
}
