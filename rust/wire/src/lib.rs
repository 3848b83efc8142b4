//! Bytes and values of the `RocketMQ` wire and disk formats. Pure: no files, sockets, clock or Python.

#![forbid(unsafe_code)]

mod batch_body;
mod big_endian;
mod compression;
mod error;
mod frame;
mod header;
mod header_binary;
mod header_json;
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
pub use compression::{COMPRESSION_LEVEL_DEFAULT, compress, decompress};
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
pub use record_encode::{PROPERTIES_SIZE_MAX, RECORD_CRC_SIZE, Record, TOPIC_SIZE_MAX, TOPIC_SIZE_MAX_V1};
pub use record_error::RecordError;
pub use sys_flag::{CompressionKind, SysFlag, TransactionKind};
pub use tags_code::{java_hash, key_hash, tags_code};
pub use topic_name::{
    DEAD_LETTER_TOPIC_PREFIX, GROUP_NAME_SIZE_MAX, RETRY_TOPIC_NAME_SIZE_MAX, RETRY_TOPIC_PREFIX,
    TOPIC_NAME_SIZE_MAX, check_group_name, check_topic_name,
};
