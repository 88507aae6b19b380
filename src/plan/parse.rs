//! Plans as TOML.
//!
//! ```toml
//! name = "mine"
//! about = "what it is for"
//! op = "write"          # default operation of its windows
//! window = "30s"        # default length of its windows
//! pause = "3s"          # default pause before each window but the first
//! item_bytes = 1000     # optional
//! keys = "uniform"      # optional
//! rates = [1000, 2000]  # one window each, or
//! [[windows]]           # windows one by one
//! rate = 5000
//! length = "30s"
//! pause = "0s"
//! op = "read"
//! label = "edge"
//! ```

use std::time::Duration;

use serde::Deserialize;

use super::{Plan, PlanWindow, parse_span};
use crate::load::op::Op;
use crate::load::rate::Rate;

/// Why a text is not a plan: the file, the line where known, and what to type instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}: {message}")]
pub struct PlanError {
    /// The file, as it was named.
    pub file: String,
    /// What is wrong.
    pub message: String,
}

/// A plan offers at most this many windows.
const MOST_WINDOWS: usize = 1_000;
/// A window lasts at most a day.
const LONGEST_WINDOW: Duration = Duration::from_secs(86_400);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: String,
    #[serde(default)]
    about: String,
    #[serde(default)]
    op: Op,
    window: Option<String>,
    pause: Option<String>,
    item_bytes: Option<u32>,
    keys: Option<String>,
    #[serde(default)]
    rates: Vec<toml::Value>,
    #[serde(default)]
    windows: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    rate: toml::Value,
    length: Option<String>,
    pause: Option<String>,
    op: Option<Op>,
    label: Option<String>,
}

/// Reads a plan from TOML. `file` is named in errors.
pub fn parse(text: &str, file: &str) -> Result<Plan, PlanError> {
    let error = |message: String| PlanError { file: file.to_owned(), message };
    let read: File = toml::from_str(text).map_err(|e| {
        let line = e.span().map(|span| text[..span.start.min(text.len())].matches('\n').count() + 1);
        let at = line.map_or_else(String::new, |line| format!("line {line}: "));
        error(format!("{at}{}", e.message()))
    })?;
    let length = read.window.as_deref().map(|typed| span(typed, "window")).transpose().map_err(error)?;
    let pause = read.pause.as_deref().map(|typed| span(typed, "pause")).transpose().map_err(error)?.unwrap_or_default();
    if !read.rates.is_empty() && !read.windows.is_empty() {
        return Err(error("`rates` and `[[windows]]` are two ways to say the same; keep one of them".to_owned()));
    }
    let entries = if read.windows.is_empty() {
        read.rates.into_iter().map(|rate| Entry { rate, length: None, pause: None, op: None, label: None }).collect()
    } else {
        read.windows
    };
    if entries.is_empty() {
        return Err(error("a plan needs at least one window; add for example rates = [1000, 2000]".to_owned()));
    }
    if entries.len() > MOST_WINDOWS {
        return Err(error(format!("a plan has at most {MOST_WINDOWS} windows; this one has {}", entries.len())));
    }
    let mut windows = Vec::with_capacity(entries.len());
    for (index, entry) in entries.into_iter().enumerate() {
        let here = |message: String| error(format!("window {}: {message}", index + 1));
        let rate = rate(&entry.rate).map_err(here)?;
        let length = match entry.length.as_deref() {
            Some(typed) => span(typed, "length").map_err(here)?,
            None => length.ok_or_else(|| here("no length; add `window = \"30s\"` at the top, or `length` here".to_owned()))?,
        };
        if length.is_zero() || length > LONGEST_WINDOW {
            return Err(here("a window lasts from 1s to 24h; type for example length = \"30s\"".to_owned()));
        }
        let pause = match entry.pause.as_deref() {
            Some(typed) => span(typed, "pause").map_err(here)?,
            None if index == 0 => Duration::ZERO,
            None => pause,
        };
        let op = entry.op.unwrap_or(read.op);
        let label = entry.label.unwrap_or_else(|| format!("{rate}/s"));
        windows.push(PlanWindow { label, op, rate, length, pause });
    }
    Ok(Plan { name: read.name, about: read.about, item_bytes: read.item_bytes, keys: read.keys, windows })
}

fn span(typed: &str, key: &str) -> Result<Duration, String> {
    let span = parse_span(typed).map_err(|message| format!("{key}: {message}"))?;
    if span.subsec_nanos() == 0 {
        Ok(span)
    } else {
        Err(format!("{key}: `{typed}` is not a whole number of seconds; windows start and end on whole seconds"))
    }
}

fn rate(value: &toml::Value) -> Result<Rate, String> {
    match value {
        toml::Value::Integer(number) => Rate::from_per_s(*number as f64),
        toml::Value::Float(number) => Rate::from_per_s(*number),
        toml::Value::String(typed) => typed.parse(),
        other => return Err(format!("a {} is not a rate; type operations per second, for example 2500", other.type_str())),
    }
    .map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_says_exactly_what_it_offers() {
        let plan = parse("name = 'x'\nwindow = '30s'\npause = '3s'\nrates = [1000, '2.5k']", "x.toml").expect("a plan");
        assert_eq!(plan.operations(), 105_000);
        assert_eq!(plan.duration(), Duration::from_secs(63));
        assert_eq!(plan.windows[0].pause, Duration::ZERO);
        assert_eq!(plan.windows[1].label, "2,500/s");
    }

    #[test]
    fn a_wrong_plan_is_told_where_and_what_to_type() {
        for (text, part) in [
            ("", "missing field `name`"),
            ("name = 'x'", "at least one window"),
            ("name = 'x'\nrates = [1]", "window 1: no length"),
            ("name = 'x'\nwindow = '30s'\nrates = [0]", "window 1: a rate must be at least"),
            ("name = 'x'\nwindow = '30s'\nrates = [true]", "is not a rate"),
            ("name = 'x'\nwindow = '0s'\nrates = [1]", "from 1s to 24h"),
            ("name = 'x'\nwindow = '1500ms'\nrates = [1]", "whole number of seconds"),
            ("name = 'x'\nwindow = 'soon'\nrates = [1]", "window: `soon` is not a length"),
            ("name = 'x'\n\nwindows = 3", "line 3: "),
            ("name = 'x'\nratez = [1]", "line 2: unknown field `ratez`"),
            ("name = 'x'\nwindow='1s'\nrates=[1]\n[[windows]]\nrate=1", "keep one of them"),
            ("name = 'x'\n[[windows]]\nrate=1\nop='scan'\nlength='1s'", "line 4: unknown variant `scan`"),
        ] {
            let said = parse(text, "mine.toml").expect_err(text).to_string();
            assert!(said.starts_with("mine.toml: ") && said.contains(part), "{text:?}: {said}");
        }
    }
}
