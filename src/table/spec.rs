//! What table a session asks for.

use std::fmt;
use std::str::FromStr;

/// How a table is billed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Billing {
    /// Pay per request.
    #[default]
    OnDemand,
    /// Provisioned write and read units per second.
    Provisioned {
        /// Write units/s.
        write: u32,
        /// Read units/s.
        read: u32,
    },
}

impl fmt::Display for Billing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OnDemand => f.pad("on-demand"),
            Self::Provisioned { write, read } => f.pad(&format!("provisioned:{write},{read}")),
        }
    }
}

impl FromStr for Billing {
    type Err = String;

    fn from_str(typed: &str) -> Result<Self, Self::Err> {
        if typed == "on-demand" {
            return Ok(Self::OnDemand);
        }
        let wrong = || {
            format!(
                "`{typed}` is not a billing mode; type on-demand, or provisioned:W,R with units per second, for example provisioned:1000,1000"
            )
        };
        let (write, read) = typed.strip_prefix("provisioned:").and_then(|pair| pair.split_once(',')).ok_or_else(wrong)?;
        let units = |text: &str| text.trim().parse::<u32>().ok().filter(|units| *units > 0).ok_or_else(wrong);
        Ok(Self::Provisioned { write: units(write)?, read: units(read)? })
    }
}

/// A table to be created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableSpec {
    /// Its name.
    pub name: String,
    /// The session that creates it; becomes the tag `throttlescope:session`.
    pub session: String,
    /// How it is billed.
    pub billing: Billing,
    /// WarmThroughput asked for: write and read units/s.
    pub warm: Option<(u32, u32)>,
    /// OnDemandThroughput maximums asked for: write and read units/s.
    pub max_units: Option<(u32, u32)>,
}

/// Checks a table name by the service's own rule. The error says what to type instead.
pub fn check_name(name: &str) -> Result<(), String> {
    let fits = (3..=255).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-'));
    if fits { Ok(()) } else { Err(format!("`{name}` is not a table name; type 3 to 255 letters, digits, `_`, `.` or `-`")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_billing_mode_is_read_or_told_what_to_type() {
        assert_eq!("on-demand".parse(), Ok(Billing::OnDemand));
        assert_eq!("provisioned:10,20".parse(), Ok(Billing::Provisioned { write: 10, read: 20 }));
        for typed in ["", "provisioned", "provisioned:0,1", "provisioned:1", "provisioned:-1,1"] {
            assert!(typed.parse::<Billing>().expect_err(typed).contains("provisioned:1000,1000"));
        }
    }
}
