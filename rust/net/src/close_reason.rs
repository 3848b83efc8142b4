//! Why a connection is gone.

use std::io;

use escrowmq_wire::WireError;

/// Why a connection was closed, or could not be made.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CloseReason {
    /// The peer closed it.
    Peer,
    /// Our side asked for it.
    Requested,
    /// It carried nothing for too long.
    Idle,
    /// A frame took too long to arrive.
    SlowFrame,
    /// The peer left too many answers unread for too long.
    SlowReader,
    /// The peer sent what is no frame, or a frame that is too large, or a header that can't be read.
    BadFrame(WireError),
    /// The peer began with a TLS handshake, which is not spoken here.
    Tls,
    /// The connection broke.
    Failed(io::ErrorKind),
    /// It could not be made.
    ConnectFailed(io::ErrorKind),
    /// The server closes.
    Shutdown,
}

impl CloseReason {
    /// How many reasons there are.
    pub(crate) const COUNT: usize = 10;

    /// The names of the reasons, each at its [`Self::index`].
    pub(crate) const NAMES: [&'static str; Self::COUNT] = [
        "peer",
        "requested",
        "idle",
        "slow_frame",
        "slow_reader",
        "bad_frame",
        "tls",
        "failed",
        "connect_failed",
        "shutdown",
    ];

    /// The reason in one word.
    #[must_use]
    pub fn name(&self) -> &'static str {
        Self::NAMES[self.index()]
    }

    pub(crate) fn index(&self) -> usize {
        match self {
            Self::Peer => 0,
            Self::Requested => 1,
            Self::Idle => 2,
            Self::SlowFrame => 3,
            Self::SlowReader => 4,
            Self::BadFrame(_) => 5,
            Self::Tls => 6,
            Self::Failed(_) => 7,
            Self::ConnectFailed(_) => 8,
            Self::Shutdown => 9,
        }
    }
}
