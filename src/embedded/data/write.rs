//! PutItem and DeleteItem.

use std::collections::HashMap;
use std::time::Instant;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::{Consumed, Ended, accepted, admit, check_size, condition_holds, fail_condition, no_legacy, parse, required, table_name};
use crate::embedded::answer::Problem;
use crate::embedded::endpoint::Endpoint;
use crate::embedded::expression::{Condition, Names};
use crate::embedded::model::{Kind, Units};
use crate::embedded::value::{Item, Text};

/// What PutItem and DeleteItem have in common.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Request<'a> {
    #[serde(borrow)]
    table_name: Option<Text<'a>>,
    #[serde(borrow)]
    item: Option<&'a RawValue>,
    #[serde(borrow)]
    key: Option<Item<'a>>,
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
    expected: Option<IgnoredAny>,
    conditional_operator: Option<IgnoredAny>,
}

/// What of a request is understood before its table is known.
struct Wishes<'a> {
    condition: Option<Condition<'a>>,
    consumed: Consumed,
    return_old: bool,
    return_old_on_failure: bool,
}

impl<'a> Request<'a> {
    fn wishes(&mut self) -> Result<Wishes<'a>, Problem> {
        no_legacy(&[("Expected", &self.expected), ("ConditionalOperator", &self.conditional_operator)])?;
        let return_old = match self.return_values.as_deref() {
            None | Some("NONE") => false,
            Some("ALL_OLD") => true,
            Some(_) => return Err(Problem::validation("ReturnValues can only be ALL_OLD or NONE")),
        };
        let condition = match (&self.condition_expression, &self.expression_attribute_names, &self.expression_attribute_values) {
            (None, None, None) => None,
            (None, _, _) => {
                return Err(Problem::validation(
                    "ExpressionAttributeNames and ExpressionAttributeValues can only be specified when using expressions: ConditionExpression is null",
                ));
            }
            (Some(expression), _, _) => {
                let names = Names::new(self.expression_attribute_names.take(), self.expression_attribute_values.take())?;
                let condition = Condition::parse(expression, "ConditionExpression", &names)?;
                names.all_used()?;
                Some(condition)
            }
        };
        Ok(Wishes {
            condition,
            consumed: Consumed::parse(self.return_consumed_capacity.as_ref())?,
            return_old,
            return_old_on_failure: self.return_values_on_condition_check_failure.as_deref() == Some("ALL_OLD"),
        })
    }
}

pub(in crate::embedded) fn put_item(endpoint: &mut Endpoint, body: &str, now: Instant) -> Ended {
    let mut request: Request<'_> = parse(body)?;
    let wishes = request.wishes()?;
    let json = required(request.item, "item")?.get();
    let item: Item<'_> = parse(json)?;
    item.check()?;
    let (table, store) = endpoint.open(table_name(request.table_name.as_ref())?, now)?;
    let key = table.schema.key_of_item(&item)?;
    let bytes = item.bytes();
    check_size(bytes)?;
    let before = store.get(table.id, &key.bytes);
    let units = Units::to_write(bytes.max(before.map_or(0, |stored| stored.bytes)));
    let before = before.map(|stored| &*stored.json);
    if !condition_holds(wishes.condition.as_ref(), before)? {
        return Err(fail_condition(table, &key, units, before.filter(|_| wishes.return_old_on_failure), now));
    }
    admit(table, &key, Kind::Write, units, now)?;
    let old = before.filter(|_| wishes.return_old).map(str::to_owned);
    store.put(table.id, &key.bytes, json, bytes);
    accepted(Kind::Write, &[("Attributes", old), ("ConsumedCapacity", wishes.consumed.of(&table.name, units))])
}

pub(in crate::embedded) fn delete_item(endpoint: &mut Endpoint, body: &str, now: Instant) -> Ended {
    let mut request: Request<'_> = parse(body)?;
    let wishes = request.wishes()?;
    let (table, store) = endpoint.open(table_name(request.table_name.as_ref())?, now)?;
    let key = table.schema.key_of_key(&required(request.key, "key")?)?;
    let before = store.get(table.id, &key.bytes);
    let units = Units::to_write(before.map_or(0, |stored| stored.bytes));
    let before = before.map(|stored| &*stored.json);
    if !condition_holds(wishes.condition.as_ref(), before)? {
        return Err(fail_condition(table, &key, units, before.filter(|_| wishes.return_old_on_failure), now));
    }
    admit(table, &key, Kind::Write, units, now)?;
    let old = before.filter(|_| wishes.return_old).map(str::to_owned);
    store.remove(table.id, &key.bytes);
    accepted(Kind::Write, &[("Attributes", old), ("ConsumedCapacity", wishes.consumed.of(&table.name, units))])
}
