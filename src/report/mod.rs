//! The session document and its renderings. Imports `load` and `analysis`.

pub mod entry;
pub mod facts;
pub mod recording;

pub use entry::Entry;
pub use facts::{Cost, Event, EventKind, Phase, PlanFacts, SessionFacts, StopReason, TargetFacts, TargetKind, TargetLedger, WorkloadFacts};
pub use recording::Recording;
