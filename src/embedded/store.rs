//! The items of all tables, and the bound on how many are remembered.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ops::Bound;
use std::rc::Rc;

/// A table's number; never used again for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct TableId(pub(super) u32);

/// Most items remembered over all tables.
const MOST_ITEMS: usize = 100_000;
/// Most bytes of items remembered over all tables.
const MOST_BYTES: usize = 256 << 20;

/// A remembered item.
#[derive(Debug)]
pub(super) struct Stored {
    /// As JSON.
    pub(super) json: Box<str>,
    /// Its size as DynamoDB counts it.
    pub(super) bytes: u64,
    born: u64,
}

/// The items of one table. Only where there are sort keys does the order of the keys matter.
#[derive(Debug)]
enum Items {
    Hashed(HashMap<Rc<[u8]>, Stored>),
    Sorted(BTreeMap<Rc<[u8]>, Stored>),
}

impl Items {
    fn get(&self, key: &[u8]) -> Option<&Stored> {
        match self {
            Self::Hashed(items) => items.get(key),
            Self::Sorted(items) => items.get(key),
        }
    }

    fn get_mut(&mut self, key: &[u8]) -> Option<&mut Stored> {
        match self {
            Self::Hashed(items) => items.get_mut(key),
            Self::Sorted(items) => items.get_mut(key),
        }
    }

    fn insert(&mut self, key: Rc<[u8]>, stored: Stored) {
        match self {
            Self::Hashed(items) => items.insert(key, stored),
            Self::Sorted(items) => items.insert(key, stored),
        };
    }

    fn remove(&mut self, key: &[u8]) -> Option<Stored> {
        match self {
            Self::Hashed(items) => items.remove(key),
            Self::Sorted(items) => items.remove(key),
        }
    }

    /// How many, their bytes as DynamoDB counts them, and their bytes as JSON.
    fn size(&self) -> (usize, u64, usize) {
        let add = |(count, bytes, json): (usize, u64, usize), stored: &Stored| (count + 1, bytes + stored.bytes, json + stored.json.len());
        match self {
            Self::Hashed(items) => items.values().fold((0, 0, 0), add),
            Self::Sorted(items) => items.values().fold((0, 0, 0), add),
        }
    }
}

/// All items. When there are too many, the ones first written are forgotten first.
#[derive(Debug, Default)]
pub(super) struct Store {
    tables: HashMap<TableId, Items>,
    /// Keys in the order of their births; entries whose item has gone are skipped.
    births: VecDeque<(TableId, Rc<[u8]>, u64)>,
    born: u64,
    items: usize,
    bytes: usize,
}

impl Store {
    pub(super) fn get(&self, table: TableId, key: &[u8]) -> Option<&Stored> {
        self.tables.get(&table)?.get(key)
    }

    /// Makes room for a table's items, in the order of their keys if it has sort keys.
    pub(super) fn add_table(&mut self, table: TableId, sorted: bool) {
        self.tables.insert(table, if sorted { Items::Sorted(BTreeMap::new()) } else { Items::Hashed(HashMap::new()) });
    }

    /// Remembers an item of a table that was added.
    pub(super) fn put(&mut self, table: TableId, key: &[u8], json: &str, bytes: u64) {
        let Some(items) = self.tables.get_mut(&table) else { return };
        if let Some(stored) = items.get_mut(key) {
            self.bytes = self.bytes - stored.json.len() + json.len();
            stored.json = json.into();
            stored.bytes = bytes;
        } else {
            let key: Rc<[u8]> = key.into();
            self.born += 1;
            self.births.push_back((table, Rc::clone(&key), self.born));
            items.insert(key, Stored { json: json.into(), bytes, born: self.born });
            self.items += 1;
            self.bytes += json.len();
        }
        while self.items > MOST_ITEMS || self.bytes > MOST_BYTES {
            self.forget_oldest();
        }
        if self.births.len() > 2 * self.items + 1_024 {
            let tables = &self.tables;
            self.births.retain(|(table, key, born)| is_alive(tables, *table, key, *born));
        }
    }

    pub(super) fn remove(&mut self, table: TableId, key: &[u8]) {
        if let Some(stored) = self.tables.get_mut(&table).and_then(|items| items.remove(key)) {
            self.items -= 1;
            self.bytes -= stored.json.len();
        }
    }

    pub(super) fn drop_table(&mut self, table: TableId) {
        let (count, _, json) = self.tables.remove(&table).map_or((0, 0, 0), |items| items.size());
        self.items -= count;
        self.bytes -= json;
        self.births.retain(|(other, ..)| *other != table);
    }

    /// Items remembered of a table, and their bytes.
    pub(super) fn size_of(&self, table: TableId) -> (usize, u64) {
        self.tables.get(&table).map(Items::size).map_or((0, 0), |(count, bytes, _)| (count, bytes))
    }

    /// Items whose key lies within the bounds, in the order of their keys. Without sort keys a partition key has one item, whose key is the
    /// lower bound.
    pub(super) fn range<'s>(
        &'s self,
        table: TableId,
        from: Bound<&'s [u8]>,
        to: Bound<&'s [u8]>,
    ) -> impl DoubleEndedIterator<Item = &'s Stored> {
        let (single, sorted) = match (self.tables.get(&table), from) {
            (Some(Items::Hashed(items)), Bound::Included(key)) => (items.get(key), None),
            (Some(Items::Sorted(items)), _) if is_ordered(from, to) => (None, Some(items)),
            _ => (None, None),
        };
        let sorted = sorted.into_iter().flat_map(move |items| items.range::<[u8], _>((from, to)).map(|(_, stored)| stored));
        single.into_iter().chain(sorted)
    }

    fn forget_oldest(&mut self) {
        while let Some((table, key, born)) = self.births.pop_front() {
            if is_alive(&self.tables, table, &key, born) {
                self.remove(table, &key);
                return;
            }
        }
        // Nothing is left to forget, so nothing is there.
        (self.items, self.bytes) = (0, 0);
    }
}

fn is_alive(tables: &HashMap<TableId, Items>, table: TableId, key: &[u8], born: u64) -> bool {
    tables.get(&table).and_then(|items| items.get(key)).is_some_and(|stored| stored.born == born)
}

/// Whether the bounds are a range at all; `BTreeMap` panics on others.
fn is_ordered(from: Bound<&[u8]>, to: Bound<&[u8]>) -> bool {
    match (from, to) {
        (Bound::Unbounded, _) | (_, Bound::Unbounded) => true,
        (Bound::Included(from), Bound::Included(to)) => from <= to,
        (Bound::Included(from) | Bound::Excluded(from), Bound::Included(to) | Bound::Excluded(to)) => from < to,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: TableId = TableId(1);

    #[test]
    fn the_items_first_written_are_forgotten_first() {
        let mut store = Store::default();
        store.add_table(TABLE, false);
        for key in 0..MOST_ITEMS as u32 + 10 {
            store.put(TABLE, &key.to_be_bytes(), "{}", 2);
        }
        assert_eq!(store.size_of(TABLE).0, MOST_ITEMS);
        assert!(store.get(TABLE, &9_u32.to_be_bytes()).is_none());
        assert!(store.get(TABLE, &10_u32.to_be_bytes()).is_some());
    }

    #[test]
    fn writing_and_deleting_for_ever_takes_no_memory() {
        let mut store = Store::default();
        store.add_table(TABLE, false);
        for round in 0..50_000_u32 {
            store.put(TABLE, &round.to_be_bytes(), "{}", 2);
            store.put(TABLE, b"same", "{ }", 2);
            store.remove(TABLE, &round.to_be_bytes());
        }
        assert!(store.births.len() <= 2_000, "{}", store.births.len());
        assert_eq!((store.items, store.bytes), (1, 3));
        store.drop_table(TABLE);
        assert_eq!((store.items, store.bytes, store.births.len()), (0, 0, 0));
    }

    #[test]
    fn large_items_are_bounded_by_their_bytes() {
        let mut store = Store::default();
        store.add_table(TABLE, false);
        let large = "x".repeat(1 << 20);
        for key in 0..300_u32 {
            store.put(TABLE, &key.to_be_bytes(), &large, large.len() as u64);
        }
        assert!(store.bytes <= MOST_BYTES);
        assert!(store.get(TABLE, &299_u32.to_be_bytes()).is_some());
    }
}
