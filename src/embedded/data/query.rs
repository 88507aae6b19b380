//! Query: the items of one partition key, in the order of their sort keys.

use std::collections::HashMap;
use std::ops::Bound;
use std::time::Instant;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::{Consumed, Ended, accepted, admit, no_legacy, parse, stored_item, table_name, to_json};
use crate::embedded::answer::Problem;
use crate::embedded::endpoint::Endpoint;
use crate::embedded::expression::{Comparison, Condition, Names, Operand, Projection};
use crate::embedded::model::{Kind, Units};
use crate::embedded::value::{Item, Key, Schema, Text, Type, Value};

/// Bytes of items read for one page.
const PAGE_BYTES: u64 = 1 << 20;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Request<'a> {
    #[serde(borrow)]
    table_name: Option<Text<'a>>,
    #[serde(borrow)]
    key_condition_expression: Option<Text<'a>>,
    #[serde(borrow)]
    filter_expression: Option<Text<'a>>,
    #[serde(borrow)]
    projection_expression: Option<Text<'a>>,
    expression_attribute_names: Option<HashMap<String, String>>,
    #[serde(borrow)]
    expression_attribute_values: Option<Item<'a>>,
    #[serde(borrow)]
    exclusive_start_key: Option<Item<'a>>,
    scan_index_forward: Option<bool>,
    consistent_read: Option<bool>,
    limit: Option<i64>,
    #[serde(borrow)]
    select: Option<Text<'a>>,
    #[serde(borrow)]
    index_name: Option<Text<'a>>,
    #[serde(borrow)]
    return_consumed_capacity: Option<Text<'a>>,
    key_conditions: Option<IgnoredAny>,
    query_filter: Option<IgnoredAny>,
    attributes_to_get: Option<IgnoredAny>,
}

/// The keys that a key condition selects.
struct Span {
    partition: Key,
    from: Bound<Vec<u8>>,
    to: Bound<Vec<u8>>,
}

pub(in crate::embedded) fn query(endpoint: &mut Endpoint, body: &str, now: Instant) -> Ended {
    let request: Request<'_> = parse(body)?;
    no_legacy(&[
        ("KeyConditions", &request.key_conditions),
        ("QueryFilter", &request.query_filter),
        ("AttributesToGet", &request.attributes_to_get),
    ])?;
    if let Some(index) = &request.index_name {
        return Err(Problem::validation(format!("The table does not have the specified index: {}", &**index)).into());
    }
    let limit = match request.limit {
        None => usize::MAX,
        Some(limit) if limit >= 1 => usize::try_from(limit).unwrap_or(usize::MAX),
        Some(_) => return Err(Problem::validation("Limit must be greater than or equal to 1").into()),
    };
    let consumed = Consumed::parse(request.return_consumed_capacity.as_ref())?;
    let count_only = match request.select.as_deref() {
        None | Some("ALL_ATTRIBUTES" | "SPECIFIC_ATTRIBUTES") => false,
        Some("COUNT") => true,
        Some(other) => return Err(Problem::validation(format!("Select {other} is not supported by the embedded endpoint")).into()),
    };
    let names = Names::new(request.expression_attribute_names, request.expression_attribute_values)?;
    let Some(expression) = &request.key_condition_expression else {
        return Err(
            Problem::validation("Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.").into()
        );
    };
    let condition = Condition::parse(expression, "KeyConditionExpression", &names)?;
    let filter = request.filter_expression.as_ref().map(|text| Condition::parse(text, "FilterExpression", &names)).transpose()?;
    let projection = request.projection_expression.as_ref().map(|text| Projection::parse(text, &names)).transpose()?;
    names.all_used()?;
    let (table, store) = endpoint.open(table_name(request.table_name.as_ref())?, now)?;
    let forward = request.scan_index_forward.unwrap_or(true);
    let mut span = span(&table.schema, condition)?;
    if let Some(start) = &request.exclusive_start_key {
        span.continue_after(table.schema.key_of_key(start)?.bytes, forward)?;
    }

    let mut found = store.range(table.id, as_slice(&span.from), as_slice(&span.to));
    let (mut items, mut scanned, mut bytes, mut last) = (Vec::new(), 0_usize, 0, None);
    loop {
        if scanned >= limit || bytes >= PAGE_BYTES {
            break;
        }
        let Some(stored) = (if forward { found.next() } else { found.next_back() }) else {
            last = None;
            break;
        };
        scanned += 1;
        bytes += stored.bytes;
        last = Some(&*stored.json);
        let item = stored_item(&stored.json)?;
        if filter.as_ref().is_none_or(|filter| filter.holds(&item)) {
            items.push(match &projection {
                Some(projection) => projection.of(&stored.json)?,
                None => stored.json.to_string(),
            });
        }
    }
    let last = last.map(|json| last_key(&table.schema, json)).transpose()?;
    let units = Units::to_read(bytes, request.consistent_read.unwrap_or(false));
    admit(table, &span.partition, Kind::Read, units, now)?;
    accepted(
        Kind::Read,
        &[
            ("Count", Some(items.len().to_string())),
            ("Items", (!count_only).then(|| format!("[{}]", items.join(",")))),
            ("LastEvaluatedKey", last),
            ("ScannedCount", Some(scanned.to_string())),
            ("ConsumedCapacity", consumed.of(&table.name, units)),
        ],
    )
}

fn last_key(schema: &Schema, json: &str) -> Result<String, Problem> {
    let item = stored_item(json)?;
    to_json(&Item(item.0.into_iter().filter(|(name, _)| schema.names().any(|key| *key == **name)).collect()))
}

fn as_slice(bound: &Bound<Vec<u8>>) -> Bound<&[u8]> {
    match bound {
        Bound::Included(key) => Bound::Included(key),
        Bound::Excluded(key) => Bound::Excluded(key),
        Bound::Unbounded => Bound::Unbounded,
    }
}

/// The least key after every key that begins with `prefix`.
fn after_prefix(mut prefix: Vec<u8>) -> Bound<Vec<u8>> {
    while let Some(last) = prefix.pop() {
        if last < u8::MAX {
            prefix.push(last + 1);
            return Bound::Excluded(prefix);
        }
    }
    Bound::Unbounded
}

impl Span {
    /// Goes on after a key of an earlier page.
    fn continue_after(&mut self, start: Vec<u8>, forward: bool) -> Result<(), Problem> {
        if !start.starts_with(&self.partition.bytes) {
            return Err(Problem::validation("The provided starting key is outside query boundaries based on provided conditions"));
        }
        let inside = |bound: &Bound<Vec<u8>>, beyond: fn(&[u8], &[u8]) -> bool| match bound {
            Bound::Included(key) | Bound::Excluded(key) => beyond(&start, key),
            Bound::Unbounded => true,
        };
        if forward && inside(&self.from, |start, from| start >= from) {
            self.from = Bound::Excluded(start);
        } else if !forward && inside(&self.to, |start, to| start <= to) {
            self.to = Bound::Excluded(start);
        }
        Ok(())
    }
}

fn span(schema: &Schema, condition: Condition<'_>) -> Result<Span, Problem> {
    let missed = |name: &str| Problem::validation(format!("Query condition missed key schema element: {name}"));
    let (first, second) = match condition {
        Condition::And(first, second) => (*first, Some(*second)),
        single => (single, None),
    };
    let is_partition = |condition: &Condition<'_>| matches!(condition, Condition::Compare(Operand::Path(name), Comparison::Equal, Operand::Value(_)) if *name == schema.partition.0);
    let (partition, sort) = match (first, second) {
        (first, second) if is_partition(&first) => (first, second),
        (first, Some(second)) if is_partition(&second) => (second, Some(first)),
        _ => return Err(missed(&schema.partition.0)),
    };
    let Condition::Compare(_, _, Operand::Value(value)) = partition else { return Err(missed(&schema.partition.0)) };
    typed(&value, schema.partition.1)?;
    let partition = schema.partition_key(&value)?;
    let start = partition.bytes.clone();
    let whole = (Bound::Included(start.clone()), after_prefix(start.clone()));
    let Some(sort) = sort else {
        return Ok(Span { partition, from: whole.0, to: whole.1 });
    };
    let Some((name, kind)) = &schema.sort else {
        return Err(Problem::validation("Query key condition not supported"));
    };
    let key = |value: &Value<'_>| -> Result<Vec<u8>, Problem> {
        typed(value, *kind)?;
        Ok([start.clone(), Schema::sort_key(value)?].concat())
    };
    let (from, to) = match &sort {
        Condition::Compare(Operand::Path(path), comparison, Operand::Value(value)) if path == name => {
            let key = key(value)?;
            match comparison {
                Comparison::Equal => (Bound::Included(key.clone()), Bound::Included(key)),
                Comparison::Less => (whole.0, Bound::Excluded(key)),
                Comparison::AtMost => (whole.0, Bound::Included(key)),
                Comparison::Greater => (Bound::Excluded(key), whole.1),
                Comparison::AtLeast => (Bound::Included(key), whole.1),
                Comparison::Unequal => return Err(Problem::validation("Query key condition not supported")),
            }
        }
        Condition::Between(Operand::Path(path), Operand::Value(low), Operand::Value(high)) if path == name => {
            (Bound::Included(key(low)?), Bound::Included(key(high)?))
        }
        Condition::BeginsWith(Operand::Path(path), Operand::Value(prefix)) if path == name && *kind != Type::N => {
            let key = key(prefix)?;
            (Bound::Included(key.clone()), after_prefix(key))
        }
        _ => return Err(Problem::validation("Query key condition not supported")),
    };
    Ok(Span { partition, from, to })
}

fn typed(value: &Value<'_>, kind: Type) -> Result<(), Problem> {
    if value.type_name() == kind.name() {
        Ok(())
    } else {
        Err(Problem::validation("One or more parameter values were invalid: Condition parameter type does not match schema type"))
    }
}
