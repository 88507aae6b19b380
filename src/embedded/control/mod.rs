//! The control plane: tables, their settings, tags and limits.

mod create;
mod settings;
mod tags;

use std::time::Instant;

use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::answer::{Answer, Problem};
use super::endpoint::Endpoint;
use super::table::Status;

pub(super) use create::create_table;
pub(super) use settings::update_table;
pub(super) use tags::{list_tags, tag_resource, untag_resource};

fn parse<'b, T: Deserialize<'b>>(body: &'b str) -> Result<T, Problem> {
    serde_json::from_str(body).map_err(|error| Problem::serialization(error.to_string()))
}

fn answer(json: &Json) -> Answer {
    Answer::ok(json.to_string())
}

/// Checks a table name; `None` and bad names are errors as DynamoDB words them.
fn table_name(name: Option<String>) -> Result<String, Problem> {
    let Some(name) = name else {
        return Err(Problem::validation(
            "1 validation error detected: Value null at 'tableName' failed to satisfy constraint: Member must not be null",
        ));
    };
    let constraint = if name.len() < 3 {
        "Member must have length greater than or equal to 3"
    } else if name.len() > 255 {
        "Member must have length less than or equal to 255"
    } else if !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-')) {
        "Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+"
    } else {
        return Ok(name);
    };
    Err(Problem::validation(format!(
        "1 validation error detected: Value '{name}' at 'tableName' failed to satisfy constraint: {constraint}"
    )))
}

fn no_such_table(name: &str) -> Problem {
    Problem::not_found(format!("Requested resource not found: Table: {name} not found"))
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Named {
    table_name: Option<String>,
}

pub(super) fn describe_table(endpoint: &mut Endpoint, body: &str, now: Instant) -> Result<Answer, Problem> {
    let name = table_name(parse::<Named>(body)?.table_name)?;
    endpoint.bury(now);
    let table = endpoint.tables.get(&name).ok_or_else(|| no_such_table(&name))?;
    Ok(answer(&json!({"Table": table.describe(now, endpoint.store.size_of(table.id))})))
}

pub(super) fn delete_table(endpoint: &mut Endpoint, body: &str, now: Instant) -> Result<Answer, Problem> {
    let name = table_name(parse::<Named>(body)?.table_name)?;
    let table = endpoint.find(&name, now).ok_or_else(|| no_such_table(&name))?;
    let in_use = |what: &str| Problem::in_use(format!("Attempt to change a resource which is still in use: Table is being {what}: {name}"));
    match table.status(now) {
        Status::Creating => return Err(in_use("created")),
        Status::Updating => return Err(in_use("updated")),
        Status::Active | Status::Deleting | Status::Gone => {}
    }
    if table.settings.deletion_protection {
        return Err(Problem::validation(
            "Resource cannot be deleted as it is currently protected against deletion. Disable deletion protection first.",
        ));
    }
    table.delete(now);
    let table = endpoint.tables.get(&name).ok_or_else(|| no_such_table(&name))?;
    let description = table.describe(now, endpoint.store.size_of(table.id));
    Ok(answer(&json!({"TableDescription": description})))
}

pub(super) fn list_tables(endpoint: &mut Endpoint, body: &str, now: Instant) -> Result<Answer, Problem> {
    #[derive(Deserialize)]
    #[serde(rename_all = "PascalCase")]
    struct Request {
        exclusive_start_table_name: Option<String>,
        limit: Option<i64>,
    }
    let request: Request = parse(body)?;
    let limit = match request.limit {
        None => 100,
        Some(limit) if (1..=100).contains(&limit) => limit as usize,
        Some(limit) => {
            let bound = if limit < 1 { "greater than or equal to 1" } else { "less than or equal to 100" };
            return Err(Problem::validation(format!(
                "1 validation error detected: Value '{limit}' at 'limit' failed to satisfy constraint: Member must have value {bound}"
            )));
        }
    };
    endpoint.bury(now);
    let after = request.exclusive_start_table_name.unwrap_or_default();
    let mut names: Vec<&String> = endpoint.tables.keys().filter(|name| **name > after).collect();
    names.sort_unstable();
    let mut list = json!({"TableNames": names.iter().take(limit).collect::<Vec<_>>()});
    if names.len() > limit {
        list["LastEvaluatedTableName"] = json!(names[limit - 1]);
    }
    Ok(answer(&list))
}

pub(super) fn describe_limits(endpoint: &Endpoint) -> Answer {
    let table = endpoint.profile.shape.account;
    answer(&json!({
        "AccountMaxReadCapacityUnits": u64::from(table.read) * 2,
        "AccountMaxWriteCapacityUnits": u64::from(table.write) * 2,
        "TableMaxReadCapacityUnits": table.read,
        "TableMaxWriteCapacityUnits": table.write,
    }))
}
