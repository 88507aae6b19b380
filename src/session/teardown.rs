//! Teardown: ask the simulated endpoint for its count, delete what the session created, confirm that it is gone.

use std::cell::Cell;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::time::interval;

use super::ledger;
use super::remote::Command;
use super::supervisor::{BEAT, Session};
use crate::report::{Entry, EventKind, Phase, removal};

/// A table whose CreateTable was never answered is looked for this long before it is taken for never made.
const MAY_APPEAR: Duration = Duration::from_secs(15);

impl Session {
    /// Deletes the table. Returns what was left behind, as a sentence with the command that removes it.
    pub(super) async fn tear_down(&mut self) -> Option<String> {
        let table = self.scribe.target.table.clone();
        if let Some(address) = self.server.as_ref().map(crate::embedded::Server::addr) {
            self.ask_ledger(address, &table).await;
        }
        self.claim_last().await;
        let left_behind = self.delete(&table).await;
        if let Some(server) = self.server.take() {
            server.stop();
        }
        left_behind
    }

    async fn ask_ledger(&mut self, address: SocketAddr, table: &str) {
        // Without a table nothing was counted.
        if self.scribe.target.active.is_none() {
            return;
        }
        match ledger::ask(address, table).await {
            Ok(ledger) => self.scribe.apply(&Entry::TargetLedger(ledger.since(&self.counted_before))),
            Err(why) => self.scribe.event(EventKind::Warning, format!("the simulated endpoint's own count is not known: {why}")),
        }
    }

    async fn delete(&mut self, table: &str) -> Option<String> {
        // Set before CreateTable is called: a create whose answer was lost is deleted too.
        if !self.scribe.target.created_by_session {
            return None;
        }
        let control = self.control.clone()?;
        self.scribe.phase(Phase::Deleting);
        let answered = Cell::new(false);
        let deleted = {
            let may_appear = if self.create_is_open { MAY_APPEAR } else { Duration::ZERO };
            let deleting = control.delete(table, may_appear, || answered.set(true));
            tokio::pin!(deleting);
            let mut beat = interval(BEAT);
            loop {
                tokio::select! {
                    done = &mut deleting => break done.map_err(|e| e.to_string()),
                    command = self.desk.commands.recv() => match command {
                        Some(Command::Abandon) => break Err("waiting for it was abandoned".to_owned()),
                        Some(Command::Dump) => self.dump(),
                        _ => {}
                    },
                    _ = beat.tick() => self.scribe.publish(),
                }
            }
        };
        match deleted {
            Ok(took) => {
                self.scribe.target(|target| {
                    target.deleted = true;
                    target.delete_confirmed_s = Some(took.as_secs_f64());
                });
                self.scribe.event(EventKind::Note, format!("table {table} deleted, confirmed after {:.1} s", took.as_secs_f64()));
                None
            }
            Err(why) => {
                self.scribe.target(|target| target.deleted = answered.get());
                let left = self.leftover(&why);
                // The simulated endpoint ends with this process, and its tables with it.
                if self.server.is_some() { None } else { Some(left) }
            }
        }
    }

    /// Says loudly what may be left, and how to remove it.
    pub(super) fn leftover(&mut self, why: &str) -> String {
        let target = &self.scribe.target;
        let left = match removal(target.kind, &target.table, &target.region, &target.endpoint) {
            Some(command) => format!("table {} may still exist ({why}); delete it with: {command}", target.table),
            None => format!("table {} was not deleted ({why}); it ends with the simulated endpoint", target.table),
        };
        self.scribe.event(EventKind::Error, left.clone());
        left
    }
}
