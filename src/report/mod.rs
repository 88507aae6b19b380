//! The session document and its renderings. Imports `load` and `analysis`.

mod build;
pub mod claim;
mod clean;
pub mod compare;
mod csv;
pub mod document;
pub mod entry;
pub mod expect;
pub mod facts;
mod figures;
mod findings;
mod finite;
mod hlog;
mod host;
mod html;
pub mod journal;
mod limits;
mod markdown;
pub mod prometheus;
pub mod recording;
pub mod replay;
mod sheet;
pub mod status;
pub mod text;
pub mod write;

pub use build::{context, document};
pub use claim::Claim;
pub use clean::{clean, clean_ascii};
pub use csv::{csv_buckets, csv_windows};
pub use document::{Document, SCHEMA};
pub use entry::Entry;
pub use facts::{
    Cost, Event, EventKind, Phase, PlanFacts, SessionFacts, StopReason, TargetFacts, TargetKind, TargetLedger, WorkloadFacts, removal,
};
pub use finite::Finite;
pub use hlog::hlog;
pub use host::Host;
pub use html::html;
pub use journal::{JOURNAL_SCHEMA, JournalError, load_document};
pub use limits::limits;
pub use markdown::markdown;
pub use recording::{Recorder, Recording};
pub use text::text;
pub use write::{WriteError, check_writable, write_bytes, write_new};
