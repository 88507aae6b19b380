//! Values as people type them. Each error says what to type instead.

use std::time::Duration;

use crate::plan::parse_span;

pub(super) fn pair(typed: &str) -> Result<(u32, u32), String> {
    let wrong = || format!("`{typed}` is not a pair of units per second; type write,read, for example 8000,24000");
    let (write, read) = typed.split_once(',').ok_or_else(wrong)?;
    let units = |text: &str| text.trim().parse::<u32>().ok().filter(|units| *units > 0).ok_or_else(wrong);
    Ok((units(write)?, units(read)?))
}

pub(super) fn item_bytes(typed: &str) -> Result<u32, String> {
    use crate::load::workload::{LARGEST_ITEM_BYTES, SMALLEST_ITEM_BYTES};
    typed
        .parse::<u32>()
        .ok()
        .filter(|bytes| (SMALLEST_ITEM_BYTES..=LARGEST_ITEM_BYTES).contains(bytes))
        .ok_or_else(|| format!("`{typed}` is not an item size; type {SMALLEST_ITEM_BYTES} to {LARGEST_ITEM_BYTES} bytes, for example 1000"))
}

pub(super) fn precision(typed: &str) -> Result<f64, String> {
    typed
        .parse::<f64>()
        .ok()
        .filter(|share| (0.001..=0.2).contains(share))
        .ok_or_else(|| format!("`{typed}` is not a precision; type a share from 0.001 to 0.2, for example 0.01 for 1 %"))
}

pub(super) fn timeout(typed: &str) -> Result<Duration, String> {
    let span = parse_span(typed)?;
    let allowed = Duration::from_millis(10)..=Duration::from_secs(60);
    if allowed.contains(&span) { Ok(span) } else { Err(format!("`{typed}` is outside 10ms to 60s; type for example 8s")) }
}

pub(super) fn late_limit(typed: &str) -> Result<Duration, String> {
    let span = parse_span(typed)?;
    let allowed = Duration::from_millis(10)..=Duration::from_secs(60);
    if allowed.contains(&span) { Ok(span) } else { Err(format!("`{typed}` is outside 10ms to 60s; type for example 100ms")) }
}

pub(super) fn money(typed: &str) -> Result<f64, String> {
    let bare = typed.trim_start_matches('$');
    bare.parse::<f64>()
        .ok()
        .filter(|usd| usd.is_finite() && *usd >= 0.0)
        .ok_or_else(|| format!("`{typed}` is not an amount; type US dollars, for example 5 or 0.50"))
}
