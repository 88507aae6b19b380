//! Offered rates, instants and capacity units, each a type of its own so that no figure changes its unit on the way.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Nanoseconds in one second.
pub const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// An offered rate in operations per second: greater than zero, finite, with a resolution of 0.001/s.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(u64);

/// Why something is not a rate. The text says what to type instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RateError {
    /// Not a number at all.
    #[error("`{0}` is not a rate; type operations per second, for example 2500 or 2.5k")]
    NotANumber(String),
    /// Zero, negative or below the resolution.
    #[error("a rate must be at least 0.001/s, and `{0}` is not; to stop the load, pause it instead")]
    TooSmall(String),
    /// Above [`Rate::MAX`].
    #[error("`{0}` is above the largest rate, 10,000,000/s; type a smaller number")]
    TooLarge(String),
}

impl Rate {
    /// The smallest rate, 0.001/s.
    pub const MIN: Self = Self(1);
    /// The largest rate, 10,000,000/s: far beyond any one table's quota.
    pub const MAX: Self = Self(10_000_000_000);

    /// A rate of whole operations per second, kept within `MIN..=MAX`.
    pub const fn per_second(rate: u32) -> Self {
        let milli = rate as u64 * 1_000;
        if milli < Self::MIN.0 {
            Self::MIN
        } else if milli > Self::MAX.0 {
            Self::MAX
        } else {
            Self(milli)
        }
    }

    /// The rate nearest to `rate` operations per second.
    pub fn from_per_s(rate: f64) -> Result<Self, RateError> {
        if rate.is_nan() {
            return Err(RateError::NotANumber(rate.to_string()));
        }
        let milli = (rate * 1_000.0).round();
        if milli < 1.0 {
            Err(RateError::TooSmall(rate.to_string()))
        } else if milli > Self::MAX.0 as f64 {
            Err(RateError::TooLarge(rate.to_string()))
        } else {
            Ok(Self(milli as u64))
        }
    }

    /// Operations per second.
    pub fn per_s(self) -> f64 {
        self.0 as f64 / 1_000.0
    }

    /// Thousandths of an operation per second: the exact value.
    pub const fn milli(self) -> u64 {
        self.0
    }

    /// This rate plus `step`, at most [`Rate::MAX`].
    #[must_use]
    pub fn plus(self, step: Self) -> Self {
        Self((self.0 + step.0).min(Self::MAX.0))
    }

    /// This rate less `step`; never below `step` itself or this rate, whichever is smaller, so that a step down never stops the load.
    #[must_use]
    pub fn minus(self, step: Self) -> Self {
        Self(self.0.saturating_sub(step.0).max(step.0.min(self.0)))
    }

    /// Twice this rate, at most [`Rate::MAX`].
    #[must_use]
    pub fn doubled(self) -> Self {
        Self((self.0 * 2).min(Self::MAX.0))
    }

    /// Half this rate, at least [`Rate::MIN`].
    #[must_use]
    pub fn halved(self) -> Self {
        Self((self.0 / 2).max(Self::MIN.0))
    }

    /// Intents due in a span of this length, exact to the last one.
    pub fn count_in(self, span: Duration) -> u64 {
        (u128::from(self.0) * span.as_nanos() / 1_000_000_000_000) as u64
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, milli) = (self.0 / 1_000, self.0 % 1_000);
        let mut text = thousands(whole);
        if milli != 0 {
            text.push_str(format!(".{milli:03}").trim_end_matches('0'));
        }
        f.pad(&text)
    }
}

impl FromStr for Rate {
    type Err = RateError;

    /// Reads `2500`, `2,500`, `2_500`, `2.5k`, each with an optional `/s`.
    fn from_str(typed: &str) -> Result<Self, Self::Err> {
        let bare = typed.trim().trim_end_matches("/s").trim_end();
        let (digits, factor) = match bare.strip_suffix(['k', 'K']) {
            Some(rest) => (rest, 1_000.0),
            None => (bare, 1.0),
        };
        let cleaned: String = digits.chars().filter(|c| !matches!(c, ',' | '_')).collect();
        let plain = !cleaned.is_empty() && cleaned.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | '-' | '+' | 'e' | 'E'));
        let number: f64 = plain.then(|| cleaned.parse().ok()).flatten().ok_or_else(|| RateError::NotANumber(typed.to_owned()))?;
        Self::from_per_s(number * factor).map_err(|error| match error {
            RateError::TooSmall(_) => RateError::TooSmall(typed.to_owned()),
            RateError::TooLarge(_) => RateError::TooLarge(typed.to_owned()),
            RateError::NotANumber(_) => RateError::NotANumber(typed.to_owned()),
        })
    }
}

impl Serialize for Rate {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.per_s())
    }
}

impl<'de> Deserialize<'de> for Rate {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::from_per_s(f64::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

/// A whole number with commas between thousands.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A monotonic instant: nanoseconds since the session's zero, which lies on a whole wall-clock second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Offset(u64);

impl Offset {
    /// The session's zero.
    pub const ZERO: Self = Self(0);
    /// Later than anything: never.
    pub const MAX: Self = Self(u64::MAX);

    /// `nanos` after the session's zero.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Whole seconds after the session's zero.
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs * NANOS_PER_SECOND)
    }

    /// Milliseconds after the session's zero.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis * 1_000_000)
    }

    /// Nanoseconds since the session's zero.
    pub const fn nanos(self) -> u64 {
        self.0
    }

    /// Seconds since the session's zero.
    pub fn secs(self) -> f64 {
        self.0 as f64 / NANOS_PER_SECOND as f64
    }

    /// Time from `earlier` to this instant; zero when `earlier` is later.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// This instant and `span` more.
    #[must_use]
    pub fn plus(self, span: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)))
    }

    /// The last multiple of `grid` at or before this instant.
    #[must_use]
    pub fn floor_to(self, grid: Duration) -> Self {
        let grid = u64::try_from(grid.as_nanos()).unwrap_or(u64::MAX).max(1);
        Self(self.0 / grid * grid)
    }

    /// The first multiple of `grid` at or after this instant.
    #[must_use]
    pub fn ceil_to(self, grid: Duration) -> Self {
        let grid = u64::try_from(grid.as_nanos()).unwrap_or(u64::MAX).max(1);
        Self(self.0.div_ceil(grid).saturating_mul(grid))
    }
}

/// Capacity units, in thousandths: an eventually consistent read of 1 KB costs half a unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Units(u64);

impl Units {
    /// No capacity.
    pub const ZERO: Self = Self(0);

    /// Thousandths of a unit.
    pub const fn from_milli(milli: u64) -> Self {
        Self(milli)
    }

    /// The units a service stated, to the nearest thousandth; what is not a finite positive number counts as zero.
    pub fn from_f64(units: f64) -> Self {
        if units.is_finite() && units > 0.0 { Self((units * 1_000.0).round() as u64) } else { Self(0) }
    }

    /// Units.
    pub fn as_f64(self) -> f64 {
        self.0 as f64 / 1_000.0
    }

    /// Thousandths of a unit: the exact value.
    pub const fn milli(self) -> u64 {
        self.0
    }
}

impl std::ops::Add for Units {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl std::ops::AddAssign for Units {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_read_as_people_type_it() {
        for typed in ["2500", "2,500", "2_500", "2.5k", " 2.5K ", "2500/s", "2.5e3"] {
            assert_eq!(typed.parse::<Rate>(), Ok(Rate::per_second(2_500)), "{typed}");
        }
        assert_eq!("0.5".parse::<Rate>().map(Rate::milli), Ok(500));
    }

    #[test]
    fn what_is_no_rate_is_named_with_what_to_type_instead() {
        for (typed, part) in [
            ("0", "pause it instead"),
            ("-5", "at least 0.001/s"),
            ("1e99", "largest rate"),
            ("fast", "for example 2500"),
            ("", "for example 2500"),
            ("NaN", "for example 2500"),
            ("inf", "for example 2500"),
        ] {
            let said = typed.parse::<Rate>().expect_err(typed).to_string();
            assert!(said.contains(part), "{typed}: {said}");
        }
    }

    #[test]
    fn a_step_down_never_reaches_zero() {
        let step = Rate::per_second(500);
        assert_eq!(Rate::per_second(700).minus(step), Rate::per_second(500));
        assert_eq!(Rate::per_second(500).minus(step), Rate::per_second(500));
        assert_eq!(Rate::per_second(200).minus(step), Rate::per_second(200));
        assert_eq!(Rate::MAX.plus(step), Rate::MAX);
        assert_eq!(Rate::MIN.halved(), Rate::MIN);
    }

    #[test]
    fn a_rate_shows_its_thousands() {
        assert_eq!(Rate::per_second(12_345_678 / 10).to_string(), "1,234,567");
        assert_eq!(Rate(2_500_500).to_string(), "2,500.5");
        assert_eq!(thousands(0), "0");
        assert_eq!(thousands(1_000), "1,000");
    }
}
