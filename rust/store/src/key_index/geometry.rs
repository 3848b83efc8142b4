//! Where slots and entries lie in an index file.

use super::entry::ENTRY_SIZE;
use super::header::HEADER_SIZE;

pub(super) const SLOT_SIZE: usize = 4;

/// The place of a slot, in any file.
pub(super) fn slot_at(slot: u32) -> u64 {
    HEADER_SIZE as u64 + u64::from(slot) * SLOT_SIZE as u64
}

/// How many slots and entries an index file has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Geometry {
    pub slots: u32,
    /// Entry 0 included, which is never used.
    pub entries: u32,
}

impl Geometry {
    pub fn file_size(self) -> u64 {
        self.entry_at(self.entries)
    }

    pub fn slot_of(self, key_hash: u32) -> u32 {
        key_hash % self.slots
    }

    pub fn entry_at(self, number: u32) -> u64 {
        slot_at(self.slots) + u64::from(number) * ENTRY_SIZE as u64
    }
}
