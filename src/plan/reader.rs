//! Reads the tables of a plan key by key and collects everything that is wrong with it: file, line, key, and what to write instead.

use std::cell::RefCell;
use std::fmt;
use std::ops::Range;
use std::rc::Rc;
use std::time::Duration;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::parse_span;
use crate::load::rate::Rate;

/// One thing that is wrong with a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// Line, counted from 1.
    pub line: usize,
    /// The key, as in `windows[2].rate`; empty for the whole.
    pub key: String,
    /// What is wrong, and what to write instead.
    pub message: String,
}

/// Why a text is not a plan: everything that is wrong with it, one line each.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct PlanError {
    /// The file, as it was named.
    pub file: String,
    /// What is wrong, in the order of the lines. Never empty.
    pub mistakes: Vec<Mistake>,
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, Mistake { line, key, message }) in self.mistakes.iter().enumerate() {
            let next = if index == 0 { "" } else { "\n" };
            let key = if key.is_empty() { String::new() } else { format!("{key}: ") };
            write!(f, "{next}{}: line {line}: {key}{message}", self.file)?;
        }
        Ok(())
    }
}

/// The mistakes found so far, shared by the tables of one plan.
#[derive(Clone, Debug)]
pub(super) struct Mistakes<'t> {
    text: &'t str,
    found: Rc<RefCell<Vec<Mistake>>>,
}

impl<'t> Mistakes<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, found: Rc::default() }
    }

    /// Notes a mistake at a place of the text.
    pub(super) fn note(&self, at: usize, key: impl Into<String>, message: impl Into<String>) {
        let line = self.text.get(..at.min(self.text.len())).unwrap_or_default().matches('\n').count() + 1;
        self.found.borrow_mut().push(Mistake { line, key: key.into(), message: message.into() });
    }

    /// Everything found, in the order of the lines.
    pub(super) fn take(&self) -> Vec<Mistake> {
        let mut found = self.found.take();
        found.sort_by_key(|mistake| mistake.line);
        found
    }
}

/// A table of a plan, of which every key must be known.
#[derive(Debug)]
pub(super) struct Reader<'t> {
    table: &'t DeTable<'t>,
    /// Where it stands.
    at: usize,
    /// Its own key and a point, empty at the top.
    path: String,
    mistakes: Mistakes<'t>,
}

impl<'t> Reader<'t> {
    /// A reader of a table with these keys; the others are mistakes.
    pub(super) fn new(table: &'t DeTable<'t>, at: usize, path: String, keys: &[&str], mistakes: &Mistakes<'t>) -> Self {
        let reader = Self { table, at, path, mistakes: mistakes.clone() };
        for key in table.keys() {
            let name = key.get_ref();
            if !keys.contains(&name.as_ref()) {
                let near = keys.iter().map(|known| (strsim::damerau_levenshtein(known, name), *known)).min();
                let advice = match near {
                    Some((distance, known)) if distance <= 2 => format!("there is no such key; did you mean `{known}`?"),
                    _ => format!("there is no such key; the keys here are {}", keys.join(", ")),
                };
                mistakes.note(key.span().start, format!("{}{name}", reader.path), advice);
            }
        }
        reader
    }

    /// Where the table stands, or the value of a key of it.
    pub(super) fn at(&self, key: &str) -> usize {
        self.value(key).map_or(self.at, |(_, span)| span.start)
    }

    /// Notes a mistake in the value of a key, or in the table where it has no such key.
    pub(super) fn wrong(&self, key: &str, message: impl Into<String>) {
        let name = if key.is_empty() { self.path.trim_end_matches('.').to_owned() } else { format!("{}{key}", self.path) };
        self.mistakes.note(self.at(key), name, message);
    }

    /// Whether the table has a key.
    pub(super) fn has(&self, key: &str) -> bool {
        self.value(key).is_some()
    }

    fn value(&self, key: &str) -> Option<(&'t DeValue<'t>, Range<usize>)> {
        self.table.get(key).map(|value| (value.get_ref(), value.span()))
    }

    /// The value of a key as `read` understands it. What is wrong is noted, and read as absent.
    pub(super) fn get<T>(&self, key: &str, read: impl FnOnce(&'t DeValue<'t>) -> Result<T, String>) -> Option<T> {
        let (value, _) = self.value(key)?;
        read(value).map_err(|message| self.wrong(key, message)).ok()
    }

    /// The text of a key.
    pub(super) fn text(&self, key: &str) -> Option<&'t str> {
        self.get(key, text)
    }

    /// A text that something else reads.
    pub(super) fn parsed<T: std::str::FromStr>(&self, key: &str) -> Option<T>
    where
        T::Err: fmt::Display,
    {
        self.get(key, |value| text(value)?.parse().map_err(|e: T::Err| e.to_string()))
    }

    /// A length of time, in whole tenths of a second.
    pub(super) fn span(&self, key: &str) -> Option<Duration> {
        self.get(key, |value| {
            let typed = match value {
                DeValue::Integer(number) => number.as_str().to_owned(),
                DeValue::Float(number) => number.as_str().to_owned(),
                DeValue::String(typed) => typed.to_string(),
                other => return Err(format!("{} is not a length of time; write for example \"30s\"", named(other))),
            };
            let span = parse_span(&typed)?;
            if span.as_nanos() % 100_000_000 == 0 {
                Ok(span)
            } else {
                Err(format!("`{typed}` is not a whole number of tenths of a second; write for example \"1.5s\""))
            }
        })
    }

    /// A rate, operations per second.
    pub(super) fn rate(&self, key: &str) -> Option<Rate> {
        self.get(key, rate)
    }

    /// A number.
    pub(super) fn number(&self, key: &str) -> Option<f64> {
        self.get(key, number)
    }

    /// A whole number of at least one.
    pub(super) fn count(&self, key: &str) -> Option<u64> {
        self.get(key, |value| {
            let whole = number(value)?;
            if whole >= 1.0 && whole.fract() == 0.0 && whole <= 1e15 {
                Ok(whole as u64)
            } else {
                Err(format!("{whole} is not a whole number of at least 1"))
            }
        })
    }

    /// True or false.
    pub(super) fn flag(&self, key: &str) -> Option<bool> {
        self.get(key, |value| value.as_bool().ok_or_else(|| format!("{} is neither true nor false", named(value))))
    }

    /// The values of a list, each with its place.
    pub(super) fn list(&self, key: &str, of: &str) -> Option<Vec<(&'t DeValue<'t>, usize)>> {
        self.get(key, |value| {
            let list = value.as_array().ok_or_else(|| format!("{} is not a list; write for example {of}", named(value)))?;
            Ok(list.iter().map(|value| (value.get_ref(), value.span().start)).collect())
        })
    }

    /// A table in this table, with these keys.
    pub(super) fn table(&self, key: &str, keys: &[&str]) -> Option<Self> {
        let (_, span) = self.value(key)?;
        let table = self.get(key, |value| value.as_table().ok_or_else(|| format!("{} is not a table; write [{key}]", named(value))))?;
        Some(Self::new(table, span.start, format!("{}{key}.", self.path), keys, &self.mistakes))
    }

    /// The tables of a list of tables, with these keys.
    pub(super) fn tables(&self, key: &str, keys: &[&str]) -> Option<Vec<Self>> {
        let listed = self.list(key, &format!("[[{key}]]"))?;
        let mut tables = Vec::with_capacity(listed.len());
        for (index, (value, at)) in listed.into_iter().enumerate() {
            match value.as_table() {
                Some(table) => {
                    tables.push(Self::new(table, at, format!("{}{key}[{}].", self.path, index + 1), keys, &self.mistakes));
                }
                None => {
                    self.mistakes.note(at, format!("{}{key}[{}]", self.path, index + 1), format!("this is {}, not a table", named(value)));
                }
            }
        }
        Some(tables)
    }
}

/// What kind of value it is, as a sentence names it.
fn named(value: &DeValue<'_>) -> String {
    let kind = value.type_str();
    let article = if kind.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    format!("{article} {kind}")
}

fn text<'t>(value: &'t DeValue<'t>) -> Result<&'t str, String> {
    value.as_str().ok_or_else(|| format!("{} stands where a text in quotes belongs", named(value)))
}

fn number(value: &DeValue<'_>) -> Result<f64, String> {
    let digits = match value {
        DeValue::Integer(number) if number.radix() == 10 => number.as_str().replace('_', ""),
        DeValue::Float(number) => number.as_str().replace('_', ""),
        other => return Err(format!("{} stands where a number belongs", named(other))),
    };
    digits
        .parse::<f64>()
        .ok()
        .filter(|number| number.is_finite())
        .ok_or_else(|| format!("`{digits}` is not a number that can be used here"))
}

/// A rate from a number, or from a text such as `2.5k`.
pub(super) fn rate(value: &DeValue<'_>) -> Result<Rate, String> {
    match value {
        DeValue::String(typed) => typed.parse::<Rate>().map_err(|e| e.to_string()),
        DeValue::Integer(_) | DeValue::Float(_) => Rate::from_per_s(number(value)?).map_err(|e| e.to_string()),
        other => Err(format!("{} is not a rate; write operations per second, for example 2500", named(other))),
    }
}

/// The root of a text, or where it is not TOML.
pub(super) fn root(text: &str) -> Result<Spanned<DeTable<'_>>, Vec<Mistake>> {
    let (table, errors) = DeTable::parse_recoverable(text);
    if errors.is_empty() {
        return Ok(table);
    }
    let mistakes = Mistakes::new(text);
    for error in errors {
        mistakes.note(error.span().map_or(0, |span| span.start), "", error.message());
    }
    Err(mistakes.take())
}
