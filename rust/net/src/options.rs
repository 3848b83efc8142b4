//! The limits of a server. Every one has a default that suits a broker, and can be made small for a test.

use std::net::SocketAddr;
use std::time::Duration;

use escrowmq_wire::FRAME_SIZE_MAX_DEFAULT;

use crate::error::NetError;

/// Most requests are shorter.
const SHARE_MIN: usize = 1024;

/// Where to listen, and what peers may cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Addresses to listen on; port 0 means any that is free. `[::]` is IPv6 alone.
    pub listen: Vec<SocketAddr>,
    /// Largest frame, its length field included.
    pub frame_size_max_bytes: usize,
    /// Most connections at a time, of both directions. Further peers are accepted and closed at once.
    pub connections_max: usize,
    /// Bytes of one connection that are unsettled or unwritten; above, it is not read.
    pub in_flight_max_bytes: usize,
    /// The same of all connections together, half-received frames included; above, each may have its share of as much again.
    pub in_flight_total_max_bytes: usize,
    /// How long a connection may carry nothing, in either direction.
    pub idle_timeout: Duration,
    /// How long a frame may take from its first byte to its last.
    pub frame_timeout: Duration,
    /// How long a peer may leave more than `in_flight_max_bytes` unread, and how long closing may take to write the rest.
    pub stall_timeout: Duration,
    /// How long connecting to someone may take.
    pub connect_timeout: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            listen: Vec::new(),
            frame_size_max_bytes: FRAME_SIZE_MAX_DEFAULT,
            connections_max: 16_384,
            in_flight_max_bytes: 32 * 1024 * 1024,
            in_flight_total_max_bytes: 256 * 1024 * 1024,
            idle_timeout: Duration::from_secs(120),
            frame_timeout: Duration::from_secs(30),
            stall_timeout: Duration::from_secs(10),
            connect_timeout: Duration::from_secs(3),
        }
    }
}

impl Options {
    /// What a connection may hold even while all together hold too much; nothing where that would hold no frame worth the
    /// name.
    pub(crate) fn share_of_total(&self) -> usize {
        let share = self.in_flight_total_max_bytes / self.connections_max.max(1);
        if share < SHARE_MIN { 0 } else { share }
    }

    /// A frame that may come must also be allowed to wait for its answer.
    pub(crate) fn check(&self) -> Result<(), NetError> {
        let rising = [
            ("frame_size_max_bytes", self.frame_size_max_bytes),
            ("in_flight_max_bytes", self.in_flight_max_bytes),
            ("in_flight_total_max_bytes", self.in_flight_total_max_bytes),
        ];
        for pair in rising.windows(2) {
            let [(smaller, at_least), (larger, found)] = [pair[0], pair[1]];
            if found < at_least {
                return Err(NetError::LimitTooSmall { limit: larger, found, smaller, at_least });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_that_contradict_each_other_are_refused() {
        assert!(Options::default().check().is_ok());
        let options = Options { in_flight_max_bytes: 10, ..Options::default() };
        assert!(matches!(
            options.check(),
            Err(NetError::LimitTooSmall { limit: "in_flight_max_bytes", found: 10, .. })
        ));
        let options = Options { in_flight_total_max_bytes: 10, ..Options::default() };
        assert!(matches!(
            options.check(),
            Err(NetError::LimitTooSmall { limit: "in_flight_total_max_bytes", .. })
        ));
    }
}
