//! One measurement, from provisioning to teardown.

pub mod config;
mod drive;
#[cfg(debug_assertions)]
mod fault;
pub mod guard;
mod journal;
mod ledger;
mod provision;
pub mod remote;
mod scribe;
mod signals;
mod steering;
mod supervisor;
mod teardown;

pub use config::SessionConfig;
pub use journal::state_dir;
pub use provision::session_id;
pub use remote::{Command, Remote, remote};
pub use supervisor::{Outcome, run};

/// Turns INT, TERM and HUP into commands for as long as it is polled.
pub async fn listen_for_signals(remote: Remote) -> std::io::Result<()> {
    signals::listen(remote).await
}
