//! The server: a thread, a listener, and an end that never hangs.

use std::cell::RefCell;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::rc::Rc;
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::runtime::LocalOptions;
use tokio::sync::oneshot;

use super::connection::{self, Shared};
use super::endpoint::Endpoint;
use super::latency::Lag;
use super::profile::Profile;
use super::random::Random;

/// Longest that stopping waits for the thread.
const STOP_WITHIN: Duration = Duration::from_millis(900);
/// Connections that may wait to be accepted; the system may allow fewer.
const MOST_WAITING: i32 = 4_096;
/// Pause after a connection could not be accepted, which mostly means that descriptors ran out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

/// What the server is to be.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where to listen; port 0 picks a free one.
    pub listen: SocketAddr,
    /// What its tables do by themselves.
    pub profile: Profile,
    /// Seed of latencies and faults.
    pub seed: u64,
    /// Activation, deletion and splits take this many times less. Never changes the load that a table bears.
    pub time_scale: f64,
    /// The region named in ARNs.
    pub region: String,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            profile: Profile::default(),
            seed: 1,
            time_scale: 1.0,
            region: "us-east-1".to_owned(),
        }
    }
}

/// Why the server could not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The address cannot be listened on.
    #[error("cannot listen on {address} ({source}); choose another address with --listen, for example 127.0.0.1:0 for any free port")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why not.
        source: io::Error,
    },
    /// The time scale is not a positive number.
    #[error("`{0}` is not a time scale; type a number greater than zero, for example 60 to make minutes of seconds")]
    TimeScale(f64),
    /// The thread or its runtime could not be made.
    #[error("cannot start the embedded endpoint's thread ({0}); free some memory or raise the process limit")]
    Thread(io::Error),
}

/// A running server. Dropping it stops it.
#[derive(Debug)]
pub struct Server {
    addr: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    stopped: mpsc::Receiver<()>,
    thread: Option<JoinHandle<()>>,
}

/// Starts a server on a thread of its own. It is listening when this returns.
pub fn start(config: Config) -> Result<Server, StartError> {
    if !(config.time_scale.is_finite() && config.time_scale > 0.0) {
        return Err(StartError::TimeScale(config.time_scale));
    }
    let address = config.listen;
    let listen = |source| StartError::Listen { address, source };
    let listener = std::net::TcpListener::bind(address).map_err(listen)?;
    // The standard library asks for room for 128 connections, fewer than a client opens after a moment's standstill.
    rustix::net::listen(&listener, MOST_WAITING).map_err(|error| listen(error.into()))?;
    listener.set_nonblocking(true).map_err(listen)?;
    let addr = listener.local_addr().map_err(listen)?;
    let (stop, stop_asked) = oneshot::channel();
    let (stopping, stopped) = mpsc::channel();
    let (starting, started) = mpsc::channel();
    let thread = std::thread::Builder::new()
        .name("embedded".to_owned())
        .spawn(move || {
            // The runtime can only be used on the thread that makes it.
            let made = tokio::runtime::Builder::new_current_thread().enable_all().build_local(LocalOptions::default());
            let (said, runtime) = match made {
                Ok(runtime) => (Ok(()), Some(runtime)),
                Err(error) => (Err(error), None),
            };
            let _ = starting.send(said);
            if let Some(runtime) = runtime {
                runtime.block_on(serve(listener, config, stop_asked));
            }
            // Nobody is listening when the server was let go without waiting.
            let _ = stopping.send(());
        })
        .map_err(StartError::Thread)?;
    started.recv().unwrap_or_else(|_| Err(io::Error::other("it ended at once"))).map_err(StartError::Thread)?;
    Ok(Server { addr, stop: Some(stop), stopped, thread: Some(thread) })
}

async fn serve(listener: std::net::TcpListener, config: Config, stop_asked: oneshot::Receiver<()>) {
    let Ok(listener) = TcpListener::from_std(listener) else { return };
    let Config { profile, seed, time_scale, region, .. } = config;
    let shared = Rc::new(Shared {
        endpoint: RefCell::new(Endpoint::new(profile, region.clone(), seed, time_scale)),
        lag: Lag::default(),
        ids: RefCell::new(Random::new(!seed)),
        date: RefCell::default(),
        region,
    });
    let accept = async {
        loop {
            match listener.accept().await {
                Ok((stream, _)) => {
                    tokio::task::spawn_local(connection::serve(stream, Rc::clone(&shared)));
                }
                Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
            }
        }
    };
    tokio::select! {
        () = accept => {}
        // The sender is used or dropped: either way the server is to stop.
        _ = stop_asked => {}
    }
}

impl Server {
    /// Where it listens.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Its URL, for example `http://127.0.0.1:8000`.
    pub fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// Stops it: connections are closed as they are. Returns within a second, whatever happens.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        let Some(stop) = self.stop.take() else { return };
        // A server that has ended by itself has dropped the other end.
        let _ = stop.send(());
        let ended = !matches!(self.stopped.recv_timeout(STOP_WITHIN), Err(mpsc::RecvTimeoutError::Timeout));
        if let Some(thread) = self.thread.take().filter(|_| ended) {
            // A panic in it has been reported by the panic hook.
            let _ = thread.join();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}
