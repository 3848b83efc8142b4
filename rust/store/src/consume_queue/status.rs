//! Where a queue begins and ends, as a value for whoever asks.

use super::queue::ConsumeQueue;
use crate::offset::QueueOffset;

/// A queue and its bounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueStatus {
    /// Topic of the queue.
    pub topic: String,
    /// Its number.
    pub queue_id: u32,
    /// The first offset whose record the log may still hold.
    pub min_offset: QueueOffset,
    /// The offset that the next entry gets.
    pub max_offset: QueueOffset,
}

impl From<&ConsumeQueue> for QueueStatus {
    fn from(queue: &ConsumeQueue) -> Self {
        Self {
            topic: queue.topic().to_owned(),
            queue_id: queue.queue_id(),
            min_offset: queue.min_offset(),
            max_offset: queue.max_offset(),
        }
    }
}
