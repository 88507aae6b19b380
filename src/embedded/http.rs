//! HTTP/1.1 as far as a server of DynamoDB's protocol needs it: heads, bodies by length or in chunks, and answers. Pure
//! functions over buffers; the connection does the reading and writing.

use std::mem::MaybeUninit;
use std::ops::Range;
use std::time::{SystemTime, UNIX_EPOCH};

use super::answer::Answer;

/// Most bytes of a request's body.
pub(super) const LARGEST_BODY: usize = 16 << 20;
/// Most bytes of a request's head.
pub(super) const LARGEST_HEAD: usize = 64 << 10;
/// Most headers of a request.
const MOST_HEADERS: usize = 100;
/// Most bytes of a chunk's size line, extensions included.
const LONGEST_SIZE_LINE: usize = 4_096;

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// An operation: `POST /`.
    Operation,
    /// A page: any `GET`.
    Page,
    /// Anything else.
    Other,
}

/// Where a request's body ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    Length(usize),
    Chunked,
}

/// A complete head. Its ranges are of the buffer that it was read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) asked: Asked,
    /// Path and query.
    pub(super) path: Range<usize>,
    /// The value of `x-amz-target`.
    pub(super) target: Option<Range<usize>>,
    /// Bytes of the head.
    pub(super) length: usize,
    pub(super) framing: Framing,
    pub(super) keeps_open: bool,
    /// The client waits for `100 Continue` before it sends the body.
    pub(super) awaits_continue: bool,
}

/// Why a request cannot be read; the connection ends after the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unreadable {
    /// 400.
    Malformed,
    /// 413.
    BodyTooLarge,
    /// 431.
    HeadTooLarge,
}

/// A whole request's body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Body {
    /// It stands in the buffer as it is; the request ends at `end`.
    There { body: Range<usize>, end: usize },
    /// It was put together from chunks; the request ends at `end`.
    Joined { body: Vec<u8>, end: usize },
}

/// A body that is being read.
#[derive(Debug)]
pub(super) enum Reading {
    Length { start: usize, end: usize },
    Chunks { body: Vec<u8>, at: usize },
}

/// The head at the start of a buffer; `None` while it is not complete.
pub(super) fn head(bytes: &[u8]) -> Result<Option<Head>, Unreadable> {
    let mut headers = [const { MaybeUninit::uninit() }; MOST_HEADERS];
    let mut request = httparse::Request::new(&mut []);
    let parsed = request.parse_with_uninit_headers(bytes, &mut headers).map_err(|error| match error {
        httparse::Error::TooManyHeaders => Unreadable::HeadTooLarge,
        _ => Unreadable::Malformed,
    })?;
    let httparse::Status::Complete(length) = parsed else {
        return if bytes.len() > LARGEST_HEAD { Err(Unreadable::HeadTooLarge) } else { Ok(None) };
    };
    let (method, path) = (request.method.unwrap_or_default(), request.path.unwrap_or_default());
    let asked = match (method, path) {
        ("POST", "/") => Asked::Operation,
        ("GET", _) => Asked::Page,
        _ => Asked::Other,
    };
    let mut head = Head {
        asked,
        path: within(bytes, path.as_bytes()),
        target: None,
        length,
        framing: Framing::Length(0),
        keeps_open: request.version == Some(1),
        awaits_continue: false,
    };
    let mut content_length = None;
    for header in &*request.headers {
        let (name, value) = (header.name, header.value);
        if name.eq_ignore_ascii_case("x-amz-target") {
            head.target = Some(within(bytes, value));
        } else if name.eq_ignore_ascii_case("content-length") {
            let given = decimal(value).ok_or(Unreadable::Malformed)?;
            if content_length.is_some_and(|other| other != given) {
                return Err(Unreadable::Malformed);
            }
            content_length = Some(given);
            head.framing = match head.framing {
                Framing::Length(_) => Framing::Length(given),
                Framing::Chunked => return Err(Unreadable::Malformed),
            };
        } else if name.eq_ignore_ascii_case("transfer-encoding") {
            // A request framed in two ways could be read in two ways, and only chunks are known here.
            if content_length.is_some() || !value.trim_ascii().eq_ignore_ascii_case(b"chunked") {
                return Err(Unreadable::Malformed);
            }
            head.framing = Framing::Chunked;
        } else if name.eq_ignore_ascii_case("connection") {
            for token in value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii) {
                if token.eq_ignore_ascii_case(b"close") {
                    head.keeps_open = false;
                } else if token.eq_ignore_ascii_case(b"keep-alive") {
                    head.keeps_open = true;
                }
            }
        } else if name.eq_ignore_ascii_case("expect") {
            head.awaits_continue = value.trim_ascii().eq_ignore_ascii_case(b"100-continue");
        }
    }
    Ok(Some(head))
}

impl Reading {
    /// The body that follows a head.
    pub(super) fn new(head: &Head) -> Result<Self, Unreadable> {
        match head.framing {
            Framing::Length(length) if length > LARGEST_BODY => Err(Unreadable::BodyTooLarge),
            Framing::Length(length) => Ok(Self::Length { start: head.length, end: head.length + length }),
            Framing::Chunked => Ok(Self::Chunks { body: Vec::new(), at: head.length }),
        }
    }

    /// The body, once all of it is in the buffer, which starts with the head. Goes on where the last call left off.
    pub(super) fn go_on(&mut self, bytes: &[u8]) -> Result<Option<Body>, Unreadable> {
        match self {
            Self::Length { start, end } => Ok((bytes.len() >= *end).then_some(Body::There { body: *start..*end, end: *end })),
            // What the size lines of tiny chunks take is bounded as well.
            Self::Chunks { .. } if bytes.len() > 2 * LARGEST_BODY => Err(Unreadable::BodyTooLarge),
            Self::Chunks { body, at } => {
                while let Some(whole) = take_chunk(bytes.get(*at..).unwrap_or_default(), body)? {
                    *at += whole.length;
                    if whole.is_last {
                        return Ok(Some(Body::Joined { body: std::mem::take(body), end: *at }));
                    }
                }
                Ok(None)
            }
        }
    }
}

struct Chunk {
    length: usize,
    is_last: bool,
}

/// Appends the data of the chunk at the start of these bytes; `None` while it is not complete.
fn take_chunk(bytes: &[u8], body: &mut Vec<u8>) -> Result<Option<Chunk>, Unreadable> {
    let (skip, size) = match httparse::parse_chunk_size(bytes).map_err(|_| Unreadable::Malformed)? {
        httparse::Status::Complete((skip, size)) => (skip, usize::try_from(size).unwrap_or(usize::MAX)),
        httparse::Status::Partial if bytes.len() > LONGEST_SIZE_LINE => return Err(Unreadable::Malformed),
        httparse::Status::Partial => return Ok(None),
    };
    if size > LARGEST_BODY.saturating_sub(body.len()) {
        return Err(Unreadable::BodyTooLarge);
    }
    let data = bytes.get(skip..).unwrap_or_default();
    if size == 0 {
        let mut trailers = [httparse::EMPTY_HEADER; 16];
        return match httparse::parse_headers(data, &mut trailers).map_err(|_| Unreadable::Malformed)? {
            httparse::Status::Complete((length, _)) => Ok(Some(Chunk { length: skip + length, is_last: true })),
            httparse::Status::Partial if data.len() > LARGEST_HEAD => Err(Unreadable::HeadTooLarge),
            httparse::Status::Partial => Ok(None),
        };
    }
    match data.get(size..size + 2) {
        None => Ok(None),
        Some(b"\r\n") => {
            body.extend_from_slice(data.get(..size).unwrap_or_default());
            Ok(Some(Chunk { length: skip + size + 2, is_last: false }))
        }
        Some(_) => Err(Unreadable::Malformed),
    }
}

/// The `date` header, written once a second.
#[derive(Debug, Default)]
pub(super) struct Date {
    second: u64,
    text: String,
}

impl Date {
    /// For example `Sun, 06 Nov 1994 08:49:37 GMT`.
    pub(super) fn at(&mut self, now: SystemTime) -> &str {
        let second = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        if second != self.second || self.text.is_empty() {
            let time = i64::try_from(second).ok().and_then(|second| jiff::Timestamp::from_second(second).ok()).unwrap_or_default();
            self.text = time.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
            self.second = second;
        }
        &self.text
    }
}

/// Appends an answer of the service. `id` is the request's number in base 32.
pub(super) fn put_answer(into: &mut Vec<u8>, answer: &Answer, date: &str, id: &[u8; 52], keeps_open: bool) {
    into.extend_from_slice(status_line(answer.status));
    into.extend_from_slice(b"server: Server\r\ncontent-type: application/x-amz-json-1.0\r\nx-amzn-requestid: ");
    into.extend_from_slice(id);
    into.extend_from_slice(b"\r\nx-amz-crc32: ");
    put_decimal(into, answer.crc32);
    put_rest(into, date, &answer.body, keeps_open);
}

/// Appends a page.
pub(super) fn put_page(into: &mut Vec<u8>, status: u16, content_type: &str, date: &str, body: &str, keeps_open: bool) {
    into.extend_from_slice(status_line(status));
    into.extend_from_slice(b"content-type: ");
    into.extend_from_slice(content_type.as_bytes());
    put_rest(into, date, body.as_bytes(), keeps_open);
}

fn put_rest(into: &mut Vec<u8>, date: &str, body: &[u8], keeps_open: bool) {
    into.extend_from_slice(b"\r\ndate: ");
    into.extend_from_slice(date.as_bytes());
    into.extend_from_slice(b"\r\ncontent-length: ");
    put_decimal(into, body.len() as u32);
    into.extend_from_slice(if keeps_open { b"\r\n\r\n" } else { b"\r\nconnection: close\r\n\r\n" });
    into.extend_from_slice(body);
}

const fn status_line(status: u16) -> &'static [u8] {
    match status {
        200 => b"HTTP/1.1 200 OK\r\n",
        400 => b"HTTP/1.1 400 Bad Request\r\n",
        404 => b"HTTP/1.1 404 Not Found\r\n",
        413 => b"HTTP/1.1 413 Payload Too Large\r\n",
        431 => b"HTTP/1.1 431 Request Header Fields Too Large\r\n",
        _ => b"HTTP/1.1 500 Internal Server Error\r\n",
    }
}

fn put_decimal(into: &mut Vec<u8>, number: u32) {
    let mut digits = [0; 10];
    let (mut at, mut rest) = (digits.len(), number);
    loop {
        at -= 1;
        if let Some(digit) = digits.get_mut(at) {
            *digit = b'0' + (rest % 10) as u8;
        }
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    into.extend_from_slice(digits.get(at..).unwrap_or_default());
}

fn decimal(value: &[u8]) -> Option<usize> {
    let value = value.trim_ascii();
    let digits = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(value).ok().filter(|_| digits)?.parse().ok()
}

/// Where a part of a buffer stands in it.
fn within(whole: &[u8], part: &[u8]) -> Range<usize> {
    let start = part.as_ptr().addr().saturating_sub(whole.as_ptr().addr()).min(whole.len());
    start..(start + part.len()).min(whole.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const CHUNKED: &[u8] =
        b"POST / HTTP/1.1\r\nX-Amz-Target: T\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n{\"a\r\n4;x=y\r\n\":1}\r\n0\r\n\r\nnext";

    fn read(bytes: &[u8]) -> Result<Option<(Vec<u8>, usize)>, Unreadable> {
        let Some(head) = head(bytes)? else { return Ok(None) };
        Ok(Reading::new(&head)?.go_on(bytes)?.map(|body| match body {
            Body::There { body, end } => (bytes[body].to_vec(), end),
            Body::Joined { body, end } => (body, end),
        }))
    }

    #[test]
    fn a_request_is_read_once_it_is_whole_and_what_follows_it_is_left() {
        let plain = b"POST / HTTP/1.1\r\ncontent-length:7\r\n\r\n{\"a\":1}next";
        for whole in [plain.as_slice(), CHUNKED] {
            let end = whole.len() - 4;
            assert_eq!(read(whole), Ok(Some((b"{\"a\":1}".to_vec(), end))));
            for cut in 0..end {
                assert_eq!(read(&whole[..cut]), Ok(None), "cut at {cut}");
            }
        }
    }

    #[test]
    fn what_a_head_says_is_found() {
        let text = b"POST / HTTP/1.1\r\nx-amz-target:  DynamoDB_20120810.PutItem \r\nexpect: 100-continue\r\n\r\n";
        let head = head(text).expect("readable").expect("whole");
        assert_eq!(&text[head.target.clone().expect("a target")], b"DynamoDB_20120810.PutItem ".trim_ascii());
        assert!(head.awaits_continue && head.keeps_open && head.asked == Asked::Operation, "{head:?}");
        let old = b"GET /throttlescope/ledger?table=t HTTP/1.0\r\n\r\n";
        let head = super::head(old).expect("readable").expect("whole");
        assert_eq!(
            (&old[head.path.clone()], head.asked, head.keeps_open),
            (b"/throttlescope/ledger?table=t".as_slice(), Asked::Page, false)
        );
    }

    #[test]
    fn what_could_be_read_in_two_ways_is_not_read() {
        for text in [
            "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
            "POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
            "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n",
            "POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n",
            "POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
            "nonsense\r\n\r\n",
        ] {
            assert_eq!(head(text.as_bytes()), Err(Unreadable::Malformed), "{text:?}");
        }
        let many = format!("POST / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(MOST_HEADERS + 1));
        assert_eq!(head(many.as_bytes()), Err(Unreadable::HeadTooLarge));
        assert_eq!(read(b"POST / HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n"), Err(Unreadable::BodyTooLarge));
        assert_eq!(read(b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nfffffff\r\n"), Err(Unreadable::BodyTooLarge));
    }

    #[test]
    fn the_date_is_http_s_and_follows_the_second() {
        let mut date = Date::default();
        let at = |seconds: u64| UNIX_EPOCH + std::time::Duration::from_millis(seconds * 1_000 + 999);
        assert_eq!(date.at(at(784_111_777)), "Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(date.at(at(784_111_778)), "Sun, 06 Nov 1994 08:49:38 GMT");
        assert_eq!(Date::default().at(UNIX_EPOCH), "Thu, 01 Jan 1970 00:00:00 GMT");
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..300), chunked in any::<bool>()) {
            let mut text = if chunked { CHUNKED[..66].to_vec() } else { Vec::new() };
            text.extend(bytes);
            let _any = read(&text);
        }

        #[test]
        fn numbers_are_written_as_they_are_read(number in any::<u32>()) {
            let mut text = Vec::new();
            put_decimal(&mut text, number);
            prop_assert_eq!(String::from_utf8(text).expect("digits"), number.to_string());
        }
    }
}
