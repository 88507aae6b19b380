//! A target that panics after a while, to see in a debug build that every exit path tears down. Not in release builds.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::load::{Failure, Lane, Outcome, Request, Target};

/// A target whose lanes panic once `after` has passed.
#[derive(Clone, Debug)]
pub(super) struct Faulty<T> {
    target: T,
    at: Option<Instant>,
}

/// A lane of it.
#[derive(Debug)]
pub(super) struct FaultyLane<L> {
    lane: L,
    at: Option<Instant>,
}

impl<T> Faulty<T> {
    pub(super) fn new(target: T, after: Option<Duration>) -> Self {
        Self { target, at: after.map(|after| Instant::now() + after) }
    }
}

impl<T: Target> Target for Faulty<T> {
    type Lane = FaultyLane<T::Lane>;

    fn lane(&mut self) -> Self::Lane {
        FaultyLane { lane: self.target.lane(), at: self.at }
    }
}

impl<L: Lane> Lane for FaultyLane<L> {
    async fn open(&mut self) -> Result<Option<Duration>, Arc<Failure>> {
        self.lane.open().await
    }

    async fn call(&mut self, request: &Request) -> Outcome {
        assert!(self.at.is_none_or(|at| Instant::now() < at), "a fault that was asked for");
        self.lane.call(request).await
    }
}
