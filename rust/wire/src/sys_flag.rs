//! The system flag of a message: an int32 of bits, on disk and in the send header.
//!
//! ```text
//! bit   10 9 8          7            6            5           4          3 2          1           0
//!       compression     inner batch  need unwrap  store host  born host  transaction  multi tags  compressed
//!       kind                                      is IPv6     is IPv6    kind
//! ```
//! Bits that are not known here are kept as they are.

/// Where a message stands in its transaction: bits 2 and 3.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TransactionKind {
    /// No transaction, or a half message as it lies in the half topic.
    None,
    /// A prepare as the producer sends it; on disk it keeps the record out of its queue.
    Prepared,
    /// The final message of a committed transaction; also the decision in an end request.
    Commit,
    /// A rolled back message; also the decision in an end request.
    Rollback,
}

/// How a compressed body is compressed: bits 8 to 10.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CompressionKind {
    /// LZ4 frame format.
    Lz4,
    /// Zstandard.
    Zstd,
    /// zlib (RFC 1950), the default of every client.
    Zlib,
}

/// The system flag of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct SysFlag(pub i32);

impl SysFlag {
    /// The body is compressed.
    pub const COMPRESSED: i32 = 1;
    /// The message carries several tags; unused by brokers, kept.
    pub const MULTI_TAGS: i32 = 1 << 1;
    /// Both bits of the transaction kind.
    pub const TRANSACTION_MASK: i32 = 3 << 2;
    /// The born host is stored in 20 bytes instead of 8.
    pub const BORN_HOST_IPV6: i32 = 1 << 4;
    /// The store host is stored in 20 bytes instead of 8.
    pub const STORE_HOST_IPV6: i32 = 1 << 5;
    /// The body is a batch that the consumer has to unwrap.
    pub const NEED_UNWRAP: i32 = 1 << 6;
    /// One record stands for a batch of queue entries.
    pub const INNER_BATCH: i32 = 1 << 7;
    /// All bits of the compression kind.
    pub const COMPRESSION_MASK: i32 = 7 << 8;

    /// Whether all the given bits are set.
    #[must_use]
    pub const fn has(self, bits: i32) -> bool {
        self.0 & bits == bits
    }

    /// The same flag with the given bits set or cleared.
    #[must_use]
    pub const fn with(self, bits: i32, is_set: bool) -> Self {
        if is_set { Self(self.0 | bits) } else { Self(self.0 & !bits) }
    }

    /// Whether the body is compressed.
    #[must_use]
    pub const fn is_compressed(self) -> bool {
        self.has(Self::COMPRESSED)
    }

    /// Whether the born host is an IPv6 address.
    #[must_use]
    pub const fn is_born_host_ipv6(self) -> bool {
        self.has(Self::BORN_HOST_IPV6)
    }

    /// Whether the store host is an IPv6 address.
    #[must_use]
    pub const fn is_store_host_ipv6(self) -> bool {
        self.has(Self::STORE_HOST_IPV6)
    }

    /// The transaction kind.
    #[must_use]
    pub const fn transaction(self) -> TransactionKind {
        match (self.0 & Self::TRANSACTION_MASK) >> 2 {
            0 => TransactionKind::None,
            1 => TransactionKind::Prepared,
            2 => TransactionKind::Commit,
            _ => TransactionKind::Rollback,
        }
    }

    /// The same flag with another transaction kind.
    #[must_use]
    pub const fn with_transaction(self, kind: TransactionKind) -> Self {
        Self(self.0 & !Self::TRANSACTION_MASK | kind.bits())
    }

    /// The compression kind, whether or not the body is compressed. `None`: a number that no version defines.
    ///
    /// Compat: 0 reads as zlib, because clients before 4.9.3 compress without naming a kind.
    #[must_use]
    pub const fn compression(self) -> Option<CompressionKind> {
        match (self.0 & Self::COMPRESSION_MASK) >> 8 {
            1 => Some(CompressionKind::Lz4),
            2 => Some(CompressionKind::Zstd),
            0 | 3 => Some(CompressionKind::Zlib),
            _ => None,
        }
    }

    /// The same flag for a body compressed in this way, or for a plain body.
    #[must_use]
    pub const fn with_compression(self, kind: Option<CompressionKind>) -> Self {
        let cleared = self.0 & !(Self::COMPRESSED | Self::COMPRESSION_MASK);
        match kind {
            None => Self(cleared),
            Some(CompressionKind::Lz4) => Self(cleared | Self::COMPRESSED | 1 << 8),
            Some(CompressionKind::Zstd) => Self(cleared | Self::COMPRESSED | 2 << 8),
            Some(CompressionKind::Zlib) => Self(cleared | Self::COMPRESSED | 3 << 8),
        }
    }
}

impl TransactionKind {
    /// The kind as bits of a system flag; also the value of `commitOrRollback` in an end request.
    #[must_use]
    pub const fn bits(self) -> i32 {
        match self {
            Self::None => 0,
            Self::Prepared => 1 << 2,
            Self::Commit => 2 << 2,
            Self::Rollback => 3 << 2,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_values_are_those_of_the_protocol() {
        assert_eq!(TransactionKind::Commit.bits(), 8);
        assert_eq!(TransactionKind::Rollback.bits(), 12);
        assert_eq!(SysFlag(0x4).transaction(), TransactionKind::Prepared);
        assert_eq!(SysFlag(0x301).compression(), Some(CompressionKind::Zlib));
        assert_eq!(SysFlag(0x001).compression(), Some(CompressionKind::Zlib));
        assert_eq!(SysFlag(0x401).compression(), None);
        assert!(SysFlag(0x30).is_born_host_ipv6() && SysFlag(0x30).is_store_host_ipv6());
    }

    proptest! {
        #[test]
        fn a_setter_changes_only_its_own_bits(bits: i32) {
            let flag = SysFlag(bits);
            for kind in [TransactionKind::None, TransactionKind::Prepared, TransactionKind::Commit, TransactionKind::Rollback] {
                let changed = flag.with_transaction(kind);
                prop_assert_eq!(changed.transaction(), kind);
                prop_assert_eq!((changed.0 ^ bits) & !SysFlag::TRANSACTION_MASK, 0);
            }
            for kind in [CompressionKind::Lz4, CompressionKind::Zstd, CompressionKind::Zlib] {
                let changed = flag.with_compression(Some(kind));
                prop_assert!(changed.is_compressed());
                prop_assert_eq!(changed.compression(), Some(kind));
                prop_assert_eq!((changed.0 ^ bits) & !(SysFlag::COMPRESSED | SysFlag::COMPRESSION_MASK), 0);
            }
            prop_assert_eq!(flag.with(SysFlag::BORN_HOST_IPV6, true).with(SysFlag::BORN_HOST_IPV6, false).0, bits & !0x10);
        }
    }
}
