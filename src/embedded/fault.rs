//! Scripted faults: trouble at set times after a table became ACTIVE.

use std::time::Duration;

/// A fault that befalls data-plane requests during a span.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// Start, after the table became ACTIVE.
    pub from: Duration,
    /// End, after the table became ACTIVE.
    pub to: Duration,
    /// What happens.
    pub trouble: Trouble,
    /// The share of the requests it befalls, `0..=1`.
    pub share: f64,
}

/// What a fault does to a request. All but the delays happen instead of the request, which is then neither admitted nor counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The answer comes this much later.
    Delay(Duration),
    /// The answer comes no earlier than the end of the span.
    Stall,
    /// No answer ever; the connection stays open.
    Drop,
    /// The connection is closed without an answer.
    Close,
    /// The connection is reset without an answer.
    Reset,
    /// HTTP 500, InternalServerError.
    Error,
    /// Bytes that are not HTTP, then the connection is closed.
    Garbage,
}

impl Fault {
    /// Whether it is in force `since_active` after the table became ACTIVE.
    pub(super) fn covers(&self, since_active: Duration) -> bool {
        (self.from..self.to).contains(&since_active)
    }
}
