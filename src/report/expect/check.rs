//! Whether what was expected is so: met, not met, or not known.

use super::super::clean::clean_ascii;
use super::super::document::{Document, Window};
use super::Expectation;
use super::ast::{Expr, Operator, Path, Subject, Which};
use super::names::{Leaf, Value};

/// The sessions that an expectation is about.
#[derive(Clone, Copy, Debug)]
pub enum Subjects<'a> {
    /// One.
    One(&'a Document),
    /// Two.
    Two {
        /// What the other is compared with.
        base: &'a Document,
        /// The other.
        new: &'a Document,
    },
}

/// What is known of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truth {
    /// It holds.
    Met,
    /// It does not hold.
    NotMet,
    /// There is no data that would tell.
    NoData,
}

/// The result of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// What is known of all of it. Only [`Truth::Met`] is met.
    pub truth: Truth,
    /// One line per clause, with the values it had.
    pub lines: Vec<String>,
}

impl Checked {
    /// Whether it is met for certain.
    pub const fn is_met(&self) -> bool {
        matches!(self.truth, Truth::Met)
    }
}

impl Expectation {
    /// Checks it.
    pub fn check(&self, subjects: Subjects<'_>) -> Checked {
        let clauses = self.expr().clauses();
        let lines = clauses.iter().map(|clause| line(clause, subjects)).collect();
        Checked { truth: truth(self.expr(), subjects), lines }
    }
}

fn truth(expr: &Expr, subjects: Subjects<'_>) -> Truth {
    match value(expr, subjects) {
        Some(Value::Truth(true)) => Truth::Met,
        Some(Value::Truth(false)) => Truth::NotMet,
        _ => Truth::NoData,
    }
}

fn line(clause: &Expr, subjects: Subjects<'_>) -> String {
    let said = match truth(clause, subjects) {
        Truth::Met => "met    ",
        Truth::NotMet => "NOT MET",
        Truth::NoData => "NO DATA",
    };
    let mut values: Vec<String> = Vec::new();
    clause.paths(&mut |path| {
        let (value, note) = looked_up(path, subjects);
        let value = value.map_or_else(|| "no data".to_owned(), in_words);
        let note = note.map_or_else(String::new, |note| format!(" ({note})"));
        let said = format!("{path} is {value}{note}");
        if !values.contains(&said) {
            values.push(said);
        }
    });
    let values = if values.is_empty() { String::new() } else { format!(": {}", values.join(", ")) };
    clean_ascii(&format!("{said}  {clause}{values}"))
}

/// A value as one would type it, to four digits behind the point.
fn in_words(value: Value) -> String {
    match value {
        Value::Number(number) => {
            let text = format!("{number:.4}");
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
        Value::Truth(truth) => truth.to_string(),
        Value::Word(kind) => kind.to_string(),
    }
}

/// The value of an expression; `None` where there is no data.
fn value(expr: &Expr, subjects: Subjects<'_>) -> Option<Value> {
    match expr {
        Expr::Number(number) => Some(Value::Number(*number)),
        Expr::Word(kind) => Some(Value::Word(*kind)),
        Expr::Name(path) => looked_up(path, subjects).0,
        Expr::Negative(inner) => match value(inner, subjects)? {
            Value::Number(number) => Some(Value::Number(-number)),
            _ => None,
        },
        Expr::Not(inner) => match value(inner, subjects)? {
            Value::Truth(truth) => Some(Value::Truth(!truth)),
            _ => None,
        },
        Expr::Binary(left, operator, right) => binary(value(left, subjects), *operator, value(right, subjects)),
    }
}

/// Kleene's logic: what is not known stays so, unless the other side settles it.
fn binary(left: Option<Value>, operator: Operator, right: Option<Value>) -> Option<Value> {
    let settles = |truth: bool| left == Some(Value::Truth(truth)) || right == Some(Value::Truth(truth));
    match operator {
        Operator::And if settles(false) => return Some(Value::Truth(false)),
        Operator::Or if settles(true) => return Some(Value::Truth(true)),
        _ => {}
    }
    match (left?, operator, right?) {
        (Value::Truth(a), Operator::And, Value::Truth(b)) => Some(Value::Truth(a && b)),
        (Value::Truth(a), Operator::Or, Value::Truth(b)) => Some(Value::Truth(a || b)),
        (a, Operator::Equal, b) => Some(Value::Truth(a == b)),
        (a, Operator::NotEqual, b) => Some(Value::Truth(a != b)),
        (Value::Number(a), operator, Value::Number(b)) => numbers(a, operator, b),
        _ => None,
    }
}

fn numbers(a: f64, operator: Operator, b: f64) -> Option<Value> {
    let number = match operator {
        Operator::Less => return Some(Value::Truth(a < b)),
        Operator::AtMost => return Some(Value::Truth(a <= b)),
        Operator::Greater => return Some(Value::Truth(a > b)),
        Operator::AtLeast => return Some(Value::Truth(a >= b)),
        Operator::Plus => a + b,
        Operator::Minus => a - b,
        Operator::Times => a * b,
        Operator::Over => a / b,
        Operator::Or | Operator::And | Operator::Equal | Operator::NotEqual => return None,
    };
    // A division by zero says nothing.
    number.is_finite().then_some(Value::Number(number))
}

/// The value of a name, and what there is to say about where it came from.
fn looked_up(path: &Path, subjects: Subjects<'_>) -> (Option<Value>, Option<String>) {
    let document = match (subjects, path.subject) {
        (Subjects::One(document), _) | (Subjects::Two { base: document, .. }, Some(Subject::Base)) => document,
        (Subjects::Two { new, .. }, _) => new,
    };
    let Some(which) = &path.window else {
        return match &path.leaf {
            Leaf::Field(field) => (field.of_session(document), None),
            Leaf::Latency(latency) => worst(document, |window| latency.of_window(window), |window| latency.must_show(window)),
        };
    };
    match window(document, which) {
        Err(why) => (None, Some(why)),
        Ok(window) => match &path.leaf {
            Leaf::Field(field) => (field.of_window(window), None),
            Leaf::Latency(latency) => (latency.of_window(window).map(Value::Number), None),
        },
    }
}

fn window<'a>(document: &'a Document, which: &Which) -> Result<&'a Window, String> {
    let windows = &document.windows;
    let missing = || format!("there is no such window, of {}", windows.len());
    match which {
        Which::Last => windows.last().ok_or_else(missing),
        Which::Number(number) => windows.get((*number as usize).saturating_sub(1)).ok_or_else(missing),
        Which::Label(label) => {
            let mut named = windows.iter().filter(|window| window.label == *label);
            let first = named.next().ok_or_else(missing)?;
            if named.next().is_some() { Err("more than one window is called that; say which by number".to_owned()) } else { Ok(first) }
        }
    }
}

/// The largest value over the windows, and where. Not known where a window that should show one does not.
fn worst(document: &Document, of: impl Fn(&Window) -> Option<f64>, must_show: impl Fn(&Window) -> bool) -> (Option<Value>, Option<String>) {
    let mut worst: Option<(f64, &Window)> = None;
    for window in &document.windows {
        match of(window) {
            Some(value) if worst.is_none_or(|(most, _)| value > most) => worst = Some((value, window)),
            None if must_show(window) => return (None, Some(format!("window {}, {}, shows none", window.index + 1, window.label))),
            _ => {}
        }
    }
    match worst {
        Some((value, window)) => (Some(Value::Number(value)), Some(format!("worst in window {}, {}", window.index + 1, window.label))),
        None => (None, None),
    }
}
