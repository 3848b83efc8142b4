//! The key index: log offsets by `topic#key`, in files that Apache `RocketMQ` reads and writes. It knows hashes only, so
//! whoever asks reads the records found and drops those with another key. A function of the log, like the queues.
//!
//! ```text
//!  index/20261118065216700        named by the time of its making
//!
//!  0        40                 40 + 4 × slots                       40 + 4 × slots + 20 × entries
//!  | header | slot | slot | …  | entry 0 (unused) | entry 1 | … | entry n | zeros … |
//!               │                                                     ▲  │
//!               └─ newest entry of the slot ──────────────────────────┘  └─ previous of the slot, 0 for none
//! ```
//! Entries are gathered in memory and written out in batches, with `pwrite` and not through a mapping: slots lie all over
//! 20 MB, and a mapping would keep all of that resident.

mod cursor;
mod entry;
mod file;
mod files;
#[cfg(test)]
mod fixture;
mod geometry;
mod header;
mod index;
mod record_keys;
mod repair;
mod write_out;

pub use cursor::IndexFileStatus;
pub(crate) use cursor::{FoundEntry, IndexCursor};
pub use index::{KeyIndex, WrittenFiles, WrongGeometry};
