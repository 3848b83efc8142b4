//! The newest of the transactions with one group and unique id. Hardly ever are there two, so those beside the newest are
//! linked apart from the rest.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

/// Transactions by group and unique id. They are numbers; whoever calls knows what they stand for.
#[derive(Debug, Default)]
pub(super) struct SameKey {
    newest: HashTable<u32>,
    older: HashMap<u32, u32, RandomState>,
    newer: HashMap<u32, u32, RandomState>,
}

impl SameKey {
    /// Adds a transaction as the newest of those that `is_same`.
    pub fn insert(
        &mut self,
        hash: u64,
        transaction: u32,
        is_same: impl Fn(u32) -> bool,
        hash_of: impl Fn(u32) -> u64,
    ) {
        match self.newest.entry(hash, |other| is_same(*other), |other| hash_of(*other)) {
            Entry::Vacant(place) => {
                place.insert(transaction);
            }
            Entry::Occupied(mut place) => {
                let before = std::mem::replace(place.get_mut(), transaction);
                self.older.insert(transaction, before);
                self.newer.insert(before, transaction);
            }
        }
    }

    /// Makes room for so many more.
    pub fn reserve(&mut self, count: usize, hash_of: impl Fn(u32) -> u64) {
        self.newest.reserve(count, |other| hash_of(*other));
    }

    /// Takes a transaction out.
    pub fn remove(&mut self, hash: u64, transaction: u32) {
        let (older, newer) = if self.older.is_empty() {
            (None, None)
        } else {
            (self.older.remove(&transaction), self.newer.remove(&transaction))
        };
        match (newer, older) {
            (Some(newer), Some(older)) => {
                self.older.insert(newer, older);
                self.newer.insert(older, newer);
            }
            (Some(newer), None) => {
                self.older.remove(&newer);
            }
            (None, older) => {
                if let Ok(mut place) = self.newest.find_entry(hash, |other| *other == transaction) {
                    match older {
                        Some(older) => {
                            self.newer.remove(&older);
                            *place.get_mut() = older;
                        }
                        None => {
                            place.remove();
                        }
                    }
                }
            }
        }
    }

    /// The newest one that `is_same`.
    pub fn find(&self, hash: u64, is_same: impl Fn(u32) -> bool) -> Option<u32> {
        self.newest.find(hash, |other| is_same(*other)).copied()
    }

    /// How much memory they take.
    pub fn memory_bytes(&self) -> usize {
        self.newest.allocation_size()
            + (self.older.capacity() + self.newer.capacity()) * size_of::<[u32; 2]>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_that_is_left_is_found() {
        for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            let mut same = SameKey::default();
            let mut left = vec![0, 1, 2];
            (0..3).for_each(|number| same.insert(7, number, |_| true, |_| 7));
            for number in order {
                assert_eq!(same.find(7, |_| true), left.last().copied(), "{order:?}");
                same.remove(7, number);
                left.retain(|other| *other != number);
            }
            assert_eq!(same.find(7, |_| true), None);
            assert!(same.older.is_empty() && same.newer.is_empty(), "{same:?}");
        }
    }
}
