//! The header of an index file.
//!
//! ```text
//!  0          8        16             24           32          36        40    big-endian
//!  | begin ms | end ms | begin offset | end offset | slots used | count |
//! ```
//! Begin and end are store time and log offset of the first and last record. Count is the number of the next entry:
//! it starts at 1, because entry number 0 says "none" in a slot.

use crate::offset::LogOffset;

pub(super) const HEADER_SIZE: usize = 40;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct IndexHeader {
    pub begin_ms: i64,
    pub end_ms: i64,
    pub begin_offset: LogOffset,
    pub end_offset: LogOffset,
    pub slots_used: u32,
    pub count: u32,
}

impl IndexHeader {
    /// Compat: a file begins with the end of the one before it in all four places, until its first entry.
    pub fn after(previous: Option<&Self>) -> Self {
        let (end_ms, end_offset) =
            previous.map_or((0, LogOffset(0)), |header| (header.end_ms, header.end_offset));
        Self { begin_ms: end_ms, end_ms, begin_offset: end_offset, end_offset, slots_used: 0, count: 1 }
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.count <= 1
    }

    /// Seconds of an entry that is about to be added.
    ///
    /// Compat: the first entry of a file is counted from the end of the file before, the others from the first one.
    pub fn seconds(&self, store_timestamp_ms: i64) -> i32 {
        if self.begin_ms <= 0 {
            return 0;
        }
        let seconds = store_timestamp_ms.wrapping_sub(self.begin_ms) / 1_000;
        i32::try_from(seconds.max(0)).unwrap_or(i32::MAX)
    }

    /// Takes note of an added entry.
    pub fn add(&mut self, log_offset: LogOffset, store_timestamp_ms: i64) {
        if self.is_empty() {
            (self.begin_offset, self.begin_ms) = (log_offset, store_timestamp_ms);
        }
        (self.end_offset, self.end_ms) = (log_offset, store_timestamp_ms);
        self.count += 1;
    }

    /// Whether records of a time range may be in the file, as Apache decides it.
    pub fn overlaps(&self, begin_ms: i64, end_ms: i64) -> bool {
        let is_inside = |time_ms| (self.begin_ms..=self.end_ms).contains(&time_ms);
        (begin_ms < self.begin_ms && end_ms > self.end_ms) || is_inside(begin_ms) || is_inside(end_ms)
    }

    pub fn encode(&self) -> [u8; HEADER_SIZE] {
        let mut bytes = [0; HEADER_SIZE];
        bytes[..8].copy_from_slice(&self.begin_ms.to_be_bytes());
        bytes[8..16].copy_from_slice(&self.end_ms.to_be_bytes());
        bytes[16..24].copy_from_slice(&self.begin_offset.0.to_be_bytes());
        bytes[24..32].copy_from_slice(&self.end_offset.0.to_be_bytes());
        bytes[32..36].copy_from_slice(&self.slots_used.to_be_bytes());
        bytes[36..].copy_from_slice(&self.count.to_be_bytes());
        bytes
    }

    /// Compat: a count of 0 or below, as in a file that was just made, reads as 1.
    pub fn decode(bytes: &[u8; HEADER_SIZE]) -> Self {
        let long = |at: usize| {
            let mut value = [0; 8];
            value.copy_from_slice(&bytes[at..at + 8]);
            u64::from_be_bytes(value)
        };
        let int = |at: usize| {
            let mut value = [0; 4];
            value.copy_from_slice(&bytes[at..at + 4]);
            u32::from_be_bytes(value)
        };
        let count = int(36);
        Self {
            begin_ms: long(0).cast_signed(),
            end_ms: long(8).cast_signed(),
            begin_offset: LogOffset(long(16)),
            end_offset: LogOffset(long(24)),
            slots_used: int(32),
            count: if count.cast_signed() <= 0 { 1 } else { count },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_first_entry_of_a_later_file_is_counted_from_the_end_of_the_one_before() {
        let mut first = IndexHeader::after(None);
        assert_eq!(first.seconds(1_700_000_000_000), 0);
        first.add(LogOffset(7), 1_700_000_000_000);
        assert_eq!(first.seconds(1_700_000_009_999), 9);
        assert_eq!(first.seconds(1_600_000_000_000), 0, "a clock that went back");
        assert_eq!(first.seconds(i64::MAX), i32::MAX);
        let mut second = IndexHeader::after(Some(&first));
        assert_eq!((second.end_offset, second.count), (LogOffset(7), 1));
        assert_eq!(second.seconds(1_700_000_005_000), 5);
        second.add(LogOffset(8), 1_700_000_005_000);
        assert_eq!((second.begin_offset, second.seconds(1_700_000_005_000)), (LogOffset(8), 0));
    }

    #[test]
    fn a_range_overlaps_where_an_end_is_inside_or_both_are_outside() {
        let header = IndexHeader { begin_ms: 10, end_ms: 20, ..IndexHeader::after(None) };
        for (begin_ms, end_ms, expected) in [
            (i64::MIN, i64::MAX, true),
            (0, 9, false),
            (0, 10, true),
            (20, 99, true),
            (21, 99, false),
            (12, 13, true),
            // Compat: a range that shares one end and passes the other is found by the shared end.
            (10, 99, true),
        ] {
            assert_eq!(header.overlaps(begin_ms, end_ms), expected, "{begin_ms} to {end_ms}");
        }
    }

    proptest! {
        #[test]
        fn headers_come_back(begin_ms: i64, end_ms: i64, begin: u64, end: u64, slots_used: u32, count in 1..=i32::MAX) {
            let header = IndexHeader {
                begin_ms,
                end_ms,
                begin_offset: LogOffset(begin),
                end_offset: LogOffset(end),
                slots_used,
                count: count.cast_unsigned(),
            };
            prop_assert_eq!(IndexHeader::decode(&header.encode()), header);
        }
    }
}
