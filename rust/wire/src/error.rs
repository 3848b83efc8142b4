//! Everything that can be wrong with bytes from a peer, or with values that a format cannot hold.
//!
//! Variants carry numbers and fixed words, never copies of the input: an error about a hostile frame is as small as
//! any other.

use std::io;

use crate::record_error::RecordError;
use crate::sys_flag::CompressionKind;

/// Why bytes could not be decoded, or a value not encoded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WireError {
    /// The length in front of a frame is negative or leaves no room for a header length.
    #[error("frame announces {length} bytes, at least 4 are needed")]
    FrameTooShort {
        /// The length as received, signed as Java reads it.
        length: i32,
    },
    /// The frame is larger than this side accepts or the format can express.
    #[error("frame of {size} bytes is larger than the limit of {size_max}")]
    FrameTooLarge {
        /// Size of the whole frame, its length field included.
        size: usize,
        /// The limit.
        size_max: usize,
    },
    /// A recording ends inside a frame.
    #[error("the last frame lacks {missing_size} bytes")]
    FrameTruncated {
        /// Bytes that are known to be missing.
        missing_size: usize,
    },
    /// The header length leads beyond the frame.
    #[error("header of {header_size} bytes does not fit into a frame with room for {room}")]
    HeaderBeyondFrame {
        /// Header length as received.
        header_size: usize,
        /// Bytes of the frame behind the header length.
        room: usize,
    },
    /// The header is neither JSON (0) nor binary (1).
    #[error("header kind {kind} is unknown, known are 0 (JSON) and 1 (binary)")]
    UnknownHeaderKind {
        /// The kind as received.
        kind: u8,
    },
    /// A length in a binary header is negative or leads beyond what holds it.
    #[error("binary header: {field} has length {length}, {remaining} bytes remain")]
    HeaderFieldLength {
        /// `fixed part`, `remark`, `ext fields`, `ext name` or `ext value`.
        field: &'static str,
        /// The length as received, signed as Java reads it.
        length: i64,
        /// Bytes that are left.
        remaining: usize,
    },
    /// Bytes follow the ext fields of a binary header.
    #[error("binary header: {size} bytes follow the ext fields")]
    HeaderTrailingBytes {
        /// How many.
        size: usize,
    },
    /// More ext fields than any request has.
    #[error("header has more than {count_max} ext fields")]
    TooManyExtFields {
        /// The limit.
        count_max: usize,
    },
    /// The header's value has more bits than its binary form.
    #[error("binary header holds 16 bits of {field}, which is {value}: send this header as JSON")]
    HeaderValueTooLarge {
        /// `code` or `version`.
        field: &'static str,
        /// The value.
        value: i32,
    },
    /// A text of the header is longer than its length field can say.
    #[error("{field} has {size} bytes, at most {size_max} can be sent")]
    HeaderFieldTooLarge {
        /// `header`, `remark`, `ext fields`, `ext name` or `ext value`.
        field: &'static str,
        /// Its size.
        size: usize,
        /// The largest size of the format.
        size_max: usize,
    },
    /// The text is not the JSON that was expected.
    #[error("JSON: {expected} expected at byte {position}")]
    Json {
        /// Where in the text.
        position: usize,
        /// What should stand there.
        expected: &'static str,
    },
    /// JSON containers are nested more deeply than any peer does.
    #[error("JSON: nested more than {depth_max} deep at byte {position}")]
    JsonTooDeep {
        /// Where in the text.
        position: usize,
        /// The limit.
        depth_max: usize,
    },
    /// A message id has a length that no id has.
    #[error("message id has {size} characters, 32 or 56 are possible")]
    MessageIdSize {
        /// Its length.
        size: usize,
    },
    /// A message id holds something else than hexadecimal digits.
    #[error("message id holds no hexadecimal digit at position {position}")]
    MessageIdDigit {
        /// Where.
        position: usize,
    },
    /// The port in an offset message id is none.
    #[error("message id holds port {port}")]
    MessageIdPort {
        /// The port as an unsigned int32.
        port: u32,
    },
    /// A topic or group has no name.
    #[error("{what} name is blank")]
    NameBlank {
        /// `topic` or `group`.
        what: &'static str,
    },
    /// A topic or group name holds a character outside `[%|a-zA-Z0-9_-]`.
    #[error("{what} name holds {character:?} at byte {position}, allowed are a-z A-Z 0-9 _ - % |")]
    NameCharacter {
        /// `topic` or `group`.
        what: &'static str,
        /// The first such character.
        character: char,
        /// Where it stands.
        position: usize,
    },
    /// A topic or group name is too long.
    #[error("{what} name has {size} bytes, at most {size_max} are allowed")]
    NameTooLong {
        /// `topic` or `group`.
        what: &'static str,
        /// Its size.
        size: usize,
        /// The limit for names of its kind.
        size_max: usize,
    },
    /// A message of a batch ends early, or one of its lengths is negative.
    #[error(
        "batch body: {field} of the message at byte {position} has length {length}, {remaining} bytes remain"
    )]
    BatchFieldLength {
        /// `fixed part`, `body` or `properties`.
        field: &'static str,
        /// Where in the batch the message starts.
        position: usize,
        /// The length as received, signed as Java reads it.
        length: i64,
        /// Bytes that are left.
        remaining: usize,
    },
    /// A message is too large for a batch.
    #[error("batch body: {field} of {size} bytes, at most {size_max} can be sent")]
    BatchFieldTooLarge {
        /// `message` or `properties`.
        field: &'static str,
        /// Its size.
        size: usize,
        /// The largest size of the format.
        size_max: usize,
    },
    /// The bytes are not what the compression kind says.
    #[error("{kind:?} body of {size} bytes cannot be decompressed: {reason}")]
    Decompress {
        /// How it claims to be compressed.
        kind: CompressionKind,
        /// Size of the compressed bytes.
        size: usize,
        /// What the decompressor met.
        reason: io::ErrorKind,
    },
    /// The plain body is larger than this side accepts.
    #[error("{kind:?} body decompresses to more than {size_max} bytes")]
    DecompressedTooLarge {
        /// How it is compressed.
        kind: CompressionKind,
        /// The limit.
        size_max: usize,
    },
    /// A compressor failed, which none does on memory.
    #[error("{kind:?} cannot compress {size} bytes: {reason}")]
    Compress {
        /// The compressor.
        kind: CompressionKind,
        /// Size of the plain bytes.
        size: usize,
        /// What the compressor met.
        reason: io::ErrorKind,
    },
    /// A commit-log record is damaged.
    #[error(transparent)]
    Record(#[from] RecordError),
}
