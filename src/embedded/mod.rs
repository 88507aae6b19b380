//! The embedded target: a simulated DynamoDB endpoint, an HTTP/1.1 server on its own thread that is reached only over HTTP.
//!
//! A request goes from its connection (`connection`) to the endpoint's state (`endpoint`), which finds its table (`table`),
//! asks the table's capacity (`model`), reads or writes its items (`store`, `data`), and says what the answer is and how long it
//! takes. The connection then waits that long and answers.

mod answer;
mod connection;
mod control;
mod data;
mod endpoint;
mod expression;
mod fault;
mod http;
mod latency;
pub mod model;
mod profile;
mod random;
mod refusal;
mod server;
mod store;
mod table;
mod value;

pub use fault::{Fault, Trouble};
pub use latency::{Latencies, Spread};
pub use profile::Profile;
pub use server::{Config, Server, StartError, start};
