//! What one intent does to the table.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The operation of a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Op {
    /// PutItem of one item.
    #[default]
    Write,
    /// GetItem of one item.
    Read,
}

impl Op {
    /// The plural a sentence needs: "writes", "reads".
    pub const fn plural(self) -> &'static str {
        match self {
            Self::Write => "writes",
            Self::Read => "reads",
        }
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Write => "write",
            Self::Read => "read",
        })
    }
}

impl FromStr for Op {
    type Err = String;
    fn from_str(typed: &str) -> Result<Self, Self::Err> {
        match typed {
            "write" => Ok(Self::Write),
            "read" => Ok(Self::Read),
            _ => Err(format!("`{typed}` is not an operation; type write or read")),
        }
    }
}
