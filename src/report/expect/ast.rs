//! An expectation as understood, and how it is written again.

use std::fmt;

use crate::analysis::VerdictKind;

use super::names::Leaf;

/// An expression. Written and read again it is the same.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// A number, not negative.
    Number(f64),
    /// Whose limit.
    Word(VerdictKind),
    /// A figure or fact of a session.
    Name(Path),
    /// `-x`.
    Negative(Box<Self>),
    /// `!x`.
    Not(Box<Self>),
    /// `x op y`.
    Binary(Box<Self>, Operator, Box<Self>),
}

/// Operators between two expressions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "their symbols are below")]
pub enum Operator {
    Or,
    And,
    Less,
    AtMost,
    Greater,
    AtLeast,
    Equal,
    NotEqual,
    Plus,
    Minus,
    Times,
    Over,
}

impl Operator {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::Or,
        Self::And,
        Self::Less,
        Self::AtMost,
        Self::Greater,
        Self::AtLeast,
        Self::Equal,
        Self::NotEqual,
        Self::Plus,
        Self::Minus,
        Self::Times,
        Self::Over,
    ];

    /// As typed.
    pub const fn symbol(self) -> &'static str {
        match self {
            Self::Or => "||",
            Self::And => "&&",
            Self::Less => "<",
            Self::AtMost => "<=",
            Self::Greater => ">",
            Self::AtLeast => ">=",
            Self::Equal => "==",
            Self::NotEqual => "!=",
            Self::Plus => "+",
            Self::Minus => "-",
            Self::Times => "*",
            Self::Over => "/",
        }
    }

    /// How tightly it binds, from 1.
    pub(super) const fn precedence(self) -> u8 {
        match self {
            Self::Or => 1,
            Self::And => 2,
            Self::Less | Self::AtMost | Self::Greater | Self::AtLeast | Self::Equal | Self::NotEqual => 3,
            Self::Plus | Self::Minus => 4,
            Self::Times | Self::Over => 5,
        }
    }

    pub(super) const fn compares(self) -> bool {
        self.precedence() == 3
    }
}

/// Which of two sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// What the other is compared with.
    Base,
    /// The other.
    New,
}

/// Which window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Which {
    /// By its place, from 1, as reports number them.
    Number(u32),
    /// The last one.
    Last,
    /// By its label.
    Label(String),
}

/// A figure or fact, and of what.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// Of which of two sessions; `None` where there is one.
    pub subject: Option<Subject>,
    /// Of which window; `None` speaks of the session.
    pub window: Option<Which>,
    /// Which figure.
    pub leaf: Leaf,
}

impl Expr {
    /// Visits every name.
    pub(super) fn paths(&self, visit: &mut impl FnMut(&Path)) {
        match self {
            Self::Number(_) | Self::Word(_) => {}
            Self::Name(path) => visit(path),
            Self::Negative(inner) | Self::Not(inner) => inner.paths(visit),
            Self::Binary(left, _, right) => {
                left.paths(visit);
                right.paths(visit);
            }
        }
    }

    /// The parts that must all hold.
    pub(super) fn clauses(&self) -> Vec<&Self> {
        match self {
            Self::Binary(left, Operator::And, right) => left.clauses().into_iter().chain(right.clauses()).collect(),
            whole => vec![whole],
        }
    }

    fn precedence(&self) -> u8 {
        match self {
            Self::Binary(_, operator, _) => operator.precedence(),
            Self::Negative(_) | Self::Not(_) => 6,
            Self::Number(_) | Self::Word(_) | Self::Name(_) => 7,
        }
    }

    fn within(&self, f: &mut fmt::Formatter<'_>, least: u8) -> fmt::Result {
        if self.precedence() < least { write!(f, "({self})") } else { write!(f, "{self}") }
    }
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Word(kind) => write!(f, "{kind}"),
            Self::Name(path) => write!(f, "{path}"),
            Self::Negative(inner) => {
                f.write_str("-")?;
                inner.within(f, 6)
            }
            Self::Not(inner) => {
                f.write_str("!")?;
                inner.within(f, 6)
            }
            Self::Binary(left, operator, right) => {
                let precedence = operator.precedence();
                // What compares takes no other comparison on either side; the others group to the left.
                left.within(f, if operator.compares() { precedence + 1 } else { precedence })?;
                write!(f, " {} ", operator.symbol())?;
                right.within(f, precedence + 1)
            }
        }
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.subject {
            Some(Subject::Base) => f.write_str("base.")?,
            Some(Subject::New) => f.write_str("new.")?,
            None => {}
        }
        match &self.window {
            Some(Which::Number(number)) => write!(f, "window[{number}].")?,
            Some(Which::Last) => f.write_str("window[last].")?,
            Some(Which::Label(label)) => write!(f, "window[\"{}\"].", label.replace('\\', "\\\\").replace('"', "\\\""))?,
            None => {}
        }
        write!(f, "{}", self.leaf)
    }
}
