//! What other threads may ask of the epoll thread.

use std::net::SocketAddr;

use bytes::Bytes;

use crate::close_reason::CloseReason;
use crate::connection::ConnectionId;

/// One wish of another thread. Commands take effect in the order in which they were submitted; those for a connection
/// that is gone have none.
#[derive(Debug)]
pub enum Command {
    /// Send a frame.
    Send {
        /// By which connection; one that is being made sends it when it is there.
        connection: ConnectionId,
        /// The frame in pieces.
        chunks: Vec<Bytes>,
        /// Bytes in flight that this answers; see [`crate::in_flight_size`].
        settled_size: usize,
    },
    /// Have [`crate::Handler::written`] called when the kernel has taken all that was sent by a connection before. Where the
    /// connection ends earlier, it is not called.
    TellWritten {
        /// Which.
        connection: ConnectionId,
        /// What to call it with.
        number: i32,
    },
    /// Take bytes off those in flight: a request was dealt with, and nothing is to be sent.
    Settle {
        /// The connection that the request came by.
        connection: ConnectionId,
        /// Its [`crate::in_flight_size`].
        size: usize,
    },
    /// Read a connection again that [`crate::Outbox::pause`] stopped.
    Resume {
        /// Which.
        connection: ConnectionId,
    },
    /// Read a connection again that [`crate::Outbox::hold`] stopped.
    LetGo {
        /// Which.
        connection: ConnectionId,
    },
    /// Close a connection when what is queued for it is written.
    Close {
        /// Which.
        connection: ConnectionId,
    },
    /// Close a connection now.
    Abort {
        /// Which.
        connection: ConnectionId,
        /// Why.
        reason: CloseReason,
    },
    /// Begin a connection; [`crate::Remote::connect`] does this.
    Connect {
        /// The number that it gets.
        connection: ConnectionId,
        /// Where to.
        address: SocketAddr,
    },
}
