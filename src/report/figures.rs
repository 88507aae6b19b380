//! Figures as the status line and the summary give them. A dash stands where there is no data.

use crate::analysis::per_s_in_words;
use crate::load::thousands;

/// No data.
pub(super) const NONE: &str = "-";

/// A rate or level, without its unit.
pub(super) fn rate(per_s: Option<f64>) -> String {
    per_s.map_or(NONE.to_owned(), per_s_in_words)
}

/// A whole number of something.
pub(super) fn whole(number: Option<f64>) -> String {
    number.map_or(NONE.to_owned(), |n| {
        let sign = if n.round() < 0.0 { "-" } else { "" };
        format!("{sign}{}", thousands(n.abs().round() as u64))
    })
}

/// Milliseconds, without their unit, to three or four digits.
pub(super) fn millis(ms: Option<f64>) -> String {
    match ms {
        None => NONE.to_owned(),
        Some(ms) if ms < 1.0 => format!("{ms:.2}"),
        Some(ms) if ms < 100.0 => format!("{ms:.1}"),
        Some(ms) => format!("{ms:.0}"),
    }
}

/// Seconds with their unit, to a few digits.
pub(super) fn seconds(s: Option<f64>) -> String {
    match s {
        None => NONE.to_owned(),
        Some(s) if s >= 100.0 || (s - s.round()).abs() < 0.005 => format!("{s:.0} s"),
        Some(s) => format!("{s:.2} s"),
    }
}

/// Money.
pub(super) fn usd(usd: Option<f64>) -> Option<String> {
    usd.map(|usd| if usd > 0.0 && usd < 0.005 { "under $0.01".to_owned() } else { format!("${usd:.2}") })
}

/// A time of session: `02:14`, `1:02:14`.
pub(super) fn clock(s: f64) -> String {
    let s = s.max(0.0) as u64;
    let (hours, minutes, seconds) = (s / 3_600, s / 60 % 60, s % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{seconds:02}") } else { format!("{minutes:02}:{seconds:02}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short_and_absent_ones_are_a_dash() {
        assert_eq!([millis(None), millis(Some(0.204)), millis(Some(11.24)), millis(Some(8_000.4))], ["-", "0.20", "11.2", "8000"]);
        assert_eq!([seconds(Some(3.0)), seconds(Some(0.954)), seconds(Some(238.4)), seconds(None)], ["3 s", "0.95 s", "238 s", "-"]);
        assert_eq!(
            [usd(Some(0.0)), usd(Some(0.001)), usd(Some(12.674)), usd(None)].map(Option::unwrap_or_default),
            ["$0.00", "under $0.01", "$12.67", ""]
        );
        assert_eq!([clock(12.9), clock(134.0), clock(3_734.0)], ["00:12", "02:14", "1:02:14"]);
        assert_eq!([whole(Some(-3.2)), whole(Some(67_211.6)), rate(Some(0.5)), rate(None)], ["-3", "67,212", "0.5", "-"]);
    }
}
