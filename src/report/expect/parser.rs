//! From words and signs to an expression whose every part has a meaning. Precedence climbing, by hand: what a parser library
//! gives is little against what each message has to say.

use crate::analysis::VerdictKind;

use super::Scope;
use super::ast::{Expr, Operator, Path, Subject, Which};
use super::names::{Kind, find, hint};
use super::token::{KINDS, Token, Wrong};

/// Deeper nesting is refused.
const DEEPEST: u32 = 64;

/// A part that was read: what it is, what kind of value it has, where it starts.
struct Read {
    expr: Expr,
    kind: Kind,
    at: usize,
}

struct Parser<'a> {
    tokens: &'a [(usize, Token)],
    next: usize,
    end: usize,
    scope: Scope,
    depth: u32,
}

/// Reads all of it. `end` is where an end that comes too early is pointed at.
pub(super) fn parse(tokens: &[(usize, Token)], end: usize, scope: Scope) -> Result<Expr, Wrong> {
    let mut parser = Parser { tokens, next: 0, end, scope, depth: 0 };
    if tokens.is_empty() {
        return Err((0, "nothing is expected here; type for example sustained_per_s >= 3960".to_owned()));
    }
    let whole = parser.binary(1)?;
    if parser.peek().is_some() {
        return Err((parser.at(), "this does not go on from what is before it; join conditions with && or ||".to_owned()));
    }
    match whole.kind {
        Kind::Truth => Ok(whole.expr),
        Kind::Number => Err((whole.at, "this is a number, and nothing is said about it; compare it, for example with >= 3960".to_owned())),
        Kind::Word => Err((whole.at, "this says nothing yet; type for example verdict == service-bound".to_owned())),
    }
}

impl Parser<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.next).map(|(_, token)| token)
    }

    /// Where the next word or sign starts.
    fn at(&self) -> usize {
        self.tokens.get(self.next).map_or(self.end, |(at, _)| *at)
    }

    fn take(&mut self, token: &Token) -> bool {
        let there = self.peek() == Some(token);
        self.next += usize::from(there);
        there
    }

    fn binary(&mut self, least: u8) -> Result<Read, Wrong> {
        let mut left = self.unary()?;
        while let Some(Token::Operator(operator)) = self.peek() {
            let operator = *operator;
            if operator.precedence() < least {
                break;
            }
            let at = self.at();
            self.next += 1;
            let right = self.binary(operator.precedence() + 1)?;
            if operator.compares()
                && let Some(Token::Operator(second)) = self.peek()
                && second.compares()
            {
                return Err((self.at(), "a comparison has two sides; type for example a < b && b < c".to_owned()));
            }
            let kind = combined(operator, at, &left, &right)?;
            left = Read { expr: Expr::Binary(Box::new(left.expr), operator, Box::new(right.expr)), kind, at: left.at };
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Read, Wrong> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err((self.at(), format!("this is nested more than {DEEPEST} deep; type several expectations")));
        }
        let at = self.at();
        let read = if self.take(&Token::Not) {
            let inner = self.unary()?;
            if inner.kind != Kind::Truth {
                return Err((inner.at, "`!` needs a condition; put it in parentheses, for example !(p99_ms < 20)".to_owned()));
            }
            Read { expr: Expr::Not(Box::new(inner.expr)), kind: Kind::Truth, at }
        } else if self.take(&Token::Operator(Operator::Minus)) {
            let inner = self.unary()?;
            is_number(&inner, "-")?;
            Read { expr: Expr::Negative(Box::new(inner.expr)), kind: Kind::Number, at }
        } else {
            self.primary()?
        };
        self.depth -= 1;
        Ok(read)
    }

    fn primary(&mut self) -> Result<Read, Wrong> {
        let at = self.at();
        let token = self.peek().cloned();
        match token {
            Some(Token::Number(number)) => {
                self.next += 1;
                Ok(Read { expr: Expr::Number(number), kind: Kind::Number, at })
            }
            Some(Token::Word(kind)) => {
                self.next += 1;
                Ok(Read { expr: Expr::Word(kind), kind: Kind::Word, at })
            }
            Some(Token::Text(text)) => {
                let kind = KINDS.into_iter().find(|kind| kind.name() == text).ok_or_else(|| (at, no_verdict(&text)))?;
                self.next += 1;
                Ok(Read { expr: Expr::Word(kind), kind: Kind::Word, at })
            }
            Some(Token::Name(_)) => self.path(),
            Some(Token::Open) => {
                self.next += 1;
                let inner = self.binary(1)?;
                if !self.take(&Token::Close) {
                    return Err((self.at(), "the parenthesis is not closed; type )".to_owned()));
                }
                Ok(Read { at, ..inner })
            }
            None => Err((at, "something is missing at the end; type a name or a number".to_owned())),
            Some(_) => Err((at, "a name, a number or a parenthesis belongs here".to_owned())),
        }
    }

    fn path(&mut self) -> Result<Read, Wrong> {
        let start = self.at();
        let mut subject = None;
        let mut window = None;
        let mut parts: Vec<String> = Vec::new();
        let mut name_at = start;
        loop {
            let at = self.at();
            let Some(Token::Name(part)) = self.peek().cloned() else {
                return Err((at, "a name belongs behind the dot, for example p99_ms".to_owned()));
            };
            self.next += 1;
            let first = parts.is_empty() && window.is_none();
            if parts.is_empty() {
                name_at = at;
            }
            if first && subject.is_none() && matches!(part.as_str(), "new" | "base") {
                if self.scope == Scope::One {
                    return Err((at, format!("`{part}.` is for `throttlescope compare`; here is one session, so leave it out")));
                }
                subject = Some(if part == "new" { Subject::New } else { Subject::Base });
            } else if first && part == "window" {
                window = Some(self.which()?);
            } else {
                parts.push(part);
            }
            if !self.take(&Token::Dot) {
                break;
            }
        }
        if parts.is_empty() {
            let what = if window.is_some() {
                "which figure of the window? type for example .p99_ms behind it"
            } else {
                "which figure of it? type for example .sustained_per_s behind it"
            };
            return Err((self.at(), what.to_owned()));
        }
        let name = parts.join(".");
        let leaf = find(&name, window.is_some()).ok_or_else(|| (name_at, hint(&name, window.is_some())))?;
        if self.scope == Scope::Two && subject.is_none() {
            return Err((start, format!("of which session? type new.{name} or base.{name}")));
        }
        let kind = leaf.kind();
        Ok(Read { expr: Expr::Name(Path { subject, window, leaf }), kind, at: start })
    }

    fn which(&mut self) -> Result<Which, Wrong> {
        const EXAMPLES: &str = "type window[3], window[last] or window[\"5,000/s\"]";
        if !self.take(&Token::OpenBracket) {
            return Err((self.at(), format!("which window? {EXAMPLES}")));
        }
        let at = self.at();
        let which = match self.peek() {
            Some(Token::Number(number)) => {
                let whole = number.fract() == 0.0 && (1.0..=f64::from(u32::MAX)).contains(number);
                whole
                    .then_some(Which::Number(*number as u32))
                    .ok_or_else(|| (at, "windows are counted from 1, as reports number them".to_owned()))?
            }
            Some(Token::Name(name)) if name == "last" => Which::Last,
            Some(Token::Text(label)) => Which::Label(label.clone()),
            _ => return Err((at, format!("this names no window; {EXAMPLES}"))),
        };
        self.next += 1;
        if !self.take(&Token::CloseBracket) {
            return Err((self.at(), "the bracket is not closed; type ]".to_owned()));
        }
        Ok(which)
    }
}

fn no_verdict(text: &str) -> String {
    let kinds: Vec<&str> = KINDS.iter().map(|kind: &VerdictKind| kind.name()).collect();
    format!("\"{}\" is no verdict; they are {}", text.escape_debug(), kinds.join(", "))
}

fn is_number(read: &Read, operator: &str) -> Result<(), Wrong> {
    match read.kind {
        Kind::Number => Ok(()),
        Kind::Truth => Err((read.at, format!("`{operator}` needs numbers, and this is a condition"))),
        Kind::Word => Err((read.at, format!("`{operator}` needs numbers, and this is a verdict; compare it with == or !="))),
    }
}

/// The kind of value that an operator gives, or why it cannot join these two.
fn combined(operator: Operator, at: usize, left: &Read, right: &Read) -> Result<Kind, Wrong> {
    let symbol = operator.symbol();
    match operator {
        Operator::Or | Operator::And => {
            for side in [left, right] {
                if side.kind != Kind::Truth {
                    return Err((side.at, format!("`{symbol}` joins conditions, and this is none; compare it with something")));
                }
            }
            Ok(Kind::Truth)
        }
        Operator::Equal | Operator::NotEqual => {
            if left.kind == right.kind {
                Ok(Kind::Truth)
            } else {
                Err((
                    at,
                    format!("the two sides of `{symbol}` are not of one kind: {} and {}", left.kind.in_words(), right.kind.in_words()),
                ))
            }
        }
        _ => {
            is_number(left, symbol)?;
            is_number(right, symbol)?;
            Ok(if operator.compares() { Kind::Truth } else { Kind::Number })
        }
    }
}
