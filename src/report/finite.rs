//! A number that a document can hold: finite, or null.

use serde::{Deserialize, Deserializer, Serialize};

/// A finite number, or no data. What is not finite becomes no data, so that a document is always strict JSON. Held to six
/// digits after the point: microseconds of a second, millionths of a dollar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Finite(Option<f64>);

impl Finite {
    /// No data.
    pub const NULL: Self = Self(None);

    /// The number, if there is one.
    pub const fn get(self) -> Option<f64> {
        self.0
    }
}

impl From<f64> for Finite {
    fn from(number: f64) -> Self {
        let rounded = (number * 1e6).round() / 1e6;
        // Huge numbers have no such digits, and scaling them may overflow.
        let held = if rounded.is_finite() { rounded } else { number };
        Self(held.is_finite().then_some(if held == 0.0 { 0.0 } else { held }))
    }
}

impl From<Option<f64>> for Finite {
    fn from(number: Option<f64>) -> Self {
        number.map_or(Self::NULL, Self::from)
    }
}

impl<'de> Deserialize<'de> for Finite {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(Option::<f64>::deserialize(deserializer)?.filter(|n| n.is_finite())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn whatever_the_number_the_json_is_strict_and_reads_back(bits in any::<u64>()) {
            let finite = Finite::from(f64::from_bits(bits));
            let text = serde_json::to_string(&finite).expect("writes");
            prop_assert!(finite.get().is_none_or(f64::is_finite));
            prop_assert_eq!(text == "null", finite.get().is_none());
            prop_assert_eq!(serde_json::from_str::<Finite>(&text).expect("reads"), finite);
        }
    }

    #[test]
    fn no_data_is_null() {
        for nothing in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(Finite::from(nothing), Finite::NULL);
        }
        assert_eq!(Finite::from(-0.0).get().map(f64::is_sign_negative), Some(false));
    }
}
