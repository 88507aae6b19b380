//! One measurement, from provisioning to teardown.

mod claims;
pub mod config;
mod drive;
#[cfg(debug_assertions)]
mod fault;
pub mod guard;
mod host;
mod journal;
mod kinds;
mod ledger;
mod metrics;
mod provision;
pub mod remote;
pub mod replay;
mod scribe;
mod search;
mod signals;
mod steering;
mod supervisor;
mod teardown;

pub use config::SessionConfig;
pub use journal::state_dir;
pub use metrics::Metrics;
pub use provision::session_id;
pub use remote::{Command, Remote, remote};
pub use supervisor::{Outcome, exit_code_of, run};

/// Turns INT, TERM and HUP into commands for as long as it is polled. Calls `ready` once signals no longer end the process by
/// themselves, and `give_up` with the exit code when the process is to end at once.
pub async fn listen_for_signals(remote: Remote, ready: impl FnOnce(), give_up: impl Fn(u8)) -> std::io::Result<()> {
    signals::listen(remote, ready, give_up).await
}
