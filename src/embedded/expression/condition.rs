//! Conditions, and what they say of an item.

use super::parser::{Names, Parser};
use super::token::Token;
use crate::embedded::answer::Problem;
use crate::embedded::value::{Item, Number, Value, decode_binary};

/// Conditions nest at most this deep, so that no request overflows the stack.
const DEEPEST: u32 = 64;

/// One side of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::embedded) enum Operand<'a> {
    Path(String),
    Value(Value<'a>),
}

/// How two operands are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::embedded) enum Comparison {
    Equal,
    Unequal,
    Less,
    AtMost,
    Greater,
    AtLeast,
}

/// A condition on an item.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::embedded) enum Condition<'a> {
    And(Box<Condition<'a>>, Box<Condition<'a>>),
    Or(Box<Condition<'a>>, Box<Condition<'a>>),
    Not(Box<Condition<'a>>),
    Exists(String),
    Compare(Operand<'a>, Comparison, Operand<'a>),
    Between(Operand<'a>, Operand<'a>, Operand<'a>),
    BeginsWith(Operand<'a>, Operand<'a>),
}

impl<'a> Condition<'a> {
    /// Reads a condition; `kind` names it in errors.
    pub(in crate::embedded) fn parse(expression: &str, kind: &'static str, names: &Names<'a>) -> Result<Self, Problem> {
        let mut parser = Parser::new(expression, kind, names)?;
        let condition = any(&mut parser, 0)?;
        parser.end()?;
        Ok(condition)
    }

    /// Whether it holds for an item; an absent item has no attributes.
    pub(in crate::embedded) fn holds(&self, item: &Item<'_>) -> bool {
        match self {
            Self::And(a, b) => a.holds(item) && b.holds(item),
            Self::Or(a, b) => a.holds(item) || b.holds(item),
            Self::Not(condition) => !condition.holds(item),
            Self::Exists(name) => item.get(name).is_some(),
            Self::Compare(a, comparison, b) => match (a.of(item), b.of(item)) {
                (Some(a), Some(b)) => comparison.holds(a, b),
                _ => false,
            },
            Self::Between(a, low, high) => match (a.of(item), low.of(item), high.of(item)) {
                (Some(a), Some(low), Some(high)) => Comparison::AtLeast.holds(a, low) && Comparison::AtMost.holds(a, high),
                _ => false,
            },
            Self::BeginsWith(a, prefix) => match (a.of(item), prefix.of(item)) {
                (Some(Value::S(text)), Some(Value::S(prefix))) => text.starts_with(&**prefix),
                _ => false,
            },
        }
    }
}

impl<'a> Operand<'a> {
    fn of<'s>(&'s self, item: &'s Item<'_>) -> Option<&'s Value<'s>> {
        match self {
            Self::Path(name) => item.get(name),
            Self::Value(value) => Some(value),
        }
    }

    fn parse(parser: &mut Parser<'_, '_, 'a>) -> Result<Self, Problem> {
        match parser.value()? {
            Some(value) => Ok(Self::Value(value)),
            None => Ok(Self::Path(parser.path()?)),
        }
    }
}

impl Comparison {
    fn parse(sign: &str) -> Option<Self> {
        match sign {
            "=" => Some(Self::Equal),
            "<>" => Some(Self::Unequal),
            "<" => Some(Self::Less),
            "<=" => Some(Self::AtMost),
            ">" => Some(Self::Greater),
            ">=" => Some(Self::AtLeast),
            _ => None,
        }
    }

    fn holds(self, a: &Value<'_>, b: &Value<'_>) -> bool {
        let order = match (a, b) {
            (Value::S(a), Value::S(b)) => Some(a.as_bytes().cmp(b.as_bytes())),
            (Value::N(a), Value::N(b)) => Number::parse(a).ok().zip(Number::parse(b).ok()).map(|(a, b)| a.cmp(&b)),
            (Value::B(a), Value::B(b)) => decode_binary(a).ok().zip(decode_binary(b).ok()).map(|(a, b)| a.cmp(&b)),
            _ => None,
        };
        match (self, order) {
            (Self::Equal, Some(order)) => order.is_eq(),
            (Self::Unequal, Some(order)) => order.is_ne(),
            (Self::Equal, None) => a == b,
            (Self::Unequal, None) => a != b,
            (Self::Less, Some(order)) => order.is_lt(),
            (Self::AtMost, Some(order)) => order.is_le(),
            (Self::Greater, Some(order)) => order.is_gt(),
            (Self::AtLeast, Some(order)) => order.is_ge(),
            (_, None) => false,
        }
    }
}

fn any<'a>(parser: &mut Parser<'_, '_, 'a>, depth: u32) -> Result<Condition<'a>, Problem> {
    let mut left = all(parser, depth)?;
    while parser.eat_word("OR") {
        left = Condition::Or(Box::new(left), Box::new(all(parser, depth)?));
    }
    Ok(left)
}

fn all<'a>(parser: &mut Parser<'_, '_, 'a>, depth: u32) -> Result<Condition<'a>, Problem> {
    let mut left = single(parser, depth)?;
    while parser.eat_word("AND") {
        left = Condition::And(Box::new(left), Box::new(single(parser, depth)?));
    }
    Ok(left)
}

fn single<'a>(parser: &mut Parser<'_, '_, 'a>, depth: u32) -> Result<Condition<'a>, Problem> {
    if depth >= DEEPEST {
        return Err(parser.unsupported("a condition nested this deep"));
    }
    if parser.eat_word("NOT") {
        return Ok(Condition::Not(Box::new(single(parser, depth + 1)?)));
    }
    if parser.eat_sign("(") {
        let condition = any(parser, depth + 1)?;
        parser.expect_sign(")")?;
        return Ok(condition);
    }
    let left = Operand::parse(parser)?;
    if parser.eat_sign("(") {
        return match left {
            Operand::Path(function) => call(parser, &function),
            Operand::Value(_) => Err(parser.unexpected()),
        };
    }
    if parser.eat_word("BETWEEN") {
        let low = Operand::parse(parser)?;
        if !parser.eat_word("AND") {
            return Err(parser.unexpected());
        }
        return Ok(Condition::Between(left, low, Operand::parse(parser)?));
    }
    if parser.peek().is_some_and(|token| token.is_word("IN")) {
        return Err(parser.unsupported("IN"));
    }
    let Some(comparison) = (match parser.peek() {
        Some(Token::Sign(sign)) => Comparison::parse(sign),
        _ => None,
    }) else {
        return Err(parser.unexpected());
    };
    parser.next();
    Ok(Condition::Compare(left, comparison, Operand::parse(parser)?))
}

/// The rest of a function call, after its opening parenthesis.
fn call<'a>(parser: &mut Parser<'_, '_, 'a>, function: &str) -> Result<Condition<'a>, Problem> {
    let condition = match function {
        "attribute_exists" => Condition::Exists(parser.path()?),
        "attribute_not_exists" => Condition::Not(Box::new(Condition::Exists(parser.path()?))),
        "begins_with" => {
            let left = Operand::parse(parser)?;
            parser.expect_sign(",")?;
            Condition::BeginsWith(left, Operand::parse(parser)?)
        }
        other => return Err(parser.unsupported(&format!("the function {other}"))),
    };
    parser.expect_sign(")")?;
    Ok(condition)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(expression: &str, item: &str) -> Result<bool, Problem> {
        let names = r##"{"#n":"n"}"##;
        let values = r#"{":s":{"S":"abc"},":p":{"S":"ab"},":one":{"N":"1"},":ten":{"N":"10"}}"#;
        let names = Names::new(Some(serde_json::from_str(names).unwrap()), Some(serde_json::from_str(values).unwrap())).unwrap();
        Ok(Condition::parse(expression, "ConditionExpression", &names)?.holds(&serde_json::from_str(item).unwrap()))
    }

    #[test]
    fn conditions_hold_as_they_read() {
        let item = r#"{"s":{"S":"abc"},"n":{"N":"2.0"}}"#;
        for (expression, expected) in [
            ("attribute_exists(s)", true),
            ("attribute_not_exists(s)", false),
            ("attribute_not_exists(other) AND s = :s", true),
            ("NOT s = :s OR #n > :one", true),
            ("#n BETWEEN :one AND :ten", true),
            ("#n BETWEEN :one AND :ten AND s <> :s", false),
            ("begins_with(s, :p)", true),
            ("(s = :p or s = :s) and n < :ten", true),
            ("other < :ten", false),
            ("s > :one", false),
        ] {
            assert_eq!(holds(expression, item), Ok(expected), "{expression}");
        }
        assert_eq!(holds("attribute_not_exists(s)", "{}"), Ok(true));
    }

    #[test]
    fn what_is_not_supported_says_so_and_what_is_wrong_is_shown() {
        let message = |expression: &str| holds(expression, "{}").unwrap_err().message().to_owned();
        assert!(message("size(s) > :one").contains("the function size is not supported"));
        assert!(message("s IN (:s)").contains("IN is not supported"));
        assert!(message("a.b = :s").contains("document paths"));
        assert!(message("s =").contains("<EOF>"));
        assert!(message("s = :nope").contains("attribute value: :nope"));
        assert!(message("#nope = :s").contains("attribute name: #nope"));
        assert!(message("").contains("can not be empty"));
        assert!(message(&"(".repeat(10_000)).contains("nested this deep"));
        assert!(message("s ! :s").contains("Syntax error"));
    }
}
