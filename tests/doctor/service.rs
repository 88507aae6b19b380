//! A service with a clock of its own: it answers DescribeTable as for a table that is not there, after a delay, and counts
//! what it is asked.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// What its replies say of the time: given how many requests came before, and the wall-clock time in nanoseconds since 1970.
type Clock = dyn Fn(usize, i128) -> Option<String> + Send + Sync;

/// A running service; it ends with its test.
pub(crate) struct Service {
    pub(crate) url: String,
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
    over: Arc<AtomicBool>,
}

/// How it answers.
pub(crate) struct Manner {
    /// Time from the arrival of a request to its answer; the `Date` is that of the middle of it.
    pub(crate) delay: Duration,
    /// The `Date` header, if any.
    pub(crate) clock: Box<Clock>,
    /// Whether each answer ends its connection.
    pub(crate) closes: bool,
}

/// A `Date` of a clock that is this far ahead.
pub(crate) fn ahead(offset_ms: i64) -> Box<Clock> {
    Box::new(move |_, now| Some(date(now + i128::from(offset_ms) * 1_000_000)))
}

/// A `Date` header for a time.
pub(crate) fn date(nanos: i128) -> String {
    let second = i64::try_from(nanos.div_euclid(1_000_000_000)).expect("a time");
    let at = jiff::Timestamp::from_second(second).expect("a time");
    at.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()
}

impl Service {
    pub(crate) fn start(manner: Manner) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let (asked, over, manner) = (Arc::<Mutex<Vec<String>>>::default(), Arc::<AtomicBool>::default(), Arc::new(manner));
        let (notes, stop) = (Arc::clone(&asked), Arc::clone(&over));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if stop.load(Ordering::SeqCst) {
                    return;
                }
                let (manner, notes) = (Arc::clone(&manner), Arc::clone(&notes));
                // A client that goes away ends the connection and nothing else.
                std::thread::spawn(move || drop(serve(&stream, &manner, &notes)));
            }
        });
        Self { url: format!("http://{address}"), address, asked, over }
    }

    /// The operations that it was asked for, in order.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("no panic").clone()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        let _woken = TcpStream::connect(self.address);
    }
}

fn serve(mut stream: &TcpStream, manner: &Manner, asked: &Mutex<Vec<String>>) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    loop {
        let (mut operation, mut length, mut signed) = (String::new(), 0, false);
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line)? == 0 {
                return Ok(());
            }
            if line.trim_end().is_empty() {
                break;
            }
            // The request line has no colon.
            let Some((name, value)) = line.trim_end().split_once(':') else { continue };
            match name.to_ascii_lowercase().as_str() {
                "x-amz-target" => operation = value.trim().rsplit('.').next().unwrap_or_default().to_owned(),
                "content-length" => length = value.trim().parse().unwrap_or(0),
                "authorization" => signed = value.trim().starts_with("AWS4-HMAC-SHA256 "),
                _ => {}
            }
        }
        reader.read_exact(&mut vec![0; length])?;
        let number = {
            let mut asked = asked.lock().expect("no panic");
            asked.push(if signed { operation } else { format!("unsigned {operation}") });
            asked.len() - 1
        };
        std::thread::sleep(manner.delay / 2);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_nanos() as i128;
        let date = (manner.clock)(number, now).map_or_else(String::new, |date| format!("Date: {date}\r\n"));
        std::thread::sleep(manner.delay / 2);
        let body = r#"{"__type":"com.amazonaws.dynamodb.v20120810#ResourceNotFoundException","message":"not found"}"#;
        let close = if manner.closes { "Connection: close\r\n" } else { "" };
        let head =
            format!("HTTP/1.1 400 x\r\nContent-Type: application/x-amz-json-1.0\r\n{date}{close}Content-Length: {}\r\n\r\n", body.len());
        stream.write_all((head + body).as_bytes())?;
        if manner.closes {
            return Ok(());
        }
    }
}
