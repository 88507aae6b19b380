//! The control plane, through aws-sdk-dynamodb: create a table, wait until it is ACTIVE, seed it, describe it, delete it and
//! confirm that it is gone. Retries of the SDK are off; what is repeated here is bounded and said.

mod access;
mod error;
mod lifecycle;
mod seed;
mod spec;

pub use access::{Access, Control, check_region, find_region};
pub use error::TableError;
pub use lifecycle::{Activated, Described};
pub use seed::Seeded;
pub use spec::{Billing, TableSpec, check_name};
