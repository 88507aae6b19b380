//! BatchWriteItem: every item is admitted by itself.

use std::collections::{BTreeMap, HashSet};
use std::time::Instant;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{Consumed, Ended, accepted, admit, check_size, parse, required};
use crate::embedded::answer::Problem;
use crate::embedded::endpoint::{Ending, Endpoint, Pace};
use crate::embedded::model::{Kind, Units};
use crate::embedded::value::{Item, Key, Text};

/// Writes in one batch.
const MOST_WRITES: usize = 25;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Request<'a> {
    #[serde(borrow)]
    request_items: Option<BTreeMap<String, Vec<Write<'a>>>>,
    #[serde(borrow)]
    return_consumed_capacity: Option<Text<'a>>,
}

#[derive(Clone, Deserialize, Serialize)]
#[serde(rename_all = "PascalCase")]
struct Write<'a> {
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    put_request: Option<Put<'a>>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    delete_request: Option<Delete<'a>>,
}

#[derive(Clone, Deserialize, Serialize)]
#[serde(rename_all = "PascalCase")]
struct Put<'a> {
    #[serde(borrow)]
    item: &'a RawValue,
}

#[derive(Clone, Deserialize, Serialize)]
#[serde(rename_all = "PascalCase")]
struct Delete<'a> {
    #[serde(borrow)]
    key: Item<'a>,
}

/// A write that was checked: the item as JSON with its size, or a deletion.
struct Checked<'a> {
    write: Write<'a>,
    key: Key,
    item: Option<(&'a str, u64)>,
}

pub(in crate::embedded) fn batch_write_item(endpoint: &mut Endpoint, body: &str, now: Instant) -> Ended {
    let request: Request<'_> = parse(body)?;
    let consumed = Consumed::parse(request.return_consumed_capacity.as_ref())?;
    let tables = required(request.request_items, "requestItems")?;
    let count: usize = tables.values().map(Vec::len).sum();
    if !(1..=MOST_WRITES).contains(&count) || tables.values().any(Vec::is_empty) {
        let bound = if count > MOST_WRITES { "less than or equal to 25" } else { "greater than or equal to 1" };
        return Err(Problem::validation(format!(
            "1 validation error detected: Value at 'requestItems' failed to satisfy constraint: Member must have length {bound}"
        ))
        .into());
    }
    // All of the batch is checked before any of it is written.
    let mut checked = Vec::new();
    for (name, writes) in tables {
        let (table, _) = endpoint.open(&name, now)?;
        let schema = table.schema.clone();
        let writes = writes.into_iter().map(|write| check(&schema, write)).collect::<Result<Vec<_>, _>>()?;
        if writes.iter().map(|write| &write.key.bytes).collect::<HashSet<_>>().len() < writes.len() {
            return Err(Problem::validation("Provided list of item keys contains duplicates").into());
        }
        checked.push((name, writes));
    }
    let mut unprocessed: BTreeMap<String, Vec<Write<'_>>> = BTreeMap::new();
    let mut units_of = Vec::new();
    let mut refusal = None;
    for (name, writes) in checked {
        let (table, store) = endpoint.open(&name, now)?;
        let mut spent = Units::ZERO;
        for Checked { write, key, item } in writes {
            let old_bytes = store.get(table.id, &key.bytes).map_or(0, |stored| stored.bytes);
            let units = Units::to_write(item.map_or(0, |(_, bytes)| bytes).max(old_bytes));
            match admit(table, &key, Kind::Write, units, now) {
                Ok(()) => {
                    spent += units;
                    match item {
                        Some((json, bytes)) => store.put(table.id, &key.bytes, json, bytes),
                        None => store.remove(table.id, &key.bytes),
                    }
                }
                Err(Ending::Answer(answer, _)) => {
                    refusal.get_or_insert(answer);
                    unprocessed.entry(name.clone()).or_default().push(write);
                }
                Err(other) => return Err(other),
            }
        }
        units_of.push((name, spent));
    }
    if let Some(refusal) = refusal.filter(|_| unprocessed.values().map(Vec::len).sum::<usize>() == count) {
        return Err(Ending::Answer(refusal, Pace::Refused));
    }
    let unprocessed = serde_json::to_string(&unprocessed).map_err(|error| Problem::internal(error.to_string()))?;
    accepted(Kind::Write, &[("UnprocessedItems", Some(unprocessed)), ("ConsumedCapacity", consumed.of_all(&units_of))])
}

fn check<'a>(schema: &crate::embedded::value::Schema, write: Write<'a>) -> Result<Checked<'a>, Problem> {
    match (&write.put_request, &write.delete_request) {
        (Some(put), None) => {
            let json = put.item.get();
            let item: Item<'_> = parse(json)?;
            item.check()?;
            let bytes = item.bytes();
            check_size(bytes)?;
            let key = schema.key_of_item(&item)?;
            Ok(Checked { key, item: Some((json, bytes)), write })
        }
        (None, Some(delete)) => Ok(Checked { key: schema.key_of_key(&delete.key)?, item: None, write }),
        _ => Err(Problem::validation(
            "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes",
        )),
    }
}
