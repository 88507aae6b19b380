//! What ends a window before its time.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use super::{parse_span, show_span};

/// What ends a window before its time. It ends on the next bucket edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// A sustained ceiling has been measured over this long.
    Sustained(Duration),
    /// This long after the first throttle.
    FirstThrottle(Duration),
}

impl fmt::Display for Until {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&match self {
            Self::Sustained(span) => format!("sustained for {}", show_span(*span)),
            Self::FirstThrottle(span) => format!("first throttle + {}", show_span(*span)),
        })
    }
}

impl FromStr for Until {
    type Err = String;

    fn from_str(typed: &str) -> Result<Self, Self::Err> {
        let wrong = || {
            format!(
                "`{typed}` does not say what ends a window; write \"sustained for 20s\", \"first throttle + 30s\" or \"first throttle\""
            )
        };
        let text = typed.trim();
        if let Some(rest) = text.strip_prefix("sustained") {
            let rest = rest.trim_start();
            let span = parse_span(rest.strip_prefix("for").unwrap_or(rest).trim()).map_err(|_| wrong())?;
            return if span.is_zero() { Err(wrong()) } else { Ok(Self::Sustained(span)) };
        }
        let rest = text.strip_prefix("first throttle").ok_or_else(wrong)?.trim_start();
        match rest.strip_prefix('+') {
            Some(span) => parse_span(span.trim()).map(Self::FirstThrottle).map_err(|_| wrong()),
            None if rest.is_empty() => Ok(Self::FirstThrottle(Duration::ZERO)),
            None => Err(wrong()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ends_a_window_is_read_as_people_write_it() {
        for (typed, meant) in [
            ("sustained for 20s", Until::Sustained(Duration::from_secs(20))),
            ("sustained 1m", Until::Sustained(Duration::from_secs(60))),
            ("first throttle + 30s", Until::FirstThrottle(Duration::from_secs(30))),
            ("first throttle+500ms", Until::FirstThrottle(Duration::from_millis(500))),
            ("first throttle", Until::FirstThrottle(Duration::ZERO)),
        ] {
            assert_eq!(typed.parse(), Ok(meant), "{typed}");
            assert_eq!(meant.to_string().parse(), Ok(meant), "{meant}");
        }
        for typed in ["", "sustained", "sustained for", "sustained 0s", "first", "first throttle 30s", "throttled", "first throttle + soon"]
        {
            assert!(typed.parse::<Until>().expect_err(typed).contains("sustained for 20s"), "{typed}");
        }
    }
}
