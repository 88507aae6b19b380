//! The life of a table: created, ACTIVE, deleted, gone. Every wait is bounded.

use std::time::Duration;

use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, KeySchemaElement, KeyType, OnDemandThroughput, ProvisionedThroughput, ScalarAttributeType,
    TableDescription, TableStatus, Tag, WarmThroughput,
};
use tokio::time::{Instant, sleep};

use super::access::Control;
use super::error::TableError;
use super::spec::{Billing, TableSpec};
use crate::load::workload::KEY_NAME;

/// DescribeTable is asked this often: time to ACTIVE is known to a quarter of a second.
const POLL: Duration = Duration::from_millis(250);
/// A table that is not ACTIVE by then is given up.
const ACTIVE_TIMEOUT: Duration = Duration::from_secs(180);
/// Deleting, and confirming it, may take this long.
const DELETE_TIMEOUT: Duration = Duration::from_secs(120);

/// An endpoint that has not answered sensibly for this long is taken for gone.
const UNREACHED_TIMEOUT: Duration = Duration::from_secs(30);

/// A table that became ACTIVE.
#[derive(Clone, Debug, PartialEq)]
pub struct Activated {
    /// CreateTable call to the first DescribeTable that said ACTIVE.
    pub took: Duration,
    /// What DescribeTable said.
    pub table: Described,
}

/// What DescribeTable says of a table, as far as a session needs it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Described {
    /// CREATING, ACTIVE, ...
    pub status: String,
    /// WarmThroughput: write and read units/s.
    pub warm_throughput: Option<(u64, u64)>,
    /// OnDemandThroughput: most write and read units/s; `None` where there is no maximum.
    pub max_units: Option<(u64, u64)>,
    /// `on-demand` or `provisioned:W,R`.
    pub billing: String,
    /// Partition key attribute, and whether there is a sort key.
    pub key: Option<(String, bool)>,
}

impl Control {
    /// Calls CreateTable. When it errs, the table may still exist: the answer may have been lost.
    pub async fn create(&self, spec: &TableSpec) -> Result<(), TableError> {
        let tag = Tag::builder().key("throttlescope:session").value(&spec.session).build();
        let attribute = AttributeDefinition::builder().attribute_name(KEY_NAME).attribute_type(ScalarAttributeType::S).build();
        let key = KeySchemaElement::builder().attribute_name(KEY_NAME).key_type(KeyType::Hash).build();
        let mut call = self.client.create_table().table_name(&spec.name).set_attribute_definitions(attribute.ok().map(|a| vec![a]));
        call = call.set_key_schema(key.ok().map(|k| vec![k])).set_tags(tag.ok().map(|t| vec![t]));
        call = match spec.billing {
            Billing::OnDemand => call.billing_mode(BillingMode::PayPerRequest),
            Billing::Provisioned { write, read } => {
                let units =
                    ProvisionedThroughput::builder().write_capacity_units(i64::from(write)).read_capacity_units(i64::from(read)).build();
                call.billing_mode(BillingMode::Provisioned).set_provisioned_throughput(units.ok())
            }
        };
        if let Some((write, read)) = spec.warm {
            call = call.warm_throughput(
                WarmThroughput::builder().write_units_per_second(i64::from(write)).read_units_per_second(i64::from(read)).build(),
            );
        }
        if let Some((write, read)) = spec.max_units {
            call = call.on_demand_throughput(
                OnDemandThroughput::builder().max_write_request_units(i64::from(write)).max_read_request_units(i64::from(read)).build(),
            );
        }
        call.send().await.map(|_| ()).map_err(|e| TableError::of(&e, "CreateTable", self.endpoint()))
    }

    /// Asks DescribeTable until it says ACTIVE. `created` is when CreateTable was called.
    pub async fn wait_active(&self, name: &str, created: Instant) -> Result<Activated, TableError> {
        let mut last_error = None;
        while created.elapsed() < ACTIVE_TIMEOUT {
            match self.describe(name).await {
                Ok(Some(table)) if table.status == TableStatus::Active.as_str() => {
                    return Ok(Activated { took: created.elapsed(), table });
                }
                // Not found right after CreateTable is normal, and a failed poll is asked again.
                Ok(_) => last_error = None,
                Err(TableError::Refused { what, code, message }) if code == "AccessDeniedException" => {
                    return Err(TableError::Refused { what, code, message });
                }
                Err(error) => last_error = Some(error),
            }
            sleep(POLL).await;
        }
        Err(last_error.unwrap_or(TableError::TooLong { what: "waiting for ACTIVE", seconds: ACTIVE_TIMEOUT.as_secs() }))
    }

    /// What DescribeTable says; `None` when there is no such table.
    pub async fn describe(&self, name: &str) -> Result<Option<Described>, TableError> {
        match self.client.describe_table().table_name(name).send().await {
            Ok(answer) => Ok(Some(answer.table().map(described).unwrap_or_default())),
            Err(error) => match TableError::of(&error, "DescribeTable", self.endpoint()) {
                error if error.code() == Some("ResourceNotFoundException") => Ok(None),
                error => Err(error),
            },
        }
    }

    /// Deletes a table and waits until DescribeTable says that it is gone. Returns how long that took, from the first
    /// DeleteTable call. `deleted` is called once DeleteTable was answered with success, or the table was not there. For
    /// `may_appear` a table that is not there is asked for again: its creation may still be under way.
    pub async fn delete(&self, name: &str, may_appear: Duration, mut deleted: impl FnMut()) -> Result<Duration, TableError> {
        let start = Instant::now();
        let mut patience = Patience::new(start);
        loop {
            match self.client.delete_table().table_name(name).send().await {
                Ok(_) => break,
                Err(error) => match TableError::of(&error, "DeleteTable", self.endpoint()) {
                    error if error.code() == Some("ResourceNotFoundException") => {
                        if start.elapsed() >= may_appear {
                            break;
                        }
                    }
                    // Still being created or changed, throttled, or not reached: asked again.
                    error => patience.bear(error)?,
                },
            }
            sleep(POLL * 2).await;
        }
        deleted();
        let mut patience = Patience::new(start);
        loop {
            match self.describe(name).await {
                Ok(None) => return Ok(start.elapsed()),
                Ok(Some(_)) if start.elapsed() >= DELETE_TIMEOUT => {
                    return Err(TableError::TooLong { what: "confirming the deletion", seconds: DELETE_TIMEOUT.as_secs() });
                }
                Ok(Some(_)) => patience = Patience::new(start),
                Err(error) => patience.bear(error)?,
            }
            sleep(POLL).await;
        }
    }
}

/// How long errors are borne that may pass by themselves.
struct Patience {
    start: Instant,
    unreached_since: Option<Instant>,
}

impl Patience {
    fn new(start: Instant) -> Self {
        Self { start, unreached_since: None }
    }

    /// Gives the error back when it will not pass, or has not passed for too long.
    fn bear(&mut self, error: TableError) -> Result<(), TableError> {
        let answered = matches!(error, TableError::Refused { .. });
        let since = *self.unreached_since.get_or_insert_with(Instant::now);
        if answered {
            self.unreached_since = None;
        }
        let unreached = !answered && since.elapsed() >= UNREACHED_TIMEOUT;
        if !may_pass(&error) || unreached || self.start.elapsed() >= DELETE_TIMEOUT { Err(error) } else { Ok(()) }
    }
}

/// Whether an error of a delete or of its confirmation may pass by itself.
fn may_pass(error: &TableError) -> bool {
    match error {
        TableError::Refused { code, .. } => {
            matches!(
                code.as_str(),
                "ResourceInUseException"
                    | "LimitExceededException"
                    | "ThrottlingException"
                    | "InternalServerError"
                    | "ServiceUnavailable"
                    | "RequestLimitExceeded"
            )
        }
        TableError::Unreachable { .. } | TableError::NotDynamoDb { .. } => true,
        _ => false,
    }
}

fn described(table: &TableDescription) -> Described {
    let units = |n: Option<i64>| n.and_then(|n| u64::try_from(n).ok());
    let warm = table.warm_throughput().and_then(|warm| Some((units(warm.write_units_per_second())?, units(warm.read_units_per_second())?)));
    // -1, and nothing, stand for no maximum.
    let most =
        table.on_demand_throughput().and_then(|most| Some((units(most.max_write_request_units())?, units(most.max_read_request_units())?)));
    let on_demand = table.billing_mode_summary().and_then(|summary| summary.billing_mode()) == Some(&BillingMode::PayPerRequest);
    let billing = match table.provisioned_throughput() {
        Some(provisioned) if !on_demand => {
            format!("provisioned:{},{}", provisioned.write_capacity_units().unwrap_or(0), provisioned.read_capacity_units().unwrap_or(0))
        }
        _ => "on-demand".to_owned(),
    };
    let partition = table.key_schema().iter().find(|key| key.key_type() == &KeyType::Hash);
    let sorted = table.key_schema().iter().any(|key| key.key_type() == &KeyType::Range);
    Described {
        status: table.table_status().map(|status| status.as_str().to_owned()).unwrap_or_default(),
        warm_throughput: warm,
        max_units: most,
        billing,
        key: partition.map(|key| (key.attribute_name().to_owned(), sorted)),
    }
}
