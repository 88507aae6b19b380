//! Guards: operations, money and time, checked before anything is sent.

use super::config::SessionConfig;
use crate::analysis::cost::{Price, units_per_request, usd, worst_case_usd};
use crate::load::{Offset, Op, Units};
use crate::plan::{Plan, show_span};
use crate::report::{Cost, Recording};

/// What was spent so far: consumed units of the windows and of seeding, at the price of each operation.
pub(super) fn cost(recording: &Recording, price: Option<Price>, seed_units: f64) -> Cost {
    let consumed = |op: Op| {
        let of_op = recording.load.windows.iter().filter(|window| window.spec.op == op);
        of_op.fold(Units::ZERO, |sum, window| sum + window.counts.consumed)
    };
    let spent =
        price.map(|price| usd(consumed(Op::Write) + Units::from_f64(seed_units), price.write) + usd(consumed(Op::Read), price.read));
    Cost { write_usd_per_million: price.map(|p| p.write), read_usd_per_million: price.map(|p| p.read), usd: spent }
}

/// What a plan may cost at most, seeding included; `None` where the price is not known.
pub fn worst_case(plan: &Plan, config: &SessionConfig) -> Option<f64> {
    Some(bill(plan, config.price?, config.items, config.item_bytes, config.consistent_read))
}

/// What a plan may cost at most at a price, seeding so many items included, USD. Size and consistency hold where it does not say.
pub fn bill(plan: &Plan, price: Price, items: u64, item_bytes: u32, consistent_read: bool) -> f64 {
    let consistent = plan.consistent_read.unwrap_or(consistent_read);
    let of = |operations, op, bytes: Option<u32>| worst_case_usd(operations, op, bytes.unwrap_or(item_bytes), consistent, price);
    let seeding = if plan.reads() { of(items, Op::Write, plan.seeded_bytes()) } else { 0.0 };
    seeding + plan.demands().iter().map(|demand| of(demand.operations, demand.op, demand.item_bytes)).sum::<f64>()
}

/// Whether the guards allow a plan. The error names the flag that does.
pub fn affordable(plan: &Plan, config: &SessionConfig) -> Result<(), String> {
    let guards = config.guards;
    if let Some(most) = guards.max_ops
        && plan.operations() > most
    {
        return Err(format!(
            "plan {} offers {}{} operations, above --max-ops {most}; type --max-ops {} to allow it",
            plan.name,
            if plan.is_exact() { "" } else { "up to " },
            plan.operations(),
            plan.operations()
        ));
    }
    if let Some(longest) = guards.max_duration
        && plan.duration() > longest
    {
        let needed = show_span(plan.duration() + std::time::Duration::from_secs(300));
        return Err(format!(
            "plan {} takes up to {}, longer than --max-duration {}; type --max-duration {needed} to allow it",
            plan.name,
            show_span(plan.duration()),
            show_span(longest)
        ));
    }
    match (guards.max_cost, worst_case(plan, config)) {
        (Some(most), Some(worst)) if worst > most => Err(format!(
            "plan {} may cost ${worst:.2}, above --max-cost {most}; type --max-cost {:.2} to allow it",
            plan.name,
            (worst * 1.01 * 100.0).ceil() / 100.0
        )),
        (Some(_), None) => Err(format!(
            "the price of this region is not known, so --max-cost cannot be kept; plan {} needs --price-write and --price-read",
            plan.name
        )),
        _ => Ok(()),
    }
}

/// Whether the guards allow seeding what a session may read. The error names the flag that does.
pub fn seeding_affordable(config: &SessionConfig) -> Result<(), String> {
    let (Some(most), Some(price)) = (config.guards.max_cost, config.price) else { return Ok(()) };
    let cost = worst_case_usd(config.items, Op::Write, config.seeded_bytes(), false, price);
    if cost > most {
        let needed = (cost * 1.01 * 100.0).ceil() / 100.0;
        return Err(format!(
            "seeding {} items may cost ${cost:.2}, above --max-cost {most}; type --max-cost {needed:.2}, or fewer --items",
            config.items
        ));
    }
    Ok(())
}

/// The guard that has been reached, in words. Requests in flight, and those of the next beat, are counted as served.
pub(super) fn tripped(recording: &Recording, config: &SessionConfig, now: Offset) -> Option<String> {
    let guards = config.guards;
    if let Some(longest) = guards.max_duration
        && now.since(Offset::ZERO) >= longest
    {
        return Some(format!("--max-duration {}", show_span(longest)));
    }
    let (most, spent, price) = (guards.max_cost?, recording.cost.usd?, config.price?);
    // Spending is known with each second; until then two seconds at the rate in force may have been sent.
    // What timed out or failed on the way may have been served all the same, and is billed then.
    let lost = recording.load.failures.iter().filter(|tally| tally.what.kind.in_transport()).map(|tally| tally.count).sum::<u64>()
        + recording.load.totals.timed_out;
    let unseen = f64::from(recording.load.live.in_flight) + recording.load.rate().map_or(0.0, |rate| rate.per_s() * 2.0) + lost as f64;
    // Of mixed load the dearer part is assumed.
    let open = recording.load.windows.iter().rev().take_while(|window| window.end.is_none());
    let each = |op, bytes| units_per_request(op, bytes, config.consistent_read) / 1e6 * price.of(op);
    let dearest = open.map(|w| each(w.spec.op, w.spec.item_bytes.unwrap_or(config.item_bytes))).reduce(f64::max);
    let unseen = unseen * dearest.unwrap_or_else(|| each(config.op, config.item_bytes));
    (spent + unseen >= most).then(|| format!("--max-cost {most}"))
}
