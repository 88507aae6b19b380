//! The endpoint that calibration offers load to: the simulated one with the profile that accepts everything at once, as a
//! process of its own, so that its CPU time is not the client's.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::host::process_cpu_nanos;
use super::probe::Probe;
use crate::load::workload::KEY_NAME;
use crate::wire::{Endpoint, Identities, Identity, WireTarget};

/// The table that takes the load.
const TABLE: &str = "throttlescope-doctor";
/// From starting the process to an ACTIVE table.
const READY_WITHIN: Duration = Duration::from_secs(20);
const POLL: Duration = Duration::from_millis(20);

/// The endpoint while it runs. Dropping it ends the process; so does the end of this process, however it comes.
#[derive(Debug)]
pub struct NullEndpoint {
    process: Child,
    /// The process ends when nothing holds its standard input open any more.
    _lifeline: Option<ChildStdin>,
    endpoint: Endpoint,
}

impl NullEndpoint {
    /// Starts `program`, which is this program, and makes a table there. The error is a clause.
    pub async fn start(program: &Path) -> Result<Self, String> {
        let mut command = Command::new(program);
        command.args(["embedded", "--listen", "127.0.0.1:0", "--embedded-profile", "null", "--embedded-time-scale", "100000"]);
        command.arg("--until-stdin-ends").stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut process = command.spawn().map_err(|e| format!("cannot start {}: {e}", program.display()))?;
        let (lifeline, words) = (process.stdin.take(), process.stderr.take());
        let mut started = Self { process, _lifeline: lifeline, endpoint: parse("http://127.0.0.1:1")? };
        let words = words.ok_or("it has no standard error")?;
        // Read on a thread of its own: this one must go on heeding signals.
        let line = tokio::task::spawn_blocking(move || {
            let mut line = String::new();
            BufReader::new(words).read_line(&mut line).map(|_| line)
        });
        let said = tokio::time::timeout(READY_WITHIN, line).await.map_err(|_| "it did not start in time".to_owned())?;
        let line = said.map_err(|e| e.to_string())?.map_err(|e| e.to_string())?;
        let url = line.split_whitespace().map(|word| word.trim_end_matches(';')).find(|word| word.starts_with("http://"));
        started.endpoint = parse(url.ok_or_else(|| format!("it does not say where it listens: {}", line.trim()))?)?;
        started.create_table().await?;
        Ok(started)
    }

    async fn create_table(&self) -> Result<(), String> {
        let mut probe = Probe::new(self.endpoint.clone(), Arc::new(Identity::dummy()));
        let create = format!(
            r#"{{"TableName":"{TABLE}","BillingMode":"PAY_PER_REQUEST","AttributeDefinitions":[{{"AttributeName":"{KEY_NAME}","AttributeType":"S"}}],"KeySchema":[{{"AttributeName":"{KEY_NAME}","KeyType":"HASH"}}]}}"#
        );
        let made = probe.ask("CreateTable", create).await?;
        if made.status != 200 {
            return Err(format!("it makes no table: HTTP {}", made.status));
        }
        let begun = Instant::now();
        while begun.elapsed() < READY_WITHIN {
            let described = probe.ask("DescribeTable", format!(r#"{{"TableName":"{TABLE}"}}"#)).await?;
            if memchr::memmem::find(&described.body, b"\"ACTIVE\"").is_some() {
                return Ok(());
            }
            sleep(POLL).await;
        }
        Err("its table did not become ACTIVE".to_owned())
    }

    /// A target for the load engine.
    pub(super) fn target(&self, workload: &crate::load::Workload) -> WireTarget {
        WireTarget::new(self.endpoint.clone(), Identities::fixed(Identity::dummy()), TABLE, workload)
    }

    /// CPU time that it has used so far, nanoseconds; `None` where that cannot be read.
    pub(super) fn cpu_nanos(&self) -> Option<u64> {
        process_cpu_nanos(self.process.id())
    }
}

impl Drop for NullEndpoint {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _gone = self.process.kill();
        let _reaped = self.process.wait();
    }
}

fn parse(url: &str) -> Result<Endpoint, String> {
    Endpoint::parse(url, "us-east-1").map_err(|e| e.to_string())
}
