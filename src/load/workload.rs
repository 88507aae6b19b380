//! The workload: which key and how large an item each intent has. The choice depends on the seed and the intent's index
//! alone, so it is the same for any number of shards and for either client.

use std::sync::Arc;

use super::keys::Keys;
use super::op::Op;
use super::pacer::Intent;

/// Smallest item: the key attribute's name and value, and a payload attribute of one byte.
pub const SMALLEST_ITEM_BYTES: u32 = (KEY_NAME.len() + KEY_DIGITS + PAYLOAD_NAME.len() + 1) as u32;
/// DynamoDB's largest item, 400 KB.
pub const LARGEST_ITEM_BYTES: u32 = 400 * 1_024;
/// Name of the partition key attribute.
pub const KEY_NAME: &str = "pk";
/// Name of the payload attribute.
pub const PAYLOAD_NAME: &str = "data";
/// Hexadecimal digits of a key.
pub const KEY_DIGITS: usize = 16;
/// A workload has at most this many kinds of items: each keeps its request bodies in memory.
pub const MOST_KINDS: usize = 64;
/// Items over which a Zipf distribution is taken when writing.
pub const ZIPF_ITEMS: u64 = 100_000;

/// A partition key value, shown as 16 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key(pub u64);

impl Key {
    /// The key's text.
    pub fn digits(self) -> [u8; KEY_DIGITS] {
        let mut digits = [0; KEY_DIGITS];
        for (at, digit) in digits.iter_mut().enumerate() {
            let nibble = (self.0 >> (60 - 4 * at)) & 0xf;
            *digit = b"0123456789abcdef"[nibble as usize];
        }
        digits
    }
}

/// Which of a workload's kinds of items.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KindId(u8);

impl KindId {
    /// The kind that a workload always has.
    pub const FIRST: Self = Self(0);

    /// Its place among the kinds, from 0.
    pub const fn place(self) -> usize {
        self.0 as usize
    }
}

/// A kind of item: how large it is and how its key is chosen.
#[derive(Clone, Debug)]
pub struct Kind {
    /// Item size in bytes: names and values.
    pub item_bytes: u32,
    /// How keys are chosen.
    pub keys: Keys,
    zipf: Option<Arc<[f64]>>,
}

impl Kind {
    /// A kind; `item_bytes` is kept within what an item can be.
    fn new(item_bytes: u32, keys: Keys) -> Self {
        let zipf = match keys {
            Keys::Zipf(s) => Some(cumulative_zipf(s, ZIPF_ITEMS)),
            _ => None,
        };
        Self { item_bytes: item_bytes.clamp(SMALLEST_ITEM_BYTES, LARGEST_ITEM_BYTES), keys, zipf }
    }

    /// Bytes of the payload attribute's value.
    pub fn payload_bytes(&self) -> usize {
        payload_bytes(self.item_bytes)
    }
}

/// Bytes of the payload attribute's value in an item of this size.
pub fn payload_bytes(item_bytes: u32) -> usize {
    item_bytes.clamp(SMALLEST_ITEM_BYTES, LARGEST_ITEM_BYTES) as usize - (SMALLEST_ITEM_BYTES as usize - 1)
}

/// What is sent for each intent.
#[derive(Clone, Debug)]
pub struct Workload {
    /// The kinds of items; never empty.
    kinds: Vec<Kind>,
    /// Seed of keys.
    pub seed: u64,
    /// Whether reads are strongly consistent.
    pub consistent_read: bool,
    /// Items that exist to be read.
    pub items: u64,
    /// The key that `hot` and `zipf` ask for most.
    hottest: Key,
}

impl Workload {
    /// A workload with one kind of items.
    pub fn new(item_bytes: u32, keys: Keys, seed: u64, consistent_read: bool, items: u64) -> Self {
        Self { kinds: vec![Kind::new(item_bytes, keys)], seed, consistent_read, items: items.max(1), hottest: item_key(seed, 0) }
    }

    /// The kind of this size and distribution, added if the workload does not have it yet. `None` when it has [`MOST_KINDS`].
    pub fn kind_of(&mut self, item_bytes: u32, keys: Keys) -> Option<KindId> {
        if let Some(known) = self.find_kind(item_bytes, keys) {
            return Some(known);
        }
        if self.kinds.len() >= MOST_KINDS {
            return None;
        }
        self.kinds.push(Kind::new(item_bytes, keys));
        self.find_kind(item_bytes, keys)
    }

    /// The kind of this size and distribution, `None` if the workload does not have it.
    pub fn find_kind(&self, item_bytes: u32, keys: Keys) -> Option<KindId> {
        let item_bytes = item_bytes.clamp(SMALLEST_ITEM_BYTES, LARGEST_ITEM_BYTES);
        let place = self.kinds.iter().position(|kind| kind.item_bytes == item_bytes && kind.keys == keys)?;
        u8::try_from(place).ok().map(KindId)
    }

    /// The kinds, in the order of their ids.
    pub fn kinds(&self) -> &[Kind] {
        &self.kinds
    }

    /// The kind of this id; the first where there is none such.
    pub fn kind(&self, id: KindId) -> &Kind {
        self.kinds.get(id.place()).unwrap_or(&self.kinds[0])
    }

    /// The key of an intent.
    pub fn key(&self, intent: &Intent) -> Key {
        let roll = mix(self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ mix(intent.index));
        let kind = self.kind(intent.kind);
        let item = match (kind.keys, intent.op) {
            (Keys::Hot, _) => 0,
            (Keys::Sequential, Op::Write) => return Key(intent.index),
            (Keys::Sequential, Op::Read) => intent.index % self.items,
            (Keys::Uniform, Op::Write) => return Key(roll),
            (Keys::Uniform, Op::Read) => roll % self.items,
            (Keys::Zipf(_), op) => {
                let item = kind.zipf.as_ref().map_or(0, |zipf| {
                    let at = (roll >> 11) as f64 / (1_u64 << 53) as f64;
                    zipf.partition_point(|cumulative| *cumulative <= at) as u64
                });
                if op == Op::Read { item % self.items } else { item }
            }
        };
        self.item_key(item)
    }

    /// The key of the seeded item of this number, whatever the kind that reads it.
    pub fn item_key(&self, item: u64) -> Key {
        item_key(self.seed, item)
    }

    /// Whether a kind's distribution has a key that is asked for most, and this is it.
    pub fn is_hottest(&self, kind: KindId, key: Key) -> bool {
        key == self.hottest && matches!(self.kind(kind).keys, Keys::Hot | Keys::Zipf(_))
    }
}

fn item_key(seed: u64, item: u64) -> Key {
    Key(mix(seed ^ mix(item ^ 0x5eed_0000_0000_0000)))
}

/// A bijection of 64-bit numbers with well-spread output (the finaliser of splitmix64).
pub fn mix(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn cumulative_zipf(s: f64, items: u64) -> Arc<[f64]> {
    let mut sum = 0.0;
    let mut cumulative: Vec<f64> = (1..=items)
        .map(|n| {
            sum += (n as f64).powf(-s);
            sum
        })
        .collect();
    for share in &mut cumulative {
        *share /= sum;
    }
    if let Some(last) = cumulative.last_mut() {
        *last = 1.0;
    }
    cumulative.into()
}

#[cfg(test)]
mod tests {
    use super::super::rate::{Offset, Rate};
    use super::super::tick::WindowId;
    use super::*;
    use std::collections::HashSet;

    fn intent(index: u64, op: Op) -> Intent {
        Intent { index, intended: Offset::ZERO, window: WindowId(0), op, kind: KindId::FIRST, rate: Rate::MIN }
    }

    #[test]
    fn uniform_writes_never_repeat_a_key() {
        let workload = Workload::new(1_000, Keys::Uniform, 7, false, 1_000);
        let keys: HashSet<Key> = (0..100_000).map(|i| workload.key(&intent(i, Op::Write))).collect();
        assert_eq!(keys.len(), 100_000);
    }

    #[test]
    fn reads_ask_for_seeded_items_only() {
        for keys in [Keys::Uniform, Keys::Sequential, Keys::Hot, Keys::Zipf(1.1)] {
            let workload = Workload::new(1_000, keys, 7, false, 50);
            let seeded: HashSet<Key> = (0..50).map(|item| workload.item_key(item)).collect();
            assert!((0..5_000).all(|i| seeded.contains(&workload.key(&intent(i, Op::Read)))), "{keys}");
        }
    }

    #[test]
    fn a_zipf_distribution_favours_its_first_items_as_stated() {
        let workload = Workload::new(1_000, Keys::Zipf(1.0), 7, false, ZIPF_ITEMS);
        let first = workload.item_key(0);
        let hits = (0..100_000).filter(|i| workload.key(&intent(*i, Op::Write)) == first).count();
        // 1 / H(100,000) = 8.27 %
        assert!((8_000..8_550).contains(&hits), "{hits}");
        assert!(workload.is_hottest(KindId::FIRST, first) && !workload.is_hottest(KindId::FIRST, workload.item_key(1)));
        assert!(!Workload::new(1_000, Keys::Uniform, 7, false, 1).is_hottest(KindId::FIRST, first));
    }

    #[test]
    fn an_item_has_the_size_asked_for() {
        let workload = Workload::new(1_000, Keys::Uniform, 7, false, 1);
        assert_eq!(KEY_NAME.len() + KEY_DIGITS + PAYLOAD_NAME.len() + workload.kind(KindId::FIRST).payload_bytes(), 1_000);
        assert_eq!(std::str::from_utf8(&Key(0x0123_4567_89ab_cdef).digits()), Ok("0123456789abcdef"));
    }

    #[test]
    fn each_kind_has_its_size_and_its_keys_and_is_kept_once() {
        let mut workload = Workload::new(1_000, Keys::Uniform, 7, false, 10);
        let large = workload.kind_of(4_096, Keys::Hot).expect("room");
        assert_eq!(workload.kind_of(1_000, Keys::Uniform), Some(KindId::FIRST));
        assert_eq!(workload.kind_of(4_096, Keys::Hot), Some(large));
        assert_eq!(workload.kind(large).item_bytes, 4_096);
        let of = |kind, index| workload.key(&Intent { kind, ..intent(index, Op::Write) });
        assert_eq!(of(large, 1), of(large, 2));
        assert_ne!(of(KindId::FIRST, 1), of(KindId::FIRST, 2));
        let mut full = workload.clone();
        assert!((0..100).any(|n| full.kind_of(100 + n, Keys::Uniform).is_none()));
        assert_eq!(full.kinds().len(), MOST_KINDS);
    }
}
