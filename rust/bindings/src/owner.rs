//! Which process a store belongs to. `fork` shares the mapped log and copies the rest, but not the threads: an append in
//! the child would take an offset that the parent gives out too, and closing would join threads that are not there.
//! Python forks where it likes, so this is ours to refuse.

use std::process;

use escrowmq_store::{Store, StoreError};

/// An open store, for the process that opened it.
pub struct Owned {
    /// `None` only while it is dropped.
    store: Option<Store>,
    process_id: u32,
}

impl Owned {
    pub fn new(store: Store) -> Self {
        Self { store: Some(store), process_id: process::id() }
    }

    /// The store, in the process that opened it.
    pub fn get(&self) -> Result<&Store, StoreError> {
        self.store.as_ref().filter(|_| self.is_mine()).ok_or(StoreError::Closed)
    }

    fn is_mine(&self) -> bool {
        process::id() == self.process_id
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        if !self.is_mine() {
            std::mem::forget(self.store.take());
        }
    }
}
