//! The positions that must never mix: bytes in the log, entries in a queue.

use std::fmt;

/// Byte position in the commit log; a position in a queue is a [`QueueOffset`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct LogOffset(pub u64);

/// Entry number in a consume queue; a position in the log is a [`LogOffset`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct QueueOffset(pub u64);

impl fmt::Display for LogOffset {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "log offset {}", self.0)
    }
}

impl fmt::Display for QueueOffset {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "queue offset {}", self.0)
    }
}
