//! BatchGetItem: every key is admitted by itself.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Instant;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::read::projection;
use super::{Consumed, Ended, accepted, admit, parse, required};
use crate::embedded::answer::{Problem, quoted};
use crate::embedded::endpoint::{Ending, Endpoint, Pace};
use crate::embedded::expression::Projection;
use crate::embedded::model::{Kind, Units};
use crate::embedded::value::{Item, Key, Text};

/// Keys in one batch.
const MOST_KEYS: usize = 100;
/// Bytes of items in one answer.
const MOST_BYTES: u64 = 16 << 20;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Request<'a> {
    #[serde(borrow)]
    request_items: Option<BTreeMap<String, Reads<'a>>>,
    #[serde(borrow)]
    return_consumed_capacity: Option<Text<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Reads<'a> {
    #[serde(borrow)]
    keys: Vec<&'a RawValue>,
    consistent_read: Option<bool>,
    #[serde(borrow)]
    projection_expression: Option<Text<'a>>,
    expression_attribute_names: Option<HashMap<String, String>>,
}

/// What is read of one table, checked.
struct Checked<'a> {
    name: String,
    keys: Vec<(&'a str, Key)>,
    consistent: bool,
    projection: Option<Projection>,
    /// The other members of the table's request, as JSON that ends in a comma, for `UnprocessedKeys`.
    members: String,
}

pub(in crate::embedded) fn batch_get_item(endpoint: &mut Endpoint, body: &str, now: Instant) -> Ended {
    let request: Request<'_> = parse(body)?;
    let consumed = Consumed::parse(request.return_consumed_capacity.as_ref())?;
    let tables = required(request.request_items, "requestItems")?;
    let count: usize = tables.values().map(|reads| reads.keys.len()).sum();
    if count > MOST_KEYS {
        return Err(Problem::validation("Too many items requested for the BatchGetItem call").into());
    }
    if tables.values().any(|reads| reads.keys.is_empty()) || count == 0 {
        return Err(Problem::validation(
            "1 validation error detected: Value at 'requestItems' failed to satisfy constraint: Member must have length greater than or equal to 1",
        )
        .into());
    }
    let checked = tables.into_iter().map(|(name, reads)| check(endpoint, name, reads, now)).collect::<Result<Vec<_>, _>>()?;
    let (mut responses, mut unprocessed, mut units_of) = (Vec::new(), Vec::new(), Vec::new());
    let (mut read_bytes, mut left, mut refusal) = (0, 0, None);
    for Checked { name, keys, consistent, projection, members } in checked {
        let (table, store) = endpoint.open(&name, now)?;
        let (mut items, mut unread, mut spent) = (Vec::new(), Vec::new(), Units::ZERO);
        for (json, key) in keys {
            let stored = store.get(table.id, &key.bytes);
            let bytes = stored.map_or(0, |stored| stored.bytes);
            if read_bytes > 0 && read_bytes + bytes > MOST_BYTES {
                unread.push(json);
                continue;
            }
            let units = Units::to_read(bytes, consistent);
            match admit(table, &key, Kind::Read, units, now) {
                Ok(()) => {
                    spent += units;
                    read_bytes += bytes;
                    if let Some(stored) = stored {
                        items.push(match &projection {
                            Some(projection) => projection.of(&stored.json)?,
                            None => stored.json.to_string(),
                        });
                    }
                }
                Err(Ending::Answer(answer, _)) => {
                    refusal.get_or_insert(answer);
                    unread.push(json);
                }
                Err(other) => return Err(other),
            }
        }
        left += unread.len();
        let table = quoted(&name);
        responses.push(format!("{table}:[{}]", items.join(",")));
        if !unread.is_empty() {
            unprocessed.push(format!(r#"{table}:{{{members}"Keys":[{}]}}"#, unread.join(",")));
        }
        units_of.push((name, spent));
    }
    if let Some(refusal) = refusal.filter(|_| left == count) {
        return Err(Ending::Answer(refusal, Pace::Refused));
    }
    let object = |members: &[String]| Some(format!("{{{}}}", members.join(",")));
    accepted(
        Kind::Read,
        &[("Responses", object(&responses)), ("UnprocessedKeys", object(&unprocessed)), ("ConsumedCapacity", consumed.of_all(&units_of))],
    )
}

fn check<'a>(endpoint: &mut Endpoint, name: String, reads: Reads<'a>, now: Instant) -> Result<Checked<'a>, Ending> {
    let (table, _) = endpoint.open(&name, now)?;
    let mut keys = Vec::with_capacity(reads.keys.len());
    for json in reads.keys {
        let key: Item<'_> = parse(json.get())?;
        keys.push((json.get(), table.schema.key_of_key(&key)?));
    }
    if keys.iter().map(|(_, key)| &key.bytes).collect::<HashSet<_>>().len() < keys.len() {
        return Err(Problem::validation("Provided list of item keys contains duplicates").into());
    }
    let mut members = String::new();
    if let Some(consistent) = reads.consistent_read {
        members.push_str(&format!(r#""ConsistentRead":{consistent},"#));
    }
    if let Some(expression) = &reads.projection_expression {
        members.push_str(&format!(r#""ProjectionExpression":{},"#, quoted(expression)));
    }
    if let Some(names) = &reads.expression_attribute_names {
        members.push_str(&format!(r#""ExpressionAttributeNames":{},"#, serde_json::json!(names)));
    }
    let projection = projection(reads.projection_expression.as_ref(), reads.expression_attribute_names)?;
    Ok(Checked { name, keys, consistent: reads.consistent_read.unwrap_or(false), projection, members })
}
