//! The session document, `throttlescope.session/1`: the shape of the file that a session leaves. Units are in the field
//! names, and null stands where there is no data. The JSON Schema is `assets/session.schema.json`.

mod plan;

pub use plan::{Claim, KeyCounts, Plan, PlannedWindow, UnitsPerS};

use serde::{Deserialize, Serialize};

use crate::analysis::{Caveat, VerdictKind};
use crate::load::Op;

use super::facts::{EventKind, Phase, TargetKind};
pub use super::findings::{Failure, SessionVerdict, Step, Throttle};
use super::finite::Finite;
use super::host::Host;

/// Name and version of the layout.
pub const SCHEMA: &str = "throttlescope.session/1";

/// A session, whole or as it stood when the document was written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Document {
    /// [`SCHEMA`].
    pub schema: String,
    /// What wrote it.
    pub tool: Tool,
    /// The session.
    pub session: Session,
    /// The table and its endpoint.
    pub target: Target,
    /// This machine and its way to the endpoint; null where nobody looked.
    #[serde(default)]
    pub host: Option<Host>,
    /// What the load consisted of.
    pub workload: Workload,
    /// The plan that ran last, null when steered by hand.
    pub plan: Option<Plan>,
    /// The ledger of the session.
    pub totals: Totals,
    /// The simulated endpoint's own count, null where there is none.
    pub target_ledger: Option<Ledger>,
    /// Windows in order.
    pub windows: Vec<Window>,
    /// Second by second, in columns.
    pub buckets: Buckets,
    /// Distinct throttle answers, verbatim but for account ids.
    pub throttles: Vec<Throttle>,
    /// Distinct failures.
    pub failures: Vec<Failure>,
    /// Steps of the ceiling, within windows and between them.
    pub steps: Vec<Step>,
    /// Who offered the load.
    pub runners: Vec<Runner>,
    /// What happened, in order.
    pub events: Vec<Event>,
    /// Whose limit was met, and what it rests on.
    pub verdict: SessionVerdict,
}

/// What wrote the document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tool {
    /// `throttlescope`.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its data-plane client: `wire` or `sdk`.
    pub client: String,
}

/// The session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Session {
    /// Its id.
    pub id: String,
    /// The phase it was in.
    pub state: Phase,
    /// RFC 3339 UTC.
    pub started_at: String,
    /// RFC 3339 UTC, null while it runs.
    pub ended_at: Option<String>,
    /// Time since its start, seconds.
    pub elapsed_s: Finite,
    /// Why it stopped, in words; null while it runs.
    pub stop_reason: Option<String>,
}

/// The table and its endpoint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Target {
    /// What kind of endpoint.
    pub kind: TargetKind,
    /// Whether the simulated endpoint answered.
    pub simulated: bool,
    /// Its effective URL.
    pub endpoint: String,
    /// Region that requests were signed for.
    pub region: String,
    /// The table.
    pub table: String,
    /// Whether this session created it, and so deletes it.
    pub created_by_session: bool,
    /// `on-demand` or `provisioned:W,R`.
    pub billing_mode: String,
    /// As the service stated it.
    pub warm_throughput: Option<UnitsPerS>,
    /// OnDemandThroughput maximums as the service stated them, null where there are none.
    #[serde(default)]
    pub max_units: Option<UnitsPerS>,
    /// What DescribeTable said, from the first answer to the last.
    #[serde(default)]
    pub claims: Vec<Claim>,
    /// CreateTable call to the first DescribeTable that said ACTIVE, seconds.
    pub time_to_active_s: Finite,
    /// First ACTIVE to the first accepted request, seconds.
    pub active_to_first_accepted_s: Finite,
    /// Whether DeleteTable was answered with success.
    pub deleted: bool,
    /// DeleteTable call to the first answer that said the table is gone, seconds; null until confirmed.
    pub delete_confirmed_s: Finite,
}

/// What the load consisted of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    /// Operation while steered by hand.
    pub op: Op,
    /// Item size: names and values, bytes.
    pub item_bytes: u32,
    /// Key distribution.
    pub keys: String,
    /// Whether reads were strongly consistent.
    pub consistent_read: bool,
    /// Items seeded for reads, where any were to be.
    #[serde(default)]
    pub items: Option<u64>,
    /// Request timeout, seconds.
    pub timeout_s: Finite,
    /// In-flight cap.
    pub max_in_flight: u32,
    /// Shard threads.
    pub shards: u32,
    /// Seed of keys.
    pub seed: u64,
}

/// A ledger: `offered = accepted + throttled + failed + timed_out + shed + in_flight`, `sent = offered - shed`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Intents that came due.
    pub offered: u64,
    /// Those that were sent.
    pub sent: u64,
    /// Answered with success.
    pub accepted: u64,
    /// Refused for capacity.
    pub throttled: u64,
    /// Any other error.
    pub failed: u64,
    /// No answer in time.
    pub timed_out: u64,
    /// Due but not sent.
    pub shed: u64,
    /// Without an outcome yet.
    pub in_flight: u64,
}

/// The ledger of the session, and what it cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Totals {
    /// The ledger.
    #[serde(flatten)]
    pub counts: Counts,
    /// Capacity the service said was consumed, units.
    pub consumed_units: Finite,
    /// USD, null where the price is not known.
    pub cost_usd: Finite,
}

/// The simulated endpoint's own count.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ledger {
    /// Served.
    pub accepted: u64,
    /// Refused.
    pub throttled: u64,
    /// By partition, in hash order.
    pub per_partition: Vec<PartitionLedger>,
}

/// One partition's count.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PartitionLedger {
    /// Share of the hash range, 0 to 1.
    pub share: Finite,
    /// Served.
    pub accepted: u64,
    /// Refused.
    pub throttled: u64,
}

/// A window and what it shows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Window {
    /// Its number.
    pub index: u32,
    /// Its name.
    pub label: String,
    /// Its operation.
    pub op: Op,
    /// Its offered rate, operations/s; of a ramp, the rate it starts with; null where it consists of several.
    pub offered_per_s: Finite,
    /// The rate it ends with, of a ramp.
    #[serde(default)]
    pub offered_to_per_s: Finite,
    /// Index of the window that offered the other part of mixed load at the same time.
    #[serde(default)]
    pub beside: Option<u32>,
    /// Item size where it is the window's own, bytes; else the workload's.
    #[serde(default)]
    pub item_bytes: Option<u32>,
    /// Key distribution where it is the window's own; else the workload's.
    #[serde(default)]
    pub keys: Option<String>,
    /// Its start, seconds from the session's.
    pub start_s: Finite,
    /// Its length, or what has passed of it, seconds.
    pub duration_s: Finite,
    /// Its ledger.
    #[serde(flatten)]
    pub counts: Counts,
    /// Capacity the service said was consumed, units.
    #[serde(default)]
    pub consumed_units: Finite,
    /// Outcomes on the key that was asked for most, null where the key distribution has no such key.
    #[serde(default)]
    pub hottest_key: Option<KeyCounts>,
    /// Mean accepted rate over all of it, requests/s.
    pub accepted_per_s: Finite,
    /// The same in capacity units/s, as the service stated them, else by its documented rule.
    #[serde(default)]
    pub accepted_units_per_s: Finite,
    /// Saturated ceiling, requests/s.
    pub sustained_per_s: Finite,
    /// The same in capacity units/s.
    #[serde(default)]
    pub sustained_units_per_s: Finite,
    /// Its 95 % interval.
    pub sustained_ci95_per_s: Option<[Finite; 2]>,
    /// Start of the steady part, seconds from the window's start.
    pub steady_from_s: Finite,
    /// Units accepted above the ceiling; null where the burst had not refilled before the window.
    pub burst_units: Finite,
    /// The same whether or not it had.
    #[serde(default)]
    pub above_ceiling_units: Finite,
    /// Sending of the first request that was throttled, seconds from the window's start.
    pub first_throttle_s: Finite,
    /// Latencies.
    pub latency_ms: Latencies,
    /// The same in full, HdrHistogram V2, deflated, base64, in microseconds; null where nothing was recorded.
    pub histograms_v2_base64: Histograms,
    /// How the client did.
    pub client: Client,
    /// Whose limit.
    pub verdict: VerdictKind,
    /// Sentences with figures.
    pub evidence: Vec<String>,
    /// Reasons to distrust.
    pub caveats: Vec<Caveat>,
}

/// Latencies by outcome, milliseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Latencies {
    /// Of accepted requests.
    pub accepted: BothLatencies,
    /// Of throttled requests.
    pub throttled: BothLatencies,
    /// Of all that completed, failed and timed-out ones included.
    pub all: BothLatencies,
}

/// Latencies from sending and from the intended instant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BothLatencies {
    /// `done - sent`.
    pub service: Figures,
    /// `done - intended`: free of coordinated omission.
    pub response: Figures,
}

/// Figures of a distribution.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Median.
    pub p50: Finite,
    /// 90th percentile.
    pub p90: Finite,
    /// 99th percentile.
    pub p99: Finite,
    /// 99.9th percentile.
    pub p999: Finite,
    /// Largest.
    pub max: Finite,
    /// Values.
    pub count: u64,
}

/// Full distributions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Histograms {
    /// Service latency of accepted requests.
    pub service_accepted: Option<String>,
    /// Service latency of throttled requests.
    pub service_throttled: Option<String>,
    /// Service latency of failed and timed-out requests.
    pub service_other: Option<String>,
    /// Response latency of accepted requests.
    pub response_accepted: Option<String>,
    /// Response latency of throttled requests.
    pub response_throttled: Option<String>,
    /// Response latency of failed and timed-out requests.
    pub response_other: Option<String>,
}

/// How the client did in a window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Client {
    /// `sent - intended`.
    pub schedule_error_ms: ScheduleError,
    /// CPU cores its threads used.
    pub cpu_cores: Finite,
    /// CPU cores its busiest thread used, 0 to 1.
    pub busiest_thread_cores: Finite,
    /// Share of the time in which the thread that waited most for a core had none, 0 to 1.
    pub waited_for_core: Finite,
    /// Requests that failed in this machine's own limits.
    pub failed_here: u64,
    /// Most requests in flight.
    pub in_flight_max: u32,
    /// Connections opened; 0 with the client `sdk`, which does not tell.
    pub connections_opened: u64,
}

/// `sent - intended`, milliseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScheduleError {
    /// Median.
    pub p50: Finite,
    /// 99th percentile.
    pub p99: Finite,
    /// Largest.
    pub max: Finite,
}

/// Second by second, in columns of equal length. Old seconds of long sessions are joined: `span_s` says how many.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Buckets {
    /// Length of a bucket, seconds.
    pub interval_s: u32,
    /// Starts, seconds.
    pub start_s: Vec<Finite>,
    /// Seconds that each covers.
    pub span_s: Vec<u32>,
    /// Index of the window that offered last in it.
    pub window: Vec<Option<u32>>,
    /// Intents that came due.
    pub offered: Vec<u64>,
    /// Successes that arrived.
    pub accepted: Vec<u64>,
    /// Refusals that arrived.
    pub throttled: Vec<u64>,
    /// Failures that arrived.
    pub failed: Vec<u64>,
    /// Timeouts that fell due.
    pub timed_out: Vec<u64>,
    /// Intents shed.
    pub shed: Vec<u64>,
    /// In flight at the end.
    pub in_flight: Vec<u32>,
    /// Median service latency of accepted requests, milliseconds; the larger one where seconds were joined.
    pub p50_ms: Vec<Finite>,
    /// 99th percentile of the same.
    pub p99_ms: Vec<Finite>,
    /// Median response latency of accepted requests.
    pub response_p50_ms: Vec<Finite>,
    /// 99th percentile of the same.
    pub response_p99_ms: Vec<Finite>,
}

/// Who offered load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Runner {
    /// Its id.
    pub id: String,
    /// What it is.
    pub kind: String,
    /// How much later than planned it started, milliseconds.
    pub start_skew_ms: Finite,
    /// How far its clock is off, milliseconds.
    pub clock_offset_ms: Finite,
    /// Its ledger.
    #[serde(flatten)]
    pub counts: Counts,
    /// Whose limit it met.
    pub verdict: VerdictKind,
    /// When it was last heard, seconds; null before.
    pub last_heard_s: Finite,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// When, seconds.
    pub at_s: Finite,
    /// What kind.
    pub kind: EventKind,
    /// A sentence or a figure.
    pub detail: String,
}
