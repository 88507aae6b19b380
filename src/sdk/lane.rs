//! A lane: one request at a time, over whichever connection the SDK has for it.

use std::sync::Arc;
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{AttributeValue, ConsumedCapacity, ReturnConsumedCapacity};

use super::error::{self, Place};
use crate::load::workload::{KEY_NAME, PAYLOAD_NAME};
use crate::load::{Failure, Key, KindId, Lane, Op, Outcome, Request, Units, Workload};

/// What all requests have in common.
#[derive(Debug)]
pub(super) struct Template {
    table: String,
    /// By the kind of the item.
    payloads: Vec<AttributeValue>,
    consistent_read: bool,
}

impl Template {
    /// The payload is the same for all items, and the same as `wire` sends.
    pub(super) fn new(table: &str, workload: &Workload) -> Self {
        let payload = |bytes| AttributeValue::S(('a'..='z').cycle().take(bytes).collect());
        let payloads = workload.kinds().iter().map(|kind| payload(kind.payload_bytes())).collect();
        Self { table: table.to_owned(), payloads, consistent_read: workload.consistent_read }
    }

    fn payload(&self, kind: KindId) -> AttributeValue {
        // The workload that the template was made of always has a first kind.
        self.payloads.get(kind.place()).unwrap_or(&self.payloads[0]).clone()
    }
}

/// A lane of the shard's client.
#[derive(Debug)]
pub struct SdkLane {
    client: Client,
    place: Arc<Place>,
    template: Arc<Template>,
}

impl SdkLane {
    pub(super) fn new(client: Client, place: Arc<Place>, template: Arc<Template>) -> Self {
        Self { client, place, template }
    }

    async fn write(&self, request: &Request) -> Outcome {
        let call = self
            .client
            .put_item()
            .table_name(&self.template.table)
            .item(KEY_NAME, key(request.key))
            .item(PAYLOAD_NAME, self.template.payload(request.kind))
            .return_consumed_capacity(ReturnConsumedCapacity::Total);
        request.mark_sent();
        match call.send().await {
            Ok(output) => accepted(output.consumed_capacity()),
            Err(error) => error::outcome(&error, &self.place),
        }
    }

    async fn read(&self, request: &Request) -> Outcome {
        let call = self
            .client
            .get_item()
            .table_name(&self.template.table)
            .key(KEY_NAME, key(request.key))
            .consistent_read(self.template.consistent_read)
            .return_consumed_capacity(ReturnConsumedCapacity::Total);
        request.mark_sent();
        match call.send().await {
            Ok(output) => accepted(output.consumed_capacity()),
            Err(error) => error::outcome(&error, &self.place),
        }
    }
}

impl Lane for SdkLane {
    /// The SDK opens connections when requests need them, and offers no way to open one ahead.
    async fn open(&mut self) -> Result<Option<Duration>, Arc<Failure>> {
        Ok(None)
    }

    /// The request counts as sent when it is handed to the SDK, so service latency holds what an application waits for:
    /// the SDK's own work (serialising, signing, its layers, reading the answer) and connecting, where it has to.
    async fn call(&mut self, request: &Request) -> Outcome {
        match request.op {
            Op::Write => self.write(request).await,
            Op::Read => self.read(request).await,
        }
    }
}

fn key(key: Key) -> AttributeValue {
    AttributeValue::S(key.digits().iter().copied().map(char::from).collect())
}

fn accepted(consumed: Option<&ConsumedCapacity>) -> Outcome {
    Outcome::Accepted(consumed.and_then(ConsumedCapacity::capacity_units).map_or(Units::ZERO, Units::from_f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::Keys;

    #[test]
    fn an_item_is_the_one_that_was_asked_for() {
        let template = Template::new("t", &Workload::new(1_000, Keys::Uniform, 1, false, 10));
        let payload = template.payload(KindId::FIRST);
        let payload = payload.as_s().expect("text");
        assert_eq!(KEY_NAME.len() + 16 + PAYLOAD_NAME.len() + payload.len(), 1_000);
        assert!(payload.starts_with("abcdefghijklmnopqrstuvwxyzabc"));
        assert_eq!(key(Key(0xabc)), AttributeValue::S("0000000000000abc".to_owned()));
    }

    #[test]
    fn units_are_what_the_service_stated_or_none() {
        let stated = ConsumedCapacity::builder().table_name("t").capacity_units(2.5).build();
        assert_eq!(accepted(Some(&stated)), Outcome::Accepted(Units::from_f64(2.5)));
        assert_eq!(accepted(Some(&ConsumedCapacity::builder().build())), Outcome::Accepted(Units::ZERO));
        assert_eq!(accepted(None), Outcome::Accepted(Units::ZERO));
    }
}
