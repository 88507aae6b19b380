//! A partition: a range of key hashes, its two buckets and what it did.

use std::time::Duration;

use super::bucket::Bucket;
use super::shape::Throughput;
use super::units::Kind;

/// Hashes in the whole ring.
const RING: u128 = 1 << 64;

/// What one partition admitted and refused.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    /// Its share of the keys, `0..=1`. Zero for a partition that has been split and owns none any more.
    pub share: f64,
    /// Requests it admitted.
    pub accepted: u64,
    /// Requests refused that it would have served, whichever limit refused them.
    pub throttled: u64,
}

#[derive(Clone, Debug)]
pub(super) struct Partition {
    /// First hash of its range.
    pub(super) from: u64,
    /// Hashes in its range, `1..=RING`.
    pub(super) length: u128,
    pub(super) buckets: [Bucket; 2],
    pub(super) accepted: u64,
    pub(super) throttled: u64,
}

impl Partition {
    pub(super) fn new(from: u64, length: u128, rates: Throughput, hold: Duration, at: Duration) -> Self {
        let buckets = Kind::ALL.map(|kind| Bucket::full(rates.of(kind), hold, at));
        Self { from, length, buckets, accepted: 0, throttled: 0 }
    }

    pub(super) fn tally(&self) -> Tally {
        Tally { share: self.length as f64 / RING as f64, accepted: self.accepted, throttled: self.throttled }
    }

    /// Two halves of the range, each with half of the tokens, and with the rates and size that are normal.
    pub(super) fn split(&self, rates: Throughput, hold: Duration, now: Duration) -> [Self; 2] {
        let mut tokens = [[0; 2]; 2];
        for (kind, bucket) in self.buckets.iter().enumerate() {
            let mut bucket = bucket.clone();
            bucket.refill(now);
            let lower = bucket.tokens_nanos() / 2;
            tokens[0][kind] = lower;
            tokens[1][kind] = bucket.tokens_nanos() - lower;
        }
        let lower = self.length / 2;
        let ranges = [(self.from, lower), (self.from.wrapping_add(lower as u64), self.length - lower)];
        let child = |half: usize| {
            let (from, length) = ranges[half];
            let mut child = Self::new(from, length, rates, hold, now);
            child.buckets = Kind::ALL.map(|kind| Bucket::inheriting(rates.of(kind), hold, now, tokens[half][kind.index()]));
            child
        };
        [child(0), child(1)]
    }
}
