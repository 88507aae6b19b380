//! CreateTable.

use std::collections::BTreeMap;
use std::time::Instant;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::json;

use super::settings::{Billing, Maximums, Warm, provisioned};
use super::tags::{Tag, checked};
use super::{answer, parse, table_name};
use crate::embedded::answer::{Answer, Problem};
use crate::embedded::endpoint::{Endpoint, MOST_TABLES};
use crate::embedded::model::Throughput;
use crate::embedded::table::{Birth, Settings, Table};
use crate::embedded::value::{Schema, Type};

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Request {
    table_name: Option<String>,
    attribute_definitions: Option<Vec<Definition>>,
    key_schema: Option<Vec<Element>>,
    #[serde(flatten)]
    billing: Billing,
    on_demand_throughput: Option<Maximums>,
    warm_throughput: Option<Warm>,
    deletion_protection_enabled: Option<bool>,
    tags: Option<Vec<Tag>>,
    global_secondary_indexes: Option<Vec<IgnoredAny>>,
    local_secondary_indexes: Option<Vec<IgnoredAny>>,
    stream_specification: Option<Stream>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Definition {
    attribute_name: String,
    attribute_type: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Element {
    attribute_name: String,
    key_type: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Stream {
    stream_enabled: bool,
}

pub(in crate::embedded) fn create_table(endpoint: &mut Endpoint, body: &str, now: Instant) -> Result<Answer, Problem> {
    let request: Request = parse(body)?;
    let name = table_name(request.table_name)?;
    let schema = schema(request.attribute_definitions, request.key_schema)?;
    for (indexes, member) in
        [(&request.global_secondary_indexes, "GlobalSecondaryIndexes"), (&request.local_secondary_indexes, "LocalSecondaryIndexes")]
    {
        if indexes.as_ref().is_some_and(|indexes| !indexes.is_empty()) {
            return Err(Problem::validation(format!(
                "{member} is not supported by the embedded endpoint; create the table without indexes"
            )));
        }
    }
    if request.stream_specification.is_some_and(|stream| stream.stream_enabled) {
        return Err(Problem::validation(
            "StreamSpecification is not supported by the embedded endpoint; create the table without a stream",
        ));
    }
    let provisioned = provisioned(&request.billing)?;
    let mut settings = Settings {
        provisioned,
        maximum_write: None,
        maximum_read: None,
        warm: Throughput::default(),
        deletion_protection: request.deletion_protection_enabled.unwrap_or(false),
    };
    if let Some(maximums) = request.on_demand_throughput {
        maximums.apply(&mut settings)?;
    }
    if let Some(warm) = request.warm_throughput {
        warm.apply(&mut settings, endpoint.profile.shape.throughput())?;
    }
    let tags: BTreeMap<String, String> = checked(request.tags.unwrap_or_default())?;
    endpoint.bury(now);
    if endpoint.tables.contains_key(&name) {
        return Err(Problem::in_use(format!("Table already exists: {name}")));
    }
    if endpoint.tables.len() >= MOST_TABLES {
        return Err(Problem::limit_exceeded(format!("Subscriber limit exceeded: There is a limit of {MOST_TABLES} tables per subscriber")));
    }
    let birth = Birth {
        id: endpoint.next_table_id(),
        uuid: endpoint.random.uuid(),
        region: &endpoint.region,
        shape: endpoint.profile.shape.clone(),
        imposed: endpoint.profile.provisioned,
        timing: endpoint.timing,
        now,
    };
    let table = Table::new(&name, schema, settings, tags, birth);
    let description = table.describe(now, (0, 0));
    endpoint.store.add_table(table.id, table.schema.sort.is_some());
    endpoint.tables.insert(name, table);
    Ok(answer(&json!({"TableDescription": description})))
}

fn schema(definitions: Option<Vec<Definition>>, elements: Option<Vec<Element>>) -> Result<Schema, Problem> {
    let null = |member: &str| {
        Problem::validation(format!(
            "1 validation error detected: Value null at '{member}' failed to satisfy constraint: Member must not be null"
        ))
    };
    let invalid = |what: &str| Problem::validation(format!("One or more parameter values were invalid: {what}"));
    let elements = elements.ok_or_else(|| null("keySchema"))?;
    let definitions = definitions.ok_or_else(|| null("attributeDefinitions"))?;
    let find = |name: &str| {
        let definition = definitions.iter().find(|definition| definition.attribute_name == name).ok_or_else(|| {
            let defined: Vec<&str> = definitions.iter().map(|definition| definition.attribute_name.as_str()).collect();
            let defined = defined.join(", ");
            invalid(&format!(
                "Some index key attributes are not defined in AttributeDefinitions. Keys: [{name}], AttributeDefinitions: [{defined}]"
            ))
        })?;
        let kind = Type::parse(&definition.attribute_type).ok_or_else(|| {
            Problem::validation(format!(
                "1 validation error detected: Value '{}' at 'attributeDefinitions.1.member.attributeType' failed to satisfy constraint: \
                 Member must satisfy enum value set: [B, N, S]",
                definition.attribute_type
            ))
        })?;
        Ok::<_, Problem>((name.to_owned(), kind))
    };
    let (partition, sort) = match elements.as_slice() {
        [] => {
            return Err(Problem::validation(
                "1 validation error detected: Value '[]' at 'keySchema' failed to satisfy constraint: Member must have length greater than or equal to 1",
            ));
        }
        [partition] => (partition, None),
        [partition, sort] => (partition, Some(sort)),
        _ => {
            return Err(Problem::validation(
                "1 validation error detected: Value at 'keySchema' failed to satisfy constraint: Member must have length less than or equal to 2",
            ));
        }
    };
    if partition.key_type != "HASH" {
        return Err(Problem::validation("Invalid KeySchema: The first KeySchemaElement is not a HASH key type"));
    }
    if sort.is_some_and(|sort| sort.key_type != "RANGE") {
        return Err(Problem::validation("Invalid KeySchema: The second KeySchemaElement is not a RANGE key type"));
    }
    if sort.is_some_and(|sort| sort.attribute_name == partition.attribute_name) {
        return Err(Problem::validation("Both the Hash Key and the Range Key element in the KeySchema have the same name"));
    }
    if definitions.len() != elements.len() {
        return Err(invalid(
            "Number of attributes in KeySchema does not exactly match number of attributes defined in AttributeDefinitions",
        ));
    }
    Ok(Schema { partition: find(&partition.attribute_name)?, sort: sort.map(|sort| find(&sort.attribute_name)).transpose()? })
}
