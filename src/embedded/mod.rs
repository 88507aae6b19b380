//! The embedded target.
pub mod model;
