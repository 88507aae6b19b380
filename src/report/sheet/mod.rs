//! The tables and facts of a session document that every written rendering shows. They are made once, as text that is
//! harmless to print, so that the renderings cannot disagree; each rendering escapes what its own format would interpret.

mod answers;
mod facts;
mod keys;
mod windows;

pub(super) use answers::{contrast, contrast_in_words, failures, hottest_keys, monitor_in_words, throttles};
pub(super) use facts::{SIMULATED, claims, definitions, environment, events, heading, when, why};
pub(super) use keys::key_figures;
pub(super) use windows::{average_in_words, caveats, counts, evidence, interval, latencies, planned, rates, steps, units_each};

use super::clean::clean;
use super::figures::NONE;

/// A table: one row of text per row, as many cells as there are columns.
pub(super) struct Table {
    /// What it shows.
    pub(super) title: &'static str,
    /// Its columns.
    pub(super) columns: Vec<Column>,
    /// Its rows; the first cell names the row.
    pub(super) rows: Vec<Vec<String>>,
}

/// A column.
#[derive(Clone, Copy)]
pub(super) struct Column {
    /// Its name, with the unit.
    pub(super) name: &'static str,
    /// Whether it holds figures, which stand at the right.
    pub(super) figures: bool,
}

impl Table {
    /// An empty table. A column whose name starts with `>` holds figures.
    fn new(title: &'static str, columns: &[&'static str]) -> Self {
        let column = |name: &&'static str| Column { name: name.trim_start_matches('>'), figures: name.starts_with('>') };
        Self { title, columns: columns.iter().map(column).collect(), rows: Vec::new() }
    }

    /// Adds a row, made harmless to print; an empty cell becomes a dash.
    fn push(&mut self, cells: impl IntoIterator<Item = String>) {
        let cell = |text: String| if text.is_empty() { NONE.to_owned() } else { clean(&text) };
        self.rows.push(cells.into_iter().map(cell).collect());
    }

    /// Takes a column out.
    fn without(mut self, name: &str) -> Self {
        if let Some(at) = self.columns.iter().position(|column| column.name == name) {
            self.columns.remove(at);
            for row in &mut self.rows {
                row.remove(at);
            }
        }
        self
    }

    /// Whether it has no rows.
    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

/// A name and what is said of it, harmless to print.
pub(super) struct Fact {
    /// The name.
    pub(super) name: &'static str,
    /// A sentence or a figure.
    pub(super) text: String,
}

impl Fact {
    fn new(name: &'static str, text: impl AsRef<str>) -> Self {
        Self { name, text: clean(text.as_ref()) }
    }
}

/// A throttle answer in full.
pub(super) struct Answer {
    /// Status, code, reasons and resource.
    pub(super) what: String,
    /// Count, first and last time.
    pub(super) when: String,
    /// The message, verbatim but for what could harm a page.
    pub(super) message: String,
    /// What it means, where that is known.
    pub(super) meaning: Option<String>,
}
