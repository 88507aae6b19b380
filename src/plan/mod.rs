//! Plans: an ordered list of windows and pauses, shipped or written by the user. Imports only `load`'s rates, operations, keys and
//! shares.

mod checks;
mod parse;
mod presets;
mod reader;
mod search;
mod span;
mod until;
mod window;
mod write;

use std::time::Duration;

use crate::load::keys::Keys;
use crate::load::op::Op;
use crate::load::rate::Rate;

pub use parse::parse;
pub use presets::{Preset, find, presets};
pub use reader::{Mistake, PlanError};
pub use search::{Next, Outlook, Search, SearchEnd, Shown, Tried};
pub use span::{parse_span, show_span};
pub use until::Until;
pub use window::PlanWindow;
pub use write::to_toml;

/// A plan: what will be offered, in order.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Its name.
    pub name: String,
    /// What it is for, in one sentence.
    pub about: String,
    /// Item size in bytes, where the plan insists on one.
    pub item_bytes: Option<u32>,
    /// Key distribution, where the plan insists on one.
    pub keys: Option<Keys>,
    /// Items seeded for reads, where the plan insists on a number.
    pub items: Option<u64>,
    /// Whether reads are strongly consistent, where the plan insists on it.
    pub consistent_read: Option<bool>,
    /// Its windows. Never empty.
    pub windows: Vec<PlanWindow>,
    /// What decides on further windows while it runs.
    pub search: Option<Search>,
}

/// What a part of a plan asks of the table: operations of one kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Demand {
    /// Which.
    pub op: Op,
    /// How many at most.
    pub operations: u64,
    /// Item size in bytes, where the plan says it.
    pub item_bytes: Option<u32>,
}

impl Plan {
    /// A plan of windows alone.
    pub fn of(name: impl Into<String>, about: impl Into<String>, windows: Vec<PlanWindow>) -> Self {
        Self {
            name: name.into(),
            about: about.into(),
            item_bytes: None,
            keys: None,
            items: None,
            consistent_read: None,
            windows,
            search: None,
        }
    }

    /// How long it takes at most, pauses included.
    pub fn duration(&self) -> Duration {
        let windows = self.windows.iter().map(|window| window.length + window.pause).sum();
        self.search.map_or(windows, |search| search.most_time.max(windows))
    }

    /// Operations it offers: exactly, or at most where windows may end early or a search decides.
    pub fn operations(&self) -> u64 {
        self.demands().iter().map(|demand| demand.operations).sum()
    }

    /// Operations it offers of one kind, exactly or at most.
    pub fn operations_of(&self, op: Op) -> u64 {
        self.demands().iter().filter(|demand| demand.op == op).map(|demand| demand.operations).sum()
    }

    /// What it asks of the table, window by window.
    pub fn demands(&self) -> Vec<Demand> {
        let mut demands = Vec::with_capacity(self.windows.len());
        for window in &self.windows {
            for (op, operations) in window.operations_by_op() {
                demands.push(Demand { op, operations, item_bytes: window.item_bytes.or(self.item_bytes) });
            }
        }
        if let Some(search) = &self.search {
            let first = demands.iter().map(|demand| demand.operations).sum();
            let operations = search.most_operations.saturating_sub(first);
            demands.push(Demand { op: search.op, operations, item_bytes: self.item_bytes });
        }
        demands
    }

    /// Whether what it offers is known before it runs, to the last operation.
    pub fn is_exact(&self) -> bool {
        self.search.is_none() && self.windows.iter().all(|window| window.until.is_none())
    }

    /// Whether any of its windows reads, so that items must be seeded first.
    pub fn reads(&self) -> bool {
        self.windows.iter().any(|window| window.op == Op::Read || window.reads.is_some())
    }

    /// Whether any of its windows writes.
    pub fn writes(&self) -> bool {
        self.windows.iter().any(|window| window.op == Op::Write)
    }

    /// The highest rate it offers.
    pub fn peak(&self) -> Option<Rate> {
        self.windows.iter().map(PlanWindow::peak).max()
    }

    /// The item size of its reads, which is the size of the items that are seeded; `None` where the session's holds.
    pub fn seeded_bytes(&self) -> Option<u32> {
        let reading = self.windows.iter().find(|window| window.op == Op::Read || window.reads.is_some());
        reading.and_then(|window| window.item_bytes).or(self.item_bytes)
    }
}
