//! Lengths of time as people type them: `30s`, `8m`, `1h30m`, `500ms`, or a bare number of seconds.

use std::time::Duration;

/// Reads a length of time. The error says what to type instead.
pub fn parse_span(typed: &str) -> Result<Duration, String> {
    let wrong = || format!("`{typed}` is not a length of time; type for example 30s, 8m, 1h30m or 500ms");
    let text = typed.trim();
    if text.is_empty() {
        return Err(wrong());
    }
    let mut total = 0.0;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(rest.len());
        let number: f64 = rest[..digits].parse().map_err(|_| wrong())?;
        let after = &rest[digits..];
        let letters = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
        let factor = match &after[..letters] {
            "ms" => 0.001,
            "s" => 1.0,
            "" if rest.len() == text.len() && letters == after.len() => 1.0,
            "m" | "min" => 60.0,
            "h" => 3_600.0,
            _ => return Err(wrong()),
        };
        total += number * factor;
        rest = &after[letters..];
    }
    if total > 30.0 * 86_400.0 {
        return Err(format!("`{typed}` is longer than 30 days; type a shorter time"));
    }
    Duration::try_from_secs_f64(total).map_err(|_| wrong())
}

/// A length of time as [`parse_span`] reads it.
pub fn show_span(span: Duration) -> String {
    let millis = span.as_millis();
    let (hours, minutes, seconds, rest) = (millis / 3_600_000, millis / 60_000 % 60, millis / 1_000 % 60, millis % 1_000);
    let mut text = String::new();
    for (number, unit) in [(hours, "h"), (minutes, "m"), (seconds, "s"), (rest, "ms")] {
        if number > 0 {
            text.push_str(&format!("{number}{unit}"));
        }
    }
    if text.is_empty() { "0s".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lengths_are_read_as_people_type_them() {
        for (typed, millis) in
            [("30s", 30_000), ("8m", 480_000), ("1h30m", 5_400_000), ("500ms", 500), ("15", 15_000), ("1.5s", 1_500), ("2min", 120_000)]
        {
            assert_eq!(parse_span(typed), Ok(Duration::from_millis(millis)), "{typed}");
        }
        for typed in ["", "s", "-3s", "3 days", "1e9", "3x", "10m5", "99999999h", "."] {
            assert!(parse_span(typed).is_err(), "{typed}");
        }
    }

    proptest! {
        #[test]
        fn a_length_survives_its_text(millis in 0u64..1_000_000_000) {
            let span = Duration::from_millis(millis);
            prop_assert_eq!(parse_span(&show_span(span)), Ok(span));
        }
    }
}
