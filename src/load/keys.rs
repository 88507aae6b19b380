//! How the keys of a load are distributed.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How keys are chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Keys {
    /// A fresh random key per write, a random seeded item per read: spreads evenly over the hash range.
    #[default]
    Uniform,
    /// Ascending numbers for writes, the seeded items in turn for reads; DynamoDB hashes keys, so they spread as well.
    Sequential,
    /// One key.
    Hot,
    /// Item *n* with probability proportional to `1 / n^s`.
    Zipf(f64),
}

impl fmt::Display for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uniform => f.pad("uniform"),
            Self::Sequential => f.pad("sequential"),
            Self::Hot => f.pad("hot"),
            Self::Zipf(s) => f.pad(&format!("zipf:{s}")),
        }
    }
}

impl From<Keys> for String {
    fn from(keys: Keys) -> Self {
        keys.to_string()
    }
}

impl TryFrom<String> for Keys {
    type Error = String;

    fn try_from(typed: String) -> Result<Self, Self::Error> {
        typed.parse()
    }
}

impl FromStr for Keys {
    type Err = String;

    fn from_str(typed: &str) -> Result<Self, Self::Err> {
        let wrong = || {
            format!(
                "`{typed}` is not a key distribution; type uniform, sequential, hot or zipf:S with S from 0.1 to 5, for example zipf:1.1"
            )
        };
        match typed {
            "uniform" => Ok(Self::Uniform),
            "sequential" => Ok(Self::Sequential),
            "hot" => Ok(Self::Hot),
            _ => {
                let s: f64 = typed.strip_prefix("zipf:").and_then(|s| s.parse().ok()).ok_or_else(wrong)?;
                if (0.1..=5.0).contains(&s) { Ok(Self::Zipf(s)) } else { Err(wrong()) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_distribution_is_told_the_right_ones() {
        for typed in ["zipf", "zipf:9", "zipf:x", "random"] {
            assert!(typed.parse::<Keys>().expect_err(typed).contains("zipf:1.1"));
        }
        assert_eq!("zipf:1.1".parse(), Ok(Keys::Zipf(1.1)));
    }
}
