//! One entry of the key index.
//!
//! ```text
//!  0          4            12        16         20    big-endian
//!  | key hash | log offset | seconds | previous |
//! ```
//! Seconds count from the store time of the file's first record. Previous is the entry before it in the same slot.

use crate::offset::LogOffset;

pub(super) const ENTRY_SIZE: usize = 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct IndexEntry {
    pub key_hash: u32,
    pub log_offset: LogOffset,
    pub seconds: i32,
    pub previous: u32,
}

impl IndexEntry {
    pub fn encode(&self) -> [u8; ENTRY_SIZE] {
        let mut bytes = [0; ENTRY_SIZE];
        bytes[..4].copy_from_slice(&self.key_hash.to_be_bytes());
        bytes[4..12].copy_from_slice(&self.log_offset.0.to_be_bytes());
        bytes[12..16].copy_from_slice(&self.seconds.to_be_bytes());
        bytes[16..].copy_from_slice(&self.previous.to_be_bytes());
        bytes
    }

    pub fn decode(bytes: &[u8; ENTRY_SIZE]) -> Self {
        let [h0, h1, h2, h3, o0, o1, o2, o3, o4, o5, o6, o7, s0, s1, s2, s3, p0, p1, p2, p3] = *bytes;
        Self {
            key_hash: u32::from_be_bytes([h0, h1, h2, h3]),
            log_offset: LogOffset(u64::from_be_bytes([o0, o1, o2, o3, o4, o5, o6, o7])),
            seconds: i32::from_be_bytes([s0, s1, s2, s3]),
            previous: u32::from_be_bytes([p0, p1, p2, p3]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn entries_come_back(bytes: [u8; ENTRY_SIZE]) {
            prop_assert_eq!(IndexEntry::decode(&bytes).encode(), bytes);
        }
    }
}
