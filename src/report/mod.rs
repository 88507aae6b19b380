//! The session document and its renderings. Imports `load` and `analysis`.

mod build;
pub mod claim;
mod clean;
pub mod document;
pub mod entry;
pub mod facts;
mod figures;
mod finite;
mod host;
pub mod journal;
pub mod recording;
pub mod replay;
pub mod status;
pub mod text;
pub mod write;

pub use build::{context, document};
pub use claim::Claim;
pub use clean::{clean, clean_ascii};
pub use document::{Document, SCHEMA};
pub use entry::Entry;
pub use facts::{
    Cost, Event, EventKind, Phase, PlanFacts, SessionFacts, StopReason, TargetFacts, TargetKind, TargetLedger, WorkloadFacts, removal,
};
pub use finite::Finite;
pub use host::Host;
pub use journal::{JOURNAL_SCHEMA, JournalError, load_document};
pub use recording::{Recorder, Recording};
pub use text::text;
pub use write::{WriteError, check_writable, write_new};
