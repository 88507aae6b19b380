//! A link that takes its time: everything passes, in order and unlimited, but later in each direction.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};

/// How long what passed in one direction was held in fact, milliseconds.
type Held = Arc<Mutex<Vec<f64>>>;

/// A running link; it ends with its test.
pub(crate) struct Link {
    pub(crate) url: String,
    there: Held,
    back: Held,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Link {
    /// A link to a server, longer by `each_way` in each direction.
    pub(crate) fn to(server: SocketAddr, each_way: Duration) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        listener.set_nonblocking(true).expect("a listener");
        let (there, back) = (Held::default(), Held::default());
        let held = (Arc::clone(&there), Arc::clone(&back));
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async {
                let listener = TcpListener::from_std(listener).expect("a listener");
                tokio::select! {
                    () = accept(listener, server, each_way, held) => {}
                    _ = stopped => {}
                }
            });
        });
        Self { url: format!("http://{address}"), there, back, stop: Some(stop), thread: Some(thread) }
    }

    /// The median time that requests and answers were held, together, milliseconds.
    pub(crate) fn median_ms(&self) -> f64 {
        [&self.there, &self.back]
            .map(|held| {
                let mut held = held.lock().expect("no panic").clone();
                held.sort_by(f64::total_cmp);
                held[held.len() / 2]
            })
            .iter()
            .sum()
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ended = thread.join();
        }
    }
}

async fn accept(listener: TcpListener, server: SocketAddr, each_way: Duration, (there, back): (Held, Held)) {
    while let Ok((near, _)) = listener.accept().await {
        let (there, back) = (Arc::clone(&there), Arc::clone(&back));
        tokio::spawn(async move {
            let Ok(far) = TcpStream::connect(server).await else { return };
            if near.set_nodelay(true).and(far.set_nodelay(true)).is_err() {
                return;
            }
            let ((near_in, near_out), (far_in, far_out)) = (near.into_split(), far.into_split());
            tokio::join!(pass(near_in, far_out, each_way, &there), pass(far_in, near_out, each_way, &back));
        });
    }
}

/// Passes on what comes, each piece as long after its coming; then the end.
async fn pass(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, after: Duration, held: &Held) {
    let (pieces, mut underway) = mpsc::unbounded_channel::<(Instant, Vec<u8>)>();
    let read = async move {
        loop {
            let mut piece = Vec::with_capacity(8_192);
            match from.read_buf(&mut piece).await {
                Ok(1..) if pieces.send((Instant::now(), piece)).is_ok() => {}
                _ => return,
            }
        }
    };
    let write = async move {
        while let Some((came, piece)) = underway.recv().await {
            tokio::time::sleep_until((came + after).into()).await;
            held.lock().expect("no panic").push(came.elapsed().as_secs_f64() * 1e3);
            if to.write_all(&piece).await.is_err() {
                return;
            }
        }
    };
    tokio::join!(read, write);
}
