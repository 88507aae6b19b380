//! What a table is made of, and what its owner set.

use std::time::Duration;

use super::units::Kind;

/// Write and read units per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Throughput {
    /// Write units per second.
    pub write: u32,
    /// Read units per second.
    pub read: u32,
}

impl Throughput {
    /// Of one kind.
    pub const fn of(self, kind: Kind) -> u32 {
        match kind {
            Kind::Write => self.write,
            Kind::Read => self.read,
        }
    }
}

/// One partition of a new table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slice {
    /// Its share of the key hashes, relative to the other slices: greater than zero and finite.
    pub weight: f64,
    /// What it serves.
    pub rates: Throughput,
}

/// How the tables of a profile are made and how they grow.
#[derive(Clone, Debug, PartialEq)]
pub struct Shape {
    /// Whether everything is accepted, whatever else is said here.
    pub unlimited: bool,
    /// The partitions of a new table; at least one.
    pub slices: Vec<Slice>,
    /// What a partition that came of a split or of warm throughput serves.
    pub normal: Throughput,
    /// How much unused capacity a partition keeps.
    pub hold: Duration,
    /// Over-demand time at which a partition is split, ascending.
    pub splits: Vec<Duration>,
    /// The grain in which over-demand time is counted: a grain in which a partition refused anything counts in full.
    pub grain: Duration,
    /// The account's quota for one table.
    pub account: Throughput,
    /// How much unused capacity provisioned throughput keeps.
    pub provisioned_hold: Duration,
    /// How much of that a new table starts with: nothing has been left unused yet.
    pub provisioned_start: Duration,
}

impl Default for Shape {
    /// A fresh on-demand table as it was measured: 4 partitions of 1,000 write and 3,000 read units per second that keep one
    /// second of unused capacity, splits at 9, 26 and 27 minutes of over-demand.
    fn default() -> Self {
        let normal = Throughput { write: 1_000, read: 3_000 };
        Self {
            unlimited: false,
            slices: vec![Slice { weight: 1.0, rates: normal }; 4],
            normal,
            hold: Duration::from_secs(1),
            splits: [9, 26, 27].map(|minutes| Duration::from_secs(minutes * 60)).to_vec(),
            grain: Duration::from_secs(1),
            account: Throughput { write: 40_000, read: 40_000 },
            provisioned_hold: Duration::from_secs(300),
            provisioned_start: Duration::from_secs(1),
        }
    }
}

impl Shape {
    /// The same shape with its growth `scale` times as fast. The load it bears is the same.
    #[must_use]
    pub fn sped_up(mut self, scale: f64) -> Self {
        let faster = |span: Duration| Duration::try_from_secs_f64(span.as_secs_f64() / scale).unwrap_or(Duration::MAX);
        self.splits.iter_mut().for_each(|at| *at = faster(*at));
        self.grain = faster(self.grain).clamp(Duration::from_millis(10), Duration::from_secs(1));
        self
    }

    /// What a new table of this shape serves when its keys are spread like its partitions.
    pub fn throughput(&self) -> Throughput {
        let sum = |kind| self.slices.iter().fold(0_u32, |sum, slice| sum.saturating_add(slice.rates.of(kind)));
        Throughput { write: sum(Kind::Write), read: sum(Kind::Read) }
    }

    /// Partitions that this much warm throughput takes.
    pub fn partitions_for(&self, warm: Throughput) -> usize {
        Kind::ALL.map(|kind| warm.of(kind).div_ceil(self.normal.of(kind).max(1)) as usize).into_iter().max().unwrap_or(1)
    }
}

/// The limits that a table's owner set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Provisioned capacity; `None` for an on-demand table.
    pub provisioned: Option<Throughput>,
    /// The configured maximum of write units per second.
    pub maximum_write: Option<u32>,
    /// The configured maximum of read units per second.
    pub maximum_read: Option<u32>,
    /// Warm throughput; zero where none was asked for.
    pub warm: Throughput,
}

impl Limits {
    pub(super) const fn maximum(&self, kind: Kind) -> Option<u32> {
        match kind {
            Kind::Write => self.maximum_write,
            Kind::Read => self.maximum_read,
        }
    }
}
