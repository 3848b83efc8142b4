//! What may stand at a position of the commit log: a record, or the blank that ends a file.
//!
//! ```text
//! record   size int32 | magic V1 or V2 int32 | fields, drawn in `record`
//! blank    size int32 | magic int32 | anything, up to the end of the file
//! ```
//! A file ends in a blank where the next record does not fit with eight bytes to spare; where nothing was written
//! yet, there are zeros.

use crate::big_endian::{i32_at, u32_at};
use crate::record::RecordView;
use crate::record_error::RecordError;

/// Magic of a record whose topic size takes one byte.
pub const MAGIC_V1: u32 = 0xDAA3_20A7;
/// Magic of a record whose topic size takes two bytes.
pub const MAGIC_V2: u32 = 0xDAA3_20AB;
/// Magic of the blank at the end of a file.
pub const MAGIC_BLANK: u32 = 0xCBD4_3194;
/// Size and magic of a blank; every file keeps this much free behind its last record.
pub const BLANK_SIZE_MIN: usize = 8;

/// Everything before the body of a record with two IPv4 hosts, the body's size included.
const HEAD_SIZE_MIN: usize = 88;
/// A record with IPv4 hosts, no body, no topic and no properties.
const RECORD_SIZE_MIN: usize = HEAD_SIZE_MIN + 1 + 2;

/// What stands at a position of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogItem<'a> {
    /// A message.
    Record(RecordView<'a>),
    /// The unused end of a file; the log goes on in the next one.
    Blank {
        /// Bytes to the end of the file, the blank's own head included.
        size: u32,
    },
}

impl<'a> LogItem<'a> {
    /// Reads what stands at log offset `at`; `bytes` go from there to the end of the readable part of its file.
    ///
    /// Checks structure only: magic, sizes, position and that the topic is text. That costs the same for any body;
    /// [`RecordView::check_whole`] reads the body too.
    ///
    /// # Errors
    /// [`RecordError`] says what is wrong, and whether the log may simply end here.
    pub fn parse(bytes: &'a [u8], at: u64) -> Result<Self, RecordError> {
        if bytes.len() < BLANK_SIZE_MIN {
            return Err(RecordError::NotEnoughBytes { at, needed: BLANK_SIZE_MIN, found: bytes.len() });
        }
        let (signed_size, magic) = (i32_at(bytes, 0), u32_at(bytes, 4));
        if signed_size == 0 && magic == 0 {
            return Err(RecordError::EndOfData { at });
        }
        let size_min = match magic {
            MAGIC_V1 => RECORD_SIZE_MIN,
            MAGIC_V2 => RECORD_SIZE_MIN + 1,
            MAGIC_BLANK => BLANK_SIZE_MIN,
            found => return Err(RecordError::BadMagic { at, found }),
        };
        let size = match usize::try_from(signed_size) {
            Ok(size) if size >= size_min => size,
            _ => {
                return Err(RecordError::BadSize { at, size: signed_size, size_min });
            }
        };
        let Some(bytes) = bytes.get(..size) else {
            return Err(RecordError::NotEnoughBytes { at, needed: size, found: bytes.len() });
        };
        if magic == MAGIC_BLANK {
            return Ok(Self::Blank { size: signed_size.cast_unsigned() });
        }
        RecordView::parse_fields(bytes, at).map(Self::Record)
    }
}

/// Appends the head of a blank: the `size` bytes up to the end of the file hold no record. What follows the head is
/// never read.
///
/// # Panics
/// If `size` is less than [`BLANK_SIZE_MIN`] or not an int32.
pub fn encode_blank_into(size: u32, out: &mut Vec<u8>) {
    assert!(size as usize >= BLANK_SIZE_MIN && i32::try_from(size).is_ok(), "a blank of {size} bytes");
    out.extend_from_slice(&size.to_be_bytes());
    out.extend_from_slice(&MAGIC_BLANK.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record_encode::Record;
    use crate::sys_flag::SysFlag;
    use proptest::prelude::*;
    use std::net::SocketAddr;

    fn record() -> Vec<u8> {
        let mut out = Vec::new();
        Record {
            queue_id: 0,
            flag: 0,
            queue_offset: 0,
            log_offset: 64,
            sys_flag: SysFlag(0),
            born_timestamp_ms: 1,
            born_host: SocketAddr::from(([127, 0, 0, 1], 1)),
            store_timestamp_ms: 2,
            store_host: SocketAddr::from(([127, 0, 0, 1], 2)),
            reconsume_times: 0,
            prepared_transaction_offset: 0,
            body: b"body",
            topic: "topic",
            properties: b"a\x01b\x02",
        }
        .encode_into(&mut out);
        out
    }

    fn error(bytes: &[u8]) -> RecordError {
        LogItem::parse(bytes, 64).expect_err("the bytes are damaged")
    }

    fn patched(at: usize, bytes: &[u8]) -> Vec<u8> {
        let mut record = record();
        record[at..at + bytes.len()].copy_from_slice(bytes);
        record
    }

    #[test]
    fn each_damage_has_its_own_name() {
        assert_eq!(error(&[0; 7]), RecordError::NotEnoughBytes { at: 64, needed: 8, found: 7 });
        assert_eq!(error(&[0; 8]), RecordError::EndOfData { at: 64 });
        assert_eq!(error(&patched(4, &[1, 2, 3, 4])), RecordError::BadMagic { at: 64, found: 0x0102_0304 });
        assert_eq!(
            error(&patched(0, &[0x80, 0, 0, 0])),
            RecordError::BadSize { at: 64, size: i32::MIN, size_min: 91 }
        );
        assert_eq!(
            error(&patched(0, &[0, 0, 0, 90])),
            RecordError::BadSize { at: 64, size: 90, size_min: 91 }
        );
        assert_eq!(
            error(&patched(0, &[0x7F, 0xFF, 0xFF, 0xFF])),
            RecordError::NotEnoughBytes { at: 64, needed: 0x7FFF_FFFF, found: record().len() }
        );
        assert_eq!(error(&patched(28, &[0; 8])), RecordError::WrongPosition { at: 64, found: 0 });
        assert!(matches!(
            error(&patched(84, &[0xFF; 4])),
            RecordError::BadFieldLength { field: "body", length: -1, .. }
        ));
        assert!(matches!(
            error(&patched(92, &[0x80])),
            RecordError::BadFieldLength { field: "topic", length: -128, .. }
        ));
        assert!(matches!(
            error(&patched(98, &[0, 5])),
            RecordError::BadFieldLength { field: "properties", length: 5, .. }
        ));
        assert!(matches!(
            error(&patched(98, &[0, 3])),
            RecordError::SizeMismatch { size: 104, found: 103, .. }
        ));
        assert_eq!(error(&patched(94, &[0xFF])), RecordError::TopicNotUtf8 { at: 64, valid_size: 1 });
    }

    #[test]
    fn a_blank_reaches_to_the_end_of_the_file() {
        let mut bytes = Vec::new();
        encode_blank_into(20, &mut bytes);
        assert_eq!(error(&bytes), RecordError::NotEnoughBytes { at: 64, needed: 20, found: 8 });
        bytes.resize(20, 0xEE);
        assert_eq!(LogItem::parse(&bytes, 64), Ok(LogItem::Blank { size: 20 }));
        bytes[3] = 7;
        assert_eq!(error(&bytes), RecordError::BadSize { at: 64, size: 7, size_min: 8 });
    }

    proptest! {
        #[test]
        fn damage_anywhere_never_panics(at in 0_usize..104, byte: u8, cut in 0_usize..=104) {
            let mut bytes = record();
            bytes[at] = byte;
            if let Ok(LogItem::Record(view)) = LogItem::parse(&bytes[..cut], 64) {
                let _ = (view.check_whole(), view.check_record_crc(), view.to_record());
            }
        }
    }
}
