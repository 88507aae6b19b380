//! One measurement, from provisioning to teardown.

pub mod remote;

pub use remote::{Command, Remote};
