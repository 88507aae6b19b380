//! Capacity units, exact to half a unit.

use std::fmt;

/// Bytes that one write unit pays for.
const WRITE_UNIT_BYTES: u64 = 1_024;
/// Bytes that one read unit pays for.
const READ_UNIT_BYTES: u64 = 4_096;

/// Which of the two capacities a request draws on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Write units.
    Write,
    /// Read units.
    Read,
}

impl Kind {
    /// Both kinds, in the order of [`Kind::index`].
    pub const ALL: [Self; 2] = [Self::Write, Self::Read];

    /// Its place in a pair.
    pub(in crate::embedded) const fn index(self) -> usize {
        match self {
            Self::Write => 0,
            Self::Read => 1,
        }
    }
}

/// An amount of capacity, counted in half units because an eventually consistent read costs half a unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Units(u64);

impl Units {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// `units` whole units.
    pub const fn whole(units: u32) -> Self {
        Self(units as u64 * 2)
    }

    /// `halves` half units.
    pub const fn halves(halves: u32) -> Self {
        Self(halves as u64)
    }

    /// What writing an item of this many bytes costs: one unit for each 1,024 bytes begun, at least one.
    pub const fn to_write(bytes: u64) -> Self {
        let units = bytes.div_ceil(WRITE_UNIT_BYTES);
        Self(if units == 0 { 2 } else { units * 2 })
    }

    /// What reading this many bytes costs: one unit for each 4,096 bytes begun, at least one, and half of that when the read is
    /// eventually consistent.
    pub const fn to_read(bytes: u64, consistent: bool) -> Self {
        let units = bytes.div_ceil(READ_UNIT_BYTES);
        let units = if units == 0 { 1 } else { units };
        Self(if consistent { units * 2 } else { units })
    }

    /// As units.
    pub fn units(self) -> f64 {
        self.0 as f64 / 2.0
    }

    /// In billionths of a unit.
    pub(super) const fn nanos(self) -> u128 {
        self.0 as u128 * 500_000_000
    }
}

impl std::ops::AddAssign for Units {
    fn add_assign(&mut self, other: Self) {
        self.0 = self.0.saturating_add(other.0);
    }
}

impl std::iter::Sum for Units {
    fn sum<I: Iterator<Item = Self>>(units: I) -> Self {
        units.fold(Self::ZERO, |mut sum, units| {
            sum += units;
            sum
        })
    }
}

/// As DynamoDB writes it: always with a decimal, `1.0` or `0.5`.
impl fmt::Display for Units {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0 / 2, if self.0.is_multiple_of(2) { '0' } else { '5' })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_rounded_up_and_an_eventually_consistent_read_costs_half() {
        assert_eq!([0, 1, 1_024, 1_025].map(Units::to_write), [1, 1, 1, 2].map(Units::whole));
        assert_eq!([0, 4_096, 4_097].map(|bytes| Units::to_read(bytes, true)), [1, 1, 2].map(Units::whole));
        assert_eq!([0, 4_096, 4_097].map(|bytes| Units::to_read(bytes, false)), [1, 1, 2].map(Units::halves));
        assert_eq!(Units::halves(3).to_string(), "1.5");
        assert_eq!(Units::whole(2).to_string(), "2.0");
    }
}
