//! Seeding: writes the items that reads will ask for, before and outside every window.

use std::time::Duration;

use aws_sdk_dynamodb::types::{AttributeValue, ConsumedCapacity, PutRequest, ReturnConsumedCapacity, WriteRequest};
use tokio::time::{Instant, sleep};

use super::access::Control;
use super::error::TableError;
use crate::load::Workload;
use crate::load::workload::{KEY_NAME, PAYLOAD_NAME, payload_bytes};

/// BatchWriteItem takes at most this many items.
const BATCH: u64 = 25;
/// Seeding may take this long; 1,000 items need a second.
const SEED_TIMEOUT: Duration = Duration::from_secs(600);

/// What seeding did.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Seeded {
    /// Items written.
    pub written: u64,
    /// Items asked for.
    pub items: u64,
    /// Units the service said were consumed.
    pub units: f64,
}

impl Control {
    /// Writes the workload's items. Unprocessed items are asked again, after a pause, until all are written.
    /// `progress` is told after each call how many are. Each item has `item_bytes`.
    pub async fn seed(&self, name: &str, workload: &Workload, item_bytes: u32, progress: impl Fn(u64)) -> Result<Seeded, TableError> {
        let start = Instant::now();
        let filler: String = ('a'..='z').cycle().take(payload_bytes(item_bytes)).collect();
        let mut done = Seeded { items: workload.items, ..Seeded::default() };
        let mut next = 0;
        let mut waiting: Vec<WriteRequest> = Vec::new();
        let mut pause = Duration::from_millis(50);
        while next < workload.items || !waiting.is_empty() {
            if start.elapsed() >= SEED_TIMEOUT {
                return Err(TableError::TooLong { what: "seeding", seconds: SEED_TIMEOUT.as_secs() });
            }
            while next < workload.items && (waiting.len() as u64) < BATCH {
                waiting.extend(item(workload, next, &filler));
                next += 1;
            }
            let asked = waiting.len() as u64;
            let batch = std::mem::take(&mut waiting);
            let call =
                self.client.batch_write_item().request_items(name, batch.clone()).return_consumed_capacity(ReturnConsumedCapacity::Total);
            match call.send().await {
                Ok(answer) => {
                    waiting = answer.unprocessed_items().and_then(|items| items.get(name)).cloned().unwrap_or_default();
                    done.units += answer.consumed_capacity().iter().filter_map(ConsumedCapacity::capacity_units).sum::<f64>();
                    done.written += asked - (waiting.len() as u64).min(asked);
                    progress(done.written);
                    pause = if waiting.is_empty() { Duration::from_millis(50) } else { (pause * 2).min(Duration::from_secs(2)) };
                }
                Err(error) => match TableError::of(&error, "BatchWriteItem", self.endpoint()) {
                    // A whole batch that is throttled, or a table that is ACTIVE only on paper, is asked again.
                    error
                        if matches!(
                            error.code(),
                            Some(
                                "ThrottlingException"
                                    | "ProvisionedThroughputExceededException"
                                    | "RequestLimitExceeded"
                                    | "ResourceNotFoundException"
                            )
                        ) =>
                    {
                        waiting = batch;
                        pause = (pause * 2).min(Duration::from_secs(2));
                    }
                    error => return Err(error),
                },
            }
            if !waiting.is_empty() {
                sleep(pause).await;
            }
        }
        Ok(done)
    }
}

fn item(workload: &Workload, number: u64, filler: &str) -> Option<WriteRequest> {
    let digits = workload.item_key(number).digits();
    let key = String::from_utf8_lossy(&digits).into_owned();
    let put = PutRequest::builder()
        .item(KEY_NAME, AttributeValue::S(key))
        .item(PAYLOAD_NAME, AttributeValue::S(filler.to_owned()))
        .build()
        .ok()?;
    Some(WriteRequest::builder().put_request(put).build())
}
