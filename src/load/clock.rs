//! The session's clock: monotonic offsets from a zero that lies on a whole wall-clock second, so that buckets are
//! aligned to the wall clock and durations never jump when it is stepped.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::Instant;

use super::rate::Offset;

/// A clock that all shards and the session share by value.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    zero: Instant,
    wall_zero: SystemTime,
}

impl Clock {
    /// A clock whose zero is the whole second in which this is called.
    pub fn start() -> Self {
        let (instant, wall) = (Instant::now(), SystemTime::now());
        let into_second = Duration::from_nanos(u64::from(wall.duration_since(UNIX_EPOCH).unwrap_or_default().subsec_nanos()));
        Self { zero: instant.checked_sub(into_second).unwrap_or(instant), wall_zero: wall.checked_sub(into_second).unwrap_or(wall) }
    }

    /// Now.
    pub fn now(&self) -> Offset {
        self.offset(Instant::now())
    }

    /// An instant as an offset; instants before the zero become zero.
    pub fn offset(&self, at: Instant) -> Offset {
        Offset::ZERO.plus(at.saturating_duration_since(self.zero))
    }

    /// An offset as an instant to sleep until.
    pub fn instant(&self, at: Offset) -> Instant {
        self.zero + at.since(Offset::ZERO)
    }

    /// The wall-clock time of an offset.
    pub fn wall(&self, at: Offset) -> SystemTime {
        self.wall_zero + at.since(Offset::ZERO)
    }
}
