//! UpdateItem.

use std::collections::HashMap;
use std::time::Instant;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::{
    Consumed, Ended, accepted, admit, check_size, condition_holds, fail_condition, no_legacy, parse, required, stored_item, table_name,
    to_json,
};
use crate::embedded::answer::Problem;
use crate::embedded::endpoint::Endpoint;
use crate::embedded::expression::{Condition, Names, Update};
use crate::embedded::model::{Kind, Units};
use crate::embedded::value::{Item, Text};

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Request<'a> {
    #[serde(borrow)]
    table_name: Option<Text<'a>>,
    #[serde(borrow)]
    key: Option<Item<'a>>,
    #[serde(borrow)]
    update_expression: Option<Text<'a>>,
    #[serde(borrow)]
    condition_expression: Option<Text<'a>>,
    expression_attribute_names: Option<HashMap<String, String>>,
    #[serde(borrow)]
    expression_attribute_values: Option<Item<'a>>,
    #[serde(borrow)]
    return_consumed_capacity: Option<Text<'a>>,
    #[serde(borrow)]
    return_values: Option<Text<'a>>,
    #[serde(borrow)]
    return_values_on_condition_check_failure: Option<Text<'a>>,
    attribute_updates: Option<IgnoredAny>,
    expected: Option<IgnoredAny>,
    conditional_operator: Option<IgnoredAny>,
}

pub(in crate::embedded) fn update_item(endpoint: &mut Endpoint, body: &str, now: Instant) -> Ended {
    let request: Request<'_> = parse(body)?;
    no_legacy(&[
        ("AttributeUpdates", &request.attribute_updates),
        ("Expected", &request.expected),
        ("ConditionalOperator", &request.conditional_operator),
    ])?;
    let consumed = Consumed::parse(request.return_consumed_capacity.as_ref())?;
    let names = Names::new(request.expression_attribute_names, request.expression_attribute_values)?;
    let update = request.update_expression.as_ref().map(|text| Update::parse(text, &names)).transpose()?.unwrap_or_default();
    let condition = request.condition_expression.as_ref().map(|text| Condition::parse(text, "ConditionExpression", &names)).transpose()?;
    names.all_used()?;
    let (table, store) = endpoint.open(table_name(request.table_name.as_ref())?, now)?;
    let key_item = required(request.key, "key")?;
    let key = table.schema.key_of_key(&key_item)?;
    if let Some(name) = table.schema.names().find(|name| update.touches(name)) {
        return Err(Problem::validation(format!(
            "One or more parameter values were invalid: Cannot update attribute {name}. This attribute is part of the key"
        ))
        .into());
    }
    let stored = store.get(table.id, &key.bytes);
    let old_bytes = stored.map_or(0, |stored| stored.bytes);
    let old_json = stored.map(|stored| &*stored.json);
    if !condition_holds(condition.as_ref(), old_json)? {
        let shown = old_json.filter(|_| request.return_values_on_condition_check_failure.as_deref() == Some("ALL_OLD"));
        return Err(fail_condition(table, &key, Units::to_write(old_bytes), shown, now));
    }
    let old = old_json.map(stored_item).transpose()?;
    let new = update.apply(old.as_ref().unwrap_or(&key_item))?;
    let bytes = new.bytes();
    check_size(bytes)?;
    let units = Units::to_write(bytes.max(old_bytes));
    let attributes = match request.return_values.as_deref() {
        None | Some("NONE") => None,
        Some("ALL_OLD") => old_json.map(str::to_owned),
        Some("ALL_NEW") => Some(to_json(&new)?),
        Some("UPDATED_OLD") => old.as_ref().map(|old| to_json(&update.touched(old))).transpose()?,
        Some("UPDATED_NEW") => Some(to_json(&update.touched(&new))?),
        Some(other) => {
            return Err(Problem::validation(format!(
                "1 validation error detected: Value '{other}' at 'returnValues' failed to satisfy constraint: \
                 Member must satisfy enum value set: [ALL_NEW, UPDATED_OLD, ALL_OLD, NONE, UPDATED_NEW]"
            ))
            .into());
        }
    };
    let json = to_json(&new)?;
    admit(table, &key, Kind::Write, units, now)?;
    store.put(table.id, &key.bytes, &json, bytes);
    accepted(Kind::Write, &[("Attributes", attributes), ("ConsumedCapacity", consumed.of(&table.name, units))])
}
