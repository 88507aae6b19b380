//! What a shard drives: lanes over which one request at a time is sent, once, and answered, failed or abandoned.

use std::cell::Cell;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use super::clock::Clock;
use super::op::Op;
use super::outcome::{Failure, Outcome};
use super::rate::Offset;
use super::workload::{Key, KindId};

/// One shard's access to the target. Made by the session, moved to the shard's thread.
pub trait Target: Send + 'static {
    /// The lanes it gives.
    type Lane: Lane;
    /// A new lane. Must not block and not yet connect.
    fn lane(&mut self) -> Self::Lane;
}

/// A place from which one request at a time is sent: usually one connection.
///
/// A call that the shard abandons at the request timeout is dropped at an await point; the lane must be usable again
/// afterwards, on a new connection if need be.
pub trait Lane: 'static {
    /// Connects ahead of the first request. `Ok(None)` when there was nothing to do.
    fn open(&mut self) -> impl Future<Output = Result<Option<Duration>, Arc<Failure>>>;
    /// Sends the request once and never again, and says what became of it. Must call [`Request::mark_sent`] right
    /// before it hands the first byte over, and [`Request::mark_connected`] when it had to connect first.
    fn call(&mut self, request: &Request) -> impl Future<Output = Outcome>;
}

/// One request to send.
#[derive(Debug)]
pub struct Request {
    /// What to do.
    pub op: Op,
    /// To which item.
    pub key: Key,
    /// The kind of the item.
    pub kind: KindId,
    clock: Clock,
    sent: Cell<Option<Offset>>,
    connected: Cell<Option<Duration>>,
}

impl Request {
    /// A request that has not been sent.
    pub fn new(op: Op, key: Key, kind: KindId, clock: Clock) -> Self {
        Self { op, key, kind, clock, sent: Cell::new(None), connected: Cell::new(None) }
    }

    /// Notes that the first byte is handed over now.
    pub fn mark_sent(&self) {
        self.sent.set(Some(self.clock.now()));
    }

    /// Notes that a connection had to be opened for this request, and how long that took.
    pub fn mark_connected(&self, took: Duration) {
        self.connected.set(Some(took));
    }

    /// When it was sent.
    pub fn sent(&self) -> Option<Offset> {
        self.sent.get()
    }

    /// How long connecting for it took, if it had to be.
    pub fn connected(&self) -> Option<Duration> {
        self.connected.get()
    }
}
