//! A simulated table: its life, its settings and its description.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::{Duration, Instant, SystemTime};

use serde_json::{Value as Json, json};

use super::fault::{Fault, Trouble};
use super::latency::Punctuality;
use super::model::{Capacity, Limits, Shape, Throughput};
use super::random::Random;
use super::refusal::Refusals;
use super::store::TableId;
use super::value::Schema;

/// How long the stages of a table's life take, the time scale applied.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timing {
    pub(super) activation: Duration,
    pub(super) deletion: Duration,
    pub(super) updating: Duration,
}

/// Where a table is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    Creating,
    Active,
    Updating,
    Deleting,
    Gone,
}

impl Status {
    const fn name(self) -> &'static str {
        match self {
            Self::Creating => "CREATING",
            Self::Active => "ACTIVE",
            Self::Updating => "UPDATING",
            Self::Deleting | Self::Gone => "DELETING",
        }
    }
}

/// What CreateTable and UpdateTable set.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    /// Write and read units per second of a provisioned table; `None` when it is on-demand.
    pub(super) provisioned: Option<Throughput>,
    pub(super) maximum_write: Option<u32>,
    pub(super) maximum_read: Option<u32>,
    pub(super) warm: Throughput,
    pub(super) deletion_protection: bool,
}

#[derive(Debug)]
pub(super) struct Table {
    pub(super) id: TableId,
    pub(super) name: String,
    pub(super) arn: String,
    pub(super) schema: Schema,
    pub(super) settings: Settings,
    pub(super) tags: BTreeMap<String, String>,
    pub(super) capacity: Capacity,
    pub(super) refusals: Refusals,
    pub(super) punctuality: Rc<Punctuality>,
    /// Provisioned capacity that the profile gives to every table.
    imposed: Option<Throughput>,
    timing: Timing,
    created: Instant,
    created_at: f64,
    uuid: String,
    updated: Option<Instant>,
    deleted: Option<Instant>,
}

/// What the endpoint knows when it makes a table.
pub(super) struct Birth<'e> {
    pub(super) id: TableId,
    pub(super) region: &'e str,
    pub(super) shape: Shape,
    pub(super) imposed: Option<Throughput>,
    pub(super) timing: Timing,
    pub(super) now: Instant,
    pub(super) uuid: String,
}

impl Table {
    pub(super) fn new(name: &str, schema: Schema, settings: Settings, tags: BTreeMap<String, String>, birth: Birth<'_>) -> Self {
        let arn = format!("arn:aws:dynamodb:{}:000000000000:table/{name}", birth.region);
        let limits = limits(&settings, birth.imposed);
        Self {
            id: birth.id,
            name: name.to_owned(),
            refusals: Refusals::new(&arn, limits.provisioned.is_some()),
            arn,
            schema,
            settings,
            tags,
            capacity: Capacity::new(birth.shape, limits),
            punctuality: Rc::new(Punctuality::new(birth.now)),
            imposed: birth.imposed,
            timing: birth.timing,
            created: birth.now,
            created_at: SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_millis() as f64 / 1e3,
            uuid: birth.uuid,
            updated: None,
            deleted: None,
        }
    }

    pub(super) fn status(&self, now: Instant) -> Status {
        let passed = |since: Instant, span: Duration| now.saturating_duration_since(since) >= span;
        match (self.deleted, self.updated) {
            (Some(deleted), _) if passed(deleted, self.timing.deletion) => Status::Gone,
            (Some(_), _) => Status::Deleting,
            _ if !passed(self.created, self.timing.activation) => Status::Creating,
            (None, Some(updated)) if !passed(updated, self.timing.updating) => Status::Updating,
            _ => Status::Active,
        }
    }

    /// Time since its creation: the clock of its capacity model.
    pub(super) fn age(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.created)
    }

    pub(super) fn delete(&mut self, now: Instant) {
        self.deleted.get_or_insert(now);
    }

    pub(super) fn update(&mut self, settings: Settings, now: Instant) {
        let age = self.age(now);
        let limits = limits(&settings, self.imposed);
        if limits != *self.capacity.limits() {
            self.capacity.set_limits(limits, age);
            self.refusals = Refusals::new(&self.arn, limits.provisioned.is_some());
        }
        self.settings = settings;
        self.updated = Some(now);
    }

    /// The fault that befalls a request now: what happens, and for a delay or a stall how much longer the answer takes.
    pub(super) fn trouble(&self, faults: &[Fault], random: &mut Random, now: Instant) -> (Option<Trouble>, Duration) {
        let Some(since_active) = self.age(now).checked_sub(self.timing.activation) else { return (None, Duration::ZERO) };
        let mut delay = Duration::ZERO;
        for fault in faults.iter().filter(|fault| fault.covers(since_active)) {
            if fault.share < 1.0 && random.unit() >= fault.share {
                continue;
            }
            match fault.trouble {
                Trouble::Delay(span) => delay += span,
                Trouble::Stall => delay = delay.max(fault.to.saturating_sub(since_active)),
                other => return (Some(other), delay),
            }
        }
        (None, delay)
    }

    /// As DescribeTable and its kin give it. `items`: how many are remembered, and their bytes.
    pub(super) fn describe(&self, now: Instant, items: (usize, u64)) -> Json {
        let status = self.status(now);
        let keys = std::iter::once((&self.schema.partition, "HASH")).chain(self.schema.sort.iter().map(|sort| (sort, "RANGE")));
        let (mut attributes, mut schema) = (Vec::new(), Vec::new());
        for ((name, kind), role) in keys {
            attributes.push(json!({"AttributeName": name, "AttributeType": kind.name()}));
            schema.push(json!({"AttributeName": name, "KeyType": role}));
        }
        let provisioned = self.settings.provisioned.unwrap_or_default();
        let mut description = json!({
            "AttributeDefinitions": attributes,
            "TableName": self.name,
            "KeySchema": schema,
            "TableStatus": status.name(),
            "CreationDateTime": self.created_at,
            "ProvisionedThroughput": {
                "NumberOfDecreasesToday": 0,
                "ReadCapacityUnits": provisioned.read,
                "WriteCapacityUnits": provisioned.write,
            },
            "TableSizeBytes": items.1,
            "ItemCount": items.0,
            "TableArn": self.arn,
            "TableId": self.uuid,
        });
        let settled = !matches!(status, Status::Creating | Status::Deleting | Status::Gone);
        if self.settings.provisioned.is_none() {
            description["BillingModeSummary"] = json!({"BillingMode": "PAY_PER_REQUEST"});
            if settled {
                let active_at = self.created_at + self.timing.activation.as_secs_f64();
                description["BillingModeSummary"]["LastUpdateToPayPerRequestDateTime"] = json!((active_at * 1e3).round() / 1e3);
            }
        }
        if self.settings.maximum_write.is_some() || self.settings.maximum_read.is_some() {
            let shown = |maximum: Option<u32>| maximum.map_or(-1, i64::from);
            description["OnDemandThroughput"] = json!({
                "MaxReadRequestUnits": shown(self.settings.maximum_read),
                "MaxWriteRequestUnits": shown(self.settings.maximum_write),
            });
        }
        if settled {
            let warm = self.capacity.warm_throughput();
            description["WarmThroughput"] =
                json!({"ReadUnitsPerSecond": warm.read, "WriteUnitsPerSecond": warm.write, "Status": status.name()});
            description["DeletionProtectionEnabled"] = json!(self.settings.deletion_protection);
        }
        description
    }

    /// What it served and refused so far.
    pub(super) fn ledger(&self) -> Json {
        let tallies = self.capacity.tallies();
        json!({
            "accepted": tallies.iter().map(|tally| tally.accepted).sum::<u64>(),
            "throttled": tallies.iter().map(|tally| tally.throttled).sum::<u64>(),
            "per_partition": tallies
                .iter()
                .map(|tally| json!({"share": tally.share, "accepted": tally.accepted, "throttled": tally.throttled}))
                .collect::<Vec<_>>(),
            "saturated": self.punctuality.saturated(),
        })
    }
}

fn limits(settings: &Settings, imposed: Option<Throughput>) -> Limits {
    Limits {
        provisioned: settings.provisioned.or(imposed),
        maximum_write: settings.maximum_write,
        maximum_read: settings.maximum_read,
        warm: settings.warm,
    }
}
