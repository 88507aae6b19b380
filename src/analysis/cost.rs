//! Money: what units cost, and what operations may cost at most. A price that is not known is `None`, never a guess.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::load::{Op, Units};

/// Price of throughput in USD per million request units.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Write request units.
    pub write: f64,
    /// Read request units.
    pub read: f64,
}

impl Price {
    /// USD per million units of an operation.
    pub const fn of(self, op: Op) -> f64 {
        match op {
            Op::Write => self.write,
            Op::Read => self.read,
        }
    }
}

/// Prices by region, as shipped.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prices {
    /// Month of the price lists, for example `2026-09`.
    pub as_of: String,
    regions: BTreeMap<String, Price>,
}

static SHIPPED: LazyLock<Prices> = LazyLock::new(|| {
    toml::from_str(include_str!("../../assets/prices.toml")).unwrap_or_else(|_| Prices { as_of: String::new(), regions: BTreeMap::new() })
});

impl Prices {
    /// The shipped price table.
    pub fn shipped() -> &'static Self {
        &SHIPPED
    }

    /// The on-demand price in a region, `None` where it is not known.
    pub fn find(region: &str) -> Option<Price> {
        SHIPPED.regions.get(region).copied()
    }

    /// The regions whose price is known.
    pub fn regions(&self) -> impl Iterator<Item = &str> {
        self.regions.keys().map(String::as_str)
    }
}

/// Units that one operation on an item of this size costs: 1 per started KiB written, 1 per started 4 KiB read with
/// strong consistency, half of that without.
pub fn units_per_request(op: Op, item_bytes: u32, consistent_read: bool) -> f64 {
    match op {
        Op::Write => f64::from(item_bytes.div_ceil(1_024).max(1)),
        Op::Read => f64::from(item_bytes.div_ceil(4_096).max(1)) * if consistent_read { 1.0 } else { 0.5 },
    }
}

/// What consumed units cost, USD.
pub fn usd(units: Units, usd_per_million: f64) -> f64 {
    units.as_f64() / 1e6 * usd_per_million
}

/// What operations cost at most, USD: each of them served, on an item of this size.
pub fn worst_case_usd(operations: u64, op: Op, item_bytes: u32, consistent_read: bool, price: Price) -> f64 {
    operations as f64 * units_per_request(op, item_bytes, consistent_read) / 1e6 * price.of(op)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bill(price: Price) -> f64 {
        // 672,116 writes of one unit and 1.08 million eventually consistent reads of half a unit.
        let writes = usd(Units::from_f64(672_116.0), price.write);
        let reads = usd(Units::from_f64(1_080_000.0 * units_per_request(Op::Read, 1_000, false)), price.read);
        writes + reads
    }

    #[test]
    fn the_published_bill_comes_out_at_the_old_prices_and_half_of_it_today() {
        let published = bill(Price { write: 1.25, read: 0.25 });
        assert!((published - 0.97).abs() < 0.01, "{published}");
        assert_eq!(format!("{:.2}", bill(Prices::find("us-east-1").expect("listed"))), "0.49");
    }

    #[test]
    fn a_region_that_is_not_listed_has_no_price() {
        assert_eq!(Prices::find("eu-north-1"), None);
        assert_eq!(Prices::find(""), None);
        assert_eq!(Prices::find("eu-central-1"), Some(Price { write: 0.7625, read: 0.1525 }));
        assert_eq!(Prices::shipped().regions().count(), 8);
        assert_eq!(Prices::shipped().as_of, "2026-09");
    }

    #[test]
    fn units_follow_the_documented_rounding() {
        for (bytes, write, read) in
            [(0, 1.0, 0.5), (1, 1.0, 0.5), (1_024, 1.0, 0.5), (1_025, 2.0, 0.5), (4_097, 5.0, 1.0), (409_600, 400.0, 50.0)]
        {
            assert!((units_per_request(Op::Write, bytes, false) - write).abs() < 1e-9, "{bytes}");
            assert!((units_per_request(Op::Read, bytes, false) - read).abs() < 1e-9, "{bytes}");
            assert!((units_per_request(Op::Read, bytes, true) - 2.0 * read).abs() < 1e-9, "{bytes}");
        }
    }

    proptest! {
        #[test]
        fn the_worst_case_is_never_below_what_is_consumed(n in 0u64..1_000_000, bytes in 0u32..400_000, strong: bool) {
            let price = Price { write: 0.625, read: 0.125 };
            for op in [Op::Write, Op::Read] {
                let consumed = Units::from_f64(n as f64 * units_per_request(op, bytes, strong));
                prop_assert!(worst_case_usd(n, op, bytes, strong, price) >= usd(consumed, price.of(op)) - 1e-9);
            }
        }
    }
}
