//! The token bucket, exact to a billionth of a unit.

use std::time::Duration;

use super::units::Units;

/// A token bucket. With `per_s` units a second, each nanosecond adds `per_s` billionths of a unit: always a whole number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bucket {
    per_s: u32,
    tokens: u128,
    size: u128,
    /// Until when it has gained. Lies ahead of now while it gains for what it has already paid.
    at: Duration,
}

impl Bucket {
    /// A full bucket that gains `per_s` units a second and holds at most what it gains in `hold`.
    pub fn full(per_s: u32, hold: Duration, at: Duration) -> Self {
        let size = hold.as_nanos() * u128::from(per_s);
        Self { per_s, tokens: size, size, at }
    }

    /// The same bucket with at most what it gains in `span` in it.
    #[must_use]
    pub fn holding_at_most(mut self, span: Duration) -> Self {
        self.tokens = self.tokens.min(span.as_nanos() * u128::from(self.per_s));
        self
    }

    /// Adds what was gained since the last call. Time that runs backwards adds nothing.
    pub fn refill(&mut self, now: Duration) {
        if let Some(elapsed) = now.checked_sub(self.at) {
            self.at = now;
            self.tokens = (self.tokens + elapsed.as_nanos() * u128::from(self.per_s)).min(self.size);
        }
    }

    /// Whether it can pay. What costs more than the bucket can ever hold is paid by a full bucket, else it could never be.
    pub fn covers(&self, units: Units) -> bool {
        self.tokens >= units.nanos().min(self.size)
    }

    /// Pays; the caller has asked [`Bucket::covers`] first. Never goes below zero: what costs more than is there empties the bucket, and
    /// it gains nothing until the rest is paid off, so that the rate holds for requests of any size.
    pub fn take(&mut self, units: Units) {
        let cost = units.nanos();
        if let Some(rest) = self.tokens.checked_sub(cost) {
            self.tokens = rest;
        } else {
            let pause = (cost - self.tokens).div_ceil(u128::from(self.per_s.max(1)));
            self.at = self.at.saturating_add(Duration::from_nanos(u64::try_from(pause).unwrap_or(u64::MAX)));
            self.tokens = 0;
        }
    }

    /// Its tokens in billionths of a unit.
    pub const fn tokens_nanos(&self) -> u128 {
        self.tokens
    }

    /// The most it holds, in billionths of a unit.
    pub const fn size_nanos(&self) -> u128 {
        self.size
    }

    /// A bucket of another rate that starts with these tokens, as many of them as it holds.
    pub(super) fn inheriting(per_s: u32, hold: Duration, at: Duration, tokens: u128) -> Self {
        let mut bucket = Self::full(per_s, hold, at);
        bucket.tokens = bucket.tokens.min(tokens);
        bucket
    }
}
