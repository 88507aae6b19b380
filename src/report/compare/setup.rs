//! The set-up of a session as a comparison needs it: named facts, and what forbids to compare two of them.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::load::{Cause, Refusal, thousands};

use super::super::clean::clean_ascii;
use super::super::document::{Document, Throttle, UnitsPerS};

/// One side of a comparison.
#[derive(Clone, Copy, Debug)]
pub struct Side<'a> {
    /// What it is called, for example its file name.
    pub name: &'a str,
    /// What it measured.
    pub document: &'a Document,
}

/// A named fact of a set-up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fact {
    /// What it is.
    pub what: &'static str,
    /// As the session had it.
    pub is: String,
}

/// A fact that two set-ups do not share.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// What it is.
    pub what: &'static str,
    /// In the base.
    pub base: String,
    /// In the other.
    pub new: String,
}

/// A limit that throttles named, and how often.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Limit {
    /// What the throttles name.
    pub cause: Cause,
    /// Which limit that is.
    pub limit: &'static str,
    /// How often it was given.
    pub count: u64,
}

/// What a session was set up to do, and which limits it met.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Setup {
    /// What the session is called here.
    pub name: String,
    /// Its id.
    pub session: String,
    /// RFC 3339 UTC.
    pub started_at: String,
    /// Whether the simulated endpoint answered.
    pub simulated: bool,
    /// Its facts.
    pub facts: Vec<Fact>,
    /// The limits that its throttles named, most frequent first.
    pub limits: Vec<Limit>,
}

type Of = fn(&Document) -> String;

/// The facts by which set-ups are told apart.
const FACTS: &[(&str, Of)] = &[
    ("simulated", |d| d.target.simulated.to_string()),
    ("target", |d| d.target.kind.name().to_owned()),
    ("region", |d| d.target.region.clone()),
    ("operations", operations),
    ("plan", |d| d.plan.as_ref().map_or_else(|| "steered by hand".to_owned(), |plan| plan.name.clone())),
    ("billing", |d| d.target.billing_mode.clone()),
    ("warm throughput", |d| units(d.target.warm_throughput, "not stated")),
    ("maximum", |d| units(d.target.max_units, "none")),
    ("item size", |d| format!("{} bytes", thousands(u64::from(d.workload.item_bytes)))),
    ("keys", |d| d.workload.keys.clone()),
    ("reads", |d| if d.workload.consistent_read { "strongly consistent" } else { "eventually consistent" }.to_owned()),
    ("client", |d| d.tool.client.clone()),
    ("load threads", |d| d.workload.shards.to_string()),
    ("in-flight cap", |d| d.workload.max_in_flight.to_string()),
    (SEED, |d| d.workload.seed.to_string()),
    ("tool version", |d| d.tool.version.clone()),
];
/// The one fact in which repetitions differ.
const SEED: &str = "seed";

fn operations(document: &Document) -> String {
    let ops: BTreeSet<String> = document.windows.iter().map(|w| w.op.to_string()).collect();
    if ops.is_empty() { document.workload.op.to_string() } else { ops.into_iter().collect::<Vec<_>>().join(" and ") }
}

fn units(of: Option<UnitsPerS>, none: &str) -> String {
    of.map_or_else(
        || none.to_owned(),
        |units| format!("{} write, {} read units/s", thousands(units.write_units_per_s), thousands(units.read_units_per_s)),
    )
}

impl Setup {
    pub(super) fn of(side: &Side<'_>) -> Self {
        let document = side.document;
        Self {
            name: clean_ascii(side.name),
            session: clean_ascii(&document.session.id),
            started_at: clean_ascii(&document.session.started_at),
            simulated: document.target.simulated,
            facts: FACTS.iter().map(|(what, is)| Fact { what, is: clean_ascii(&is(document)) }).collect(),
            limits: limits(document),
        }
    }

    /// Whether the same was done to a table of the same kind, but for the seed.
    pub(super) fn repeats(&self, other: &Self) -> bool {
        self.facts.iter().zip(&other.facts).all(|(a, b)| a == b || a.what == SEED)
    }

    pub(super) fn differences(&self, new: &Self) -> Vec<Difference> {
        let pairs = self.facts.iter().zip(&new.facts).filter(|(base, new)| base != new);
        pairs.map(|(base, new)| Difference { what: base.what, base: base.is.clone(), new: new.is.clone() }).collect()
    }
}

/// The throttles by the limit that they name.
fn limits(document: &Document) -> Vec<Limit> {
    let mut limits: Vec<Limit> = Vec::new();
    for throttle in &document.throttles {
        let Throttle { http_status, code, reasons, message, count, .. } = throttle;
        let cause = Refusal::new(*http_status, code, reasons.clone(), None, message).cause();
        match limits.iter_mut().find(|limit| limit.cause == cause) {
            Some(limit) => limit.count += count,
            None => limits.push(Limit { cause, limit: limit(cause, &document.workload.keys), count: *count }),
        }
    }
    limits.sort_by_key(|limit| std::cmp::Reverse(limit.count));
    limits
}

/// Which limit a cause is. Of a key range the distribution of keys, which is known here, says more than the service does.
fn limit(cause: Cause, keys: &str) -> &'static str {
    match cause {
        Cause::KeyRange if matches!(keys, "uniform" | "sequential") => "table not scaled",
        Cause::KeyRange if keys == "hot" => "hot key",
        Cause::KeyRange => "table not scaled, or a hot key",
        Cause::ConfiguredMaximum => "configured maximum",
        Cause::Provisioned => "provisioned capacity",
        Cause::Account => "account quota",
        Cause::Unknown => "not said",
    }
}

/// Whether two sessions offered the same, or meant to. A search goes its own way from the same start.
pub(super) fn same_plan(base: &Document, new: &Document) -> bool {
    match (&base.plan, &new.plan) {
        (Some(base), Some(new)) => base.windows == new.windows || (base.name == new.name && base.windows.first() == new.windows.first()),
        (None, None) => true,
        _ => false,
    }
}

/// Why no difference between two sessions may be called, as clauses. Empty when nothing forbids it.
pub(super) fn incomparable(base: &Document, new: &Document) -> Vec<String> {
    let mut why = Vec::new();
    if base.target.simulated != new.target.simulated {
        let (one, other) = if base.target.simulated { ("BASE", "NEW") } else { ("NEW", "BASE") };
        why.push(format!("{one} is simulated and {other} is not"));
    }
    let (ours, theirs) = (operations(base), operations(new));
    if ours != theirs {
        why.push(format!("BASE offered {ours}s and NEW {theirs}s"));
    }
    if !same_plan(base, new) {
        why.push("they ran different plans".to_owned());
    }
    why
}
