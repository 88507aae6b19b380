//! The embedded endpoint as the AWS SDK for Rust sees it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::{BehaviorVersion, Credentials, Region};
use aws_sdk_dynamodb::error::ProvideErrorMetadata;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, AttributeValue, BillingMode, KeySchemaElement, KeyType, KeysAndAttributes, OnDemandThroughput,
    ProvisionedThroughput, PutRequest, ReturnConsumedCapacity, ReturnValue, ScalarAttributeType, TableStatus, Tag, WarmThroughput,
    WriteRequest,
};
use throttlescope::embedded::{Config, Profile, Server, start};

const SHORT: &str = "[table]\nactivation_s = 0.2\ndeletion_s = 0.2\nupdating_s = 0.1\n";

fn endpoint(profile: &str) -> (Server, Client) {
    let server = start(Config { profile: Profile::parse(profile, "test.toml").unwrap(), ..Config::default() }).unwrap();
    let config = aws_sdk_dynamodb::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("us-east-1"))
        .endpoint_url(server.url())
        .credentials_provider(Credentials::new("local", "local", None, None, "test"))
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .retry_config(RetryConfig::disabled())
        .build();
    (server, Client::from_conf(config))
}

fn text(value: &str) -> AttributeValue {
    AttributeValue::S(value.to_owned())
}

fn number(value: i64) -> AttributeValue {
    AttributeValue::N(value.to_string())
}

fn attribute(name: &str, kind: ScalarAttributeType) -> AttributeDefinition {
    AttributeDefinition::builder().attribute_name(name).attribute_type(kind).build().unwrap()
}

fn key(name: &str, kind: KeyType) -> KeySchemaElement {
    KeySchemaElement::builder().attribute_name(name).key_type(kind).build().unwrap()
}

async fn create(client: &Client, table: &str) {
    let made = client
        .create_table()
        .table_name(table)
        .attribute_definitions(attribute("pk", ScalarAttributeType::S))
        .attribute_definitions(attribute("sk", ScalarAttributeType::N))
        .key_schema(key("pk", KeyType::Hash))
        .key_schema(key("sk", KeyType::Range))
        .billing_mode(BillingMode::PayPerRequest)
        .tags(Tag::builder().key("throttlescope:session").value("s-1").build().unwrap())
        .send()
        .await
        .unwrap();
    assert_eq!(made.table_description().unwrap().table_status(), Some(&TableStatus::Creating));
    wait_until(client, table, Some(TableStatus::Active)).await;
}

async fn wait_until(client: &Client, table: &str, status: Option<TableStatus>) {
    let reached = async {
        loop {
            let described = client.describe_table().table_name(table).send().await;
            let seen = match described {
                Ok(described) => described.table.and_then(|table| table.table_status),
                Err(error) if error.code() == Some("ResourceNotFoundException") => None,
                Err(error) => panic!("{error:?}"),
            };
            if seen == status {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), reached).await.unwrap();
}

#[tokio::test]
async fn a_table_is_created_used_and_deleted() {
    let (_server, client) = endpoint(SHORT);
    create(&client, "table").await;
    let table = client.describe_table().table_name("table").send().await.unwrap().table.unwrap();
    let warm = table.warm_throughput().unwrap();
    assert_eq!((warm.write_units_per_second(), warm.read_units_per_second()), (Some(4_000), Some(12_000)));
    assert!(table.creation_date_time().unwrap().secs() > 1_700_000_000);
    let tags = client.list_tags_of_resource().resource_arn(table.table_arn().unwrap()).send().await.unwrap();
    assert_eq!(tags.tags()[0].value(), "s-1");

    for sort in 0..5 {
        let put = client.put_item().table_name("table").item("pk", text("a")).item("sk", number(sort)).item("v", text("value"));
        let put = put.return_consumed_capacity(ReturnConsumedCapacity::Total).send().await.unwrap();
        assert_eq!(put.consumed_capacity().unwrap().capacity_units(), Some(1.0));
    }
    let got = client.get_item().table_name("table").key("pk", text("a")).key("sk", number(3)).send().await.unwrap();
    assert_eq!(got.item().unwrap()["v"], text("value"));

    let found = client
        .query()
        .table_name("table")
        .key_condition_expression("pk = :p AND sk >= :s")
        .expression_attribute_values(":p", text("a"))
        .expression_attribute_values(":s", number(2))
        .limit(2)
        .send()
        .await
        .unwrap();
    assert_eq!(found.count(), 2);
    assert_eq!(found.last_evaluated_key().unwrap()["sk"], number(3));

    let updated = client
        .update_item()
        .table_name("table")
        .key("pk", text("a"))
        .key("sk", number(3))
        .update_expression("SET v = :v ADD n :one")
        .expression_attribute_values(":v", text("new"))
        .expression_attribute_values(":one", number(1))
        .return_values(ReturnValue::UpdatedNew)
        .send()
        .await
        .unwrap();
    assert_eq!(updated.attributes().unwrap()["v"], text("new"));
    assert_eq!(updated.attributes().unwrap()["n"], number(1));

    let claimed = client
        .put_item()
        .table_name("table")
        .item("pk", text("a"))
        .item("sk", number(3))
        .condition_expression("attribute_not_exists(pk)")
        .send()
        .await;
    assert!(matches!(claimed.unwrap_err().into_service_error(), PutItemError::ConditionalCheckFailedException(_)));

    let old = client.delete_item().table_name("table").key("pk", text("a")).key("sk", number(3));
    let old = old.return_values(ReturnValue::AllOld).send().await.unwrap();
    assert_eq!(old.attributes().unwrap()["v"], text("new"));
    let gone = client.get_item().table_name("table").key("pk", text("a")).key("sk", number(3)).send().await.unwrap();
    assert!(gone.item().is_none());

    client.delete_table().table_name("table").send().await.unwrap();
    wait_until(&client, "table", None).await;
    assert!(client.list_tables().send().await.unwrap().table_names().is_empty());
}

#[tokio::test]
async fn batches_are_written_and_read() {
    let (_server, client) = endpoint(SHORT);
    create(&client, "table").await;
    let write = |sort: i64| {
        let put = PutRequest::builder().item("pk", text("b")).item("sk", number(sort)).build().unwrap();
        WriteRequest::builder().put_request(put).build()
    };
    let written = client.batch_write_item().request_items("table", (0..25).map(write).collect()).send().await.unwrap();
    assert!(written.unprocessed_items().unwrap().is_empty());
    let keys = (20..30).map(|sort| [("pk".to_owned(), text("b")), ("sk".to_owned(), number(sort))].into_iter().collect());
    let keys = KeysAndAttributes::builder().set_keys(Some(keys.collect())).build().unwrap();
    let read = client.batch_get_item().request_items("table", keys).send().await.unwrap();
    assert_eq!(read.responses().unwrap()["table"].len(), 5);
    let too_many = client.batch_write_item().request_items("table", (0..26).map(write).collect()).send().await.unwrap_err();
    assert_eq!(too_many.code(), Some("ValidationException"));
}

#[tokio::test]
async fn a_batch_that_is_throttled_in_part_gives_back_the_rest() {
    let (_server, client) = endpoint(&format!("{SHORT}[partitions]\ncount = 1\nwrite_per_s = 1\nbucket_s = 10\n"));
    create(&client, "table").await;
    let write = |sort: i64| {
        let put = PutRequest::builder().item("pk", text("b")).item("sk", number(sort)).build().unwrap();
        WriteRequest::builder().put_request(put).build()
    };
    let written = client.batch_write_item().request_items("table", (0..25).map(write).collect()).send().await.unwrap();
    let left = &written.unprocessed_items().unwrap()["table"];
    assert!((13..=15).contains(&left.len()), "{} of 25 left", left.len());
    assert_eq!(left.last().unwrap().put_request().unwrap().item()["sk"], number(24));
    let all = client.batch_write_item().request_items("table", (0..25).map(write).collect()).send().await;
    // A second may have passed; else nothing of it could be written, and that is an exception.
    if let Err(error) = all {
        assert_eq!(error.code(), Some("ThrottlingException"));
    }
}

#[tokio::test]
async fn throttles_carry_their_reasons_in_the_case_that_the_sdk_reads() {
    let (_server, client) = endpoint(&format!("{SHORT}[partitions]\ncount = 4\nwrite_per_s = 5\nread_per_s = 1\n"));
    create(&client, "table").await;
    let write = || client.put_item().table_name("table").item("pk", text("hot")).item("sk", number(0)).send();
    // Another limit may refuse first, where it was driven dry before.
    let refusal = async |reason: &str| {
        for _ in 0..5_000 {
            if let Err(error) = write().await {
                assert_eq!(error.raw_response().unwrap().status().as_u16(), 400);
                let error = error.into_service_error();
                let reasons = match &error {
                    PutItemError::ThrottlingException(error) => error.throttling_reasons(),
                    PutItemError::ProvisionedThroughputExceededException(error) => error.throttling_reasons(),
                    other => panic!("{other:?}"),
                };
                if reasons[0].reason() == Some(reason) {
                    return error;
                }
            }
        }
        panic!("never refused with {reason}");
    };
    let PutItemError::ThrottlingException(throttled) = refusal("TableWriteKeyRangeThroughputExceeded").await else {
        panic!("not a ThrottlingException")
    };
    let reason = &throttled.throttling_reasons()[0];
    assert_eq!(reason.reason(), Some("TableWriteKeyRangeThroughputExceeded"));
    assert_eq!(reason.resource(), Some("arn:aws:dynamodb:us-east-1:000000000000:table/table"));
    assert!(throttled.message().unwrap().starts_with("Throughput exceeds the current capacity of your table or index."));

    let maximum = OnDemandThroughput::builder().max_write_request_units(2).build();
    client.update_table().table_name("table").on_demand_throughput(maximum).send().await.unwrap();
    wait_until(&client, "table", Some(TableStatus::Active)).await;
    let refused = refusal("TableWriteMaxOnDemandThroughputExceeded").await;
    assert!(matches!(refused, PutItemError::ThrottlingException(_)), "{refused:?}");

    let provisioned = ProvisionedThroughput::builder().read_capacity_units(1).write_capacity_units(1).build().unwrap();
    let update = client.update_table().table_name("table").billing_mode(BillingMode::Provisioned).provisioned_throughput(provisioned);
    update.send().await.unwrap();
    wait_until(&client, "table", Some(TableStatus::Active)).await;
    let refused = refusal("TableWriteProvisionedThroughputExceeded").await;
    assert!(matches!(refused, PutItemError::ProvisionedThroughputExceededException(_)), "{refused:?}");
}

#[tokio::test]
async fn the_account_quota_has_its_own_exception() {
    let (_server, client) = endpoint(&format!("{SHORT}account_write_per_s = 3\n"));
    create(&client, "table").await;
    for _ in 0..2_000 {
        let put = client.put_item().table_name("table").item("pk", text("a")).item("sk", number(0)).send().await;
        if let Err(error) = put {
            let PutItemError::RequestLimitExceeded(refused) = error.into_service_error() else { panic!("not a RequestLimitExceeded") };
            assert_eq!(refused.throttling_reasons()[0].reason(), Some("TableWriteAccountLimitExceeded"));
            return;
        }
    }
    panic!("never refused");
}

#[tokio::test]
async fn warm_throughput_and_protection_are_honoured() {
    let (_server, client) = endpoint(SHORT);
    create(&client, "table").await;
    let warm = |write| WarmThroughput::builder().write_units_per_second(write).read_units_per_second(12_000).build();
    client.update_table().table_name("table").warm_throughput(warm(10_000)).deletion_protection_enabled(true).send().await.unwrap();
    wait_until(&client, "table", Some(TableStatus::Active)).await;
    let table = client.describe_table().table_name("table").send().await.unwrap().table.unwrap();
    assert_eq!(table.warm_throughput().unwrap().write_units_per_second(), Some(10_000));
    let lower = client.update_table().table_name("table").warm_throughput(warm(5_000)).send().await.unwrap_err();
    assert_eq!(lower.code(), Some("ValidationException"));
    let protected = client.delete_table().table_name("table").send().await.unwrap_err();
    assert!(protected.message().unwrap().contains("deletion protection"), "{protected:?}");
}
