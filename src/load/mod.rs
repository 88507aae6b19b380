//! The instrument: paces an open loop, drives a target, counts what became of every intent.
//!
//! This module knows no screen, no AWS crate, no command line and no file. It imports none of the others.

pub mod bucket;
pub mod classify;
pub mod clock;
pub mod counts;
pub mod engine;
pub mod keys;
mod lanes;
pub mod latency;
pub mod op;
pub mod outcome;
pub mod pacer;
pub mod rate;
pub mod recorder;
pub mod segment;
pub mod shard;
pub mod share;
pub mod snapshot;
pub mod target;
pub mod tick;
mod timer;
pub mod usage;
pub mod window;
pub mod workload;

pub use bucket::{BUCKET, Bucket, Busiest, Merger};
pub use classify::{by_code, by_connecting};
pub use clock::Clock;
pub use counts::Counts;
pub use engine::{Engine, EngineConfig};
pub use keys::Keys;
pub use latency::{Latency, Quantiles};
pub use op::Op;
pub use outcome::{Cause, Failure, FailureKind, Outcome, Refusal};
pub use pacer::Intent;
pub use rate::{Offset, Rate, RateError, Units, thousands};
pub use segment::{Beside, Ramp, Segment, SegmentLoad};
pub use shard::Report;
pub use share::Share;
pub use snapshot::{History, Live, Row, Snapshot};
pub use target::{Lane, Request, Target};
pub use tick::{ByOutcome, Part, RunnerId, Setpoint, TICK, Tally, Tick, WindowId};
pub use usage::{Usage, WaitedNanos};
pub use window::{Distribution, Second, Window, WindowSpec};
pub use workload::{Key, Kind, KindId, Workload};
