//! Billing, throughput and protection: their members, and UpdateTable.

use std::time::Instant;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::json;

use super::{answer, no_such_table, parse, table_name};
use crate::embedded::answer::{Answer, Problem};
use crate::embedded::endpoint::Endpoint;
use crate::embedded::model::Throughput;
use crate::embedded::table::{Settings, Status};

/// `BillingMode` and `ProvisionedThroughput`.
#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Billing {
    billing_mode: Option<String>,
    provisioned_throughput: Option<Provisioned>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Provisioned {
    read_capacity_units: i64,
    write_capacity_units: i64,
}

/// `OnDemandThroughput`.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Maximums {
    max_read_request_units: Option<i64>,
    max_write_request_units: Option<i64>,
}

/// `WarmThroughput`.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Warm {
    read_units_per_second: Option<i64>,
    write_units_per_second: Option<i64>,
}

fn invalid(what: impl std::fmt::Display) -> Problem {
    Problem::validation(format!("One or more parameter values were invalid: {what}"))
}

/// A capacity of at least one unit that the model can hold.
fn units(value: i64, member: &str) -> Result<u32, Problem> {
    u32::try_from(value).ok().filter(|units| (1..=10_000_000).contains(units)).ok_or_else(|| {
        Problem::validation(format!(
            "1 validation error detected: Value '{value}' at '{member}' failed to satisfy constraint: Member must have value greater than or equal to 1"
        ))
    })
}

/// Provisioned capacity as a new table's billing asks for it.
pub(super) fn provisioned(billing: &Billing) -> Result<Option<Throughput>, Problem> {
    match (billing.billing_mode.as_deref(), &billing.provisioned_throughput) {
        (Some("PAY_PER_REQUEST"), None) => Ok(None),
        (Some("PAY_PER_REQUEST"), Some(_)) => {
            Err(invalid("Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST"))
        }
        (None | Some("PROVISIONED"), Some(provisioned)) => Ok(Some(Throughput {
            write: units(provisioned.write_capacity_units, "provisionedThroughput.writeCapacityUnits")?,
            read: units(provisioned.read_capacity_units, "provisionedThroughput.readCapacityUnits")?,
        })),
        (None | Some("PROVISIONED"), None) => {
            Err(invalid("ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED"))
        }
        (Some(other), _) => Err(Problem::validation(format!(
            "1 validation error detected: Value '{other}' at 'billingMode' failed to satisfy constraint: \
             Member must satisfy enum value set: [PROVISIONED, PAY_PER_REQUEST]"
        ))),
    }
}

impl Maximums {
    /// Sets the maximums that are given; -1 removes one.
    pub(super) fn apply(&self, settings: &mut Settings) -> Result<(), Problem> {
        if settings.provisioned.is_some() {
            return Err(invalid("OnDemandThroughput cannot be specified when BillingMode is PROVISIONED"));
        }
        let maximum = |value: i64, member: &str| if value == -1 { Ok(None) } else { units(value, member).map(Some) };
        if let Some(value) = self.max_write_request_units {
            settings.maximum_write = maximum(value, "onDemandThroughput.maxWriteRequestUnits")?;
        }
        if let Some(value) = self.max_read_request_units {
            settings.maximum_read = maximum(value, "onDemandThroughput.maxReadRequestUnits")?;
        }
        Ok(())
    }
}

impl Warm {
    /// Raises warm throughput above what the table has; lowering it is an error.
    pub(super) fn apply(&self, settings: &mut Settings, has: Throughput) -> Result<(), Problem> {
        for (value, has, target, member) in [
            (self.write_units_per_second, has.write, &mut settings.warm.write, "WriteUnitsPerSecond"),
            (self.read_units_per_second, has.read, &mut settings.warm.read, "ReadUnitsPerSecond"),
        ] {
            let Some(value) = value else { continue };
            let wanted = units(value, member)?;
            if wanted < has {
                return Err(invalid(format!("Requested {member} for WarmThroughput for table is lower than minimum value: {has}")));
            }
            *target = wanted;
        }
        Ok(())
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Request {
    table_name: Option<String>,
    #[serde(flatten)]
    billing: Billing,
    on_demand_throughput: Option<Maximums>,
    warm_throughput: Option<Warm>,
    deletion_protection_enabled: Option<bool>,
    global_secondary_index_updates: Option<Vec<IgnoredAny>>,
    replica_updates: Option<Vec<IgnoredAny>>,
}

pub(in crate::embedded) fn update_table(endpoint: &mut Endpoint, body: &str, now: Instant) -> Result<Answer, Problem> {
    let request: Request = parse(body)?;
    let name = table_name(request.table_name)?;
    let table = endpoint.find(&name, now).ok_or_else(|| no_such_table(&name))?;
    if table.status(now) != Status::Active {
        return Err(Problem::in_use(format!("Attempt to change a resource which is still in use: Table is being changed: {name}")));
    }
    if request.global_secondary_index_updates.is_some() || request.replica_updates.is_some() {
        return Err(Problem::validation("indexes and replicas are not supported by the embedded endpoint; leave their updates out"));
    }
    let mut settings = table.settings.clone();
    let Request { billing, on_demand_throughput, warm_throughput, deletion_protection_enabled, .. } = request;
    let asked = [
        billing.billing_mode.is_some() || billing.provisioned_throughput.is_some(),
        on_demand_throughput.is_some(),
        warm_throughput.is_some(),
        deletion_protection_enabled.is_some(),
    ];
    if asked == [false; 4] {
        return Err(Problem::validation(
            "At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, GlobalSecondaryIndexUpdates or SSESpecification or \
             ReplicaUpdates is required",
        ));
    }
    if asked[0] {
        let to_provisioned = billing.billing_mode.is_none() && settings.provisioned.is_none();
        if to_provisioned {
            return Err(invalid("Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST"));
        }
        settings.provisioned = provisioned(&billing)?;
        if settings.provisioned.is_some() {
            (settings.maximum_write, settings.maximum_read) = (None, None);
        }
    }
    if let Some(maximums) = on_demand_throughput {
        maximums.apply(&mut settings)?;
    }
    if let Some(warm) = warm_throughput {
        warm.apply(&mut settings, table.capacity.warm_throughput())?;
    }
    settings.deletion_protection = deletion_protection_enabled.unwrap_or(settings.deletion_protection);
    table.update(settings, now);
    let table = endpoint.tables.get(&name).ok_or_else(|| no_such_table(&name))?;
    let description = table.describe(now, endpoint.store.size_of(table.id));
    Ok(answer(&json!({"TableDescription": description})))
}
