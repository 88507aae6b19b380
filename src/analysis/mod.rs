//! Judges recorded data: pure functions, no clock, no I/O. Imports only `load`.

pub mod assessment;

pub use assessment::{Assessment, Caveat, Estimate, SessionAssessment, Verdict, VerdictKind};
