//! The kinds of items that a session can send: fixed when it starts, since every kind has its requests rendered ahead.

use super::config::{SessionConfig, Start};
use crate::load::{Keys, KindId, Workload};
use crate::plan::{Plan, PlanWindow, presets};

/// The kinds that the session can send, and what holds where neither window nor plan says.
#[derive(Clone, Debug)]
pub(super) struct Kinds {
    workload: Workload,
    item_bytes: u32,
    keys: Keys,
}

impl Kinds {
    /// The kinds of the session itself, of the plan that it starts with, and of the shipped plans, which may be picked later.
    pub(super) fn of_session(config: &SessionConfig) -> Self {
        let workload = Workload::new(config.item_bytes, config.keys, config.seed, config.consistent_read, config.items);
        let mut kinds = Self { workload, item_bytes: config.item_bytes, keys: config.keys };
        if let Start::Plan(plan) = &config.start {
            kinds.add(plan);
        }
        if !config.ends_with_plan {
            for preset in presets() {
                kinds.add(&preset.plan);
            }
        }
        kinds
    }

    /// One kind alone.
    #[cfg(test)]
    pub(super) fn fixed(item_bytes: u32, keys: Keys) -> Self {
        Self { workload: Workload::new(item_bytes, keys, 1, false, 1), item_bytes, keys }
    }

    fn add(&mut self, plan: &Plan) {
        for window in &plan.windows {
            let (bytes, keys) = self.wanted(plan, window);
            if self.workload.kind_of(bytes, keys).is_none() {
                tracing::warn!(plan = plan.name, "too many kinds of items");
            }
        }
    }

    /// Size and distribution of a window's items.
    pub(super) fn wanted(&self, plan: &Plan, window: &PlanWindow) -> (u32, Keys) {
        let bytes = window.item_bytes.or(plan.item_bytes).unwrap_or(self.item_bytes);
        (bytes, window.keys.or(plan.keys).unwrap_or(self.keys))
    }

    /// The kind of a window's items; `None` if the session cannot send them.
    pub(super) fn of(&self, plan: &Plan, window: &PlanWindow) -> Option<KindId> {
        let (bytes, keys) = self.wanted(plan, window);
        self.workload.find_kind(bytes, keys)
    }

    /// What is sent.
    pub(super) fn workload(&self) -> &Workload {
        &self.workload
    }
}
