//! The facts of a session that are not measured by the load engine: what it targets, what it created, what happened.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::load::{Keys, Offset, Op, Rate};

/// Where a session stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Checking the configuration, starting the simulated endpoint.
    #[default]
    Starting,
    /// CreateTable was called; waiting for ACTIVE.
    Creating,
    /// Writing the items that reads will ask for.
    Seeding,
    /// Opening connections.
    Warming,
    /// Load runs.
    Running,
    /// Load is paused: by key, or between the windows of a plan.
    Paused,
    /// The plan has ended; the table stands, no load runs.
    PlanEnded,
    /// Load has stopped; waiting for requests in flight.
    Draining,
    /// Deleting the table and waiting until it is gone.
    Deleting,
    /// Over; nothing is left behind unless the session's stop reason says so.
    Finished,
    /// Over, after an error.
    Failed,
}

impl Phase {
    /// The name used in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Creating => "creating",
            Self::Seeding => "seeding",
            Self::Warming => "warming",
            Self::Running => "running",
            Self::Paused => "paused",
            Self::PlanEnded => "plan_ended",
            Self::Draining => "draining",
            Self::Deleting => "deleting",
            Self::Finished => "finished",
            Self::Failed => "failed",
        }
    }

    /// Whether the session is over.
    pub const fn is_over(self) -> bool {
        matches!(self, Self::Finished | Self::Failed)
    }

    /// Whether requests may be sent or still be in flight.
    pub const fn has_load(self) -> bool {
        matches!(self, Self::Running | Self::Paused | Self::PlanEnded | Self::Draining)
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Why a session stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind", content = "detail")]
pub enum StopReason {
    /// The plan or the asked-for duration ended.
    Completed,
    /// The person quit.
    Quit,
    /// A guard stopped it: which one, in words.
    Guard(String),
    /// A signal, by name: INT, TERM or HUP.
    Signal(String),
    /// It could not go on: why.
    Failed(String),
}

impl StopReason {
    /// One clause for people.
    pub fn in_words(&self) -> String {
        match self {
            Self::Completed => "completed".to_owned(),
            Self::Quit => "quit by key".to_owned(),
            Self::Guard(which) => format!("stopped by a guard: {which}"),
            Self::Signal(name) => format!("interrupted by SIG{name}"),
            Self::Failed(why) => format!("failed: {why}"),
        }
    }
}

/// What kind of endpoint is measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TargetKind {
    /// The simulated endpoint in this process.
    #[default]
    Embedded,
    /// Real DynamoDB.
    Aws,
    /// Another DynamoDB-compatible server.
    Endpoint,
}

impl TargetKind {
    /// The name used on the command line and in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Embedded => "embedded",
            Self::Aws => "aws",
            Self::Endpoint => "endpoint",
        }
    }
}

/// What is fixed when a session starts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SessionFacts {
    /// For example `ts-7f3a09`.
    pub id: String,
    /// The session's zero as RFC 3339 UTC, a whole second.
    pub started_at: String,
    /// Version of the program.
    pub version: String,
    /// `wire` or `sdk`.
    pub client: String,
    /// Most money it may spend in USD, if guarded.
    pub max_cost_usd: Option<f64>,
    /// Most operations it may offer, if guarded.
    pub max_ops: Option<u64>,
    /// Longest it may run in seconds, if guarded.
    pub max_duration_s: Option<f64>,
}

impl SessionFacts {
    /// The client's name where it is not the default one, which needs no mention.
    pub fn unusual_client(&self) -> Option<&str> {
        Some(self.client.as_str()).filter(|client| !matches!(*client, "" | "wire"))
    }
}

/// The command that removes a table by hand; `None` for the simulated endpoint, whose tables end with it.
pub fn removal(kind: TargetKind, table: &str, region: &str, endpoint: &str) -> Option<String> {
    let command = format!("aws dynamodb delete-table --table-name {table} --region {region}");
    match kind {
        TargetKind::Embedded => None,
        TargetKind::Aws => Some(command),
        TargetKind::Endpoint => Some(format!("{command} --endpoint-url {endpoint}")),
    }
}

/// The table and its endpoint.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TargetFacts {
    /// What kind.
    pub kind: TargetKind,
    /// Whether the embedded simulated endpoint answers. Must be shown everywhere.
    pub simulated: bool,
    /// The effective endpoint URL.
    pub endpoint: String,
    /// The region that requests are signed for.
    pub region: String,
    /// The table's name.
    pub table: String,
    /// Whether this session created the table, and so deletes it.
    pub created_by_session: bool,
    /// `on-demand` or `provisioned:W,R`.
    pub billing_mode: String,
    /// WarmThroughput as the service states it: write and read units/s.
    pub warm_throughput: Option<(u64, u64)>,
    /// OnDemandThroughput as the service states it: most write and read units/s.
    #[serde(default)]
    pub max_units: Option<(u64, u64)>,
    /// Items written so far by seeding, and how many it will be, while it goes on.
    #[serde(default)]
    pub seeded: Option<(u64, u64)>,
    /// When CreateTable was called.
    pub create_called: Option<Offset>,
    /// CreateTable call to the first DescribeTable that said ACTIVE, seconds.
    pub time_to_active_s: Option<f64>,
    /// When the table was first seen ACTIVE.
    pub active: Option<Offset>,
    /// Whether DeleteTable was answered with success (or the table was already gone).
    pub deleted: bool,
    /// DeleteTable call to the first answer that said the table is gone, seconds; `None` until confirmed.
    pub delete_confirmed_s: Option<f64>,
}

/// What the load consists of.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkloadFacts {
    /// Operation while steering by hand.
    pub op: Op,
    /// Item size in bytes: names and values.
    pub item_bytes: u32,
    /// Key distribution as typed: `uniform`, `sequential`, `hot`, `zipf:S`.
    pub keys: String,
    /// Whether reads are strongly consistent.
    pub consistent_read: bool,
    /// Items seeded for reads.
    #[serde(default)]
    pub items: Option<u64>,
    /// Request timeout, seconds.
    pub timeout_s: f64,
    /// In-flight cap over all shards.
    pub max_in_flight: u32,
    /// Shard threads.
    pub shards: u32,
    /// Seed of keys.
    pub seed: u64,
    /// Limit of lateness beyond which an intent is shed, seconds.
    pub late_limit_s: f64,
}

/// A plan that runs or ran.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PlanFacts {
    /// Its name.
    pub name: String,
    /// Its windows, in order: label, operation, rate, seconds, and the pause before each in seconds.
    pub windows: Vec<PlannedWindow>,
    /// Which window runs, counted from 0; the number of windows when it has ended.
    pub next: u32,
    /// When its last window ends at the latest; `None` while a search may add windows.
    pub ends: Option<Offset>,
    /// Whether a search decides on further windows.
    #[serde(default)]
    pub searches: bool,
}

/// One window of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedWindow {
    /// Its name.
    pub label: String,
    /// Its operation.
    pub op: Op,
    /// Its offered rate; of a ramp, the rate it starts with.
    pub offered_per_s: Rate,
    /// Its length, or the longest it may take, seconds.
    pub duration_s: f64,
    /// Pause before it, seconds.
    pub pause_s: f64,
    /// The rate it ends with, of a ramp.
    #[serde(default)]
    pub offered_to_per_s: Option<Rate>,
    /// Share of reads, of mixed load.
    #[serde(default)]
    pub read_share: Option<f64>,
    /// Item size where the plan says it, bytes.
    #[serde(default)]
    pub item_bytes: Option<u32>,
    /// Key distribution where the plan says it.
    #[serde(default)]
    pub keys: Option<Keys>,
    /// What ends it before its time, as plans write it.
    #[serde(default)]
    pub until: Option<String>,
}

/// Money, from consumed units and the price table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// USD per million write request units; `None` where the price is not known.
    pub write_usd_per_million: Option<f64>,
    /// USD per million read request units.
    pub read_usd_per_million: Option<f64>,
    /// Spent so far, USD; `None` where the price is not known.
    pub usd: Option<f64>,
}

/// What the simulated endpoint counted of this session's table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TargetLedger {
    /// Data-plane requests served.
    pub accepted: u64,
    /// Data-plane requests refused for capacity.
    pub throttled: u64,
    /// The same by partition, in hash order.
    pub per_partition: Vec<PartitionLedger>,
    /// Whether the endpoint itself ran short of CPU.
    pub saturated: bool,
}

impl TargetLedger {
    /// This ledger without what was counted up to `before`, which seeding did. Where the partitions have changed since,
    /// they are left out: what each did before is no longer known.
    #[must_use]
    pub fn since(mut self, before: &Self) -> Self {
        self.accepted = self.accepted.saturating_sub(before.accepted);
        self.throttled = self.throttled.saturating_sub(before.throttled);
        if self.per_partition.len() == before.per_partition.len() {
            for (now, then) in self.per_partition.iter_mut().zip(&before.per_partition) {
                now.accepted = now.accepted.saturating_sub(then.accepted);
                now.throttled = now.throttled.saturating_sub(then.throttled);
            }
        } else if before.accepted + before.throttled > 0 {
            self.per_partition.clear();
        }
        self
    }
}

/// One partition of the simulated table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PartitionLedger {
    /// Share of the hash range, 0 to 1.
    pub share: f64,
    /// Served.
    pub accepted: u64,
    /// Refused.
    pub throttled: u64,
}

/// What kind of thing happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// The phase changed.
    Phase,
    /// A rate was asked for.
    Requested,
    /// A rate took effect.
    Applied,
    /// A window opened or closed.
    Window,
    /// The first throttle of a window.
    FirstThrottle,
    /// A document was written; the detail is its path.
    Snapshot,
    /// Something the person should read.
    Warning,
    /// Something failed.
    Error,
    /// Anything else worth a line.
    Note,
}

impl EventKind {
    /// The name used in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Phase => "phase",
            Self::Requested => "requested",
            Self::Applied => "applied",
            Self::Window => "window",
            Self::FirstThrottle => "first_throttle",
            Self::Snapshot => "snapshot",
            Self::Warning => "warning",
            Self::Error => "error",
            Self::Note => "note",
        }
    }
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// When.
    pub at: Offset,
    /// What kind.
    pub kind: EventKind,
    /// A sentence or a figure.
    pub detail: String,
}
