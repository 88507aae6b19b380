//! Metrics for Prometheus while a session runs: a small HTTP server on a thread of its own. It reads the newest recording and
//! nothing else, makes text of it a few times a second at most, and waits for nobody longer than a few seconds.

use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, oneshot};

use super::remote::Remote;
use crate::report::prometheus::{self, Exporter};

/// More connections than this are closed at once.
const CONNECTIONS: usize = 8;
/// A scraper that has not said what it wants, or has not read its answer, is given this long.
const PATIENCE: Duration = Duration::from_secs(10);
/// Text is made anew after this long: scraping in a loop costs no more than that.
const FRESH: Duration = Duration::from_millis(200);
/// After a refused connection, as when there are no more descriptors.
const BREATH: Duration = Duration::from_millis(100);

/// Serves metrics until it is dropped.
#[derive(Debug)]
pub struct Metrics {
    address: SocketAddr,
    shown: Arc<Mutex<Shown>>,
    _until_dropped: oneshot::Sender<()>,
}

#[derive(Debug, Default)]
struct Shown {
    remote: Option<Remote>,
    exporter: Exporter,
    made: Option<(Instant, Bytes)>,
}

impl Shown {
    fn text(&mut self) -> Bytes {
        if let Some((_, text)) = self.made.as_ref().filter(|(at, _)| at.elapsed() < FRESH) {
            return text.clone();
        }
        let text = self.remote.as_mut().map(Remote::recording).map(|recording| self.exporter.text(&recording));
        let text = Bytes::from(text.and_then(Result::ok).unwrap_or_default());
        self.made = Some((Instant::now(), text.clone()));
        text
    }
}

impl Metrics {
    /// Listens, and serves from now on. Until a session is followed there is nothing to see.
    pub fn listen(address: SocketAddr) -> std::io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let shown = Arc::new(Mutex::new(Shown::default()));
        let (until_dropped, dropped) = oneshot::channel();
        let served = Arc::clone(&shown);
        std::thread::Builder::new().name("metrics".to_owned()).spawn(move || {
            give_way();
            runtime.block_on(async {
                tokio::select! {
                    _ = dropped => {}
                    () = serve(listener, served) => {}
                }
            });
        })?;
        Ok(Self { address, shown, _until_dropped: until_dropped })
    }

    /// Where it listens.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// From now on shows this session.
    pub fn follow(&self, remote: Remote) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        shown.remote = Some(remote);
        shown.made = None;
    }
}

/// Lets the load threads go first where this machine is busy.
fn give_way() {
    #[cfg(target_os = "linux")]
    {
        // Linux keeps a niceness per thread.
        let _as_it_was = rustix::process::setpriority_process(Some(rustix::thread::gettid()), 10);
    }
}

async fn serve(listener: TcpListener, shown: Arc<Mutex<Shown>>) {
    let listener = match tokio::net::TcpListener::from_std(listener) {
        Ok(listener) => listener,
        Err(error) => return tracing::error!("metrics are not served: {error}"),
    };
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let Ok(place) = Arc::clone(&places).try_acquire_owned() else { continue };
                let shown = Arc::clone(&shown);
                tokio::spawn(async move {
                    // Whoever reads slowly is left after a while; what it was sent is its own.
                    let _left = tokio::time::timeout(PATIENCE, answer(stream, shown)).await;
                    drop(place);
                });
            }
            Err(error) => {
                tracing::debug!("a scraper was not let in: {error}");
                tokio::time::sleep(BREATH).await;
            }
        }
    }
}

async fn answer(stream: TcpStream, shown: Arc<Mutex<Shown>>) {
    let service = service_fn(move |request: Request<Incoming>| {
        let answered = respond(&request, &shown);
        async move { Ok::<_, Infallible>(answered) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(PATIENCE)
        .keep_alive(false)
        .max_buf_size(16 * 1024)
        .serve_connection(TokioIo::new(stream), service);
    if let Err(error) = connection.await {
        tracing::debug!("a scraper went away: {error}");
    }
}

fn respond(request: &Request<Incoming>, shown: &Mutex<Shown>) -> Response<Full<Bytes>> {
    let plain = |status: StatusCode, text: &'static str| {
        let mut response = Response::new(Full::new(Bytes::from_static(text.as_bytes())));
        *response.status_mut() = status;
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
        response
    };
    if request.uri().path() != "/metrics" {
        return plain(StatusCode::NOT_FOUND, "metrics are at /metrics\n");
    }
    if request.method() != Method::GET && request.method() != Method::HEAD {
        let mut response = plain(StatusCode::METHOD_NOT_ALLOWED, "GET is all there is\n");
        response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return response;
    }
    let text = shown.lock().unwrap_or_else(PoisonError::into_inner).text();
    let mut response = Response::new(Full::new(text));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(prometheus::CONTENT_TYPE));
    response
}
