//! The plan in a session document, and what the service said of the table.

use serde::{Deserialize, Serialize};

use crate::load::Op;
use crate::report::finite::Finite;

/// The plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Its name.
    pub name: String,
    /// Its windows, those that a search has added included.
    pub windows: Vec<PlannedWindow>,
    /// Windows of it that have ended.
    pub windows_done: u32,
}

/// A window as planned.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedWindow {
    /// Its name.
    pub label: String,
    /// Its operation; of mixed load, `write`.
    pub op: Op,
    /// Its offered rate, operations/s; of a ramp, the rate it starts with.
    pub offered_per_s: Finite,
    /// The rate it ends with, of a ramp.
    #[serde(default)]
    pub offered_to_per_s: Finite,
    /// Share of reads, of mixed load, 0 to 1.
    #[serde(default)]
    pub read_share: Finite,
    /// Its length, or the longest it may take, seconds.
    pub duration_s: Finite,
    /// Pause before it, seconds.
    pub pause_s: Finite,
    /// Item size where the plan says it, bytes.
    #[serde(default)]
    pub item_bytes: Option<u32>,
    /// Key distribution where the plan says it.
    #[serde(default)]
    pub keys: Option<String>,
    /// What ends it before its time, as plans write it.
    #[serde(default)]
    pub until: Option<String>,
}

/// What became of the requests on one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyCounts {
    /// Accepted.
    pub accepted: u64,
    /// Throttled.
    pub throttled: u64,
}

/// What DescribeTable said of the table from one time to another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// When it said so first, seconds.
    pub at_s: Finite,
    /// When it said so last, seconds.
    pub last_s: Finite,
    /// TableStatus.
    pub status: String,
    /// WarmThroughput, null where it is not stated.
    pub warm_throughput: Option<UnitsPerS>,
    /// OnDemandThroughput, null where there is no maximum.
    pub max_units: Option<UnitsPerS>,
    /// `on-demand` or `provisioned:W,R`.
    pub billing_mode: String,
}

/// Write and read units per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnitsPerS {
    /// Write units/s.
    pub write_units_per_s: u64,
    /// Read units/s.
    pub read_units_per_s: u64,
}

impl From<(u64, u64)> for UnitsPerS {
    fn from((write_units_per_s, read_units_per_s): (u64, u64)) -> Self {
        Self { write_units_per_s, read_units_per_s }
    }
}
