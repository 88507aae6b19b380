//! A plan as TOML that [`super::parse`] reads back as the same plan.

use toml::{Table, Value};

use super::{Plan, PlanWindow, show_span};
use crate::load::rate::Rate;

/// The plan as TOML. Reading it back gives the same plan.
pub fn to_toml(plan: &Plan) -> String {
    let mut top = Table::new();
    let mut put = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            top.insert(key.to_owned(), value);
        }
    };
    put("name", Some(plan.name.clone().into()));
    put("about", (!plan.about.is_empty()).then(|| plan.about.clone().into()));
    put("item_bytes", plan.item_bytes.map(|bytes| i64::from(bytes).into()));
    put("keys", plan.keys.map(|keys| keys.to_string().into()));
    put("items", plan.items.and_then(|items| i64::try_from(items).ok()).map(Value::from));
    put("consistent_read", plan.consistent_read.map(Value::from));
    put("windows", Some(plan.windows.iter().map(|w| Value::from(window(w))).collect::<Vec<_>>().into()));
    if let Some(search) = plan.search {
        let mut table = Table::new();
        table.insert("precision".to_owned(), search.precision.into());
        table.insert("longest".to_owned(), show_span(search.longest).into());
        table.insert("most_operations".to_owned(), i64::try_from(search.most_operations).unwrap_or(i64::MAX).into());
        table.insert("most_time".to_owned(), show_span(search.most_time).into());
        put("search", Some(table.into()));
    }
    top.to_string()
}

fn window(window: &PlanWindow) -> Table {
    let mut table = Table::new();
    let mut put = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            table.insert(key.to_owned(), value);
        }
    };
    put("rate", Some(rate(window.rate)));
    put("to", window.ramp_to.map(rate));
    put("length", Some(show_span(window.length).into()));
    put("pause", Some(show_span(window.pause).into()));
    match window.reads {
        Some(reads) => put("reads", Some(reads.get().into())),
        None => put("op", Some(window.op.to_string().into())),
    }
    put("item_bytes", window.item_bytes.map(|bytes| i64::from(bytes).into()));
    put("keys", window.keys.map(|keys| keys.to_string().into()));
    put("until", window.until.map(|until| until.to_string().into()));
    put("label", Some(window.label.clone().into()));
    table
}

fn rate(rate: Rate) -> Value {
    if rate.milli().is_multiple_of(1_000) { Value::Integer((rate.milli() / 1_000) as i64) } else { Value::Float(rate.per_s()) }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::load::keys::Keys;
    use crate::load::op::Op;
    use crate::load::share::Share;
    use crate::plan::{Until, parse, presets};
    use proptest::prelude::*;

    #[test]
    fn every_shipped_plan_survives_its_text() {
        for preset in presets() {
            assert_eq!(parse(&to_toml(&preset.plan), "again").as_ref(), Ok(&preset.plan));
        }
    }

    fn windows() -> impl Strategy<Value = PlanWindow> {
        let rate = (1u64..9_000_000).prop_map(|milli| Rate::from_per_s(milli as f64 / 1_000.0).expect("a rate"));
        let keys = prop::sample::select(vec![None, Some(Keys::Uniform), Some(Keys::Hot), Some(Keys::Zipf(1.25))]);
        let until = prop::sample::select(vec![
            None,
            Some(Until::Sustained(Duration::from_secs(20))),
            Some(Until::FirstThrottle(Duration::from_millis(1_500))),
        ]);
        (
            rate.clone(),
            prop::option::of(rate),
            10u64..9_000,
            0u64..900,
            prop::option::of(1u32..1_000),
            keys,
            until,
            any::<bool>(),
            "\\PC{1,20}",
        )
            .prop_map(|(rate, to, length, pause, reads, keys, until, reading, label)| {
                let op = if reading && reads.is_none() { Op::Read } else { Op::Write };
                let steady = PlanWindow::steady(op, rate, Duration::from_millis(length * 100), Duration::from_millis(pause * 100));
                let reads = reads.and_then(|reads| Share::new(f64::from(reads) / 1_001.0));
                PlanWindow { ramp_to: to.filter(|to| *to != rate), reads, keys, until, label, ..steady }
            })
    }

    proptest! {
        #[test]
        fn any_plan_survives_its_text(windows in prop::collection::vec(windows(), 1..8), about in "\\PC{0,30}") {
            let plan = Plan { item_bytes: Some(2_000), items: Some(50), consistent_read: Some(true), ..Plan::of("p", about, windows) };
            let text = to_toml(&plan);
            prop_assert_eq!(parse(&text, "again").map_err(|e| e.to_string()), Ok(plan));
        }

        #[test]
        fn whatever_is_written_is_a_plan_or_is_told_what_is_wrong(text in ".{0,300}", toml in "(name|rates|windows|window|op|steps|search) = ('x'|3|\\[1\\]|\\{from=1\\}|true)\n{0,4}") {
            for text in [text, toml] {
                if let Err(error) = parse(&text, "f") {
                    prop_assert!(!error.mistakes.is_empty());
                }
            }
        }
    }
}
