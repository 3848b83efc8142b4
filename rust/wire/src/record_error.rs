//! What can be wrong with the bytes at a position of the commit log.
//!
//! Recovery acts on the difference: [`RecordError::EndOfData`] is the ordinary end of a log,
//! [`RecordError::NotEnoughBytes`] may be a write still under way, the others are damage.

/// Why the bytes at a log offset are not a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The item needs more bytes than were given.
    #[error("log item at {at} needs {needed} bytes, {found} are readable")]
    NotEnoughBytes {
        /// Log offset of the item.
        at: u64,
        /// Bytes that the item claims, or the smallest item.
        needed: usize,
        /// Bytes that were given.
        found: usize,
    },
    /// Size and magic are zero: nothing was written here.
    #[error("nothing was written at {at}")]
    EndOfData {
        /// Log offset of the zeros.
        at: u64,
    },
    /// The magic number is none of the three that exist.
    #[error("log item at {at} has magic {found:#010x}, which is no record and no blank")]
    BadMagic {
        /// Log offset of the item.
        at: u64,
        /// What stands where the magic belongs.
        found: u32,
    },
    /// The total size is negative, zero, or smaller than any item of its kind.
    #[error("log item at {at} has size {size}, at least {size_min} is possible")]
    BadSize {
        /// Log offset of the item.
        at: u64,
        /// The size as stored, signed as Java reads it.
        size: i32,
        /// Smallest possible size of such an item.
        size_min: usize,
    },
    /// A length inside the record is negative or leads beyond the record.
    #[error("record at {at}: {field} has length {length}, the record holds {size} bytes")]
    BadFieldLength {
        /// Log offset of the record.
        at: u64,
        /// `body`, `topic` or `properties`.
        field: &'static str,
        /// The length as stored, signed as Java reads it.
        length: i64,
        /// Size of the whole record.
        size: u32,
    },
    /// The fields end before the record does.
    #[error("record at {at} has size {size}, its fields take {found} bytes")]
    SizeMismatch {
        /// Log offset of the record.
        at: u64,
        /// Size of the whole record as stored.
        size: u32,
        /// What its fields add up to.
        found: usize,
    },
    /// The record was written for another place: stale bytes of a reused file.
    #[error("record at {at} says that it stands at {found}")]
    WrongPosition {
        /// Log offset where the bytes stand.
        at: u64,
        /// Log offset in the record.
        found: u64,
    },
    /// The topic is not UTF-8.
    #[error("record at {at}: the topic is not UTF-8 from byte {valid_size} on")]
    TopicNotUtf8 {
        /// Log offset of the record.
        at: u64,
        /// Bytes of the topic that are UTF-8.
        valid_size: usize,
    },
    /// The body is not the one that the checksum was made from.
    #[error("record at {at}: body has checksum {found:#010x}, expected {expected:#010x}")]
    BodyChecksum {
        /// Log offset of the record.
        at: u64,
        /// Checksum in the record.
        expected: u32,
        /// Checksum of the body as it is now.
        found: u32,
    },
    /// A NUL byte where text belongs: a page of the file that never reached the disk.
    #[error("record at {at}: {field} holds a NUL at byte {position}")]
    Nul {
        /// Log offset of the record.
        at: u64,
        /// `topic` or `properties`.
        field: &'static str,
        /// Where in the field.
        position: usize,
    },
    /// A field is too large to be encoded.
    #[error("{field} has {size} bytes, at most {size_max} can be stored")]
    FieldTooLarge {
        /// `record`, `topic` or `properties`.
        field: &'static str,
        /// Its size.
        size: usize,
        /// The largest size of the format.
        size_max: usize,
    },
}
