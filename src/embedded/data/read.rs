//! GetItem.

use std::collections::HashMap;
use std::time::Instant;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::{Consumed, Ended, accepted, admit, no_legacy, parse, required, table_name};
use crate::embedded::answer::Problem;
use crate::embedded::endpoint::Endpoint;
use crate::embedded::expression::{Names, Projection};
use crate::embedded::model::{Kind, Units};
use crate::embedded::value::{Item, Text};

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Request<'a> {
    #[serde(borrow)]
    table_name: Option<Text<'a>>,
    #[serde(borrow)]
    key: Option<Item<'a>>,
    consistent_read: Option<bool>,
    #[serde(borrow)]
    projection_expression: Option<Text<'a>>,
    expression_attribute_names: Option<HashMap<String, String>>,
    #[serde(borrow)]
    return_consumed_capacity: Option<Text<'a>>,
    attributes_to_get: Option<IgnoredAny>,
}

/// A projection, where one is asked for.
pub(super) fn projection(expression: Option<&Text<'_>>, names: Option<HashMap<String, String>>) -> Result<Option<Projection>, Problem> {
    let Some(expression) = expression else {
        return match names {
            None => Ok(None),
            Some(_) => Err(Problem::validation(
                "ExpressionAttributeNames can only be specified when using expressions: ProjectionExpression is null",
            )),
        };
    };
    let names = Names::new(names, None)?;
    let projection = Projection::parse(expression, &names)?;
    names.all_used()?;
    Ok(Some(projection))
}

pub(in crate::embedded) fn get_item(endpoint: &mut Endpoint, body: &str, now: Instant) -> Ended {
    let request: Request<'_> = parse(body)?;
    no_legacy(&[("AttributesToGet", &request.attributes_to_get)])?;
    let projection = projection(request.projection_expression.as_ref(), request.expression_attribute_names)?;
    let consumed = Consumed::parse(request.return_consumed_capacity.as_ref())?;
    let (table, store) = endpoint.open(table_name(request.table_name.as_ref())?, now)?;
    let key = table.schema.key_of_key(&required(request.key, "key")?)?;
    let stored = store.get(table.id, &key.bytes);
    let units = Units::to_read(stored.map_or(0, |stored| stored.bytes), request.consistent_read.unwrap_or(false));
    admit(table, &key, Kind::Read, units, now)?;
    let item = match (stored, projection) {
        (None, _) => None,
        (Some(stored), None) => Some(stored.json.to_string()),
        (Some(stored), Some(projection)) => Some(projection.of(&stored.json)?),
    };
    accepted(Kind::Read, &[("Item", item), ("ConsumedCapacity", consumed.of(&table.name, units))])
}
