//! The instrument: paces an open loop, drives a target, counts what became of every intent.
//!
//! This module knows no screen, no AWS crate, no command line and no file. It imports none of the others.

pub mod bucket;
pub mod counts;
pub mod latency;
pub mod op;
pub mod outcome;
pub mod rate;
pub mod snapshot;
pub mod tick;
pub mod window;

pub use bucket::{BUCKET, Bucket, Merger};
pub use counts::Counts;
pub use latency::{Latency, Quantiles};
pub use op::Op;
pub use outcome::{Cause, Failure, FailureKind, Outcome, Refusal};
pub use rate::{Offset, Rate, RateError, Units, thousands};
pub use snapshot::{History, Live, Row, Snapshot};
pub use tick::{ByOutcome, Part, RunnerId, Setpoint, TICK, Tally, Tick, WindowId};
pub use window::{Distribution, Second, Window, WindowSpec};
