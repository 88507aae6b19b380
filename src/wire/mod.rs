//! The default data-plane client: lean signed HTTP/1.1 over connections that the shard owns. One request is one attempt:
//! nothing here retries. Imports only `load`.

mod answer;
mod connection;
mod endpoint;
mod head;
mod identity;
mod lane;
mod renderer;
mod sign;
mod template;

pub use answer::classify;
pub use endpoint::{Endpoint, EndpointError};
pub use identity::{Identities, Identity};
pub use lane::WireLane;

use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use crate::load::{Failure, Key, KindId, Op, Target, Workload};
use lane::Desk;
use renderer::Renderer;
use template::Template;

/// One shard's access to a table over lean HTTP.
#[derive(Debug)]
pub struct WireTarget {
    endpoint: Endpoint,
    identities: Identities,
    template: Arc<Template>,
    desk: Arc<Mutex<Desk>>,
}

impl WireTarget {
    /// A target for `table` at `endpoint`.
    pub fn new(endpoint: Endpoint, identities: Identities, table: &str, workload: &Workload) -> Self {
        Self::of(endpoint, identities, Arc::new(Template::new(table, workload)))
    }

    /// What a lane would write for an operation on a key of the first kind at a wall-clock time: a whole signed request, in place of what the
    /// buffer holds. Errs if a credential holds characters that no header may.
    pub fn render(&self, op: Op, key: Key, now: SystemTime, into: &mut Vec<u8>) -> Result<(), Arc<Failure>> {
        lane::render(&self.desk, op, KindId::FIRST, key, now, into)
    }

    fn of(endpoint: Endpoint, identities: Identities, template: Arc<Template>) -> Self {
        let renderer = Renderer::new(&endpoint, identities.clone(), Arc::clone(&template));
        Self { endpoint, identities, template, desk: Arc::new(Mutex::new(Desk::new(renderer))) }
    }
}

/// For another shard: what a shard writes with is its own.
impl Clone for WireTarget {
    fn clone(&self) -> Self {
        Self::of(self.endpoint.clone(), self.identities.clone(), Arc::clone(&self.template))
    }
}

impl Target for WireTarget {
    type Lane = WireLane;

    fn lane(&mut self) -> WireLane {
        WireLane::new(self.endpoint.clone(), Arc::clone(&self.desk))
    }
}
