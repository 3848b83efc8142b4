//! Who the broker is, as its messages and answers tell.

use std::net::{IpAddr, SocketAddr};

use escrowmq_wire::{UniqueMessageId, encode_properties, property_names};

/// Who the broker is.
#[derive(Debug, Clone)]
pub struct Identity {
    /// Its name.
    pub broker_name: String,
    /// Its cluster, which stands in every message.
    pub cluster_name: String,
    /// Its region, which stands in every message.
    pub region_id: String,
    /// Its address without port, for remarks.
    pub broker_address: String,
    /// Whether clients are told to trace.
    pub is_trace_on: bool,
    /// The address in the ids of messages.
    pub store_host: SocketAddr,
}

impl Identity {
    /// Whether clients are told to trace, as text.
    pub(super) fn trace_on(&self) -> &'static str {
        if self.is_trace_on { "true" } else { "false" }
    }

    /// The properties that every message gets.
    pub(super) fn properties(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let pairs = [
            (property_names::MSG_REGION, self.region_id.as_str()),
            (property_names::TRACE_ON, self.trace_on()),
            (property_names::CLUSTER, self.cluster_name.as_str()),
        ];
        encode_properties(pairs, &mut out);
        out
    }
}

/// Makes ids for messages that came without one.
#[derive(Debug)]
pub struct UniqueIds {
    address: IpAddr,
    process_id: u16,
    counter: u16,
}

impl UniqueIds {
    #[allow(clippy::cast_possible_truncation, reason = "the low half is what an id has room for")]
    pub fn new(store_host: SocketAddr) -> Self {
        Self { address: store_host.ip(), process_id: std::process::id() as u16, counter: 0 }
    }

    pub fn next(&mut self, now_ms: i64) -> String {
        self.counter = self.counter.wrapping_add(1);
        let id = UniqueMessageId {
            address: self.address,
            process_id: self.process_id,
            // Java has a hash of its class loader here; any number that stays the same will do.
            producer_hash: 0x4553_4352,
            month_ms: UniqueMessageId::month_ms_at(now_ms),
            counter: self.counter,
        };
        id.to_string()
    }
}
