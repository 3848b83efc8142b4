//! Random messages, and the bytes that the log must hold for them.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use escrowmq_store::simulation::Random;
use escrowmq_store::{NewMessage, Receipt};
use escrowmq_wire::{Record, SysFlag, TransactionKind, encode_properties};

/// Queues of a topic.
pub const QUEUES: u32 = 3;

/// A message that owns its parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    pub topic: String,
    pub queue_id: u32,
    pub sys_flag: SysFlag,
    pub born_timestamp_ms: i64,
    pub born_host: SocketAddr,
    pub store_host: SocketAddr,
    pub prepared_transaction_offset: i64,
    pub body: Vec<u8>,
    pub keys: Vec<String>,
    pub unique_key: Option<String>,
    pub tags: Option<String>,
}

impl Message {
    /// Any message; `number` makes its keys and its body its own.
    pub fn random(random: &mut Random, number: usize, now_ms: i64) -> Self {
        let topic =
            random.pick(&["orders", "payments", "RMQ_SYS_TRANS_HALF_TOPIC", "%RETRY%group"]).to_string();
        let kind = match random.below(10) {
            0 => TransactionKind::Prepared,
            1 => TransactionKind::Rollback,
            2 => TransactionKind::Commit,
            _ => TransactionKind::None,
        };
        let host = |random: &mut Random, port| match random.below(5) {
            0 => SocketAddr::from((Ipv6Addr::LOCALHOST, port)),
            _ => SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
        };
        let born_host = host(random, 40_000);
        let store_host = host(random, 10_911);
        let keys = (0..random.below(3)).map(|_| format!("key{}", random.below(20))).collect();
        Self {
            topic,
            queue_id: u32::try_from(random.below(QUEUES as usize)).expect("small"),
            sys_flag: SysFlag(0)
                .with_transaction(kind)
                .with(SysFlag::BORN_HOST_IPV6, born_host.is_ipv6())
                .with(SysFlag::STORE_HOST_IPV6, store_host.is_ipv6()),
            born_timestamp_ms: now_ms - 5,
            born_host,
            store_host,
            prepared_transaction_offset: if kind == TransactionKind::Commit { 17 } else { 0 },
            body: random_body(random, number),
            keys,
            unique_key: random.chance(70).then(|| format!("unique{number}")),
            tags: random.chance(50).then(|| format!("tag{}", random.below(4))),
        }
    }

    /// The property string.
    pub fn properties(&self) -> Vec<u8> {
        let keys = (!self.keys.is_empty()).then(|| ("KEYS", self.keys.join(" ")));
        let unique_key = self.unique_key.clone().map(|key| ("UNIQ_KEY", key));
        let tags = self.tags.clone().map(|tags| ("TAGS", tags));
        let mut properties = Vec::new();
        encode_properties([keys, unique_key, tags].into_iter().flatten(), &mut properties);
        properties
    }

    /// The message as the store takes it.
    pub fn to_new<'a>(&'a self, properties: &'a [u8]) -> NewMessage<'a> {
        NewMessage {
            topic: &self.topic,
            queue_id: i32::try_from(self.queue_id).expect("small"),
            flag: 7,
            sys_flag: self.sys_flag,
            born_timestamp_ms: self.born_timestamp_ms,
            born_host: self.born_host,
            store_host: Some(self.store_host),
            is_stored: false,
            reconsume_times: 0,
            prepared_transaction_offset: self.prepared_transaction_offset,
            body: &self.body,
            properties,
        }
    }

    /// The bytes that the log must hold for it.
    pub fn record_bytes(&self, receipt: &Receipt, has_record_crc: bool) -> Vec<u8> {
        let properties = self.properties();
        let record = Record {
            queue_id: self.queue_id,
            flag: 7,
            queue_offset: receipt.queue_offset.0,
            log_offset: receipt.log_offset.0,
            sys_flag: self.sys_flag,
            born_timestamp_ms: self.born_timestamp_ms,
            born_host: self.born_host,
            store_timestamp_ms: receipt.store_timestamp_ms,
            store_host: self.store_host,
            reconsume_times: 0,
            prepared_transaction_offset: self.prepared_transaction_offset,
            body: &self.body,
            topic: &self.topic,
            properties: &properties,
        };
        let mut bytes = Vec::new();
        if has_record_crc {
            record.encode_with_crc_into(&mut bytes)
        } else {
            record.encode_into(&mut bytes)
        };
        bytes
    }

    /// Whether it stands in a consume queue.
    pub fn is_queued(&self) -> bool {
        matches!(self.sys_flag.transaction(), TransactionKind::None | TransactionKind::Commit)
    }

    /// The keys that the index must find it by.
    pub fn index_keys(&self) -> Vec<&str> {
        if self.sys_flag.transaction() == TransactionKind::Rollback {
            return Vec::new();
        }
        self.keys.iter().map(String::as_str).chain(self.unique_key.as_deref()).collect()
    }
}

/// Bodies from nothing to most of a segment. Zeros and pieces of record heads are the bodies that a bad recovery
/// takes for something else.
fn random_body(random: &mut Random, number: usize) -> Vec<u8> {
    let size = match random.below(10) {
        0 => 0,
        1 => 600 + random.below(2400),
        2..=4 => random.below(600),
        _ => random.below(100),
    };
    let mark = u8::try_from(number % 251).expect("small");
    match random.below(4) {
        0 => vec![0; size],
        1 => [0, 0, 0, 100, 0xDA, 0xA3, 0x20, 0xA7, mark].into_iter().cycle().take(size).collect(),
        _ => (0..size).map(|at| mark ^ u8::try_from(at % 255).expect("small")).collect(),
    }
}
