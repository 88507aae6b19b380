//! Which limit of the service refused, and what that means.
//!
//! The answer itself says most of it: by its reasons, else its message, else its code. What it cannot say is whether one key
//! or the whole table was too much for a partition; its hint to check for a hot key is its default text. A hot key is named
//! only where the keys that were sent show it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::load::workload::ZIPF_ITEMS;
use crate::load::{Cause, Keys, Op, Refusal, Snapshot, Tally, Window, thousands};

use super::prediction::{PARTITION, of};
use super::ramp::peak;
use super::session::Context;
use super::words::count_in_words;

/// A table that accepts less than this share of what it serves had room elsewhere.
const ROOM: f64 = 0.95;

/// A limit of the service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// A partition is at its capacity: the table has not scaled to this load.
    TableNotScaled,
    /// One key asks more of its partition than a partition has, whatever the table has.
    HotKey,
    /// The maximum on-demand throughput that the owner configured.
    ConfiguredMaximum,
    /// The provisioned capacity.
    Provisioned,
    /// A quota of the account.
    Account,
    /// Nothing in the answer says.
    #[default]
    Unknown,
}

impl Limit {
    /// The name used on screen and in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::TableNotScaled => "table-not-scaled",
            Self::HotKey => "hot-key",
            Self::ConfiguredMaximum => "configured-maximum",
            Self::Provisioned => "provisioned",
            Self::Account => "account",
            Self::Unknown => "unknown",
        }
    }

    /// One clause for people.
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::TableNotScaled => "the table has not scaled to this load: a key range of it is at its capacity",
            Self::HotKey => "a hot key: one key asks more than the one partition that holds it has",
            Self::ConfiguredMaximum => "the configured on-demand maximum was reached",
            Self::Provisioned => "the provisioned capacity was reached",
            Self::Account => "an account quota was reached",
            Self::Unknown => "the service gave no reason that is known",
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// How a table is billed, as far as it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Billing {
    /// Nobody said.
    #[default]
    Unknown,
    /// By request.
    OnDemand,
    /// Provisioned write and read units/s.
    Provisioned(u64, u64),
}

/// What a refusal means.
#[derive(Clone, Debug, PartialEq)]
pub struct Throttling {
    /// Which limit.
    pub limit: Limit,
    /// One sentence.
    pub meaning: String,
}

/// What is known of the keys when a refusal is read.
struct KeyLoad {
    op: Op,
    /// Units/s that fall on the key asked for most; `None` where no key stands out.
    top_units_per_s: Option<f64>,
    /// Outcomes were counted on that key, and none of them was a refusal.
    spared: bool,
    /// Units/s that the table accepted.
    accepted_units_per_s: f64,
    /// Units/s that the whole table is known to serve.
    table_units_per_s: Option<f64>,
}

impl KeyLoad {
    /// Only both together show a hot key: one key is too much for a partition, and the table had room elsewhere.
    fn is_hot(&self) -> bool {
        !self.spared
            && self.top_units_per_s.is_some_and(|top| top > of(self.op, PARTITION))
            && self.table_units_per_s.is_some_and(|table| self.accepted_units_per_s < ROOM * table)
    }
}

/// What each distinct refusal of a snapshot means, in its order.
pub(super) fn throttling(load: &Snapshot, context: &Context) -> Vec<Throttling> {
    load.refusals.iter().map(|tally| meaning(load, tally, context)).collect()
}

/// What one of them means.
pub(super) fn meaning(load: &Snapshot, tally: &Tally<Refusal>, context: &Context) -> Throttling {
    let keys = most_throttled(load, tally).and_then(|window| key_load(window, context));
    read(&tally.what, keys.as_ref(), context)
}

fn read(refusal: &Refusal, keys: Option<&KeyLoad>, context: &Context) -> Throttling {
    let limit = match cause(refusal, context.billing) {
        Cause::KeyRange if keys.is_some_and(KeyLoad::is_hot) => Limit::HotKey,
        Cause::KeyRange => Limit::TableNotScaled,
        Cause::ConfiguredMaximum => Limit::ConfiguredMaximum,
        Cause::Provisioned => Limit::Provisioned,
        Cause::Account => Limit::Account,
        Cause::Unknown => Limit::Unknown,
    };
    let of_table = |units: (u64, u64)| format!("{} write and {} read units/s", thousands(units.0), thousands(units.1));
    let meaning = match limit {
        Limit::TableNotScaled => {
            format!("a partition of the table is at its capacity: the table has not scaled to this load yet; {}", no_hot_key(keys, context))
        }
        Limit::HotKey => keys.map_or_else(String::new, hot_key),
        Limit::ConfiguredMaximum => {
            let is = context.max_units.map_or(String::new(), |units| format!(" ({})", of_table(units)));
            format!(
                "the maximum on-demand throughput set for the table{is} was reached, not what the table could serve: raise or remove it"
            )
        }
        Limit::Provisioned => {
            let is = match context.billing {
                Billing::Provisioned(write, read) => format!(" ({})", of_table((write, read))),
                _ => String::new(),
            };
            format!("the capacity provisioned for the table{is} was used up: provision more, or switch to on-demand")
        }
        Limit::Account => "a quota of the account was reached, whatever the table could serve: ask for a higher one".to_owned(),
        Limit::Unknown if refusal.cause() == Cause::Provisioned => {
            "the answer speaks of provisioned capacity, which an on-demand table does not have: it does not say which limit was reached"
                .to_owned()
        }
        Limit::Unknown => "the answer does not say which limit was reached".to_owned(),
    };
    Throttling { limit, meaning }
}

/// By reason, else message, else code. A table that bills by request has nothing provisioned: where such a table words its
/// refusal so and gives no reason, nothing says which limit it was.
fn cause(refusal: &Refusal, billing: Billing) -> Cause {
    let said = refusal.cause();
    let by_reason = refusal.reasons.iter().any(|reason| reason.ends_with("ProvisionedThroughputExceeded"));
    let worded_so =
        said == Cause::Provisioned && !by_reason || said == Cause::Unknown && refusal.code == "ProvisionedThroughputExceededException";
    match billing {
        Billing::OnDemand if worded_so => Cause::Unknown,
        Billing::Provisioned(..) | Billing::Unknown if worded_so => Cause::Provisioned,
        _ => said,
    }
}

fn hot_key(keys: &KeyLoad) -> String {
    let op = match keys.op {
        Op::Write => "write",
        Op::Read => "read",
    };
    format!(
        "one key is asked for {} {op} units/s, more than the {} that a partition serves, while the table accepted {} of the {} it has: \
         a hot key, which scaling the table does not help",
        count_in_words(keys.top_units_per_s.unwrap_or_default()),
        count_in_words(of(keys.op, PARTITION)),
        count_in_words(keys.accepted_units_per_s),
        count_in_words(keys.table_units_per_s.unwrap_or_default())
    )
}

/// Why no key is blamed.
fn no_hot_key(keys: Option<&KeyLoad>, context: &Context) -> String {
    let hint = "its hint to check for a hot key is its default text";
    match (context.keys, keys.and_then(|k| Some((k, k.top_units_per_s?)))) {
        (Some(Keys::Uniform | Keys::Sequential), None) => format!("{hint}: the keys of this load are uniform, so none stands out"),
        (_, Some((keys, top))) if top <= of(keys.op, PARTITION) => format!(
            "{hint}: no key is asked for more than {} units/s, and a partition serves {}",
            count_in_words(top),
            count_in_words(of(keys.op, PARTITION))
        ),
        (_, Some((_, top))) => format!(
            "one key is asked for {} units/s, which alone is more than a partition serves, but that the table had room elsewhere is not shown",
            count_in_words(top)
        ),
        (_, None) => hint.to_owned(),
    }
}

/// The window that was throttled most among those that can have seen the refusal.
fn most_throttled<'a>(load: &'a Snapshot, tally: &Tally<Refusal>) -> Option<&'a Window> {
    let says = |wanted: &str| tally.what.reasons.iter().any(|reason| reason.contains(wanted));
    let of_op = |op: Op| match op {
        Op::Write => says("Write") || !says("Read"),
        Op::Read => says("Read") || !says("Write"),
    };
    load.windows
        .iter()
        .map(std::convert::AsRef::as_ref)
        .filter(|w| w.counts.throttled > 0 && !w.is_adjusting() && of_op(w.spec.op))
        .filter(|w| w.spec.start <= tally.last && tally.first <= w.end.unwrap_or(load.at))
        .max_by_key(|w| w.counts.throttled)
}

fn key_load(window: &Window, context: &Context) -> Option<KeyLoad> {
    let span_s = window.seconds.iter().filter(|s| s.counts.offered > 0).count().max(1) as f64;
    let units = context.units_per_request(window)?;
    let counts = &window.counts;
    let (on_it, of_all) = (counts.hottest_accepted + counts.hottest_throttled, counts.accepted + counts.throttled);
    // What was counted stands for what the distribution says by construction.
    let counted = (on_it > 0).then(|| on_it as f64 / of_all.max(1) as f64);
    let share = counted.or_else(|| top_key_share(window.spec.keys.or(context.keys)?));
    Some(KeyLoad {
        op: window.spec.op,
        spared: counted.is_some() && counts.hottest_throttled == 0,
        top_units_per_s: share.map(|share| share * peak(window) * units),
        accepted_units_per_s: window.counts.accepted as f64 / span_s * units,
        table_units_per_s: context.table_units.map(|(write, read)| match window.spec.op {
            Op::Write => write as f64,
            Op::Read => read as f64,
        }),
    })
}

/// The share of requests that the key asked for most gets, by construction; `None` where none stands out.
fn top_key_share(keys: Keys) -> Option<f64> {
    match keys {
        Keys::Uniform | Keys::Sequential => None,
        Keys::Hot => Some(1.0),
        Keys::Zipf(s) => Some(zipf_weight(s).recip()),
    }
}

/// Sum of `n^-s` over the items: the first terms one by one, the others as the area under their curve.
fn zipf_weight(s: f64) -> f64 {
    const ONE_BY_ONE: u32 = 64;
    let first: f64 = (1..=ONE_BY_ONE).map(|n| f64::from(n).powf(-s)).sum();
    let (from, to) = (f64::from(ONE_BY_ONE) + 0.5, ZIPF_ITEMS as f64 + 0.5);
    let rest = if (s - 1.0).abs() < 1e-9 { (to / from).ln() } else { (to.powf(1.0 - s) - from.powf(1.0 - s)) / (1.0 - s) };
    first + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_of_the_first_item_is_that_of_the_whole_sum() {
        for s in [0.1, 0.9, 1.0, 1.1, 2.0, 5.0] {
            let whole: f64 = (1..=ZIPF_ITEMS).map(|n| (n as f64).powf(-s)).sum();
            assert!((zipf_weight(s) / whole - 1.0).abs() < 1e-5, "{s}");
        }
    }
}
