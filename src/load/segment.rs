//! Segments: stretches of the schedule at one rate, or along one ramp, and the work that is done in them.

use std::num::NonZeroU64;
use std::time::Duration;

use super::op::Op;
use super::rate::{Offset, Rate};
use super::share::Share;
use super::tick::WindowId;
use super::workload::KindId;

/// A stretch of the schedule at one rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Segment {
    /// When it starts; it replaces everything scheduled from there on.
    pub start: Offset,
    /// What it offers; `None` pauses the load.
    pub load: Option<SegmentLoad>,
}

/// What a segment offers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SegmentLoad {
    /// The window that owns its intents.
    pub window: WindowId,
    /// The rate over all shards; of a ramp, the rate that it starts with.
    pub rate: Rate,
    /// Where the rate goes, of a ramp.
    pub ramp: Option<Ramp>,
    /// The operation.
    pub op: Op,
    /// The kind of its items.
    pub kind: KindId,
    /// The other part of mixed load.
    pub beside: Option<Beside>,
}

/// A rate that changes evenly, and stays where it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ramp {
    to: Rate,
    over: NonZeroU64,
}

impl Ramp {
    /// A ramp that ends with the rate `to` after `over`; `None` if it takes no time.
    pub fn new(to: Rate, over: Duration) -> Option<Self> {
        let over = NonZeroU64::new(u64::try_from(over.as_nanos()).unwrap_or(u64::MAX))?;
        Some(Self { to, over })
    }
}

/// The second part of mixed load: of every stretch of intents the same share is its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beside {
    /// The window that owns them.
    pub window: WindowId,
    /// What they do.
    pub op: Op,
    /// The kind of their items.
    pub kind: KindId,
    /// Their share.
    pub share: Share,
}

impl SegmentLoad {
    /// One rate, one operation, items of the first kind.
    pub const fn steady(window: WindowId, rate: Rate, op: Op) -> Self {
        Self { window, rate, ramp: None, op, kind: KindId::FIRST, beside: None }
    }

    /// The highest rate of it.
    pub fn peak(&self) -> Rate {
        self.ramp.map_or(self.rate, |ramp| ramp.to.max(self.rate))
    }

    /// The rate that is reached `after` the segment's start.
    pub fn rate_after(&self, after: Duration) -> Rate {
        let Some(ramp) = self.ramp else { return self.rate };
        let passed = (after.as_nanos() as f64 / ramp.over.get() as f64).min(1.0);
        let per_s = self.rate.per_s() + (ramp.to.per_s() - self.rate.per_s()) * passed;
        Rate::from_per_s(per_s).unwrap_or(Rate::MIN)
    }

    /// Work done `nanos` after its start, exactly as the schedule counts it.
    pub(super) fn work_after(&self, nanos: u64) -> u128 {
        let (milli, nanos) = (u128::from(self.rate.milli()), u128::from(nanos));
        let Some(ramp) = self.ramp else { return nanos * milli };
        let (to, over) = (u128::from(ramp.to.milli()), u128::from(ramp.over.get()));
        let ramped = nanos.min(over);
        // The area under the ramp: the lower rate all along, and the triangle between the two. Of a falling ramp the triangle
        // lies at its start. Rates are below 1e10 and a ramp takes at most a day, so that the square fits.
        let triangle = |height: u128, base: u128| height * base * base / (2 * over);
        let area = if to >= milli {
            milli * ramped + triangle(to - milli, ramped)
        } else {
            to * ramped + triangle(milli - to, over) - triangle(milli - to, over - ramped)
        };
        area + to * (nanos - ramped)
    }

    /// The first nanosecond after its start at which its work reaches `missing`; of a ramp it is searched for, since a root would
    /// not be exact.
    pub(super) fn first_nanos(&self, missing: u128) -> u64 {
        let Some(ramp) = self.ramp else {
            return u64::try_from(missing.div_ceil(u128::from(self.rate.milli()))).unwrap_or(u64::MAX);
        };
        let over = ramp.over.get();
        let ramped = self.work_after(over);
        if missing > ramped {
            let beyond = (missing - ramped).div_ceil(u128::from(ramp.to.milli()));
            return u64::try_from(beyond).unwrap_or(u64::MAX).saturating_add(over);
        }
        let (mut low, mut high) = (0, over);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.work_after(middle) >= missing {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        low
    }
}
