//! A commit-log record as it lies in the log, borrowed. Encoding is in `record_encode`.
//!
//! ```text
//!    0  total size      int32    all of the record, this field included
//!    4  magic           int32    V1, or V2 where the topic takes more than 127 bytes
//!    8  body checksum   int32    CRC-32 of the body, sign bit cleared
//!   12  queue id        int32
//!   16  flag            int32    the producer's own
//!   20  queue offset    int64
//!   28  log offset      int64    where the record itself stands
//!   36  system flag     int32    says which of the two hosts are IPv6
//!   40  born timestamp  int64
//!   48  born host       4 or 16 bytes of address, int32 port
//!  +8|20  store timestamp              int64
//!   +8  store host                     4 or 16 bytes of address, int32 port
//!  +8|20  reconsume times              int32
//!   +4  prepared transaction offset    int64
//!   +8  body size int32, body
//!       topic size int8 (V1) or int16 (V2), topic
//!       properties size int16, properties
//! ```
//! Sizes are signed in Java, so the high half of each range is an error, not a large value.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use memchr::memchr;

use crate::big_endian::{Cursor, array_at, i32_at, i64_at, u32_at, u64_at};
use crate::log_item::MAGIC_V1;
use crate::properties::{Properties, strip_record_crc};
use crate::record_encode::{RECORD_CRC_SIZE, Record, TOPIC_SIZE_MAX, body_checksum, crc_tail};
use crate::record_error::RecordError;
use crate::sys_flag::SysFlag;

const BORN_HOST_AT: usize = 48;
const HOST_SIZE_IPV4: usize = 8;
const HOST_SIZE_IPV6: usize = 20;
/// A record in the bytes of the log. Its structure has been checked; its checksum has not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordView<'a> {
    bytes: &'a [u8],
    store_timestamp_at: usize,
    reconsume_times_at: usize,
    body: &'a [u8],
    topic: &'a str,
    properties: &'a [u8],
}

impl<'a> RecordView<'a> {
    /// `bytes` are exactly the record, at least as large as the smallest one, and its magic is known.
    pub(crate) fn parse_fields(bytes: &'a [u8], at: u64) -> Result<Self, RecordError> {
        let found = u64_at(bytes, 28);
        if found != at {
            return Err(RecordError::WrongPosition { at, found });
        }
        let size = u32_at(bytes, 0);
        let sys_flag = SysFlag(i32_at(bytes, 36));
        let store_timestamp_at = BORN_HOST_AT + host_size(sys_flag.is_born_host_ipv6());
        let reconsume_times_at = store_timestamp_at + 8 + host_size(sys_flag.is_store_host_ipv6());
        let head_size = reconsume_times_at + 4 + 8;

        let out_of_bounds = |field, length| RecordError::BadFieldLength { at, field, length, size };
        let mut rest = Cursor::new(bytes.get(head_size..).unwrap_or_default());

        let length = rest.i32().ok_or(out_of_bounds("body", 0))?;
        let body = usize::try_from(length)
            .ok()
            .and_then(|length| rest.slice(length))
            .ok_or(out_of_bounds("body", i64::from(length)))?;

        let length = if u32_at(bytes, 4) == MAGIC_V1 {
            rest.array().map(i8::from_be_bytes).map(i16::from)
        } else {
            rest.i16()
        };
        let length = length.ok_or(out_of_bounds("topic", 0))?;
        // No broker accepts a longer name, and no directory could be made for it.
        let topic = usize::try_from(length)
            .ok()
            .filter(|&length| length <= TOPIC_SIZE_MAX)
            .and_then(|length| rest.slice(length))
            .ok_or(out_of_bounds("topic", i64::from(length)))?;

        let length = rest.i16().ok_or(out_of_bounds("properties", 0))?;
        let properties = usize::try_from(length)
            .ok()
            .and_then(|length| rest.slice(length))
            .ok_or(out_of_bounds("properties", i64::from(length)))?;

        if rest.remaining() > 0 {
            return Err(RecordError::SizeMismatch { at, size, found: bytes.len() - rest.remaining() });
        }
        let topic = std::str::from_utf8(topic)
            .map_err(|error| RecordError::TopicNotUtf8 { at, valid_size: error.valid_up_to() })?;
        Ok(Self { bytes, store_timestamp_at, reconsume_times_at, body, topic, properties })
    }

    /// The whole record as stored.
    #[must_use]
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Size of the whole record.
    #[must_use]
    pub fn size(&self) -> u32 {
        u32_at(self.bytes, 0)
    }

    /// [`MAGIC_V1`], or [`MAGIC_V2`](crate::MAGIC_V2) where the topic is long.
    #[must_use]
    pub fn magic(&self) -> u32 {
        u32_at(self.bytes, 4)
    }

    /// Checksum of the body as stored.
    #[must_use]
    pub fn body_crc(&self) -> u32 {
        u32_at(self.bytes, 8)
    }

    /// Queue of the topic.
    #[must_use]
    pub fn queue_id(&self) -> u32 {
        u32_at(self.bytes, 12)
    }

    /// The producer's own flag.
    #[must_use]
    pub fn flag(&self) -> i32 {
        i32_at(self.bytes, 16)
    }

    /// Position in the queue.
    #[must_use]
    pub fn queue_offset(&self) -> u64 {
        u64_at(self.bytes, 20)
    }

    /// Position in the log.
    #[must_use]
    pub fn log_offset(&self) -> u64 {
        u64_at(self.bytes, 28)
    }

    /// The system flag.
    #[must_use]
    pub fn sys_flag(&self) -> SysFlag {
        SysFlag(i32_at(self.bytes, 36))
    }

    /// When the producer made the message.
    #[must_use]
    pub fn born_timestamp_ms(&self) -> i64 {
        i64_at(self.bytes, 40)
    }

    /// Where the message came from.
    #[must_use]
    pub fn born_host(&self) -> SocketAddr {
        host_at(self.bytes, BORN_HOST_AT, self.sys_flag().is_born_host_ipv6())
    }

    /// When the broker appended the record.
    #[must_use]
    pub fn store_timestamp_ms(&self) -> i64 {
        i64_at(self.bytes, self.store_timestamp_at)
    }

    /// The broker that appended the record.
    #[must_use]
    pub fn store_host(&self) -> SocketAddr {
        host_at(self.bytes, self.store_timestamp_at + 8, self.sys_flag().is_store_host_ipv6())
    }

    /// How often the message was sent back by consumers.
    #[must_use]
    pub fn reconsume_times(&self) -> i32 {
        i32_at(self.bytes, self.reconsume_times_at)
    }

    /// Log offset of the half message that a final message comes from, else 0.
    #[must_use]
    pub fn prepared_transaction_offset(&self) -> i64 {
        i64_at(self.bytes, self.reconsume_times_at + 4)
    }

    /// The body as sent, compressed or not.
    #[must_use]
    pub fn body(&self) -> &'a [u8] {
        self.body
    }

    /// The topic.
    #[must_use]
    pub fn topic(&self) -> &'a str {
        self.topic
    }

    /// The raw property string.
    #[must_use]
    pub fn properties_bytes(&self) -> &'a [u8] {
        self.properties
    }

    /// The properties.
    #[must_use]
    pub fn properties(&self) -> Properties<'a> {
        Properties::new(self.properties)
    }

    /// Whether the record is complete: pages of a file reach the disk in any order, so a record whose structure is
    /// right may still have holes of zeros in its body, topic or properties after a power loss.
    ///
    /// Compat: the checksum of an empty body is not looked at, as in Java.
    ///
    /// # Errors
    /// [`RecordError::BodyChecksum`] or [`RecordError::Nul`].
    pub fn check_whole(&self) -> Result<(), RecordError> {
        let at = self.log_offset();
        for (field, bytes) in [("topic", self.topic.as_bytes()), ("properties", self.properties)] {
            if let Some(position) = memchr(0, bytes) {
                return Err(RecordError::Nul { at, field, position });
            }
        }
        if !self.body.is_empty() {
            let (expected, found) = (self.body_crc(), body_checksum(self.body));
            if expected != found {
                return Err(RecordError::BodyChecksum { at, expected, found });
            }
        }
        Ok(())
    }

    /// Whether the record agrees with the checksum in its own tail. `None`: it has no such tail.
    ///
    /// A mismatch is worth a report, but it never ends the log: Apache brokers write the tail only where
    /// `enabledAppendPropCRC` is set, and do not read it by default.
    #[must_use]
    pub fn check_record_crc(&self) -> Option<bool> {
        let (_, tail) = self.properties.split_last_chunk::<RECORD_CRC_SIZE>()?;
        let digits = tail.strip_prefix(b"__CRC32#\x01")?.strip_suffix(b"\x02")?;
        if !digits.iter().all(u8::is_ascii_digit) {
            return None;
        }
        let covered = &self.bytes[..self.bytes.len() - RECORD_CRC_SIZE];
        Some(crc_tail(body_checksum(covered)) == *tail)
    }

    /// The record with another topic and queue, as bytes: what else it says stays, but for a checksum over all of it,
    /// which would be wrong.
    ///
    /// # Errors
    /// [`RecordError::FieldTooLarge`].
    pub fn moved(&self, topic: &str, queue_id: u32) -> Result<Vec<u8>, RecordError> {
        let properties = strip_record_crc(self.properties);
        let record = Record { topic, queue_id, properties: &properties, ..self.to_record() };
        record.check_sizes()?;
        let mut bytes = Vec::with_capacity(record.encoded_size());
        record.encode_into(&mut bytes);
        Ok(bytes)
    }

    /// All values of the record, to be changed and encoded again.
    #[must_use]
    pub fn to_record(&self) -> Record<'a> {
        Record {
            queue_id: self.queue_id(),
            flag: self.flag(),
            queue_offset: self.queue_offset(),
            log_offset: self.log_offset(),
            sys_flag: self.sys_flag(),
            born_timestamp_ms: self.born_timestamp_ms(),
            born_host: self.born_host(),
            store_timestamp_ms: self.store_timestamp_ms(),
            store_host: self.store_host(),
            reconsume_times: self.reconsume_times(),
            prepared_transaction_offset: self.prepared_transaction_offset(),
            body: self.body,
            topic: self.topic,
            properties: self.properties,
        }
    }
}

const fn host_size(is_ipv6: bool) -> usize {
    if is_ipv6 { HOST_SIZE_IPV6 } else { HOST_SIZE_IPV4 }
}

/// Compat: the port is an int32 on disk; only its low 16 bits can mean anything.
fn host_at(bytes: &[u8], at: usize, is_ipv6: bool) -> SocketAddr {
    let (address, port_at) = if is_ipv6 {
        (IpAddr::V6(Ipv6Addr::from(array_at::<16>(bytes, at))), at + 16)
    } else {
        (IpAddr::V4(Ipv4Addr::from(array_at::<4>(bytes, at))), at + 4)
    };
    SocketAddr::new(address, u16::from_be_bytes(array_at(bytes, port_at + 2)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log_item::LogItem;

    fn check(body: &[u8], damage: impl FnOnce(&mut Vec<u8>)) -> Result<(), RecordError> {
        let mut bytes = Vec::new();
        let host = SocketAddr::from(([10, 0, 0, 1], 10_911));
        Record {
            queue_id: 0,
            flag: 0,
            queue_offset: 0,
            log_offset: 64,
            sys_flag: SysFlag(0),
            born_timestamp_ms: 1,
            born_host: host,
            store_timestamp_ms: 2,
            store_host: host,
            reconsume_times: 0,
            prepared_transaction_offset: 0,
            body,
            topic: "topic",
            properties: b"a\x01b\x02",
        }
        .encode_into(&mut bytes);
        damage(&mut bytes);
        match LogItem::parse(&bytes, 64) {
            Ok(LogItem::Record(view)) => view.check_whole(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_record_that_is_moved_says_everything_else_as_before() {
        let host = SocketAddr::from(([0, 0, 0, 0, 0, 0, 0, 1], 10_911));
        let half = Record {
            queue_id: 0,
            flag: 7,
            queue_offset: 17,
            log_offset: 64,
            sys_flag: SysFlag(1),
            born_timestamp_ms: 1,
            born_host: host,
            store_timestamp_ms: 2,
            store_host: host,
            reconsume_times: 3,
            prepared_transaction_offset: 4,
            body: b"body",
            topic: "RMQ_SYS_TRANS_HALF_TOPIC",
            properties: b"a\x01b\x02",
        };
        let mut bytes = Vec::new();
        half.encode_with_crc_into(&mut bytes);
        let Ok(LogItem::Record(view)) = LogItem::parse(&bytes, 64) else { panic!("a record") };
        for topic in ["payments".to_owned(), "p".repeat(200)] {
            let moved = view.moved(&topic, 3).expect("it fits");
            let Ok(LogItem::Record(found)) = LogItem::parse(&moved, 64) else { panic!("a record") };
            let sys_flag = view.sys_flag();
            assert_eq!(found.to_record(), Record { topic: &topic, queue_id: 3, sys_flag, ..half });
            assert_eq!((found.bytes().len(), found.body_crc()), (moved.len(), view.body_crc()));
        }
        assert!(matches!(
            view.moved(&"p".repeat(256), 3),
            Err(RecordError::FieldTooLarge { field: "topic", .. })
        ));
    }

    #[test]
    fn holes_of_zeros_are_found_by_the_full_check() {
        assert_eq!(check(b"body", |_| {}), Ok(()));
        let error = check(b"body", |bytes| bytes[89] = 0);
        assert!(matches!(error, Err(RecordError::BodyChecksum { at: 64, .. })), "{error:?}");
        let error = check(b"body", |bytes| bytes[94] = 0);
        assert_eq!(error, Err(RecordError::Nul { at: 64, field: "topic", position: 1 }));
        let error = check(b"body", |bytes| bytes[103] = 0);
        assert_eq!(error, Err(RecordError::Nul { at: 64, field: "properties", position: 3 }));
    }

    #[test]
    fn the_checksum_of_an_empty_body_is_not_looked_at() {
        assert_eq!(check(b"", |bytes| bytes[11] = 7), Ok(()));
        assert!(check(b"x", |bytes| bytes[11] ^= 7).is_err());
    }
}
