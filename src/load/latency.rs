//! Latency distributions: an HDR histogram that saturates instead of failing, counts what it could not hold, and takes
//! no memory until the first value.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer as _, V2DeflateSerializer};
use serde::{Deserialize, Serialize};

/// The largest latency held exactly, in microseconds: 120 s. Larger values are recorded as this and counted as overflow.
pub const HIGHEST_MICROS: u64 = 120_000_000;
/// Three significant digits: a reported latency is within 0.1 % of the measured one.
const DIGITS: u8 = 3;

/// A distribution of latencies with a resolution of 1 microsecond.
#[derive(Clone, Debug, Default)]
pub struct Latency {
    histogram: Option<Box<Histogram<u32>>>,
    overflow: u64,
}

/// The figures that reports give of a distribution, in milliseconds. All `None` when nothing was recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Quantiles {
    /// Median.
    pub p50: Option<f64>,
    /// 90th percentile.
    pub p90: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
    /// 99.9th percentile.
    pub p999: Option<f64>,
    /// Largest value.
    pub max: Option<f64>,
    /// Values recorded.
    pub count: u64,
}

impl Latency {
    /// Records one latency.
    pub fn record(&mut self, latency: Duration) {
        self.record_micros(u64::try_from(latency.as_micros()).unwrap_or(u64::MAX));
    }

    /// Records one latency given in microseconds.
    pub fn record_micros(&mut self, micros: u64) {
        if micros > HIGHEST_MICROS {
            self.overflow += 1;
        }
        self.live().saturating_record(micros.clamp(1, HIGHEST_MICROS));
    }

    /// Adds the values of another distribution: the result is the distribution of the union.
    pub fn merge(&mut self, other: &Self) {
        self.overflow += other.overflow;
        if let Some(theirs) = &other.histogram {
            if let Some(ours) = &mut self.histogram {
                // Both have the same bounds and digits by construction, which is the only way `add` can refuse.
                let _same_shape = ours.add(theirs.as_ref());
            } else {
                self.histogram = Some(theirs.clone());
            }
        }
    }

    /// Values recorded.
    pub fn count(&self) -> u64 {
        self.histogram.as_ref().map_or(0, |h| h.len())
    }

    /// Whether nothing was recorded.
    pub fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// Values above [`HIGHEST_MICROS`], recorded as that.
    pub fn overflow(&self) -> u64 {
        self.overflow
    }

    /// The value at quantile `q` (0 to 1) in milliseconds; `None` when nothing was recorded.
    pub fn quantile_ms(&self, q: f64) -> Option<f64> {
        let histogram = self.histogram.as_ref().filter(|h| !h.is_empty())?;
        // The top of a quantile's bucket may lie above the largest value; no percentile may exceed the maximum.
        Some(histogram.value_at_quantile(q).min(histogram.max()) as f64 / 1_000.0)
    }

    /// The largest value in milliseconds, to three digits.
    pub fn max_ms(&self) -> Option<f64> {
        self.histogram.as_ref().filter(|h| !h.is_empty()).map(|h| h.max() as f64 / 1_000.0)
    }

    /// Values of at most so many microseconds, as far as three digits tell.
    pub fn count_at_most_micros(&self, micros: u64) -> u64 {
        self.histogram.as_ref().map_or(0, |h| h.count_between(0, micros))
    }

    /// Sum of the values, in seconds.
    pub fn sum_s(&self) -> f64 {
        self.histogram.as_ref().map_or(0.0, |h| h.mean() * h.len() as f64 / 1e6)
    }

    /// The figures reports give.
    pub fn quantiles(&self) -> Quantiles {
        Quantiles {
            p50: self.quantile_ms(0.50),
            p90: self.quantile_ms(0.90),
            p99: self.quantile_ms(0.99),
            p999: self.quantile_ms(0.999),
            max: self.max_ms(),
            count: self.count(),
        }
    }

    /// The distribution as standard viewers read it: HdrHistogram V2, deflated, base64, values in microseconds. Empty
    /// text when nothing was recorded.
    pub fn to_base64(&self) -> String {
        let Some(histogram) = self.histogram.as_ref().filter(|h| !h.is_empty()) else { return String::new() };
        let mut bytes = Vec::new();
        match V2DeflateSerializer::new().serialize(histogram, &mut bytes) {
            Ok(_) => STANDARD.encode(bytes),
            Err(_) => String::new(),
        }
    }

    /// Reads what [`Latency::to_base64`] wrote.
    pub fn from_base64(text: &str, overflow: u64) -> Result<Self, String> {
        if text.is_empty() {
            return Ok(Self { histogram: None, overflow });
        }
        let bytes = STANDARD.decode(text).map_err(|e| format!("histogram is not base64: {e}"))?;
        let read: Histogram<u32> =
            Deserializer::new().deserialize(&mut bytes.as_slice()).map_err(|e| format!("histogram is not HdrHistogram V2: {e}"))?;
        let mut latency = Self { histogram: None, overflow };
        // Into our own bounds, whatever the writer's were.
        for step in read.iter_recorded() {
            let micros = step.value_iterated_to().clamp(1, HIGHEST_MICROS);
            latency.live().saturating_record_n(micros, step.count_at_value());
        }
        Ok(latency)
    }

    fn live(&mut self) -> &mut Histogram<u32> {
        self.histogram.get_or_insert_with(|| {
            #[expect(clippy::expect_used, reason = "1 <= 2 * 1 <= HIGHEST_MICROS and DIGITS <= 5 are the only conditions")]
            Box::new(Histogram::new_with_bounds(1, HIGHEST_MICROS, DIGITS).expect("valid bounds"))
        })
    }
}

impl PartialEq for Latency {
    fn eq(&self, other: &Self) -> bool {
        self.overflow == other.overflow
            && match (&self.histogram, &other.histogram) {
                (Some(a), Some(b)) => a == b,
                (None, None) => true,
                (Some(one), None) | (None, Some(one)) => one.is_empty(),
            }
    }
}

#[derive(Serialize, Deserialize)]
struct Packed {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    v2: String,
    #[serde(default, skip_serializing_if = "is_zero")]
    overflow: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature serde asks for")]
fn is_zero(n: &u64) -> bool {
    *n == 0
}

impl Serialize for Latency {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Packed { v2: self.to_base64(), overflow: self.overflow }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Latency {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let packed = Packed::deserialize(deserializer)?;
        Self::from_base64(&packed.v2, packed.overflow).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn percentiles_are_ordered_and_the_merge_is_the_union(
            a in prop::collection::vec(0u64..200_000_000, 0..200),
            b in prop::collection::vec(0u64..200_000_000, 0..200),
        ) {
            let of = |values: &[u64]| {
                let mut latency = Latency::default();
                for value in values {
                    latency.record_micros(*value);
                }
                latency
            };
            let mut merged = of(&a);
            merged.merge(&of(&b));
            let union: Vec<u64> = a.iter().chain(&b).copied().collect();
            prop_assert_eq!(&merged, &of(&union));
            let q = merged.quantiles();
            prop_assert!(q.p50 <= q.p90 && q.p90 <= q.p99 && q.p99 <= q.p999 && q.p999 <= q.max);
            prop_assert_eq!(q.count, union.len() as u64);
            prop_assert_eq!(merged.overflow(), union.iter().filter(|v| **v > HIGHEST_MICROS).count() as u64);
            prop_assert_eq!(q.p50.is_none(), union.is_empty());
        }

        #[test]
        fn a_distribution_survives_its_text(values in prop::collection::vec(0u64..200_000_000, 0..100)) {
            let mut latency = Latency::default();
            for value in &values {
                latency.record_micros(*value);
            }
            let text = serde_json::to_string(&latency).expect("writes");
            prop_assert_eq!(serde_json::from_str::<Latency>(&text).expect("reads"), latency);
        }
    }
}
