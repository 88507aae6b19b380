//! Expectations of a session, as `--expect` takes them: a small language over the names of the session document. What is
//! not known is neither met nor its opposite: only what is certain is met.

mod ast;
mod check;
mod names;
mod parser;
mod token;

use std::fmt;

use unicode_width::UnicodeWidthStr as _;

pub use ast::{Expr, Operator, Path, Subject, Which};
pub use check::{Checked, Subjects, Truth};
pub use names::{LatencyName, Leaf, names, names_markdown};

/// Longest expression, in characters.
const LONGEST: usize = 4_096;

/// What names speak of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// One session: bare names.
    One,
    /// Two: every name starts with `new.` or `base.`.
    Two,
}

/// An expectation, checked for its grammar and names.
#[derive(Clone, Debug, PartialEq)]
pub struct Expectation {
    expr: Expr,
}

/// Why a text is no expectation: where, and what to type instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectError {
    typed: String,
    /// In bytes.
    at: usize,
    what: String,
}

impl fmt::Display for ExpectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // What cannot be shown takes one column each, so that the caret stands where it belongs.
        let shown = |text: &str| text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect::<String>();
        let before = shown(self.typed.get(..self.at).unwrap_or(&self.typed)).width();
        // What is wrong stands above the place, what there is to choose from below it.
        let (what, more) = self.what.split_once('\n').unwrap_or((&self.what, ""));
        write!(f, "column {}: {what}\n    {}\n    {}^", before + 1, shown(&self.typed), " ".repeat(before))?;
        for line in textwrap::wrap(more, 96) {
            write!(f, "\n    {line}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ExpectError {}

impl Expectation {
    /// Reads an expectation.
    pub fn parse(typed: &str, scope: Scope) -> Result<Self, ExpectError> {
        let error = |at: usize, what: String| ExpectError { typed: typed.to_owned(), at, what };
        if typed.chars().count() > LONGEST {
            return Err(ExpectError {
                typed: String::new(),
                at: 0,
                what: format!("an expectation has at most {LONGEST} characters; type several"),
            });
        }
        let tokens = token::tokens(typed).map_err(|(at, what)| error(at, what))?;
        let expr = parser::parse(&tokens, typed.len(), scope).map_err(|(at, what)| error(at, what))?;
        Ok(Self { expr })
    }

    /// What was typed, as understood.
    pub const fn expr(&self) -> &Expr {
        &self.expr
    }

    /// Whether a plan with windows of these labels has the windows that are spoken of, so that a wrong one costs no load.
    pub fn fits(&self, labels: &[String]) -> Result<(), String> {
        let mut wrong = None;
        self.expr.paths(&mut |path| {
            let found = match &path.window {
                Some(Which::Number(number)) if *number as usize > labels.len() => {
                    Some(format!("the plan has {} windows, and `{path}` speaks of number {number}", labels.len()))
                }
                Some(Which::Label(label)) => match labels.iter().filter(|known| *known == label).count() {
                    0 => Some(format!("no window of the plan is called \"{label}\"; they are called {}", listed(labels))),
                    1 => None,
                    n => Some(format!("{n} windows of the plan are called \"{label}\"; say which by number, for example window[1]")),
                },
                _ => None,
            };
            if wrong.is_none() {
                wrong = found;
            }
        });
        wrong.map_or(Ok(()), |why| Err(format!("--expect `{}`: {why}", self.expr)))
    }
}

fn listed(labels: &[String]) -> String {
    labels.iter().map(|label| format!("\"{label}\"")).collect::<Vec<_>>().join(", ")
}
