//! TagResource, UntagResource and ListTagsOfResource.

use std::collections::BTreeMap;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{answer, parse};
use crate::embedded::answer::{Answer, Problem};
use crate::embedded::endpoint::Endpoint;
use crate::embedded::table::{Status, Table};

/// Tags a resource can have.
const MOST_TAGS: usize = 50;

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Tag {
    key: String,
    value: String,
}

/// Checks tags, and makes a map of them.
pub(super) fn checked(tags: Vec<Tag>) -> Result<BTreeMap<String, String>, Problem> {
    if tags.iter().any(|tag| tag.key.is_empty() || tag.key.chars().count() > 128 || tag.value.chars().count() > 256) {
        return Err(Problem::validation(
            "One or more parameter values were invalid: a tag has a key of 1 to 128 and a value of up to 256 characters",
        ));
    }
    let count = tags.len();
    let map: BTreeMap<String, String> = tags.into_iter().map(|tag| (tag.key, tag.value)).collect();
    if map.len() != count {
        return Err(Problem::validation("One or more parameter values were invalid: Duplicate tag keys are not allowed"));
    }
    if count > MOST_TAGS {
        return Err(Problem::validation(format!(
            "One or more parameter values were invalid: Too many tags: a resource has at most {MOST_TAGS}"
        )));
    }
    Ok(map)
}

fn resource<'e>(endpoint: &'e mut Endpoint, arn: &str, now: Instant) -> Result<&'e mut Table, Problem> {
    let Some((_, name)) = arn.split_once(":table/") else {
        return Err(Problem::validation(format!("Invalid TableArn: Invalid ResourceArn provided as input {arn}")));
    };
    let missing = || Problem::not_found(format!("Requested resource not found: ResourcArn: {arn} not found"));
    let table = endpoint.find(name, now).ok_or_else(missing)?;
    if table.arn == arn && table.status(now) != Status::Gone { Ok(table) } else { Err(missing()) }
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Tagging {
    resource_arn: String,
    tags: Vec<Tag>,
}

pub(in crate::embedded) fn tag_resource(endpoint: &mut Endpoint, body: &str, now: Instant) -> Result<Answer, Problem> {
    let request: Tagging = parse(body)?;
    let tags = checked(request.tags)?;
    let table = resource(endpoint, &request.resource_arn, now)?;
    let mut all = table.tags.clone();
    all.extend(tags);
    if all.len() > MOST_TAGS {
        return Err(Problem::validation(format!(
            "One or more parameter values were invalid: Too many tags: a resource has at most {MOST_TAGS}"
        )));
    }
    table.tags = all;
    Ok(Answer::ok(""))
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Untagging {
    resource_arn: String,
    tag_keys: Vec<String>,
}

pub(in crate::embedded) fn untag_resource(endpoint: &mut Endpoint, body: &str, now: Instant) -> Result<Answer, Problem> {
    let request: Untagging = parse(body)?;
    let table = resource(endpoint, &request.resource_arn, now)?;
    request.tag_keys.iter().for_each(|key| {
        table.tags.remove(key);
    });
    Ok(Answer::ok(""))
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Listing {
    resource_arn: String,
}

pub(in crate::embedded) fn list_tags(endpoint: &mut Endpoint, body: &str, now: Instant) -> Result<Answer, Problem> {
    let request: Listing = parse(body)?;
    let table = resource(endpoint, &request.resource_arn, now)?;
    let tags: Vec<Tag> = table.tags.iter().map(|(key, value)| Tag { key: key.clone(), value: value.clone() }).collect();
    Ok(answer(&json!({"Tags": tags})))
}
