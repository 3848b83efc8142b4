//! Values to the bytes of a commit-log record; the layout is drawn in `record`. This runs once per append, inside
//! the log's lock: a head built on the stack, and a copy of each of body, topic and properties to where they will lie.

use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{Ordering, fence};

use crate::log_item::{MAGIC_V1, MAGIC_V2};
use crate::properties::PROPERTY_SEPARATOR;
use crate::record_error::RecordError;
use crate::sys_flag::SysFlag;

/// Largest property string: its size is an int16.
pub const PROPERTIES_SIZE_MAX: usize = 32_767;
/// Longest topic: that of a retry or dead-letter queue.
pub const TOPIC_SIZE_MAX: usize = 255;
/// Longest topic of a V1 record: its size is an int8.
pub const TOPIC_SIZE_MAX_V1: usize = 127;
/// Size of the checksum pair at the end of the properties: `__CRC32# 01`, ten digits, `02`.
pub const RECORD_CRC_SIZE: usize = 20;

/// Size and magic, which make a record of what follows.
const MARK_SIZE: usize = 8;
/// Everything before the body, its size included, with two IPv6 hosts.
const HEAD_SIZE_MAX: usize = 112;
/// The sign bit is cleared, as Java does to keep the number positive.
const CHECKSUM_MASK: u32 = 0x7FFF_FFFF;

/// All values of one record. Appending assigns `queue_offset`, `log_offset` and `store_timestamp_ms`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record<'a> {
    /// Queue of the topic.
    pub queue_id: u32,
    /// The producer's own flag.
    pub flag: i32,
    /// Position in the queue.
    pub queue_offset: u64,
    /// Position in the log.
    pub log_offset: u64,
    /// The system flag; encoding sets its two IPv6 bits from the hosts.
    pub sys_flag: SysFlag,
    /// When the producer made the message.
    pub born_timestamp_ms: i64,
    /// Where the message came from.
    pub born_host: SocketAddr,
    /// When the broker appends the record.
    pub store_timestamp_ms: i64,
    /// The broker that appends the record.
    pub store_host: SocketAddr,
    /// How often the message was sent back by consumers.
    pub reconsume_times: i32,
    /// Log offset of the half message that a final message comes from, else 0.
    pub prepared_transaction_offset: i64,
    /// The body as sent, compressed or not.
    pub body: &'a [u8],
    /// The topic.
    pub topic: &'a str,
    /// The raw property string.
    pub properties: &'a [u8],
}

impl Record<'_> {
    /// Whether the record can be encoded, with a checksum tail too. What comes from a client is checked here once;
    /// the encoders assert the same.
    ///
    /// # Errors
    /// [`RecordError::FieldTooLarge`].
    pub fn check_sizes(&self) -> Result<(), RecordError> {
        let tail_size = self.crc_separator_size() + RECORD_CRC_SIZE;
        let record_size_max = i32::MAX.unsigned_abs() as usize;
        for (field, size, size_max) in [
            ("topic", self.topic.len(), TOPIC_SIZE_MAX),
            ("properties", self.properties.len(), PROPERTIES_SIZE_MAX - tail_size),
            ("record", self.encoded_size_with_crc(), record_size_max),
        ] {
            if size > size_max {
                return Err(RecordError::FieldTooLarge { field, size, size_max });
            }
        }
        Ok(())
    }

    /// Bytes that [`Self::encode_into`] writes.
    #[must_use]
    pub fn encoded_size(&self) -> usize {
        let topic_size_size = if self.topic.len() > TOPIC_SIZE_MAX_V1 { 2 } else { 1 };
        self.head_size() + self.body.len() + topic_size_size + self.topic.len() + 2 + self.properties.len()
    }

    /// Bytes that [`Self::encode_with_crc_into`] writes.
    #[must_use]
    pub fn encoded_size_with_crc(&self) -> usize {
        self.encoded_size() + self.crc_separator_size() + RECORD_CRC_SIZE
    }

    /// Appends the record and returns its size. The body's checksum is computed here.
    ///
    /// # Panics
    /// If a field is larger than the format can hold.
    pub fn encode_into(&self, out: &mut Vec<u8>) -> usize {
        grow(out, self.encoded_size(), |record| self.encode_to(record))
    }

    /// Appends the record with a checksum over all of it as the last property, and returns its size. The properties
    /// must not hold such a pair already: `strip_record_crc` removes it.
    ///
    /// # Panics
    /// If a field is larger than the format can hold.
    pub fn encode_with_crc_into(&self, out: &mut Vec<u8>) -> usize {
        grow(out, self.encoded_size_with_crc(), |record| self.encode_with_crc_to(record))
    }

    /// Writes the record where it will lie.
    ///
    /// # Panics
    /// If `out` does not have [`encoded_size`](Self::encoded_size), or a field is larger than the format can hold.
    pub fn encode_to(&self, out: &mut [u8]) {
        let rest = self.encode_fields(self.properties.len(), out);
        assert!(rest.is_empty(), "room for the record and {} bytes more", rest.len());
    }

    /// Writes the record where it will lie, with a checksum over all of it as the last property.
    ///
    /// # Panics
    /// If `out` does not have [`encoded_size_with_crc`](Self::encoded_size_with_crc), or a field is larger than the format
    /// can hold.
    pub fn encode_with_crc_to(&self, out: &mut [u8]) {
        let separator_size = self.crc_separator_size();
        let rest = self.encode_fields(self.properties.len() + separator_size + RECORD_CRC_SIZE, out);
        rest[..separator_size].fill(PROPERTY_SEPARATOR);
        let (covered, tail) = out.split_at_mut(out.len() - RECORD_CRC_SIZE);
        tail.copy_from_slice(&crc_tail(body_checksum(covered)));
    }

    /// Writes everything but a checksum pair, and returns what is left of `out`.
    ///
    /// Size and magic come last. `out` may be a mapped file, which the kernel may write to the disk at any moment: what
    /// it catches in the middle has no magic and is no record, where one with zeros for a queue would pass for whole.
    fn encode_fields<'a>(&self, properties_size: usize, out: &'a mut [u8]) -> &'a mut [u8] {
        let size = i32::try_from(out.len()).expect("a record takes less than 2 GiB");
        let properties_size = i16::try_from(properties_size).expect("properties take at most 32,767 bytes");
        let topic_size = u8::try_from(self.topic.len()).expect("a topic takes at most 255 bytes");
        let topic_size_size = if self.topic.len() > TOPIC_SIZE_MAX_V1 { 2 } else { 1 };

        let (head, head_size) = self.head(size);
        let (mark, rest) = out.split_at_mut(MARK_SIZE);
        let rest = put(rest, &head[MARK_SIZE..head_size]);
        let rest = put(rest, self.body);
        let rest = put(rest, &u16::from(topic_size).to_be_bytes()[2 - topic_size_size..]);
        let rest = put(rest, self.topic.as_bytes());
        let rest = put(rest, &properties_size.to_be_bytes());
        let rest = put(rest, self.properties);
        fence(Ordering::Release);
        mark.copy_from_slice(&head[..MARK_SIZE]);
        rest
    }

    /// Everything before the body, its size included.
    fn head(&self, size: i32) -> ([u8; HEAD_SIZE_MAX], usize) {
        let magic = if self.topic.len() > TOPIC_SIZE_MAX_V1 { MAGIC_V2 } else { MAGIC_V1 };
        let sys_flag = self
            .sys_flag
            .with(SysFlag::BORN_HOST_IPV6, self.born_host.is_ipv6())
            .with(SysFlag::STORE_HOST_IPV6, self.store_host.is_ipv6());
        let body_size = u32::try_from(self.body.len()).expect("a body is smaller than its record");

        let mut head = Head { bytes: [0; HEAD_SIZE_MAX], size: 0 };
        head.put(size.to_be_bytes());
        head.put(magic.to_be_bytes());
        head.put(body_checksum(self.body).to_be_bytes());
        head.put(self.queue_id.to_be_bytes());
        head.put(self.flag.to_be_bytes());
        head.put(self.queue_offset.to_be_bytes());
        head.put(self.log_offset.to_be_bytes());
        head.put(sys_flag.0.to_be_bytes());
        head.put(self.born_timestamp_ms.to_be_bytes());
        head.put_host(self.born_host);
        head.put(self.store_timestamp_ms.to_be_bytes());
        head.put_host(self.store_host);
        head.put(self.reconsume_times.to_be_bytes());
        head.put(self.prepared_transaction_offset.to_be_bytes());
        head.put(body_size.to_be_bytes());
        (head.bytes, head.size)
    }

    fn head_size(&self) -> usize {
        let ipv4_hosts = usize::from(self.born_host.is_ipv4()) + usize::from(self.store_host.is_ipv4());
        HEAD_SIZE_MAX - 12 * ipv4_hosts
    }

    /// Java adds the separator that the last pair may lack, else the checksum would become part of its value.
    fn crc_separator_size(&self) -> usize {
        usize::from(self.properties.last().is_some_and(|&last| last != PROPERTY_SEPARATOR))
    }
}

/// Copies `bytes` to the front of `out` and returns what is left.
fn put<'a>(out: &'a mut [u8], bytes: &[u8]) -> &'a mut [u8] {
    let (front, rest) = out.split_at_mut(bytes.len());
    front.copy_from_slice(bytes);
    rest
}

/// Grows `out` by `size` bytes for `encode` to write.
fn grow(out: &mut Vec<u8>, size: usize, encode: impl FnOnce(&mut [u8])) -> usize {
    let start = out.len();
    out.resize(start + size, 0);
    encode(&mut out[start..]);
    size
}

/// The head under construction.
struct Head {
    bytes: [u8; HEAD_SIZE_MAX],
    size: usize,
}

impl Head {
    fn put<const N: usize>(&mut self, value: [u8; N]) {
        self.bytes[self.size..self.size + N].copy_from_slice(&value);
        self.size += N;
    }

    fn put_host(&mut self, host: SocketAddr) {
        match host.ip() {
            IpAddr::V4(address) => self.put(address.octets()),
            IpAddr::V6(address) => self.put(address.octets()),
        }
        self.put(u32::from(host.port()).to_be_bytes());
    }
}

/// The checksum of a body as a record has it.
#[must_use]
pub fn body_checksum(body: &[u8]) -> u32 {
    crc32fast::hash(body) & CHECKSUM_MASK
}

/// The checksum pair: ten digits, the least significant first.
pub(crate) fn crc_tail(checksum: u32) -> [u8; RECORD_CRC_SIZE] {
    let mut tail = *b"__CRC32#\x010000000000\x02";
    let mut rest = checksum;
    for digit in &mut tail[9..19] {
        *digit += (rest % 10) as u8;
        rest /= 10;
    }
    tail
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log_item::LogItem;
    use proptest::prelude::*;
    use std::net::{Ipv4Addr, Ipv6Addr};

    const AT: u64 = 0x1_0000_0000;

    fn record<'a>(body: &'a [u8], topic: &'a str, properties: &'a [u8]) -> Record<'a> {
        Record {
            queue_id: 3,
            flag: -1,
            queue_offset: 17,
            log_offset: AT,
            sys_flag: SysFlag(8),
            born_timestamp_ms: 1_794_984_736_720,
            born_host: SocketAddr::from((Ipv4Addr::LOCALHOST, 40_000)),
            store_timestamp_ms: 1_794_984_736_743,
            store_host: SocketAddr::from((Ipv4Addr::new(10, 0, 0, 2), 10_911)),
            reconsume_times: 2,
            prepared_transaction_offset: 296,
            body,
            topic,
            properties,
        }
    }

    fn encoded(record: &Record<'_>) -> Vec<u8> {
        let mut out = Vec::new();
        assert_eq!(record.encode_into(&mut out), out.len());
        assert_eq!(record.encoded_size(), out.len());
        out
    }

    fn view(bytes: &[u8]) -> crate::RecordView<'_> {
        match LogItem::parse(bytes, AT) {
            Ok(LogItem::Record(view)) => view,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_layout_is_that_of_the_protocol() {
        let bytes = encoded(&record(b"hello", "t", b"a\x01b\x02"));
        assert_eq!(bytes.len(), 88 + 5 + 1 + 1 + 2 + 4);
        assert_eq!(bytes[..8], [0, 0, 0, 101, 0xDA, 0xA3, 0x20, 0xA7]);
        assert_eq!(bytes[8..12], (0x3610_A686_u32).to_be_bytes());
        assert_eq!(bytes[48..56], [127, 0, 0, 1, 0, 0, 0x9C, 0x40]);
        assert_eq!(bytes[84..], *b"\0\0\0\x05hello\x01t\0\x04a\x01b\x02");
    }

    #[test]
    fn a_long_topic_makes_a_v2_record() {
        for (size, magic) in [(127, MAGIC_V1), (128, MAGIC_V2), (255, MAGIC_V2)] {
            let topic = "t".repeat(size);
            let bytes = encoded(&record(b"x", &topic, b""));
            assert_eq!(view(&bytes).magic(), magic);
            assert_eq!(view(&bytes).topic(), topic);
        }
    }

    #[test]
    fn the_checksum_tail_covers_the_record() {
        for properties in [&b""[..], b"a\x01b\x02", b"a\x01b"] {
            let record = record(b"body", "orders", properties);
            let mut bytes = Vec::new();
            assert_eq!(record.encode_with_crc_into(&mut bytes), bytes.len());
            assert_eq!(record.encoded_size_with_crc(), bytes.len());
            assert_eq!(view(&bytes).check_record_crc(), Some(true));
            assert_eq!(view(&bytes).properties().get("a"), (!properties.is_empty()).then_some("b"));
            bytes[41] ^= 1;
            assert_eq!(view(&bytes).check_record_crc(), Some(false));
            assert_eq!(view(&bytes).check_whole(), Ok(()));
            assert_eq!(view(&encoded(&record)).check_record_crc(), None);
        }
        assert_eq!(crc_tail(120), *b"__CRC32#\x010210000000\x02");
    }

    #[test]
    fn sizes_are_checked_before_they_are_asserted() {
        let long = "t".repeat(256);
        assert!(matches!(
            record(b"", &long, b"").check_sizes(),
            Err(RecordError::FieldTooLarge { field: "topic", size: 256, .. })
        ));
        let properties = vec![b'p'; PROPERTIES_SIZE_MAX];
        assert!(matches!(
            record(b"", "t", &properties).check_sizes(),
            Err(RecordError::FieldTooLarge { field: "properties", .. })
        ));
        let mut out = Vec::new();
        let largest = record(b"", "t", &properties[..PROPERTIES_SIZE_MAX - RECORD_CRC_SIZE - 1]);
        assert_eq!(largest.check_sizes(), Ok(()));
        assert_eq!(largest.encode_with_crc_into(&mut out), out.len());
    }

    fn any_host() -> impl Strategy<Value = SocketAddr> {
        prop_oneof![
            any::<(u32, u16)>().prop_map(|(ip, port)| SocketAddr::from((Ipv4Addr::from(ip), port))),
            any::<(u128, u16)>().prop_map(|(ip, port)| SocketAddr::from((Ipv6Addr::from(ip), port))),
        ]
    }

    proptest! {
        #[test]
        fn values_come_back(
            (queue_id, flag, queue_offset, sys_flag, reconsume_times) in any::<(u32, i32, u64, i32, i32)>(),
            (born_timestamp_ms, store_timestamp_ms, prepared_transaction_offset) in any::<(i64, i64, i64)>(),
            (born_host, store_host) in (any_host(), any_host()),
            body: Vec<u8>, topic in "[a-z%é]{0,120}", properties: Vec<u8>,
        ) {
            let wanted = Record {
                queue_id, flag, queue_offset, log_offset: AT, born_timestamp_ms, born_host, store_timestamp_ms,
                store_host, reconsume_times, prepared_transaction_offset,
                sys_flag: SysFlag(sys_flag)
                    .with(SysFlag::BORN_HOST_IPV6, born_host.is_ipv6())
                    .with(SysFlag::STORE_HOST_IPV6, store_host.is_ipv6()),
                body: &body, topic: &topic, properties: &properties,
            };
            let mut bytes = encoded(&wanted);
            let size = bytes.len();
            bytes.extend_from_slice(b"what follows");
            let found = view(&bytes);
            prop_assert_eq!(found.to_record(), wanted);
            prop_assert_eq!(found.bytes(), &bytes[..size]);
            prop_assert_eq!(found.check_whole().is_ok(), !properties.contains(&0));
            // The bits in the flag never decide: the addresses do.
            let turned = Record { sys_flag: SysFlag(wanted.sys_flag.0 ^ 0x30), ..wanted };
            prop_assert_eq!(encoded(&turned), &bytes[..size]);
        }
    }
}
