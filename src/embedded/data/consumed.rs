//! `ReturnConsumedCapacity`.

use crate::embedded::answer::Problem;
use crate::embedded::model::Units;
use crate::embedded::value::Text;

/// How much is told of the capacity that a request consumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Consumed {
    Nothing,
    Total,
    Indexes,
}

impl Consumed {
    pub(super) fn parse(asked: Option<&Text<'_>>) -> Result<Self, Problem> {
        match asked.map(|text| &**text) {
            None | Some("NONE") => Ok(Self::Nothing),
            Some("TOTAL") => Ok(Self::Total),
            Some("INDEXES") => Ok(Self::Indexes),
            Some(other) => Err(Problem::validation(format!(
                "1 validation error detected: Value '{other}' at 'returnConsumedCapacity' failed to satisfy constraint: \
                 Member must satisfy enum value set: [INDEXES, TOTAL, NONE]"
            ))),
        }
    }

    /// One table's consumption as JSON, where it is asked for. The name of a table needs no escapes.
    pub(super) fn of(self, table: &str, units: Units) -> Option<String> {
        match self {
            Self::Nothing => None,
            Self::Total => Some(format!(r#"{{"TableName":"{table}","CapacityUnits":{units}}}"#)),
            Self::Indexes => Some(format!(r#"{{"TableName":"{table}","CapacityUnits":{units},"Table":{{"CapacityUnits":{units}}}}}"#)),
        }
    }

    /// Several tables' consumption as a JSON list.
    pub(super) fn of_all(self, tables: &[(String, Units)]) -> Option<String> {
        let each: Option<Vec<String>> = tables.iter().map(|(table, units)| self.of(table, *units)).collect();
        each.filter(|_| self != Self::Nothing).map(|each| format!("[{}]", each.join(",")))
    }
}
