//! The capacity of one table.

use std::time::Duration;

use super::bucket::Bucket;
use super::hash::KeyHash;
use super::partition::{Partition, Tally};
use super::shape::{Limits, Shape, Slice, Throughput};
use super::units::{Kind, Units};

/// The answer to a request for capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It was paid for.
    Accepted,
    /// It was refused, and nothing was paid.
    Refused {
        /// The limit that refused it.
        cause: Cause,
    },
}

/// The limit that refused a request; the broadest one where several would.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// The account's quota for one table.
    Account,
    /// The configured on-demand maximum.
    Maximum,
    /// Provisioned capacity.
    Provisioned,
    /// The partition's own capacity.
    KeyRange,
}

impl Cause {
    /// All causes, in the order of [`Cause::index`].
    pub const ALL: [Self; 4] = [Self::Account, Self::Maximum, Self::Provisioned, Self::KeyRange];

    /// Its place among all causes.
    pub(in crate::embedded) const fn index(self) -> usize {
        match self {
            Self::Account => 0,
            Self::Maximum => 1,
            Self::Provisioned => 2,
            Self::KeyRange => 3,
        }
    }
}

/// The capacity of one table. Every `now` is the time since the table's creation and never runs backwards.
#[derive(Clone, Debug)]
pub struct Capacity {
    shape: Shape,
    limits: Limits,
    /// In the order of their hash ranges, which cover the ring.
    partitions: Vec<Partition>,
    /// What partitions that were split did before.
    retired: Vec<Tally>,
    /// Limits of the whole table, for writes and for reads, broadest first.
    ceilings: [Vec<(Cause, Bucket)>; 2],
    over_demand: Duration,
    last_grain: Option<u128>,
    splits_done: usize,
}

impl Capacity {
    /// The capacity of a new table.
    pub fn new(shape: Shape, limits: Limits) -> Self {
        let even = shape.partitions_for(limits.warm).max(limits.provisioned.map_or(0, |capacity| shape.partitions_for(capacity)));
        let partitions = if even > shape.slices.len() {
            lay_out(&vec![Slice { weight: 1.0, rates: shape.normal }; even], shape.hold, Duration::ZERO)
        } else {
            lay_out(&shape.slices, shape.hold, Duration::ZERO)
        };
        let mut capacity = Self {
            shape,
            limits,
            partitions,
            retired: Vec::new(),
            ceilings: [Vec::new(), Vec::new()],
            over_demand: Duration::ZERO,
            last_grain: None,
            splits_done: 0,
        };
        capacity.raise_ceilings(Duration::ZERO);
        capacity
    }

    /// Asks for capacity on behalf of a request for `key`, and enters the answer in the ledger.
    pub fn admit(&mut self, key: KeyHash, kind: Kind, units: Units, now: Duration) -> Admission {
        let place = self.place_of(key);
        let admission = self.charge_at(place, kind, units, now);
        if let Some(partition) = self.partitions.get_mut(place) {
            match admission {
                Admission::Accepted => partition.accepted += 1,
                Admission::Refused { .. } => partition.throttled += 1,
            }
        }
        // A split moves the places, so it waits until the ledger is written.
        if admission == (Admission::Refused { cause: Cause::KeyRange }) {
            self.note_over_demand(now);
        }
        admission
    }

    /// Asks for capacity for a request that will fail for another reason (a condition that does not hold): an acceptance pays and is
    /// not entered in the ledger, a refusal is.
    pub fn charge(&mut self, key: KeyHash, kind: Kind, units: Units, now: Duration) -> Admission {
        let admission = self.admit(key, kind, units, now);
        let place = self.place_of(key);
        if admission == Admission::Accepted
            && let Some(partition) = self.partitions.get_mut(place)
        {
            partition.accepted -= 1;
        }
        admission
    }

    /// Changes what the owner set. The table's buckets keep their tokens, as many as the new ones hold; partitions that warm
    /// throughput adds lie evenly and start full.
    pub fn set_limits(&mut self, limits: Limits, now: Duration) {
        let wanted = self.shape.partitions_for(limits.warm);
        if wanted > self.partitions.len() && limits.warm != self.limits.warm {
            self.retired.extend(self.partitions.iter().map(|partition| Tally { share: 0.0, ..partition.tally() }));
            self.retired.retain(|tally| tally.accepted + tally.throttled > 0);
            self.partitions = lay_out(&vec![Slice { weight: 1.0, rates: self.shape.normal }; wanted], self.shape.hold, now);
        }
        self.limits = limits;
        self.raise_ceilings(now);
    }

    /// What the owner set.
    pub const fn limits(&self) -> &Limits {
        &self.limits
    }

    /// What the table serves when its keys are spread evenly enough: the sum over its partitions.
    pub fn warm_throughput(&self) -> Throughput {
        let count = self.partitions.len() as u32;
        let normal = self.shape.normal;
        let partitions = Throughput { write: normal.write.saturating_mul(count), read: normal.read.saturating_mul(count) };
        let fresh =
            if self.splits_done == 0 && self.partitions.len() == self.shape.slices.len() { self.shape.throughput() } else { partitions };
        let warm = self.limits.warm;
        Throughput { write: fresh.write.max(warm.write), read: fresh.read.max(warm.read) }
    }

    /// What each partition did, live ones in the order of their hash ranges, then those that were split. Shares add up to one.
    pub fn tallies(&self) -> Vec<Tally> {
        self.partitions.iter().map(Partition::tally).chain(self.retired.iter().copied()).collect()
    }

    /// Partitions the table has now.
    pub fn partitions(&self) -> usize {
        self.partitions.len()
    }

    /// How long the table has been over-driven in total.
    pub const fn over_demand(&self) -> Duration {
        self.over_demand
    }

    /// Every bucket there is, partitions' and the table's.
    #[cfg(test)]
    pub(super) fn buckets(&self) -> impl Iterator<Item = &Bucket> {
        self.partitions.iter().flat_map(|p| &p.buckets).chain(self.ceilings.iter().flatten().map(|(_, bucket)| bucket))
    }

    fn place_of(&self, key: KeyHash) -> usize {
        // The first range starts at zero, so at least one starts at or before any hash.
        self.partitions.partition_point(|partition| partition.from <= key.0).saturating_sub(1)
    }

    fn charge_at(&mut self, place: usize, kind: Kind, units: Units, now: Duration) -> Admission {
        if self.shape.unlimited {
            return Admission::Accepted;
        }
        let ceilings = &mut self.ceilings[kind.index()];
        for (cause, bucket) in ceilings.iter_mut() {
            bucket.refill(now);
            if !bucket.covers(units) {
                return Admission::Refused { cause: *cause };
            }
        }
        if let Some(partition) = self.partitions.get_mut(place) {
            let bucket = &mut partition.buckets[kind.index()];
            bucket.refill(now);
            if !bucket.covers(units) {
                return Admission::Refused { cause: Cause::KeyRange };
            }
            bucket.take(units);
        }
        for (_, bucket) in ceilings.iter_mut() {
            bucket.take(units);
        }
        Admission::Accepted
    }

    fn raise_ceilings(&mut self, now: Duration) {
        let second = Duration::from_secs(1);
        for kind in Kind::ALL {
            let before = std::mem::take(&mut self.ceilings[kind.index()]);
            let limits = [
                (Cause::Account, Some(self.shape.account.of(kind)), second, second),
                (Cause::Maximum, self.limits.maximum(kind), second, second),
                (
                    Cause::Provisioned,
                    self.limits.provisioned.map(|capacity| capacity.of(kind)),
                    self.shape.provisioned_hold,
                    self.shape.provisioned_start,
                ),
            ];
            for (cause, per_s, hold, start) in limits {
                let Some(per_s) = per_s else { continue };
                let bucket = match before.iter().find(|(earlier, _)| *earlier == cause) {
                    Some((_, earlier)) => {
                        let mut earlier = earlier.clone();
                        earlier.refill(now);
                        Bucket::inheriting(per_s, hold, now, earlier.tokens_nanos())
                    }
                    None => Bucket::full(per_s, hold, now).holding_at_most(start),
                };
                self.ceilings[kind.index()].push((cause, bucket));
            }
        }
    }

    fn note_over_demand(&mut self, now: Duration) {
        let grain = now.as_nanos() / self.shape.grain.as_nanos().max(1);
        if self.last_grain != Some(grain) {
            self.last_grain = Some(grain);
            self.over_demand += self.shape.grain;
        }
        while self.shape.splits.get(self.splits_done).is_some_and(|at| *at <= self.over_demand) {
            self.splits_done += 1;
            self.split_largest(now);
        }
    }

    /// Halves the partition with the largest share; of equals, the one that refused most.
    fn split_largest(&mut self, now: Duration) {
        let largest = self.partitions.iter().enumerate().rev().max_by_key(|(_, partition)| (partition.length, partition.throttled));
        let Some((place, parent)) = largest.filter(|(_, partition)| partition.length >= 2) else { return };
        let children = parent.split(self.shape.normal, self.shape.hold, now);
        self.retired.push(Tally { share: 0.0, ..parent.tally() });
        self.partitions.splice(place..=place, children);
    }
}

/// Partitions side by side over the whole ring, in proportion to their weights.
fn lay_out(slices: &[Slice], hold: Duration, at: Duration) -> Vec<Partition> {
    const RING: u128 = 1 << 64;
    let even = slices.windows(2).all(|pair| pair[0].weight.to_bits() == pair[1].weight.to_bits());
    let total: f64 = slices.iter().map(|slice| slice.weight).sum();
    let mut reached = 0.0;
    let mut from = 0_u128;
    let mut partitions = Vec::with_capacity(slices.len());
    for (place, slice) in slices.iter().enumerate() {
        reached += slice.weight;
        let to = if place + 1 == slices.len() {
            RING
        } else if even {
            RING * (place as u128 + 1) / slices.len() as u128
        } else {
            // Each slice keeps at least one hash, those still to come included.
            ((reached / total * RING as f64) as u128).max(from + 1).min(RING - (slices.len() - place - 1) as u128)
        };
        partitions.push(Partition::new(from as u64, to - from, slice.rates, hold, at));
        from = to;
    }
    partitions
}
