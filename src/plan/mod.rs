//! Plans: an ordered list of windows and pauses, shipped or written by the user. Imports only `load`'s rate and op.

mod parse;
mod presets;
mod span;

use std::time::Duration;

use crate::load::op::Op;
use crate::load::rate::Rate;

pub use parse::{PlanError, parse};
pub use presets::{Preset, find, presets};
pub use span::{parse_span, show_span};

/// A plan: what will be offered, in order.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Its name.
    pub name: String,
    /// What it is for, in one sentence.
    pub about: String,
    /// Item size in bytes, where the plan insists on one.
    pub item_bytes: Option<u32>,
    /// Key distribution, where the plan insists on one, as `--keys` takes it.
    pub keys: Option<String>,
    /// Its windows. Never empty.
    pub windows: Vec<PlanWindow>,
}

/// One window of a plan, and the pause before it.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanWindow {
    /// Its name on screen and in documents.
    pub label: String,
    /// Its operation.
    pub op: Op,
    /// Its offered rate.
    pub rate: Rate,
    /// Its length: a whole number of seconds, at least one, so that it starts and ends on bucket edges.
    pub length: Duration,
    /// Pause before it: a whole number of seconds, may be zero. The first window's is spent before the plan's first edge.
    pub pause: Duration,
}

impl Plan {
    /// How long it takes, pauses included.
    pub fn duration(&self) -> Duration {
        self.windows.iter().map(|window| window.length + window.pause).sum()
    }

    /// Operations it offers, exactly.
    pub fn operations(&self) -> u64 {
        self.windows.iter().map(|window| window.rate.count_in(window.length)).sum()
    }

    /// Operations it offers of one kind, exactly.
    pub fn operations_of(&self, op: Op) -> u64 {
        self.windows.iter().filter(|window| window.op == op).map(|window| window.rate.count_in(window.length)).sum()
    }

    /// Whether any of its windows reads, so that items must be seeded first.
    pub fn reads(&self) -> bool {
        self.windows.iter().any(|window| window.op == Op::Read)
    }

    /// The highest rate it offers.
    pub fn peak(&self) -> Option<Rate> {
        self.windows.iter().map(|window| window.rate).max()
    }
}
