//! Expressions over top-level attributes: conditions, updates, key conditions and projections.

mod condition;
mod parser;
mod projection;
mod token;
mod update;

pub(super) use condition::{Comparison, Condition, Operand};
pub(super) use parser::Names;
pub(super) use projection::Projection;
pub(super) use update::Update;
