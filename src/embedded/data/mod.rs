//! The data plane: items written and read, each paid for by the capacity of its table.

mod batch_read;
mod batch_write;
mod consumed;
mod query;
mod read;
mod update;
mod write;

use std::time::Instant;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::answer::{Answer, Problem};
use super::endpoint::{Ending, Pace};
use super::expression::Condition;
use super::model::{Admission, Kind, Units};
use super::table::Table;
use super::value::{Item, Key, Text};

pub(super) use batch_read::batch_get_item;
pub(super) use batch_write::batch_write_item;
use consumed::Consumed;
pub(super) use query::query;
pub(super) use read::get_item;
pub(super) use update::update_item;
pub(super) use write::{delete_item, put_item};

/// The largest item, in bytes.
const LARGEST_ITEM: u64 = 400 * 1_024;

/// How an operation ends: an answer and its pace, or whatever came in between.
type Ended = Result<(Answer, Pace), Ending>;

fn parse<'b, T: Deserialize<'b>>(body: &'b str) -> Result<T, Problem> {
    serde_json::from_str(body).map_err(|error| Problem::serialization(error.to_string()))
}

fn stored_item(json: &str) -> Result<Item<'_>, Problem> {
    serde_json::from_str(json).map_err(|error| Problem::internal(format!("a remembered item cannot be read: {error}")))
}

fn to_json(item: &Item<'_>) -> Result<String, Problem> {
    serde_json::to_string(item).map_err(|error| Problem::internal(error.to_string()))
}

fn required<T>(member: Option<T>, name: &str) -> Result<T, Problem> {
    member.ok_or_else(|| {
        Problem::validation(format!(
            "1 validation error detected: Value null at '{name}' failed to satisfy constraint: Member must not be null"
        ))
    })
}

fn table_name<'t>(name: Option<&'t Text<'_>>) -> Result<&'t str, Problem> {
    let name: &str = required(name, "tableName")?;
    if (3..=255).contains(&name.len()) {
        Ok(name)
    } else {
        Err(Problem::validation("TableName must be at least 3 characters long and at most 255 characters long"))
    }
}

/// Members of the protocol before expressions, which this endpoint does not read.
fn no_legacy(members: &[(&str, &Option<IgnoredAny>)]) -> Result<(), Problem> {
    match members.iter().find(|(_, member)| member.is_some()) {
        Some((name, _)) => Err(Problem::validation(format!("{name} is not supported by the embedded endpoint; use an expression instead"))),
        None => Ok(()),
    }
}

fn check_size(bytes: u64) -> Result<(), Problem> {
    if bytes <= LARGEST_ITEM { Ok(()) } else { Err(Problem::validation("Item size has exceeded the maximum allowed size")) }
}

/// Whether an optional condition holds for the item as it was.
fn condition_holds(condition: Option<&Condition<'_>>, before: Option<&str>) -> Result<bool, Problem> {
    let Some(condition) = condition else { return Ok(true) };
    Ok(match before {
        Some(json) => condition.holds(&stored_item(json)?),
        None => condition.holds(&Item::default()),
    })
}

/// Pays for a request that will be answered with success.
fn admit(table: &mut Table, key: &Key, kind: Kind, units: Units, now: Instant) -> Result<(), Ending> {
    let admission = table.capacity.admit(key.hash, kind, units, table.age(now));
    refused(table, kind, admission)
}

/// Pays for a write whose condition does not hold, and says so.
fn fail_condition(table: &mut Table, key: &Key, units: Units, item: Option<&str>, now: Instant) -> Ending {
    let admission = table.capacity.charge(key.hash, Kind::Write, units, table.age(now));
    match refused(table, Kind::Write, admission) {
        Ok(()) => Problem::condition_failed(item).into(),
        Err(ending) => ending,
    }
}

fn refused(table: &Table, kind: Kind, admission: Admission) -> Result<(), Ending> {
    match admission {
        Admission::Accepted => Ok(()),
        Admission::Refused { cause } => Err(Ending::Answer(table.refusals.of(kind, cause), Pace::Refused)),
    }
}

/// A success with those of the members that are there.
#[expect(clippy::unnecessary_wraps, reason = "it is how every operation ends")]
fn accepted(kind: Kind, members: &[(&str, Option<String>)]) -> Ended {
    let mut body = String::with_capacity(
        2 + members.iter().filter_map(|(name, json)| json.as_ref().map(|json| name.len() + json.len() + 4)).sum::<usize>(),
    );
    body.push('{');
    for (name, json) in members {
        if let Some(json) = json {
            if body.len() > 1 {
                body.push(',');
            }
            body.push('"');
            body.push_str(name);
            body.push_str("\":");
            body.push_str(json);
        }
    }
    body.push('}');
    Ok((Answer::ok(body), Pace::Accepted(kind)))
}
