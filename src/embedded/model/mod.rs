//! The capacity model: what a DynamoDB table admits, as a pure function of what was asked of it and when.
//!
//! A table is a set of partitions, each a range of key hashes with two token buckets (write and read units). A key hashes
//! to one partition; a bucket that cannot pay answers a throttle, and a refused request takes nothing. Above the partitions
//! lie the limits of the whole table: the account's quota, the configured on-demand maximum and provisioned capacity.
//! There is no clock and no I/O here: every call says how long after the table's creation it happens, and all arithmetic is
//! in whole billionths of a unit, so that nothing drifts.

mod bucket;
mod capacity;
mod hash;
mod partition;
mod shape;
mod units;

pub use bucket::Bucket;
pub use capacity::{Admission, Capacity, Cause};
pub use hash::KeyHash;
pub use partition::Tally;
pub use shape::{Limits, Shape, Slice, Throughput};
pub use units::{Kind, Units};

#[cfg(test)]
mod properties;
#[cfg(test)]
mod simulation;
