//! Update expressions: SET, REMOVE and ADD.

use super::parser::{Names, Parser};
use crate::embedded::answer::Problem;
use crate::embedded::value::{Item, Number, Text, Value};

/// What an attribute is set to.
#[derive(Clone, Debug, PartialEq)]
enum Term<'a> {
    Value(Value<'a>),
    Path(String),
    IfNotExists(String, Box<Term<'a>>),
}

#[derive(Clone, Debug, PartialEq)]
enum Action<'a> {
    Set(Term<'a>),
    SetSum(Term<'a>, Term<'a>),
    SetDifference(Term<'a>, Term<'a>),
    Remove,
    Add(Value<'a>),
}

/// A list of changes to attributes, each named at most once.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::embedded) struct Update<'a>(Vec<(String, Action<'a>)>);

impl<'a> Update<'a> {
    pub(in crate::embedded) fn parse(expression: &str, names: &Names<'a>) -> Result<Self, Problem> {
        let mut parser = Parser::new(expression, "UpdateExpression", names)?;
        let mut update = Self::default();
        while parser.peek().is_some() {
            let clause: fn(&mut Parser<'_, '_, 'a>) -> Result<Action<'a>, Problem> = if parser.eat_word("SET") {
                set
            } else if parser.eat_word("REMOVE") {
                |_| Ok(Action::Remove)
            } else if parser.eat_word("ADD") {
                |parser| parser.value()?.map(Action::Add).ok_or_else(|| parser.unexpected())
            } else if parser.eat_word("DELETE") {
                return Err(parser.unsupported("DELETE"));
            } else {
                return Err(parser.unexpected());
            };
            loop {
                let name = parser.path()?;
                if update.touches(&name) {
                    return Err(Problem::validation(format!(
                        "Invalid UpdateExpression: Two document paths overlap with each other; must remove or rewrite one of these paths; \
                         path one: [{name}], path two: [{name}]"
                    )));
                }
                let action = clause(&mut parser)?;
                update.0.push((name, action));
                if !parser.eat_sign(",") {
                    break;
                }
            }
        }
        Ok(update)
    }

    /// Whether it changes this attribute.
    pub(in crate::embedded) fn touches(&self, name: &str) -> bool {
        self.0.iter().any(|(other, _)| other == name)
    }

    /// The attributes of `item` that it changes.
    pub(in crate::embedded) fn touched<'i>(&self, item: &Item<'i>) -> Item<'i> {
        Item(item.0.iter().filter(|(name, _)| self.touches(name)).cloned().collect())
    }

    /// The item after all changes, each made to the item as it was before.
    pub(in crate::embedded) fn apply(&self, before: &Item<'a>) -> Result<Item<'a>, Problem> {
        let mut after = before.clone();
        for (name, action) in &self.0 {
            let value = match action {
                Action::Set(term) => Some(term.of(before)?),
                Action::SetSum(a, b) => Some(number(number_of(&a.of(before)?)?.plus(number_of(&b.of(before)?)?))?),
                Action::SetDifference(a, b) => Some(number(number_of(&a.of(before)?)?.minus(number_of(&b.of(before)?)?))?),
                Action::Remove => None,
                Action::Add(value) => Some(sum(before.get(name), value)?),
            };
            after.set(name, value);
        }
        Ok(after)
    }
}

fn set<'a>(parser: &mut Parser<'_, '_, 'a>) -> Result<Action<'a>, Problem> {
    parser.expect_sign("=")?;
    let first = Term::parse(parser, 0)?;
    if parser.eat_sign("+") {
        Ok(Action::SetSum(first, Term::parse(parser, 0)?))
    } else if parser.eat_sign("-") {
        Ok(Action::SetDifference(first, Term::parse(parser, 0)?))
    } else {
        Ok(Action::Set(first))
    }
}

impl<'a> Term<'a> {
    fn parse(parser: &mut Parser<'_, '_, 'a>, depth: u32) -> Result<Self, Problem> {
        if let Some(value) = parser.value()? {
            return Ok(Self::Value(value));
        }
        let name = parser.path()?;
        if !parser.eat_sign("(") {
            return Ok(Self::Path(name));
        }
        if name != "if_not_exists" {
            return Err(parser.unsupported(&format!("the function {name}")));
        }
        if depth > 8 {
            return Err(parser.unsupported("a function nested this deep"));
        }
        let path = parser.path()?;
        parser.expect_sign(",")?;
        let otherwise = Self::parse(parser, depth + 1)?;
        parser.expect_sign(")")?;
        Ok(Self::IfNotExists(path, Box::new(otherwise)))
    }

    fn of(&self, item: &Item<'a>) -> Result<Value<'a>, Problem> {
        match self {
            Self::Value(value) => Ok(value.clone()),
            Self::Path(name) => item
                .get(name)
                .cloned()
                .ok_or_else(|| Problem::validation("The provided expression refers to an attribute that does not exist in the item")),
            Self::IfNotExists(name, otherwise) => item.get(name).cloned().map_or_else(|| otherwise.of(item), Ok),
        }
    }
}

fn number_of(value: &Value<'_>) -> Result<Number, Problem> {
    match value {
        Value::N(text) => Number::parse(text).map_err(Problem::validation),
        _ => Err(Problem::validation("An operand in the update expression has an incorrect data type")),
    }
}

fn number(sum: Result<Number, String>) -> Result<Value<'static>, Problem> {
    sum.map(|sum| Value::N(Text::owned(&sum.to_string()))).map_err(Problem::validation)
}

/// ADD: to a number, or to a set.
fn sum<'a>(before: Option<&Value<'a>>, more: &Value<'a>) -> Result<Value<'a>, Problem> {
    let united = |before: &[Text<'a>], more: &[Text<'a>]| {
        let mut all = before.to_vec();
        all.extend(more.iter().filter(|text| !before.contains(text)).cloned());
        all
    };
    match (before, more) {
        (None, Value::N(_) | Value::Ss(_) | Value::Ns(_) | Value::Bs(_)) => Ok(more.clone()),
        (Some(Value::N(_)), Value::N(_)) => number(number_of(before.unwrap_or(more))?.plus(number_of(more)?)),
        (Some(Value::Ss(before)), Value::Ss(more)) => Ok(Value::Ss(united(before, more))),
        (Some(Value::Ns(before)), Value::Ns(more)) => Ok(Value::Ns(united(before, more))),
        (Some(Value::Bs(before)), Value::Bs(more)) => Ok(Value::Bs(united(before, more))),
        (None, other) => Err(Problem::validation(format!(
            "Invalid UpdateExpression: Incorrect operand type for operator or function; operator: ADD, operand type: {}",
            other.type_name()
        ))),
        _ => Err(Problem::validation("An operand in the update expression has an incorrect data type")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn updated(expression: &str, item: &str) -> Result<String, Problem> {
        let values = r#"{":v":{"S":"new"},":one":{"N":"1"},":set":{"SS":["b","c"]}}"#;
        let names = Names::new(None, Some(serde_json::from_str(values).unwrap())).unwrap();
        let after = Update::parse(expression, &names)?.apply(&serde_json::from_str(item).unwrap())?;
        Ok(serde_json::to_string(&after).unwrap())
    }

    #[test]
    fn updates_change_what_they_name() {
        let item = r#"{"n":{"N":"41"},"s":{"SS":["a","b"]}}"#;
        for (expression, expected) in [
            ("SET a = :v", r#"{"n":{"N":"41"},"s":{"SS":["a","b"]},"a":{"S":"new"}}"#),
            ("SET n = n + :one REMOVE s", r#"{"n":{"N":"42"}}"#),
            ("SET n = n - :one, s = :v", r#"{"n":{"N":"40"},"s":{"S":"new"}}"#),
            ("ADD n :one, s :set", r#"{"n":{"N":"42"},"s":{"SS":["a","b","c"]}}"#),
            ("remove s set n = if_not_exists(m, :one)", r#"{"n":{"N":"1"}}"#),
            ("REMOVE nothing", item),
        ] {
            assert_eq!(updated(expression, item).as_deref(), Ok(expected), "{expression}");
        }
        assert_eq!(updated("ADD n :one", "{}").as_deref(), Ok(r#"{"n":{"N":"1"}}"#));
    }

    #[test]
    fn updates_that_cannot_be_made_say_why() {
        let message = |expression: &str| updated(expression, r#"{"s":{"S":"x"}}"#).unwrap_err().message().to_owned();
        assert!(message("DELETE s :set").contains("DELETE is not supported"));
        assert!(message("SET a = list_append(a, :v)").contains("the function list_append is not supported"));
        assert!(message("SET a = b").contains("does not exist in the item"));
        assert!(message("SET s = s + :one").contains("incorrect data type"));
        assert!(message("SET a = :v, a = :one").contains("overlap"));
        assert!(message("ADD s :v").contains("incorrect data type"));
        assert!(message("a = :v").contains("Syntax error"));
    }
}
