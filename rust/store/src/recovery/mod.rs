//! What a start does with the directory that it finds.
//!
//! [`examine`] only reads: it finds the log's end, or that the directory is not a store. [`repair`] then makes the
//! directory what a store that ends there looks like: the log is cut and zeroed behind its end, queues and index are
//! cut to what is surely durable and filled again from the log. Repairing twice changes nothing, so a crash during
//! recovery needs no thought of its own.
//!
//! What is surely durable follows from the checkpoint, whose three times move only after the files they speak of were
//! synced: every record stored *before* such a time is in those files. Times are compared strictly, since several
//! records share a millisecond and the last of them may have come after the sync.

mod examine;
mod rebuild;
mod report;

pub(crate) use examine::{CHECKPOINT_SLACK_MS, Examined, examine};
pub(crate) use rebuild::repair;
pub use report::RecoveryReport;

use crate::checkpoint::Checkpoint;
use crate::consume_queue::QueueTable;
use crate::key_index::KeyIndex;
use crate::mapped::SegmentChain;

/// The files of a store, loaded.
#[derive(Debug)]
pub(crate) struct Files {
    pub chain: SegmentChain,
    pub queues: QueueTable,
    pub index: KeyIndex,
    pub checkpoint: Checkpoint,
}
