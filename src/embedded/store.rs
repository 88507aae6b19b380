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

/// All items. When there are too many, the ones first written are forgotten first.
#[derive(Debug, Default)]
pub(super) struct Store {
    tables: HashMap<TableId, BTreeMap<Rc<[u8]>, Stored>>,
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

    pub(super) fn put(&mut self, table: TableId, key: &[u8], json: &str, bytes: u64) {
        let items = self.tables.entry(table).or_default();
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
        let items = self.tables.remove(&table).unwrap_or_default();
        self.items -= items.len();
        self.bytes -= items.values().map(|stored| stored.json.len()).sum::<usize>();
        self.births.retain(|(other, ..)| *other != table);
    }

    /// Items remembered of a table, and their bytes.
    pub(super) fn size_of(&self, table: TableId) -> (usize, u64) {
        self.tables.get(&table).map_or((0, 0), |items| (items.len(), items.values().map(|stored| stored.bytes).sum()))
    }

    /// Items whose key lies within the bounds, in the order of their keys.
    pub(super) fn range<'s>(
        &'s self,
        table: TableId,
        from: Bound<&'s [u8]>,
        to: Bound<&'s [u8]>,
    ) -> impl DoubleEndedIterator<Item = (&'s [u8], &'s Stored)> {
        let items = self.tables.get(&table).filter(|_| is_ordered(from, to));
        items.into_iter().flat_map(move |items| items.range::<[u8], _>((from, to)).map(|(key, stored)| (&**key, stored)))
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

fn is_alive(tables: &HashMap<TableId, BTreeMap<Rc<[u8]>, Stored>>, table: TableId, key: &[u8], born: u64) -> bool {
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
        let large = "x".repeat(1 << 20);
        for key in 0..300_u32 {
            store.put(TABLE, &key.to_be_bytes(), &large, large.len() as u64);
        }
        assert!(store.bytes <= MOST_BYTES);
        assert!(store.get(TABLE, &299_u32.to_be_bytes()).is_some());
    }
}
