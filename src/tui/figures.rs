//! Figures as text. What has no data is `-`, never 0; widths are the caller's, so that a column keeps its place.

use std::time::Duration;

use crate::load::{Offset, Rate, thousands};

/// What stands where there is no data.
pub const NOTHING: &str = "-";

/// A whole number of things.
pub fn count(number: u64) -> String {
    thousands(number)
}

/// A rate in operations per second without its unit; one decimal below 100.
pub fn rate(per_s: f64) -> String {
    if !per_s.is_finite() || per_s < 0.0 {
        NOTHING.to_owned()
    } else if per_s < 99.95 && (per_s - per_s.round()).abs() > 0.05 {
        format!("{per_s:.1}")
    } else {
        thousands(per_s.round() as u64)
    }
}

/// A rate with its unit, or nothing.
pub fn per_s(value: Option<f64>) -> String {
    value.map_or_else(|| NOTHING.to_owned(), |value| format!("{}/s", rate(value)))
}

/// A setpoint with its unit; `paused` when it is none.
pub fn setpoint(value: Option<Rate>) -> String {
    value.map_or_else(|| "paused".to_owned(), |value| format!("{value}/s"))
}

/// Milliseconds without their unit: three or four significant digits.
pub fn ms(value: Option<f64>) -> String {
    match value.filter(|value| value.is_finite()) {
        None => NOTHING.to_owned(),
        Some(value) if value < 1.0 => format!("{value:.3}"),
        Some(value) if value < 10.0 => format!("{value:.2}"),
        Some(value) if value < 1_000.0 => format!("{value:.1}"),
        Some(value) => thousands(value.round() as u64),
    }
}

/// Seconds with their unit: two decimals below ten, one below a hundred.
pub fn seconds(value: Option<f64>) -> String {
    match value.filter(|value| value.is_finite()) {
        None => NOTHING.to_owned(),
        Some(value) if value < 9.995 => format!("{value:.2} s"),
        Some(value) if value < 99.95 => format!("{value:.1} s"),
        Some(value) => span(Duration::from_secs_f64(value.clamp(0.0, 1e9))),
    }
}

/// A length of time in words: `45 s`, `2 min 5 s`, `1 h 5 min`.
pub fn span(value: Duration) -> String {
    let secs = value.as_secs();
    match (secs / 3_600, secs / 60 % 60, secs % 60) {
        (0, 0, s) => format!("{s} s"),
        (0, m, 0) => format!("{m} min"),
        (0, m, s) => format!("{m} min {s} s"),
        (h, 0, _) => format!("{h} h"),
        (h, m, _) => format!("{h} h {m} min"),
    }
}

/// A clock of the session: `02:14`, `1:02:14`.
pub fn clock(at: Offset) -> String {
    let secs = at.nanos() / 1_000_000_000;
    match secs / 3_600 {
        0 => format!("{:02}:{:02}", secs / 60, secs % 60),
        hours => format!("{hours}:{:02}:{:02}", secs / 60 % 60, secs % 60),
    }
}

/// A share of a whole as a percentage, or nothing without a whole.
pub fn percent(part: u64, whole: u64) -> String {
    if whole == 0 {
        return NOTHING.to_owned();
    }
    let share = part as f64 * 100.0 / whole as f64;
    if part > 0 && share < 0.05 { "<0.1 %".to_owned() } else { format!("{share:.1} %") }
}

/// US dollars, or nothing where the price is not known.
pub fn usd(value: Option<f64>) -> String {
    match value.filter(|value| value.is_finite()) {
        None => NOTHING.to_owned(),
        Some(value) if value > 0.0 && value < 0.01 => "<$0.01".to_owned(),
        Some(value) => format!("${value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_data_is_a_dash_and_never_zero() {
        assert_eq!([per_s(None), ms(None), seconds(None), usd(None), percent(0, 0)], ["-"; 5]);
        assert_eq!([ms(Some(f64::NAN)), seconds(Some(f64::INFINITY)), rate(f64::NAN), usd(Some(f64::NAN))], ["-"; 4]);
    }

    #[test]
    fn figures_read_as_people_write_them() {
        assert_eq!([rate(0.0), rate(0.5), rate(99.0), rate(4_000.7)], ["0", "0.5", "99", "4,001"]);
        assert_eq!([ms(Some(0.2)), ms(Some(4.5)), ms(Some(11.24)), ms(Some(1_203.4))], ["0.200", "4.50", "11.2", "1,203"]);
        assert_eq!([seconds(Some(1.84)), seconds(Some(22.04)), seconds(Some(125.0))], ["1.84 s", "22.0 s", "2 min 5 s"]);
        assert_eq!([clock(Offset::from_secs(134)), clock(Offset::from_secs(3_734))], ["02:14", "1:02:14"]);
        assert_eq!([percent(1, 3), percent(1, 100_000), percent(0, 5)], ["33.3 %", "<0.1 %", "0.0 %"]);
        assert_eq!([usd(Some(0.001)), usd(Some(0.31))], ["<$0.01", "$0.31"]);
        assert_eq!(setpoint(Some(Rate::per_second(2_000))), "2,000/s");
    }
}
