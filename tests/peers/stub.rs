//! A server of one table that counts what reaches it, and answers items as it is told.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// What is done with the connection after an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum After {
    /// It takes the next request.
    Keep,
    /// It is closed.
    Close,
    /// It stays open, and nothing more is read or written until the client closes it.
    Hang,
}

/// What the stub is asked, with the connection to answer on. The number counts calls of this operation, from 0.
pub(crate) type Answer = Box<dyn Fn(&mut TcpStream, u64) -> std::io::Result<After> + Send + Sync>;

/// How the stub behaves. What is not set is answered as it should be.
#[derive(Default)]
pub(crate) struct Behaviour {
    /// PutItem and GetItem.
    pub(crate) item: Option<Answer>,
    /// CreateTable; the table is there whatever is answered.
    pub(crate) create: Option<Answer>,
    /// DeleteTable; with `After::Keep` the table is gone, whatever is answered.
    pub(crate) delete: Option<Answer>,
    /// Once the table is ACTIVE, this many connections are closed as soon as they are accepted.
    pub(crate) closed_at_once: u64,
}

impl Behaviour {
    /// Only items are answered in an unusual way.
    pub(crate) fn items(answer: impl Fn(&mut TcpStream, u64) -> std::io::Result<After> + Send + Sync + 'static) -> Self {
        Self { item: Some(Box::new(answer)), ..Self::default() }
    }
}

/// What was counted.
#[derive(Default)]
pub(crate) struct Counted {
    pub(crate) items: AtomicU64,
    pub(crate) creates: AtomicU64,
    pub(crate) deletes: AtomicU64,
    pub(crate) connections: AtomicU64,
    /// Heads of all item requests.
    pub(crate) heads: Mutex<Vec<String>>,
    table: AtomicBool,
    active: AtomicBool,
    closed_at_once: AtomicU64,
}

/// A running stub; it ends with its test.
pub(crate) struct Stub {
    pub(crate) url: String,
    pub(crate) counted: Arc<Counted>,
    stop: Arc<AtomicBool>,
    address: SocketAddr,
    listening: Option<JoinHandle<()>>,
}

impl Stub {
    pub(crate) fn start(behaviour: Behaviour) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let address = listener.local_addr().expect("an address");
        let (counted, stop, behaviour) = (Arc::<Counted>::default(), Arc::<AtomicBool>::default(), Arc::new(behaviour));
        let listening = std::thread::spawn({
            let (counted, stop) = (Arc::clone(&counted), Arc::clone(&stop));
            move || {
                for stream in listener.incoming() {
                    if stop.load(Ordering::SeqCst) {
                        return;
                    }
                    let Ok(stream) = stream else { continue };
                    counted.connections.fetch_add(1, Ordering::SeqCst);
                    if counted.active.load(Ordering::SeqCst)
                        && counted.closed_at_once.fetch_add(1, Ordering::SeqCst) < behaviour.closed_at_once
                    {
                        continue;
                    }
                    let connection = Connection { stream, counted: Arc::clone(&counted), stop: Arc::clone(&stop) };
                    let behaviour = Arc::clone(&behaviour);
                    // A client that goes away ends the connection and nothing else.
                    std::thread::spawn(move || drop(connection.serve(&behaviour)));
                }
            }
        });
        Self { url: format!("http://{address}"), counted, stop, address, listening: Some(listening) }
    }

    /// Requests for items that arrived whole.
    pub(crate) fn items(&self) -> u64 {
        self.counted.items.load(Ordering::SeqCst)
    }

    /// DeleteTable calls.
    pub(crate) fn deletes(&self) -> u64 {
        self.counted.deletes.load(Ordering::SeqCst)
    }

    /// Whether the table is still there.
    pub(crate) fn has_table(&self) -> bool {
        self.counted.table.load(Ordering::SeqCst)
    }
}

impl Drop for Stub {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        let _woken = TcpStream::connect(self.address);
        if let Some(listening) = self.listening.take() {
            let _ended = listening.join();
        }
    }
}

struct Connection {
    stream: TcpStream,
    counted: Arc<Counted>,
    stop: Arc<AtomicBool>,
}

impl Connection {
    fn serve(mut self, behaviour: &Behaviour) -> std::io::Result<()> {
        self.stream.set_nodelay(true)?;
        self.stream.set_read_timeout(Some(Duration::from_millis(100)))?;
        self.stream.set_write_timeout(Some(Duration::from_secs(5)))?;
        let mut pending = Vec::new();
        while let Some(head) = self.request(&mut pending)? {
            match self.answer(&head, behaviour)? {
                After::Keep => {}
                After::Close => return Ok(()),
                After::Hang => {
                    while self.more(&mut pending)? {
                        pending.clear();
                    }
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// The head of the next request, once all of its body has arrived.
    fn request(&mut self, pending: &mut Vec<u8>) -> std::io::Result<Option<String>> {
        loop {
            if let Some(end) = pending.windows(4).position(|four| four == b"\r\n\r\n") {
                let head = String::from_utf8_lossy(&pending[..end]).into_owned();
                let length = header(&head, "content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
                if pending.len() >= end + 4 + length {
                    pending.drain(..end + 4 + length);
                    return Ok(Some(head));
                }
            }
            if !self.more(pending)? {
                return Ok(None);
            }
        }
    }

    /// Reads more; false once the client has closed, or the test is over.
    fn more(&mut self, pending: &mut Vec<u8>) -> std::io::Result<bool> {
        let mut bytes = [0; 8_192];
        while !self.stop.load(Ordering::SeqCst) {
            match self.stream.read(&mut bytes) {
                Ok(0) => return Ok(false),
                Ok(n) => {
                    pending.extend_from_slice(&bytes[..n]);
                    return Ok(true);
                }
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }

    fn answer(&mut self, head: &str, behaviour: &Behaviour) -> std::io::Result<After> {
        let target = header(head, "x-amz-target").unwrap_or_default();
        let counted = Arc::clone(&self.counted);
        let stream = &mut self.stream;
        match target.rsplit('.').next().unwrap_or_default() {
            "PutItem" | "GetItem" => {
                counted.heads.lock().expect("no panic").push(head.to_owned());
                let number = counted.items.fetch_add(1, Ordering::SeqCst);
                match &behaviour.item {
                    Some(answer) => answer(stream, number),
                    None => whole(stream, 200, ACCEPTED),
                }
            }
            "CreateTable" => {
                let number = counted.creates.fetch_add(1, Ordering::SeqCst);
                counted.table.store(true, Ordering::SeqCst);
                match &behaviour.create {
                    Some(answer) => answer(stream, number),
                    None => whole(stream, 200, r#"{"TableDescription":{"TableStatus":"CREATING"}}"#),
                }
            }
            "DescribeTable" if counted.table.load(Ordering::SeqCst) => {
                let done = whole(stream, 200, r#"{"Table":{"TableStatus":"ACTIVE"}}"#);
                counted.active.store(true, Ordering::SeqCst);
                done
            }
            "DeleteTable" if counted.table.load(Ordering::SeqCst) => {
                let number = counted.deletes.fetch_add(1, Ordering::SeqCst);
                let after = match &behaviour.delete {
                    Some(answer) => answer(stream, number)?,
                    None => whole(stream, 200, r#"{"TableDescription":{"TableStatus":"DELETING"}}"#)?,
                };
                counted.table.store(after != After::Keep, Ordering::SeqCst);
                Ok(after)
            }
            "DescribeTable" | "DeleteTable" => {
                whole(stream, 400, r#"{"__type":"com.amazonaws.dynamodb.v20120810#ResourceNotFoundException","message":"not found"}"#)
            }
            _ => whole(stream, 400, r#"{"__type":"com.amazon.coral.service#UnknownOperationException"}"#),
        }
    }
}

/// A header of a request.
pub(crate) fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().filter_map(|line| line.split_once(':')).find(|(named, _)| named.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
}

/// What an item that was written is answered with.
pub(crate) const ACCEPTED: &str = r#"{"ConsumedCapacity":{"TableName":"t","CapacityUnits":1.0}}"#;

/// An answer as it should be.
pub(crate) fn text(status: u16, body: &str) -> String {
    format!("HTTP/1.1 {status} Stub\r\nContent-Type: application/x-amz-json-1.0\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

/// Writes an answer as it should be.
pub(crate) fn whole(stream: &mut TcpStream, status: u16, body: &str) -> std::io::Result<After> {
    stream.write_all(text(status, body).as_bytes())?;
    Ok(After::Keep)
}

/// Waits until the client has closed its side, so that what was written has been read.
pub(crate) fn until_closed(stream: &mut TcpStream) {
    let begun = Instant::now();
    let mut byte = [0];
    while begun.elapsed() < Duration::from_secs(10) {
        match stream.read(&mut byte) {
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            _ => return,
        }
    }
}

/// Lets the close that follows be a reset.
pub(crate) fn reset(stream: &TcpStream) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().expect("a runtime");
    let _inside = runtime.enter();
    let same = stream.try_clone().and_then(|same| same.set_nonblocking(true).map(|()| same)).and_then(tokio::net::TcpStream::from_std);
    same.and_then(|same| same.set_zero_linger()).expect("a socket");
}
