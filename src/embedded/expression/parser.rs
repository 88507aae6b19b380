//! A cursor over tokens that knows the names and values a request defined for them.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};

use super::token::{Token, tokens};
use crate::embedded::answer::Problem;
use crate::embedded::value::{Item, Value};

/// `ExpressionAttributeNames` and `ExpressionAttributeValues` of a request, and which of them were used.
#[derive(Debug, Default)]
pub(in crate::embedded) struct Names<'a> {
    attributes: HashMap<String, String>,
    values: Item<'a>,
    used: RefCell<BTreeSet<String>>,
}

impl<'a> Names<'a> {
    pub(in crate::embedded) fn new(names: Option<HashMap<String, String>>, values: Option<Item<'a>>) -> Result<Self, Problem> {
        let values = values.unwrap_or_default();
        values.check()?;
        Ok(Self { attributes: names.unwrap_or_default(), values, used: RefCell::default() })
    }

    /// After every expression was read: names and values that no expression uses are an error.
    pub(in crate::embedded) fn all_used(&self) -> Result<(), Problem> {
        let used = self.used.borrow();
        let complain = |member: &str, mut unused: Vec<&str>| {
            unused.sort_unstable();
            let unused = unused.join(", ");
            Err(Problem::validation(format!("Value provided in {member} unused in expressions: keys: {{{unused}}}")))
        };
        let names: Vec<&str> = self.attributes.keys().map(String::as_str).filter(|name| !used.contains(*name)).collect();
        if !names.is_empty() {
            return complain("ExpressionAttributeNames", names);
        }
        let values: Vec<&str> = self.values.0.iter().map(|(name, _)| &**name).filter(|name| !used.contains(*name)).collect();
        if values.is_empty() { Ok(()) } else { complain("ExpressionAttributeValues", values) }
    }

    fn name(&self, reference: &str) -> Option<&str> {
        self.used.borrow_mut().insert(reference.to_owned());
        self.attributes.get(reference).map(String::as_str)
    }

    fn value(&self, reference: &str) -> Option<&Value<'a>> {
        self.used.borrow_mut().insert(reference.to_owned());
        self.values.get(reference)
    }
}

/// A cursor over the tokens of one expression.
pub(super) struct Parser<'e, 'n, 'a> {
    tokens: std::iter::Peekable<std::vec::IntoIter<Token<'e>>>,
    names: &'n Names<'a>,
    kind: &'static str,
}

impl<'e, 'n, 'a> Parser<'e, 'n, 'a> {
    pub(super) fn new(expression: &'e str, kind: &'static str, names: &'n Names<'a>) -> Result<Self, Problem> {
        Ok(Self { tokens: tokens(expression, kind)?.into_iter().peekable(), names, kind })
    }

    pub(super) fn peek(&mut self) -> Option<Token<'e>> {
        self.tokens.peek().copied()
    }

    pub(super) fn next(&mut self) -> Option<Token<'e>> {
        self.tokens.next()
    }

    pub(super) fn eat_sign(&mut self, sign: &str) -> bool {
        self.tokens.next_if(|token| matches!(token, Token::Sign(other) if *other == sign)).is_some()
    }

    pub(super) fn eat_word(&mut self, keyword: &str) -> bool {
        self.tokens.next_if(|token| token.is_word(keyword)).is_some()
    }

    pub(super) fn expect_sign(&mut self, sign: &str) -> Result<(), Problem> {
        if self.eat_sign(sign) { Ok(()) } else { Err(self.unexpected()) }
    }

    /// The end of the expression, else what is there instead is an error.
    pub(super) fn end(&mut self) -> Result<(), Problem> {
        if self.peek().is_none() { Ok(()) } else { Err(self.unexpected()) }
    }

    pub(super) fn unexpected(&mut self) -> Problem {
        let kind = self.kind;
        match self.next() {
            Some(Token::Word(text) | Token::NameRef(text) | Token::ValueRef(text) | Token::Sign(text)) => {
                Problem::validation(format!("Invalid {kind}: Syntax error; token: \"{text}\", near: \"{text}\""))
            }
            None => Problem::validation(format!("Invalid {kind}: Syntax error; token: \"<EOF>\", near: \"<EOF>\"")),
        }
    }

    pub(super) fn unsupported(&self, what: &str) -> Problem {
        Problem::validation(format!("Invalid {}: {what} is not supported by the embedded endpoint", self.kind))
    }

    /// An attribute name, written out or as a reference.
    pub(super) fn path(&mut self) -> Result<String, Problem> {
        match self.peek() {
            Some(Token::Word(name)) => {
                self.next();
                Ok(name.to_owned())
            }
            Some(Token::NameRef(reference)) => {
                self.next();
                self.names.name(reference).map(str::to_owned).ok_or_else(|| {
                    let kind = self.kind;
                    Problem::validation(format!(
                        "Invalid {kind}: An expression attribute name used in the document path is not defined; attribute name: {reference}"
                    ))
                })
            }
            _ => Err(self.unexpected()),
        }
    }

    /// A value reference, if there is one.
    pub(super) fn value(&mut self) -> Result<Option<Value<'a>>, Problem> {
        let Some(Token::ValueRef(reference)) = self.peek() else { return Ok(None) };
        self.next();
        self.names.value(reference).cloned().map(Some).ok_or_else(|| {
            let kind = self.kind;
            Problem::validation(format!(
                "Invalid {kind}: An expression attribute value used in expression is not defined; attribute value: {reference}"
            ))
        })
    }
}
