//! Decimal numbers of 38 digits, as DynamoDB keeps them.

use std::cmp::Ordering;
use std::fmt;

/// Significant digits.
const DIGITS: i32 = 38;
/// Magnitudes reach from `1E-130` to just below `1E126`.
const LEAST_EXPONENT: i32 = -130;
const MOST_EXPONENT: i32 = 125;

/// `coefficient` times ten to the `exponent`, without trailing zeros in the coefficient.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::embedded) struct Number {
    coefficient: i128,
    exponent: i32,
}

impl Number {
    /// Reads a decimal, or says what is wrong with it as DynamoDB does.
    pub(in crate::embedded) fn parse(text: &str) -> Result<Self, String> {
        let not_numeric = || format!("The parameter cannot be converted to a numeric value: {text}");
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => {
                let exponent: i32 = exponent.parse().map_err(|_| not_numeric())?;
                (mantissa, exponent.clamp(-1_000, 1_000))
            }
            None => (text, 0),
        };
        let (negative, digits) = match mantissa.as_bytes() {
            [b'-', ..] => (true, &mantissa[1..]),
            [b'+', ..] => (false, &mantissa[1..]),
            _ => (false, mantissa),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let all = || whole.bytes().chain(fraction.bytes());
        if all().next().is_none() || !all().all(|byte| byte.is_ascii_digit()) || all().count() > 1_000 {
            return Err(not_numeric());
        }
        let mut exponent = exponent - fraction.len() as i32;
        let mut significant: Vec<u8> = all().skip_while(|byte| *byte == b'0').collect();
        while significant.last() == Some(&b'0') {
            significant.pop();
            exponent += 1;
        }
        if significant.len() > DIGITS as usize {
            return Err("Attempting to store more than 38 significant digits in a Number".to_owned());
        }
        let magnitude = significant.iter().fold(0_i128, |sum, digit| sum * 10 + i128::from(digit - b'0'));
        Self::of(if negative { -magnitude } else { magnitude }, exponent)
    }

    fn of(mut coefficient: i128, mut exponent: i32) -> Result<Self, String> {
        if coefficient == 0 {
            return Ok(Self { coefficient: 0, exponent: 0 });
        }
        while coefficient % 10 == 0 {
            coefficient /= 10;
            exponent += 1;
        }
        let leading = exponent + digits_of(coefficient) - 1;
        if leading > MOST_EXPONENT {
            return Err("Number overflow. Attempting to store a number with magnitude larger than supported range".to_owned());
        }
        if leading < LEAST_EXPONENT {
            return Err("Number underflow. Attempting to store a number with magnitude smaller than supported range".to_owned());
        }
        Ok(Self { coefficient, exponent })
    }

    /// The sum, exact, or why it cannot be kept.
    pub(in crate::embedded) fn plus(self, other: Self) -> Result<Self, String> {
        if self.coefficient == 0 {
            return Ok(other);
        }
        let exponent = if other.coefficient == 0 { self.exponent } else { self.exponent.min(other.exponent) };
        let scaled = |number: Self| {
            10_i128.checked_pow((number.exponent - exponent).max(0) as u32).and_then(|factor| number.coefficient.checked_mul(factor))
        };
        let sum = scaled(self).zip(scaled(other)).and_then(|(a, b)| a.checked_add(b));
        match sum {
            Some(sum) if digits_of(sum) <= DIGITS => Self::of(sum, exponent),
            _ => Err("Attempting to store more than 38 significant digits in a Number".to_owned()),
        }
    }

    pub(in crate::embedded) fn minus(self, other: Self) -> Result<Self, String> {
        self.plus(Self { coefficient: -other.coefficient, ..other })
    }

    /// Appends bytes that sort as the numbers do.
    pub(super) fn encode(self, into: &mut Vec<u8>) {
        if self.coefficient == 0 {
            into.push(1);
            return;
        }
        let digits = self.coefficient.unsigned_abs().to_string();
        let leading = (self.exponent + digits.len() as i32 + 1_000) as u16;
        let start = into.len();
        into.push(2);
        into.extend_from_slice(&leading.to_be_bytes());
        into.extend_from_slice(digits.as_bytes());
        into.push(0);
        if self.coefficient < 0 {
            into[start] = 0;
            into[start + 1..].iter_mut().for_each(|byte| *byte = !*byte);
        }
    }
}

fn digits_of(coefficient: i128) -> i32 {
    coefficient.unsigned_abs().checked_ilog10().map_or(1, |digits| digits as i32 + 1)
}

impl Ord for Number {
    fn cmp(&self, other: &Self) -> Ordering {
        let encoded = |number: &Self| {
            let mut bytes = Vec::with_capacity(44);
            number.encode(&mut bytes);
            bytes
        };
        encoded(self).cmp(&encoded(other))
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Plain decimal notation, as DynamoDB gives numbers back.
impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.coefficient < 0 {
            f.write_str("-")?;
        }
        let digits = self.coefficient.unsigned_abs().to_string();
        let point = digits.len() as i32 + self.exponent;
        if self.exponent >= 0 {
            write!(f, "{digits}{}", "0".repeat(self.exponent as usize))
        } else if point > 0 {
            let (whole, fraction) = digits.split_at(point as usize);
            write!(f, "{whole}.{fraction}")
        } else {
            write!(f, "0.{}{digits}", "0".repeat(point.unsigned_abs() as usize))
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn number(text: &str) -> Number {
        Number::parse(text).unwrap()
    }

    #[test]
    fn numbers_are_kept_in_one_form_and_shown_plainly() {
        for (text, shown) in
            [("1.0", "1"), ("1e3", "1000"), ("-0.50", "-0.5"), ("000", "0"), ("12.5e-3", "0.0125"), ("-0", "0"), ("+7", "7")]
        {
            assert_eq!(number(text).to_string(), shown);
        }
        assert_eq!(number("100"), number("1E2"));
        for bad in ["", "-", ".", "1.2.3", "abc", "1e", "0x10", "NaN", "1 ", "\u{661}"] {
            assert!(Number::parse(bad).is_err(), "{bad}");
        }
        assert!(Number::parse("1e126").unwrap_err().contains("overflow"));
        assert!(Number::parse("1e-131").unwrap_err().contains("underflow"));
        assert!(Number::parse(&"1".repeat(39)).unwrap_err().contains("38"));
    }

    #[test]
    fn sums_are_exact() {
        assert_eq!(number("0.1").plus(number("0.2")).unwrap(), number("0.3"));
        assert_eq!(number("5").minus(number("5")).unwrap(), number("0"));
        assert_eq!(number("1e100").plus(number("0")).unwrap(), number("1e100"));
        assert!(number("1e100").plus(number("1")).is_err());
    }

    proptest! {
        #[test]
        fn encoded_numbers_sort_as_the_numbers_do(a in -1_000_000_i64..1_000_000, b in -1_000_000_i64..1_000_000, scale in 0..6_u32) {
            let of = |value: i64| number(&format!("{value}e-{scale}"));
            prop_assert_eq!(of(a).cmp(&of(b)), a.cmp(&b));
        }
    }
}
