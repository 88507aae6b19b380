//! The program against servers that others wrote, and against servers that misbehave on purpose.
//!
//! `scripts/install-peers` installs the third-party servers and says where they are. A test whose server is not there
//! says so and is skipped; where CI=true it fails.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

#[path = "peers/boto3.rs"]
mod boto3;
#[path = "peers/classes.rs"]
mod classes;
#[path = "peers/clients.rs"]
mod clients;
#[path = "peers/explore.rs"]
mod explore;
#[path = "peers/hostile.rs"]
mod hostile;
#[path = "peers/judge.rs"]
mod judge;
#[path = "peers/lifecycle.rs"]
mod lifecycle;
#[path = "peers/on_the_wire.rs"]
mod on_the_wire;
#[path = "peers/provisioning.rs"]
mod provisioning;
#[path = "peers/signature.rs"]
mod signature;
#[path = "peers/stub.rs"]
mod stub;
#[path = "peers/support.rs"]
mod support;
