//! What must hold of a plan beyond its single keys.

use std::time::Duration;

use super::{Plan, PlanWindow};
use crate::load::op::Op;
use crate::load::workload::{LARGEST_ITEM_BYTES, MOST_KINDS, SMALLEST_ITEM_BYTES};

/// A plan offers at most this many windows.
pub(super) const MOST_WINDOWS: usize = 1_000;
/// A window lasts at least this long.
pub(super) const SHORTEST_WINDOW: Duration = Duration::from_secs(1);
/// A window lasts at most a day.
pub(super) const LONGEST_WINDOW: Duration = Duration::from_secs(86_400);

/// An item size that can be written, or what to write instead.
pub(super) fn item_bytes(bytes: u64) -> Result<u32, String> {
    u32::try_from(bytes)
        .ok()
        .filter(|bytes| (SMALLEST_ITEM_BYTES..=LARGEST_ITEM_BYTES).contains(bytes))
        .ok_or_else(|| format!("{bytes} is not an item size; write {SMALLEST_ITEM_BYTES} to {LARGEST_ITEM_BYTES} bytes"))
}

/// A window's length that can be offered, or what to write instead.
pub(super) fn length(length: Duration) -> Result<Duration, String> {
    if (SHORTEST_WINDOW..=LONGEST_WINDOW).contains(&length) {
        Ok(length)
    } else {
        Err("a window lasts from 1s to 24h; write for example \"30s\"".to_owned())
    }
}

/// What is wrong with the windows taken together.
pub(super) fn together(plan: &Plan) -> Option<String> {
    if plan.windows.len() > MOST_WINDOWS {
        return Some(format!("a plan has at most {MOST_WINDOWS} windows; this one has {}", plan.windows.len()));
    }
    let reading = |window: &&PlanWindow| window.op == Op::Read || window.reads.is_some();
    let mut sizes = plan.windows.iter().filter(reading).map(|window| window.item_bytes.or(plan.item_bytes));
    if let Some(first) = sizes.next()
        && sizes.any(|size| size != first)
    {
        return Some("windows that read ask for the same seeded items, so they all need one item_bytes".to_owned());
    }
    let mut kinds: Vec<_> = plan.windows.iter().map(|window| (window.item_bytes, window.keys.map(|keys| keys.to_string()))).collect();
    kinds.sort();
    kinds.dedup();
    // The session's own kind is one more.
    (kinds.len() >= MOST_KINDS).then(|| format!("a plan has fewer than {MOST_KINDS} different item sizes and key distributions"))
}
