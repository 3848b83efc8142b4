//! What can go wrong between a record and its row.

use escrowmq_store::StoreError;
use escrowmq_wire::WireError;

/// What can go wrong between a record and its row.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ColumnarError {
    /// The record could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Its body is compressed and can't be unpacked.
    #[error("the body of {topic}/{queue_id} at queue offset {offset} can't be unpacked: {reason}")]
    Body {
        /// The topic.
        topic: String,
        /// The queue.
        queue_id: u32,
        /// The place in it.
        offset: u64,
        /// What the decoder says.
        reason: WireError,
    },
    /// Its body is compressed in a way that no version of the format defines.
    #[error("the body of {topic}/{queue_id} at queue offset {offset} is compressed in an unknown way")]
    UnknownCompression {
        /// The topic.
        topic: String,
        /// The queue.
        queue_id: u32,
        /// The place in it.
        offset: u64,
    },
    /// Rows that Arrow does not take.
    #[error(transparent)]
    Arrow(#[from] arrow_schema::ArrowError),
}
