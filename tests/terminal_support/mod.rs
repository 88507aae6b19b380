//! The program as a process of its own: on a pseudo-terminal or without one, against an endpoint that outlives it.

#![allow(dead_code, clippy::expect_used, reason = "each test program uses its part; a helper that cannot go on fails its test")]

pub(crate) mod place;
pub(crate) mod program;
pub(crate) mod target;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Longest wait for something that is certain to come, on a machine however busy.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// Held while a process starts: descriptors that are being opened for one must not be inherited by another.
pub(crate) fn starting() -> MutexGuard<'static, ()> {
    static STARTING: Mutex<()> = Mutex::new(());
    STARTING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Looks until it is there.
pub(crate) fn wait_for(mut there: impl FnMut() -> bool, what: impl FnOnce() -> String) {
    let begun = Instant::now();
    while !there() {
        assert!(begun.elapsed() < PATIENCE, "never saw {}", what());
        std::thread::sleep(Duration::from_millis(10));
    }
}
