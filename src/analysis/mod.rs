//! Judges recorded data: pure functions, no clock, no I/O. Imports only `load`.

pub mod assessment;
mod burst;
mod clean;
mod client;
pub mod cost;
mod estimate;
mod evidence;
mod levels;
pub mod limit;
pub mod prediction;
mod ramp;
mod session;
mod steady;
mod steps;
mod window;
mod words;

pub use assessment::{Assessment, Caveat, Estimate, SessionAssessment, Step, Verdict, VerdictKind};
pub use cost::{Price, Prices, units_per_request, usd, worst_case_usd};
pub use estimate::degrees;
pub use limit::{Billing, Limit, Throttling};
pub use session::{Context, assess};
pub use words::per_s_in_words;
