//! What a session is to do, complete and checked: nothing here is optional by accident.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use crate::analysis::cost::Price;
use crate::embedded;
use crate::load::{Keys, Op, Rate};
use crate::plan::Plan;
use crate::report::TargetKind;
use crate::table::{Access, Billing};

/// What is measured.
#[derive(Clone, Debug)]
pub enum TargetChoice {
    /// The simulated endpoint, started by the session.
    Embedded(Box<embedded::Config>),
    /// Something that runs elsewhere.
    Remote(Access),
}

impl TargetChoice {
    /// Its kind, for facts and reports.
    pub const fn kind(&self) -> TargetKind {
        match self {
            Self::Embedded(_) => TargetKind::Embedded,
            Self::Remote(Access::Aws { .. }) => TargetKind::Aws,
            Self::Remote(_) => TargetKind::Endpoint,
        }
    }
}

/// Which data-plane client sends the requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Client {
    /// Lean HTTP, which costs this machine least.
    #[default]
    Wire,
    /// aws-sdk-dynamodb without retries, which is what an application would see.
    Sdk,
}

impl fmt::Display for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Wire => "wire",
            Self::Sdk => "sdk",
        })
    }
}

impl FromStr for Client {
    type Err = String;

    fn from_str(typed: &str) -> Result<Self, Self::Err> {
        match typed {
            "wire" => Ok(Self::Wire),
            "sdk" => Ok(Self::Sdk),
            _ => Err(format!("`{typed}` is not a client; type wire or sdk")),
        }
    }
}

/// Which table is measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TableChoice {
    /// One that the session creates, and deletes again.
    Fresh {
        /// How it is billed.
        billing: Billing,
        /// WarmThroughput asked for: write and read units/s.
        warm: Option<(u32, u32)>,
        /// OnDemandThroughput maximums asked for: write and read units/s.
        max_units: Option<(u32, u32)>,
    },
    /// One that exists; never created, seeded or deleted by the session.
    Existing(String),
}

/// What is offered first.
#[derive(Clone, Debug, PartialEq)]
pub enum Start {
    /// Open-ended at this rate, steered by hand.
    Explore(Rate),
    /// A plan.
    Plan(Box<Plan>),
}

/// Hard ceilings.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Guards {
    /// Operations.
    pub max_ops: Option<u64>,
    /// Money, USD.
    pub max_cost: Option<f64>,
    /// Time from the session's start.
    pub max_duration: Option<Duration>,
}

/// Where results go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// The document; `None` writes it to standard output by whoever runs the session.
    pub document: Option<PathBuf>,
    /// Directory of snapshots.
    pub snapshots: PathBuf,
    /// Whether an existing document may be replaced.
    pub force: bool,
    /// Directory of the journal; `None` keeps none.
    pub journal: Option<PathBuf>,
}

/// Everything a session needs to know.
#[derive(Clone, Debug)]
pub struct SessionConfig {
    /// Its id, for example `ts-7f3a09`.
    pub id: String,
    /// What is measured.
    pub target: TargetChoice,
    /// Which table.
    pub table: TableChoice,
    /// Which client sends the requests.
    pub client: Client,
    /// What is offered first.
    pub start: Start,
    /// Whether the session ends with its plan, as without a screen, or stays for more.
    pub ends_with_plan: bool,
    /// Operation while steering by hand.
    pub op: Op,
    /// Item size in bytes.
    pub item_bytes: u32,
    /// Key distribution.
    pub keys: Keys,
    /// Items seeded for reads.
    pub items: u64,
    /// Whether reads are strongly consistent.
    pub consistent_read: bool,
    /// Seed of keys.
    pub seed: u64,
    /// Shard threads.
    pub shards: u32,
    /// In-flight cap over all shards.
    pub max_in_flight: u32,
    /// Request timeout.
    pub timeout: Duration,
    /// Limit of lateness beyond which an intent is shed.
    pub late_limit: Duration,
    /// Hard ceilings.
    pub guards: Guards,
    /// Price of throughput, where known.
    pub price: Option<Price>,
    /// Where results go.
    pub output: Output,
    /// Panic in a shard after this long, to see the teardown. Debug builds only.
    #[cfg(debug_assertions)]
    pub panic_after: Option<Duration>,
}

impl SessionConfig {
    /// Size of the items that are seeded, bytes: that of the reads.
    pub fn seeded_bytes(&self) -> u32 {
        let planned = if let Start::Plan(plan) = &self.start { plan.seeded_bytes() } else { None };
        planned.unwrap_or(self.item_bytes)
    }
}
