//! One unit of the timer log: a message that waits, and the unit before it in its slot.
//!
//! ```text
//!  0      4               12     16           24         28           36            40           44       52
//!  | 52 | previous unit | kind | write time | delay ms | log offset | record size | topic hash | zeros  |
//! ```

use escrowmq_wire::java_hash;

use crate::offset::LogOffset;

/// Size of a unit.
pub const UNIT_SIZE: usize = 52;
const _: () = assert!(UNIT_SIZE == 5 * size_of::<i32>() + 4 * size_of::<i64>());

/// Every unit has it.
const KIND_UNIT: i32 = 1;
/// The message goes back into the timer topic when its slot is due: it waits longer than the wheel reaches.
const KIND_ROLL: i32 = 1 << 1;
/// The message takes another one of its slot back.
const KIND_DELETE: i32 = 1 << 2;
/// Compat: Apache takes any of these bits for a unit.
const KIND_MASK: i32 = 0xf;
const NO_PREVIOUS: i64 = -1;

/// A unit of the timer log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimerUnit {
    /// Position of the unit before it in its slot.
    pub previous: Option<u64>,
    /// Whether its message goes back into the timer topic.
    pub is_roll: bool,
    /// Whether its message takes another one back.
    pub is_delete: bool,
    /// When it was taken in, in whole ticks.
    pub write_ms: i64,
    /// From then to its slot's time.
    pub delay_ms: i32,
    /// Its message's record.
    pub log_offset: LogOffset,
    /// The record's size.
    pub record_size: u32,
    /// Java's hash of the topic that the message is for.
    pub topic_hash: i32,
}

impl TimerUnit {
    /// The time of its slot.
    #[must_use]
    pub fn slot_ms(&self) -> i64 {
        self.write_ms.saturating_add(i64::from(self.delay_ms))
    }

    /// The hash of a topic.
    #[must_use]
    pub fn hash_of(topic: &str) -> i32 {
        java_hash(topic)
    }

    /// The unit as it stands on disk.
    #[must_use]
    pub fn encode(&self) -> [u8; UNIT_SIZE] {
        let mut kind = KIND_UNIT;
        kind |= if self.is_roll { KIND_ROLL } else { 0 };
        kind |= if self.is_delete { KIND_DELETE } else { 0 };
        let previous = self.previous.map_or(NO_PREVIOUS, u64::cast_signed);
        let mut bytes = [0; UNIT_SIZE];
        bytes[..4].copy_from_slice(&(UNIT_SIZE as u32).to_be_bytes());
        bytes[4..12].copy_from_slice(&previous.to_be_bytes());
        bytes[12..16].copy_from_slice(&kind.to_be_bytes());
        bytes[16..24].copy_from_slice(&self.write_ms.to_be_bytes());
        bytes[24..28].copy_from_slice(&self.delay_ms.to_be_bytes());
        bytes[28..36].copy_from_slice(&self.log_offset.0.to_be_bytes());
        bytes[36..40].copy_from_slice(&self.record_size.to_be_bytes());
        bytes[40..44].copy_from_slice(&self.topic_hash.to_be_bytes());
        bytes
    }

    /// The unit in 52 bytes; `None` where they are none.
    #[must_use]
    pub fn decode(bytes: &[u8; UNIT_SIZE]) -> Option<Self> {
        let (size, kind) = (int(bytes, 0), int(bytes, 12));
        let (previous, log_offset, record_size) = (long(bytes, 4), long(bytes, 28), int(bytes, 36));
        let is_unit = size == UNIT_SIZE as i32 && kind & !KIND_MASK == 0 && previous >= NO_PREVIOUS;
        Some(Self {
            previous: u64::try_from(previous).ok(),
            is_roll: kind & KIND_ROLL != 0,
            is_delete: kind & KIND_DELETE != 0,
            write_ms: long(bytes, 16),
            delay_ms: int(bytes, 24),
            log_offset: LogOffset(u64::try_from(log_offset).ok()?),
            record_size: u32::try_from(record_size).ok().filter(|size| *size > 0)?,
            topic_hash: int(bytes, 40),
        })
        .filter(|_| is_unit)
    }
}

fn int(bytes: &[u8; UNIT_SIZE], at: usize) -> i32 {
    let mut field = [0; 4];
    field.copy_from_slice(&bytes[at..at + 4]);
    i32::from_be_bytes(field)
}

fn long(bytes: &[u8; UNIT_SIZE], at: usize) -> i64 {
    let mut field = [0; 8];
    field.copy_from_slice(&bytes[at..at + 8]);
    i64::from_be_bytes(field)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_layout_is_apaches() {
        // Recorded from RocketMQ 5.5.0: the second unit of a slot, of topic "T", due 4 s after it was taken in.
        let recorded: [u8; UNIT_SIZE] = [
            0, 0, 0, 0x34, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0xa1, 0xee, 0x99, 0x2b, 0x90, 0, 0,
            0xf, 0xa0, 0, 0, 0, 0, 0, 0, 2, 4, 0, 0, 1, 0x28, 0, 0, 0, 0x54, 0, 0, 0, 0, 0, 0, 0, 0,
        ];
        let unit = TimerUnit {
            previous: Some(0),
            is_roll: false,
            is_delete: false,
            write_ms: 1_795_004_378_000,
            delay_ms: 4_000,
            log_offset: LogOffset(516),
            record_size: 296,
            topic_hash: TimerUnit::hash_of("T"),
        };
        assert_eq!(TimerUnit::decode(&recorded), Some(unit));
        assert_eq!(unit.encode(), recorded);
    }

    #[test]
    fn zeros_and_blanks_are_no_units() {
        assert_eq!(TimerUnit::decode(&[0; UNIT_SIZE]), None);
        assert_eq!(TimerUnit::decode(&[0xff; UNIT_SIZE]), None);
    }

    proptest! {
        #[test]
        fn units_come_back(
            previous in proptest::option::of(0..i64::MAX.cast_unsigned()), is_roll: bool, is_delete: bool,
            write_ms: i64, delay_ms: i32, log_offset in 0..i64::MAX.cast_unsigned(), record_size in 1..i32::MAX as u32,
            topic_hash: i32,
        ) {
            let log_offset = LogOffset(log_offset);
            let unit = TimerUnit {
                previous, is_roll, is_delete, write_ms, delay_ms, log_offset, record_size, topic_hash,
            };
            prop_assert_eq!(TimerUnit::decode(&unit.encode()), Some(unit));
        }
    }
}
