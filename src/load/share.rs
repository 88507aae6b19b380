//! The share of one part of mixed load.

/// A share of intents, above 0 and below 1, with a resolution of about two in ten billion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share(u32);

impl Share {
    /// A share; `None` unless it is above 0 and below 1.
    pub fn new(share: f64) -> Option<Self> {
        let scaled = (share * 4_294_967_296.0).round();
        (share > 0.0 && share < 1.0 && (1.0..4_294_967_296.0).contains(&scaled)).then_some(Self(scaled as u32))
    }

    /// The share, above 0 and below 1.
    pub fn get(self) -> f64 {
        f64::from(self.0) / 4_294_967_296.0
    }

    /// Whether the intent of this number belongs to the share. Multiples of the golden ratio fall evenly into the unit interval
    /// wherever they start, so that every stretch of intents, and every shard's part of it, holds the share.
    pub const fn holds(self, index: u64) -> bool {
        ((index.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32) < self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_holds_in_every_stretch_and_for_every_shard() {
        for share in [0.001, 0.25, 0.5, 0.7, 0.999] {
            let held = Share::new(share).expect("a share");
            for (from, step) in [(0_u64, 1_u64), (12_345, 2), (1 << 40, 3), (7, 256)] {
                let count = (0..10_000).filter(|i| held.holds(from + i * step)).count() as f64;
                assert!((count - 10_000.0 * share).abs() <= 12.0, "{share} from {from} by {step}: {count}");
            }
        }
        assert!([0.0, 1.0, -0.1, 1.1, f64::NAN, 1e-12].iter().all(|share| Share::new(*share).is_none()));
    }
}
