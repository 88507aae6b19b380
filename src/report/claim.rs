//! What the service itself says that the table can do: DescribeTable, asked again and again.

use serde::{Deserialize, Serialize};

use crate::load::Offset;

/// One answer of DescribeTable.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// When it was first given.
    pub at: Offset,
    /// When it was given last, the same each time between.
    pub last: Offset,
    /// TableStatus, for example `ACTIVE`.
    pub status: String,
    /// WarmThroughput: write and read units/s; `None` where the service does not state it.
    pub warm_throughput: Option<(u64, u64)>,
    /// OnDemandThroughput: most write and read units/s; `None` where there is no maximum.
    pub max_units: Option<(u64, u64)>,
    /// `on-demand` or `provisioned:W,R`.
    pub billing_mode: String,
}

impl Claim {
    /// Whether both say the same of the table.
    pub fn says_the_same(&self, other: &Self) -> bool {
        (&self.status, self.warm_throughput, self.max_units, &self.billing_mode)
            == (&other.status, other.warm_throughput, other.max_units, &other.billing_mode)
    }
}

/// Claims kept; the service's word changes a few times an hour at most.
const KEPT: usize = 1_000;

/// Adds a claim: one that repeats the last extends it.
pub(super) fn add(claims: &mut Vec<Claim>, claim: &Claim) {
    let has_room = claims.len() < KEPT;
    match claims.last_mut() {
        Some(last) if last.says_the_same(claim) => last.last = last.last.max(claim.last),
        _ if has_room => claims.push(claim.clone()),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_that_repeats_the_last_extends_it() {
        let claim = |secs, units| Claim {
            at: Offset::from_secs(secs),
            last: Offset::from_secs(secs),
            warm_throughput: Some((units, 12_000)),
            ..Claim::default()
        };
        let mut claims = Vec::new();
        for one in [claim(0, 4_000), claim(15, 4_000), claim(30, 5_000), claim(45, 5_000)] {
            add(&mut claims, &one);
        }
        assert_eq!(claims.iter().map(|c| (c.at.secs(), c.last.secs())).collect::<Vec<_>>(), [(0.0, 15.0), (30.0, 45.0)]);
    }
}
