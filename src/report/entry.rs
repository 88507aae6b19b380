//! Entries: a session as a sequence of facts. The live session applies each entry to its [`super::Recording`] and
//! appends the same entry to the journal, so that a report made from a journal is the report of the session.

use serde::{Deserialize, Serialize};

use crate::load::{Bucket, Offset, Setpoint, WindowId, WindowSpec};

use super::claim::Claim;
use super::facts::{Cost, Event, Phase, PlanFacts, SessionFacts, StopReason, TargetFacts, TargetLedger, WorkloadFacts};
use super::host::Host;

/// One line of a journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "entry", content = "is")]
pub enum Entry {
    /// A session starts. Always the first entry.
    Session {
        /// Layout of the journal, `throttlescope.journal/1`.
        schema: String,
        /// What is fixed.
        session: SessionFacts,
        /// What the load consists of.
        workload: WorkloadFacts,
    },
    /// The target, each time something about it becomes known. Written *before* a resource is created, too.
    Target(TargetFacts),
    /// What DescribeTable said of the table.
    Claim(Claim),
    /// This machine and its way to the endpoint, each time more of it becomes known.
    Host(Host),
    /// The phase changed.
    Phase {
        /// When.
        at: Offset,
        /// To what.
        phase: Phase,
    },
    /// A plan starts or moves on.
    Plan(PlanFacts),
    /// A rate was asked for.
    Requested(Setpoint),
    /// A rate took effect.
    Applied(Setpoint),
    /// A window opens.
    Open(WindowSpec),
    /// A window closes.
    Close {
        /// Which.
        window: WindowId,
        /// When.
        end: Offset,
    },
    /// A second is complete.
    Bucket(Box<Bucket>),
    /// Prices, and what was spent so far.
    Cost(Cost),
    /// Something happened.
    Event(Event),
    /// The simulated endpoint's own count.
    TargetLedger(TargetLedger),
    /// The session stops: why, first reason only.
    Stop(StopReason),
    /// The session is over. Always the last entry of a session that was not killed.
    End {
        /// When.
        at: Offset,
        /// RFC 3339 UTC.
        ended_at: String,
    },
}
