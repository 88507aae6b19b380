//! The default data-plane client: lean signed HTTP/1.1 over connections that the shard owns. One request is one attempt:
//! nothing here retries. Imports only `load`.

mod answer;
mod connection;
mod identity;
mod lane;
mod sign;
mod template;

pub use answer::classify;
pub use connection::{Endpoint, EndpointError};
pub use identity::{Identities, Identity};
pub use lane::WireLane;

use std::sync::Arc;

use crate::load::{Target, Workload};
use template::Template;

/// One shard's access to a table over lean HTTP.
#[derive(Clone, Debug)]
pub struct WireTarget {
    endpoint: Endpoint,
    identities: Identities,
    template: Arc<Template>,
}

impl WireTarget {
    /// A target for `table` at `endpoint`.
    pub fn new(endpoint: Endpoint, identities: Identities, table: &str, workload: &Workload) -> Self {
        Self { endpoint, identities, template: Arc::new(Template::new(table, workload)) }
    }
}

impl Target for WireTarget {
    type Lane = WireLane;

    fn lane(&mut self) -> WireLane {
        WireLane::new(self.endpoint.clone(), self.identities.clone(), Arc::clone(&self.template))
    }
}
