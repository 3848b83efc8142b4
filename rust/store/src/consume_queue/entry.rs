//! One entry of a consume queue: where the record of a queue offset lies, and enough of its tag to filter by.
//!
//! ```text
//!  0            8             12          20    big-endian, at queue offset × 20
//!  | log offset | record size | tags code |
//! ```

use crate::offset::LogOffset;

/// Size of an entry on disk.
pub const ENTRY_SIZE: usize = 20;
const _: () = assert!(ENTRY_SIZE == size_of::<u64>() + size_of::<u32>() + size_of::<i64>());

/// An entry of a consume queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueEntry {
    /// Where the record begins.
    pub log_offset: LogOffset,
    /// Its size in bytes.
    pub record_size: u32,
    /// Hash of its tag; the time of delivery in `SCHEDULE_TOPIC_XXXX`.
    pub tags_code: i64,
}

impl QueueEntry {
    /// Compat: what Apache writes before the first entry of a queue that begins inside a file.
    pub const FILLER: Self = Self { log_offset: LogOffset(0), record_size: i32::MAX as u32, tags_code: 0 };

    /// The entry as it stands on disk.
    #[must_use]
    pub fn encode(&self) -> [u8; ENTRY_SIZE] {
        let mut bytes = [0; ENTRY_SIZE];
        bytes[..8].copy_from_slice(&self.log_offset.0.to_be_bytes());
        bytes[8..12].copy_from_slice(&self.record_size.to_be_bytes());
        bytes[12..].copy_from_slice(&self.tags_code.to_be_bytes());
        bytes
    }

    /// The entry in 20 bytes, whatever they are: see [`Self::is_written`].
    #[must_use]
    pub fn decode(bytes: &[u8; ENTRY_SIZE]) -> Self {
        let [o0, o1, o2, o3, o4, o5, o6, o7, s0, s1, s2, s3, t0, t1, t2, t3, t4, t5, t6, t7] = *bytes;
        Self {
            log_offset: LogOffset(u64::from_be_bytes([o0, o1, o2, o3, o4, o5, o6, o7])),
            record_size: u32::from_be_bytes([s0, s1, s2, s3]),
            tags_code: i64::from_be_bytes([t0, t1, t2, t3, t4, t5, t6, t7]),
        }
    }

    /// Whether anything was written here: the same test by which Apache finds a queue's end. Both numbers are signed
    /// in Java, so that a set top bit is no entry.
    #[must_use]
    pub fn is_written(&self) -> bool {
        i64::try_from(self.log_offset.0).is_ok() && (1..=i32::MAX as u32).contains(&self.record_size)
    }

    /// The log offset behind its record; none where no log could have it.
    #[must_use]
    pub fn end(&self) -> Option<LogOffset> {
        self.log_offset.0.checked_add(u64::from(self.record_size)).map(LogOffset)
    }

    /// Whether it stands for an offset that the queue never had.
    #[must_use]
    pub fn is_filler(&self) -> bool {
        *self == Self::FILLER
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_layout_is_apaches() {
        let entry = QueueEntry { log_offset: LogOffset(0x0102), record_size: 0x0304, tags_code: -2 };
        let mut bytes = [0; ENTRY_SIZE];
        (bytes[6], bytes[7], bytes[10], bytes[11]) = (1, 2, 3, 4);
        bytes[12..].fill(0xff);
        bytes[19] = 0xfe;
        assert_eq!(entry.encode(), bytes);
    }

    #[test]
    fn zeros_are_not_written_and_fillers_are() {
        assert!(!QueueEntry::decode(&[0; ENTRY_SIZE]).is_written());
        assert!(QueueEntry::FILLER.is_written() && QueueEntry::FILLER.is_filler());
        assert!(!QueueEntry { record_size: 1 << 31, ..QueueEntry::FILLER }.is_written());
        assert!(!QueueEntry { log_offset: LogOffset(1 << 63), ..QueueEntry::FILLER }.is_written());
    }

    proptest! {
        #[test]
        fn entries_come_back(log_offset: u64, record_size: u32, tags_code: i64) {
            let entry = QueueEntry { log_offset: LogOffset(log_offset), record_size, tags_code };
            prop_assert_eq!(QueueEntry::decode(&entry.encode()), entry);
        }

        #[test]
        fn bytes_come_back(bytes: [u8; ENTRY_SIZE]) {
            prop_assert_eq!(QueueEntry::decode(&bytes).encode(), bytes);
        }
    }
}
