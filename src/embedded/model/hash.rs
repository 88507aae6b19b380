//! The hash that sends a key to its partition: stable across versions and machines.

/// A point on the ring of key hashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyHash(pub u64);

const ODD: u64 = 0x9E37_79B9_7F4A_7C15;

impl KeyHash {
    /// The hash of a partition key's bytes.
    pub fn of(bytes: &[u8]) -> Self {
        let mut state = (bytes.len() as u64) ^ ODD;
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            state = fold(state ^ u64::from_le_bytes(word), ODD);
        }
        Self(finish(state))
    }
}

/// High and low half of the 128-bit product, folded: every input bit reaches every output bit but the lowest few.
const fn fold(a: u64, b: u64) -> u64 {
    let product = a as u128 * b as u128;
    (product as u64) ^ ((product >> 64) as u64)
}

/// A bijection that spreads what is left evenly, since the partition is chosen by the highest bits.
pub(in crate::embedded) const fn finish(mut word: u64) -> u64 {
    word = (word ^ (word >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    word = (word ^ (word >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    word ^ (word >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_never_change_between_versions() {
        assert_eq!(KeyHash::of(b""), KeyHash(finish(ODD)));
        assert_ne!(KeyHash::of(b"a"), KeyHash::of(b"a\0"));
        assert_eq!(KeyHash::of(b"key-000001"), KeyHash(4_293_658_842_361_684_844));
    }

    #[test]
    fn sequential_keys_spread_as_evenly_as_random_ones() {
        for slices in [4_usize, 7, 64] {
            let mut counts = vec![0_u32; slices];
            let keys = 100_000_u32;
            for key in 0..keys {
                let hash = KeyHash::of(format!("key-{key:012}").as_bytes());
                counts[((u128::from(hash.0) * slices as u128) >> 64) as usize] += 1;
            }
            let expected = f64::from(keys) / slices as f64;
            let chi_squared: f64 = counts.iter().map(|&count| (f64::from(count) - expected).powi(2) / expected).sum();
            let freedom = (slices - 1) as f64;
            assert!(chi_squared < freedom + 5.0 * (2.0 * freedom).sqrt(), "{slices} slices: {chi_squared}");
        }
    }
}
