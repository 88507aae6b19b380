//! Asks the service now and then what it says that the table can do.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

use super::supervisor::Session;
use crate::report::{Claim, Entry};
use crate::table::Described;

/// DescribeTable is asked this often while load runs: its figures change over minutes.
const EVERY: Duration = Duration::from_secs(15);
/// The last answer is waited for this long.
const LAST_WITHIN: Duration = Duration::from_secs(2);

impl Session {
    /// Notes what DescribeTable said.
    pub(super) fn claim(&mut self, table: &Described) {
        let at = self.scribe.now();
        self.scribe.apply(&Entry::Claim(Claim {
            at,
            last: at,
            status: table.status.clone(),
            warm_throughput: table.warm_throughput,
            max_units: table.max_units,
            billing_mode: table.billing.clone(),
        }));
    }

    /// Answers of DescribeTable, one every [`EVERY`], until nobody takes them any more. What cannot be asked is left out.
    pub(super) fn watch_claims(&self) -> mpsc::Receiver<Described> {
        let (sender, receiver) = mpsc::channel(1);
        if let Some(control) = self.control.clone() {
            let table = self.scribe.target.table.clone();
            tokio::spawn(async move {
                while !sender.is_closed() {
                    sleep(EVERY).await;
                    match control.describe(&table).await {
                        Ok(Some(described)) => {
                            if sender.send(described).await.is_err() {
                                return;
                            }
                        }
                        Ok(None) => tracing::debug!("the table is not there any more"),
                        Err(error) => tracing::debug!("DescribeTable: {error}"),
                    }
                }
            });
        }
        receiver
    }

    /// Asks once more, before the table is deleted.
    pub(super) async fn claim_last(&mut self) {
        let Some(control) = self.control.clone().filter(|_| self.scribe.target.active.is_some()) else { return };
        let table = self.scribe.target.table.clone();
        if let Ok(Ok(Some(described))) = timeout(LAST_WITHIN, control.describe(&table)).await {
            self.claim(&described);
        }
    }
}
