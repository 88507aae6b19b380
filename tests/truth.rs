//! The instrument tells the truth: about pace, about latency, and about itself when it or the server stands still.
//!
//! The bounds follow from what each run measured of itself (how late the client was, how late the server read), so that
//! a busy machine widens them and never breaks them.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod terminal_support;

#[path = "truth/counting.rs"]
mod counting;
#[path = "truth/delayed.rs"]
mod delayed;
#[path = "truth/far_away.rs"]
mod far_away;
#[path = "truth/latency.rs"]
mod latency;
#[path = "truth/pacing.rs"]
mod pacing;
#[path = "truth/session.rs"]
mod session;
