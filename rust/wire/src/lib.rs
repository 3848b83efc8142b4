//! Bytes and values of the `RocketMQ` wire and disk formats. Pure: no files, sockets, clock or Python.

#![forbid(unsafe_code)]

mod big_endian;
mod properties;
pub mod property_names;
mod record;
mod record_encode;
mod record_error;
mod sys_flag;
mod tags_code;

pub use properties::{
    NAME_VALUE_SEPARATOR, PROPERTY_SEPARATOR, Properties, encode_properties, strip_record_crc,
};
pub use record::{BLANK_SIZE_MIN, LogItem, MAGIC_BLANK, MAGIC_V1, MAGIC_V2, RecordView};
pub use record_encode::{
    PROPERTIES_SIZE_MAX, RECORD_CRC_SIZE, Record, TOPIC_SIZE_MAX, TOPIC_SIZE_MAX_V1,
    encode_blank_into,
};
pub use record_error::RecordError;
pub use sys_flag::{CompressionKind, SysFlag, TransactionKind};
pub use tags_code::{java_hash, key_hash, tags_code};
