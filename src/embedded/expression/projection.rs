//! Projections: which attributes to give back.

use super::parser::{Names, Parser};
use crate::embedded::answer::Problem;
use crate::embedded::value::Item;

/// Names of the attributes to give back.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::embedded) struct Projection(Vec<String>);

impl Projection {
    pub(in crate::embedded) fn parse(expression: &str, names: &Names<'_>) -> Result<Self, Problem> {
        let mut parser = Parser::new(expression, "ProjectionExpression", names)?;
        let mut attributes = vec![parser.path()?];
        while parser.eat_sign(",") {
            attributes.push(parser.path()?);
        }
        parser.end()?;
        Ok(Self(attributes))
    }

    /// The projected item as JSON.
    pub(in crate::embedded) fn of(&self, json: &str) -> Result<String, Problem> {
        let item: Item<'_> = serde_json::from_str(json).map_err(|error| Problem::internal(error.to_string()))?;
        let kept = item.0.into_iter().filter(|(name, _)| self.0.iter().any(|wanted| **wanted == **name)).collect();
        serde_json::to_string(&Item(kept)).map_err(|error| Problem::internal(error.to_string()))
    }
}
