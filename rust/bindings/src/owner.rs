//! Which process a store belongs to. `fork` copies a store's memory but not its threads: in the child it must neither be
//! used nor closed, or the child would end the parent's store on disk. Python forks where it likes, so this is ours.

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
