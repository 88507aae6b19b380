//! A server of one table that notes when each item request has arrived, and how late it was itself.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

#[derive(Default)]
struct Noted {
    arrivals: Vec<Instant>,
    longest_lag: Duration,
    table: bool,
}

/// A running server; it ends with its test.
pub(crate) struct Counting {
    pub(crate) url: String,
    noted: Arc<Mutex<Noted>>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Counting {
    pub(crate) fn start() -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let address: SocketAddr = listener.local_addr().expect("an address");
        listener.set_nonblocking(true).expect("a listener");
        let noted = Arc::<Mutex<Noted>>::default();
        let (stop, stopped) = oneshot::channel();
        let shared = Arc::clone(&noted);
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async {
                let listener = TcpListener::from_std(listener).expect("a listener");
                tokio::spawn(watch_lag(Arc::clone(&shared)));
                tokio::select! {
                    () = accept(listener, shared) => {}
                    _ = stopped => {}
                }
            });
        });
        Self { url: format!("http://{address}"), noted, stop: Some(stop), thread: Some(thread) }
    }

    /// When each item request had arrived, in order.
    pub(crate) fn arrivals(&self) -> Vec<Instant> {
        let mut arrivals = self.noted.lock().expect("no panic").arrivals.clone();
        arrivals.sort_unstable();
        arrivals
    }

    /// How late the server was, at most, to note what had arrived.
    pub(crate) fn longest_lag(&self) -> Duration {
        self.noted.lock().expect("no panic").longest_lag
    }
}

impl Drop for Counting {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ended = thread.join();
        }
    }
}

async fn accept(listener: TcpListener, noted: Arc<Mutex<Noted>>) {
    while let Ok((stream, _)) = listener.accept().await {
        let noted = Arc::clone(&noted);
        // A client that goes away ends the connection and nothing else.
        tokio::spawn(async move { drop(serve(stream, &noted).await) });
    }
}

/// A timer of a millisecond that comes later than that tells how late everything else here is.
async fn watch_lag(noted: Arc<Mutex<Noted>>) {
    const STEP: Duration = Duration::from_millis(1);
    loop {
        let begun = Instant::now();
        tokio::time::sleep(STEP).await;
        let lag = begun.elapsed().saturating_sub(STEP);
        let mut noted = noted.lock().expect("no panic");
        if !noted.arrivals.is_empty() {
            noted.longest_lag = noted.longest_lag.max(lag);
        }
    }
}

async fn serve(mut stream: TcpStream, noted: &Mutex<Noted>) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut pending = Vec::new();
    loop {
        while let Some((operation, length)) = request(&pending) {
            pending.drain(..length);
            let (status, body) = answer(&operation, &mut noted.lock().expect("no panic"));
            let head = format!("HTTP/1.1 {status} x\r\nContent-Type: application/x-amz-json-1.0\r\nContent-Length: {}\r\n\r\n", body.len());
            stream.write_all((head + body).as_bytes()).await?;
        }
        if stream.read_buf(&mut pending).await? == 0 {
            return Ok(());
        }
    }
}

/// The operation of the first request, and the length of all of it, once it is there whole.
fn request(pending: &[u8]) -> Option<(String, usize)> {
    let end = pending.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&pending[..end]);
    let header = |name: &str| {
        let mut named = head.lines().filter_map(|line| line.split_once(": "));
        named.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.to_owned())
    };
    let length = end + 4 + header("content-length")?.parse::<usize>().ok()?;
    (pending.len() >= length).then(|| (header("x-amz-target").unwrap_or_default(), length))
}

fn answer(target: &str, noted: &mut Noted) -> (u16, &'static str) {
    match target.rsplit('.').next().unwrap_or_default() {
        "PutItem" => {
            noted.arrivals.push(Instant::now());
            (200, r#"{"ConsumedCapacity":{"TableName":"t","CapacityUnits":1.0}}"#)
        }
        "CreateTable" => {
            noted.table = true;
            (200, r#"{"TableDescription":{"TableStatus":"CREATING"}}"#)
        }
        "DescribeTable" if noted.table => (200, r#"{"Table":{"TableStatus":"ACTIVE"}}"#),
        "DeleteTable" if noted.table => {
            noted.table = false;
            (200, r#"{"TableDescription":{"TableStatus":"DELETING"}}"#)
        }
        "DescribeTable" | "DeleteTable" => {
            (400, r#"{"__type":"com.amazonaws.dynamodb.v20120810#ResourceNotFoundException","message":"not found"}"#)
        }
        _ => (400, r#"{"__type":"com.amazon.coral.service#UnknownOperationException"}"#),
    }
}
