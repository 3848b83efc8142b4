//! What can go wrong at the end of a lane.

use std::io;

use escrowmq_net::{ConnectionId, NetError};
use escrowmq_wire::WireError;

/// Why something could not be answered, sent or fetched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LaneError {
    /// A request was answered before.
    #[error("request {opaque} of connection {} was answered before", .connection.0)]
    AnsweredBefore {
        /// The connection it came by.
        connection: ConnectionId,
        /// Its number.
        opaque: i32,
    },
    /// An answer or request holds more than its header can express.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// The server is closed.
    #[error(transparent)]
    Net(#[from] NetError),
    /// The system refused an eventfd, or to wait for it.
    #[error("cannot {action}: {source}")]
    System {
        /// What was tried.
        action: &'static str,
        /// What the system said.
        source: io::Error,
    },
}
