//! Why a server can't start, or does not take commands any more. What goes wrong with one connection is a
//! [`crate::CloseReason`] instead.

use std::io;
use std::net::SocketAddr;

/// What a server could not do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NetError {
    /// An address can't be listened on.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address as given.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// The system refused what the thread needs: epoll, an eventfd, the thread itself.
    #[error("cannot {action}: {source}")]
    System {
        /// What was tried.
        action: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// Limits contradict each other.
    #[error("{limit} is {found}, but {smaller} alone is {at_least}")]
    LimitTooSmall {
        /// The limit that is too small.
        limit: &'static str,
        /// Its value.
        found: usize,
        /// The limit that it must not be below.
        smaller: &'static str,
        /// Its value.
        at_least: usize,
    },
    /// The server was closed.
    #[error("the server is closed")]
    Closed,
}
