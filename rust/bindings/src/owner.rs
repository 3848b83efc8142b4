//! Which process a store or a server belongs to. `fork` copies its memory but not its threads: in the child it must neither
//! be used nor closed, or the child would end what is its parent's. Python forks where it likes, so this is ours.

use std::process;

/// Something with threads, for the process that started them.
pub struct Owned<T> {
    /// `None` only while it is dropped.
    value: Option<T>,
    process_id: u32,
}

impl<T> Owned<T> {
    pub fn new(value: T) -> Self {
        Self { value: Some(value), process_id: process::id() }
    }

    /// The value, in the process that made it.
    pub fn get(&self) -> Option<&T> {
        self.value.as_ref().filter(|_| self.is_mine())
    }

    /// The value, for a thread that was started with it, which is in the process that made it and in no other. It asks the
    /// system nothing, since such threads ask for every message.
    pub fn get_on_own_thread(&self) -> Option<&T> {
        self.value.as_ref()
    }

    fn is_mine(&self) -> bool {
        process::id() == self.process_id
    }
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        if !self.is_mine() {
            std::mem::forget(self.value.take());
        }
    }
}
