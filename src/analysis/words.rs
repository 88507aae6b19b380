//! Figures as sentences give them.

use crate::load::thousands;

use super::assessment::Estimate;

/// A rate for a sentence: whole from 100/s up, else to two digits after the point, without trailing zeros.
pub fn per_s_in_words(per_s: f64) -> String {
    if !per_s.is_finite() {
        return "-".to_owned();
    }
    if per_s.abs() >= 100.0 {
        return count_in_words(per_s);
    }
    let text = format!("{per_s:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The same rate in capacity units, where a request is not one: ` (8,000 units/s)`.
pub(super) fn units_in_words(per_s: f64, units_per_request: Option<f64>) -> String {
    match units_per_request {
        Some(units) if (units - 1.0).abs() > 1e-3 => format!(" ({} units/s)", per_s_in_words(per_s * units)),
        _ => String::new(),
    }
}

/// An estimate for a sentence, with half the width of its interval.
pub(super) fn estimate_in_words(estimate: Estimate, what: &str) -> String {
    let half = (estimate.ci95.1 - estimate.per_s).max(0.0);
    let half = if half >= 10.0 { format!("{half:.0}") } else { format!("{half:.1}") };
    format!("{}{what}/s (95 % +/- {half})", per_s_in_words(estimate.per_s))
}

/// A count for a sentence, rounded to a whole number.
pub(super) fn count_in_words(count: f64) -> String {
    let rounded = count.round();
    let sign = if rounded < 0.0 { "-" } else { "" };
    format!("{sign}{}", thousands(rounded.abs() as u64))
}

/// A share as a percentage: one digit after the point, more where it would read as zero.
pub(super) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent > 0.0 && percent < 0.05 { format!("{percent:.2} %") } else { format!("{percent:.1} %") }
}

/// Seconds for a sentence.
pub(super) fn seconds(s: f64) -> String {
    if (s - s.round()).abs() < 0.005 { format!("{s:.0} s") } else { format!("{s:.2} s") }
}
