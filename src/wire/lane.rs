//! A lane: one connection, opened when it is first needed and again whenever the old one is no longer usable.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use tokio::time::Instant;

use super::answer::Classifier;
use super::connection::{Connection, SendError};
use super::endpoint::Endpoint;
use super::renderer::Renderer;
use crate::load::{Failure, Key, KindId, Lane, Op, Outcome, Request};

/// One connection at a time to the endpoint.
#[derive(Debug)]
pub struct WireLane {
    endpoint: Endpoint,
    desk: Arc<Mutex<Desk>>,
    /// Taken out while a request is on it: a call that is abandoned half-way drops the connection with it.
    connection: Option<Connection>,
    idle: Idle,
    request: Vec<u8>,
}

/// What the lanes of a shard share. They all run on its thread, so nobody ever waits for the lock.
#[derive(Debug)]
pub(super) struct Desk {
    renderer: Renderer,
    classifier: Classifier,
}

impl Desk {
    pub(super) fn new(renderer: Renderer) -> Self {
        Self { renderer, classifier: Classifier::default() }
    }
}

/// Puts the request for an operation on a key, signed at a wall-clock time, in place of what the buffer holds.
pub(super) fn render(desk: &Mutex<Desk>, op: Op, kind: KindId, key: Key, now: SystemTime, into: &mut Vec<u8>) -> Result<(), Arc<Failure>> {
    lock(desk).renderer.render(op, kind, key, now, into)
}

fn lock(desk: &Mutex<Desk>) -> std::sync::MutexGuard<'_, Desk> {
    desk.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How long the connection may be idle, where the server said so, and since when it is.
#[derive(Clone, Copy, Debug, Default)]
enum Idle {
    #[default]
    Unlimited,
    Until(Instant),
}

impl WireLane {
    pub(super) fn new(endpoint: Endpoint, desk: Arc<Mutex<Desk>>) -> Self {
        Self { endpoint, desk, connection: None, idle: Idle::Unlimited, request: Vec::new() }
    }

    /// A connection that can take a request now, and how long it took to open it if it had to be.
    async fn ready(&mut self) -> Result<(Connection, Option<Duration>), Arc<Failure>> {
        let about_to_close = matches!(self.idle, Idle::Until(limit) if Instant::now() >= limit);
        if let Some(mut connection) = self.connection.take().filter(|_| !about_to_close)
            && !connection.is_stale()
        {
            return Ok((connection, None));
        }
        let start = Instant::now();
        let connection = self.endpoint.connect().await?;
        self.idle = Idle::Unlimited;
        Ok((connection, Some(start.elapsed())))
    }

    async fn attempt(&mut self, request: &Request) -> Result<Outcome, Arc<Failure>> {
        let (mut connection, connected) = self.ready().await?;
        if let Some(took) = connected {
            request.mark_connected(took);
        }
        render(&self.desk, request.op, request.kind, request.key, SystemTime::now(), &mut self.request)?;
        request.mark_sent();
        match connection.send(&self.request).await {
            Ok(()) => {}
            Err(SendError::Broken(failure)) => return Err(failure),
            // The connection had closed before a byte of it was written, so this is still the first attempt.
            Err(SendError::Unsent) => {
                let start = Instant::now();
                connection = self.endpoint.connect().await?;
                request.mark_connected(start.elapsed());
                request.mark_sent();
                connection.send(&self.request).await.map_err(SendError::into_failure)?;
            }
        }
        let answer = connection.receive().await?;
        let outcome = lock(&self.desk).classifier.classify(answer.status, answer.error_type.as_deref(), answer.body);
        if answer.keeps_open {
            self.idle = answer.idle_timeout.map_or(Idle::Unlimited, |timeout| Idle::Until(Instant::now() + usable(timeout)));
            self.connection = Some(connection);
        }
        Ok(outcome)
    }
}

impl Lane for WireLane {
    async fn open(&mut self) -> Result<Option<Duration>, Arc<Failure>> {
        let (connection, took) = self.ready().await?;
        self.connection = Some(connection);
        Ok(took)
    }

    async fn call(&mut self, request: &Request) -> Outcome {
        self.attempt(request).await.unwrap_or_else(Outcome::Failed)
    }
}

/// How long a connection is used that the server closes after being idle for `timeout`. A request that reached the server
/// while it was closing would be lost, so the last second, or half, is left out.
fn usable(timeout: Duration) -> Duration {
    timeout.saturating_sub((timeout / 2).min(Duration::from_secs(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_is_left_before_the_server_said_it_would_close_it() {
        for (said, used) in [(5_000, 4_000), (1_000, 500), (0, 0)] {
            assert_eq!(usable(Duration::from_millis(said)), Duration::from_millis(used));
        }
    }
}
