//! The two ids of a message, both upper-case hexadecimal of 32 digits (IPv4) or 56 (IPv6).
//!
//! ```text
//! offset id   address 4|16 | port int32 | log offset int64                              made by the broker
//! unique id   address 4|16 | process int16 | hash int32 | month ms int32 | counter int16   made by the producer
//! ```

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

use crate::big_endian::{array_at, u32_at, u64_at};
use crate::error::WireError;

const BYTES_MAX: usize = 28;
/// Everything in either id but the address.
const REST_SIZE: usize = 12;

/// Where a message lies: its broker and its place in the broker's log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct OffsetMessageId {
    /// The broker.
    pub store_host: SocketAddr,
    /// Position in its log.
    pub log_offset: u64,
}

impl fmt::Display for OffsetMessageId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = HexText::of_address(self.store_host.ip());
        text.push(&u32::from(self.store_host.port()).to_be_bytes());
        text.push(&self.log_offset.to_be_bytes());
        formatter.write_str(text.as_str())
    }
}

impl FromStr for OffsetMessageId {
    type Err = WireError;

    fn from_str(text: &str) -> Result<Self, WireError> {
        let (bytes, size) = parse_hex(text)?;
        let (address, at) = address(&bytes, size);
        let port = u32_at(&bytes, at);
        let port = u16::try_from(port).map_err(|_| WireError::MessageIdPort { port })?;
        Ok(Self { store_host: SocketAddr::new(address, port), log_offset: u64_at(&bytes, at + 4) })
    }
}

/// The id that a producer gives a message before it sends it: `UNIQ_KEY`, and the id of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct UniqueMessageId {
    /// Address of the producer.
    pub address: IpAddr,
    /// Low 16 bits of the process id.
    pub process_id: u16,
    /// Tells producers within one process apart; a hash of the class loader in Java.
    pub producer_hash: u32,
    /// Milliseconds since the first of the month.
    pub month_ms: u32,
    /// Counts the messages, and wraps.
    pub counter: u16,
}

impl UniqueMessageId {
    /// The time part of an id: milliseconds between the start of the month, in UTC, and `now_ms` since 1970.
    ///
    /// A month has more milliseconds than an int32: Java overflows into the sign bit and prints the same digits.
    #[must_use]
    pub fn month_ms_at(now_ms: i64) -> u32 {
        const DAY_MS: i64 = 86_400_000;
        let day_of_month = i64::from(day_of_month(now_ms.div_euclid(DAY_MS)));
        let month_ms = (day_of_month - 1) * DAY_MS + now_ms.rem_euclid(DAY_MS);
        u32::try_from(month_ms).unwrap_or_default()
    }
}

/// Day of the month, from 1, of a day counted from 1970-01-01 in the Gregorian calendar.
fn day_of_month(days: i64) -> u8 {
    // Years are counted from March, so that the leap day comes last; eras are the 400 years after which days repeat.
    let day_of_era = (days + 719_468).rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    u8::try_from(day_of_year - (153 * month + 2) / 5 + 1).unwrap_or(1)
}

impl fmt::Display for UniqueMessageId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = HexText::of_address(self.address);
        text.push(&self.process_id.to_be_bytes());
        text.push(&self.producer_hash.to_be_bytes());
        text.push(&self.month_ms.to_be_bytes());
        text.push(&self.counter.to_be_bytes());
        formatter.write_str(text.as_str())
    }
}

impl FromStr for UniqueMessageId {
    type Err = WireError;

    fn from_str(text: &str) -> Result<Self, WireError> {
        let (bytes, size) = parse_hex(text)?;
        let (address, at) = address(&bytes, size);
        Ok(Self {
            address,
            process_id: u16::from_be_bytes(array_at(&bytes, at)),
            producer_hash: u32_at(&bytes, at + 2),
            month_ms: u32_at(&bytes, at + 6),
            counter: u16::from_be_bytes(array_at(&bytes, at + 10)),
        })
    }
}

/// An id as it is written. Every answer to a send holds one, and the standard formatter goes digit by digit.
struct HexText {
    digits: [u8; 2 * BYTES_MAX],
    size: usize,
}

impl HexText {
    fn of_address(address: IpAddr) -> Self {
        let mut text = Self { digits: [0; 2 * BYTES_MAX], size: 0 };
        match address {
            IpAddr::V4(address) => text.push(&address.octets()),
            IpAddr::V6(address) => text.push(&address.octets()),
        }
        text
    }

    fn push(&mut self, bytes: &[u8]) {
        const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
        for byte in bytes {
            self.digits[self.size] = DIGITS[usize::from(byte >> 4)];
            self.digits[self.size + 1] = DIGITS[usize::from(byte & 0xF)];
            self.size += 2;
        }
    }

    fn as_str(&self) -> &str {
        std::str::from_utf8(&self.digits[..self.size]).unwrap_or_default()
    }
}

fn address(bytes: &[u8; BYTES_MAX], size: usize) -> (IpAddr, usize) {
    if size == BYTES_MAX {
        (IpAddr::V6(Ipv6Addr::from(array_at::<16>(bytes, 0))), 16)
    } else {
        (IpAddr::V4(Ipv4Addr::from(array_at::<4>(bytes, 0))), 4)
    }
}

/// Compat: Java takes lower-case digits too.
fn parse_hex(text: &str) -> Result<([u8; BYTES_MAX], usize), WireError> {
    if ![2 * (4 + REST_SIZE), 2 * BYTES_MAX].contains(&text.len()) {
        return Err(WireError::MessageIdSize { size: text.len() });
    }
    let mut bytes = [0; BYTES_MAX];
    for (position, digit) in text.bytes().enumerate() {
        let value = match digit {
            b'0'..=b'9' => digit - b'0',
            b'A'..=b'F' => digit - b'A' + 10,
            b'a'..=b'f' => digit - b'a' + 10,
            _ => return Err(WireError::MessageIdDigit { position }),
        };
        bytes[position / 2] = bytes[position / 2] << 4 | value;
    }
    Ok((bytes, text.len() / 2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn recorded_ids_come_back() {
        let text = "7F00000100002A9F0000000000000128";
        let id: OffsetMessageId = text.parse().expect("an id");
        assert_eq!(
            id,
            OffsetMessageId { store_host: SocketAddr::from(([127, 0, 0, 1], 10_911)), log_offset: 296 }
        );
        assert_eq!(id.to_string(), text);

        let text = "FD000000000000000000000000000002478630946E0959058FD00001";
        let id: UniqueMessageId = text.parse().expect("an id");
        assert_eq!((id.process_id, id.month_ms, id.counter), (0x4786, 0x5905_8FD0, 1));
        assert_eq!(id.to_string(), text);
        // The recording was made on 2026-11-18; its host ran in UTC.
        assert_eq!(UniqueMessageId::month_ms_at(1_794_984_736_720), id.month_ms);
    }

    #[test]
    fn what_is_no_id_is_refused() {
        assert_eq!("".parse::<UniqueMessageId>(), Err(WireError::MessageIdSize { size: 0 }));
        assert_eq!("0".repeat(33).parse::<UniqueMessageId>(), Err(WireError::MessageIdSize { size: 33 }));
        let text = format!("{}g{}", "0".repeat(31), "");
        assert_eq!(text.parse::<OffsetMessageId>(), Err(WireError::MessageIdDigit { position: 31 }));
        let text = format!("{}00010000{}", "0".repeat(8), "0".repeat(16));
        assert_eq!(text.parse::<OffsetMessageId>(), Err(WireError::MessageIdPort { port: 0x1_0000 }));
    }

    #[test]
    fn months_start_where_the_calendar_says() {
        const DAY_MS: i64 = 86_400_000;
        // Days from 1970-01-01 to each date.
        for (days, day) in
            [(0, 1), (30, 31), (31, 1), (11_016, 29), (11_017, 1), (19_782, 29), (19_783, 1), (-1, 31)]
        {
            let expected = u32::try_from((day - 1) * DAY_MS).expect("less than a month");
            assert_eq!(UniqueMessageId::month_ms_at(days * DAY_MS), expected, "day {days}");
        }
        assert_eq!(UniqueMessageId::month_ms_at(31 * DAY_MS - 1), 2_678_399_999);
    }

    proptest! {
        #[test]
        fn ids_come_back(
            address: IpAddr, port: u16, log_offset: u64, process_id: u16, producer_hash: u32, month_ms: u32, counter: u16,
        ) {
            let id = OffsetMessageId { store_host: SocketAddr::new(address, port), log_offset };
            prop_assert_eq!(id.to_string().parse::<OffsetMessageId>()?, id);
            let id = UniqueMessageId { address, process_id, producer_hash, month_ms, counter };
            prop_assert_eq!(id.to_string().to_lowercase().parse::<UniqueMessageId>()?, id);
        }

        #[test]
        fn no_text_panics(text in "\\PC{0,60}|[0-9a-fé]{28,60}", now_ms: i64) {
            let _ = (text.parse::<OffsetMessageId>(), text.parse::<UniqueMessageId>());
            let _ = UniqueMessageId::month_ms_at(now_ms);
        }
    }
}
