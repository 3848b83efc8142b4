//! The bytes of Apache `RocketMQ` as values: what travels between clients and brokers, and what brokers keep on disk.
//!
//! Pure: no files, no sockets, no clock, no Python. The same bytes always give the same value, so everything here can
//! be tested by round trips and fuzzed. Byte layouts are drawn in the module that owns them.
//!
//! ```text
//! stream ── cut_frame ──▶ FrameView ── decode_header ──▶ RemotingHeader      frame, header_json, header_binary
//!                              └─ body ─┬─ iter_batch ──▶ BatchMessage       batch_body
//!                                       └─ strict_json ─▶ any JSON parser    json_dialect
//! log ───── LogItem::parse ─▶ RecordView ── properties ─▶ Properties         log_item, record, properties
//!                              └─ to_record ─▶ Record ── encode_into ──▶ log record_encode
//! ```
//!
//! Three rules hold throughout:
//!
//! - **Borrow.** Views point into the buffer they were read from. Only [`RemotingHeader::into_owned`] and text with
//!   escapes copy; the size of a body does not matter to the cost of its frame.
//! - **Nothing announced is believed.** A length is compared with the bytes that are there before anything is sliced
//!   or allocated, and lengths are signed as in Java. An error carries numbers, never the input.
//! - **As tolerant as Java in reading, strict in writing.** Where Java accepts something odd, a `Compat:` note says so.
//!
//! A request, there and back:
//!
//! ```
//! use escrowmq_wire::{FRAME_SIZE_MAX_DEFAULT, FrameStep, HeaderKind, RemotingHeader, cut_frame, encode_frame};
//!
//! let mut header = RemotingHeader { code: 105, opaque: 1, ..RemotingHeader::default() };
//! header.ext_fields.push("topic", "orders");
//! let mut stream = Vec::new();
//! encode_frame(HeaderKind::Json, &header, b"", &mut stream)?;
//!
//! match cut_frame(&stream, FRAME_SIZE_MAX_DEFAULT)? {
//!     FrameStep::Frame(frame) => assert_eq!(frame.decode_header()?.ext_fields.get("topic"), Some("orders")),
//!     FrameStep::Partial { missing_size } => println!("{missing_size} bytes to go"),
//! }
//! # Ok::<(), escrowmq_wire::WireError>(())
//! ```

#![forbid(unsafe_code)]

mod batch_body;
mod big_endian;
mod compression;
mod digits;
mod error;
mod frame;
mod header;
mod header_binary;
mod header_json;
mod header_json_plain;
mod json_dialect;
mod json_text;
mod language;
mod log_item;
mod message_id;
mod properties;
pub mod property_names;
mod record;
mod record_encode;
mod record_error;
mod sys_flag;
mod tags_code;
mod topic_name;

pub use batch_body::{BatchMessage, iter_batch};
pub use big_endian::Cursor;
pub use compression::{COMPRESSION_LEVEL_DEFAULT, compress, decompress};
pub use digits::Digits;
pub use error::WireError;
pub use frame::{
    FRAME_SIZE_MAX_DEFAULT, Frame, FrameDecoder, FrameStep, FrameView, cut_frame, cut_frames, encode_frame,
    encode_frame_head,
};
pub use header::{EXT_FIELDS_MAX, ExtFields, HeaderKind, RemotingHeader};
pub use json_dialect::strict_json;
pub use language::Language;
pub use log_item::{BLANK_SIZE_MIN, LogItem, MAGIC_BLANK, MAGIC_V1, MAGIC_V2, encode_blank_into};
pub use message_id::{OffsetMessageId, UniqueMessageId};
pub use properties::{
    NAME_VALUE_SEPARATOR, PROPERTY_SEPARATOR, Properties, encode_properties, strip_record_crc,
};
pub use record::RecordView;
pub use record_encode::{
    PROPERTIES_SIZE_MAX, RECORD_CRC_SIZE, Record, TOPIC_SIZE_MAX, TOPIC_SIZE_MAX_V1, body_checksum,
};
pub use record_error::RecordError;
pub use sys_flag::{CompressionKind, SysFlag, TransactionKind};
pub use tags_code::{java_hash, key_hash, tags_code};
pub use topic_name::{
    DEAD_LETTER_TOPIC_PREFIX, GROUP_NAME_SIZE_MAX, RETRY_TOPIC_NAME_SIZE_MAX, RETRY_TOPIC_PREFIX,
    TOPIC_NAME_SIZE_MAX, check_group_name, check_topic_name,
};
