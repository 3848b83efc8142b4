//! What a store holds, at a glance.

use std::path::PathBuf;

use super::Inspection;
use crate::checkpoint::CheckpointTimes;
use crate::commit_log::Walk;
use crate::consume_queue::QueueStatus;
use crate::directory_lock;
use crate::error::{Result, StoreError};
use crate::key_index::IndexFileStatus;
use crate::mapped::list_or_empty;
use crate::offset::LogOffset;

/// What a store holds.
#[derive(Debug, Clone)]
pub struct Summary {
    /// The directory.
    pub folder: PathBuf,
    /// The process that has it open.
    pub holder: Option<u32>,
    /// Whether the last process that had it open did not stop, or has not stopped yet.
    pub was_killed: bool,
    /// Size of a log segment.
    pub segment_size_bytes: u64,
    /// Log segments.
    pub segments: usize,
    /// The first byte of the log that is still there.
    pub log_start: LogOffset,
    /// Where the log ends.
    pub log_end: LogOffset,
    /// Store time of the first record; `None` for an empty log.
    pub oldest_ms: Option<i64>,
    /// Store time of the last record.
    pub newest_ms: Option<i64>,
    /// Consume queues.
    pub queues: Vec<QueueStatus>,
    /// Files of the key index, oldest first.
    pub index_files: Vec<IndexFileStatus>,
    /// What the checkpoint vouches for.
    pub checkpoint: CheckpointTimes,
    /// Names of the configuration files.
    pub config_files: Vec<String>,
}

impl Inspection {
    /// What the store holds.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn summary(&self) -> Result<Summary> {
        let mut queues = self.files.queues.list();
        queues.sort_by(|one, other| (&one.topic, one.queue_id).cmp(&(&other.topic, other.queue_id)));
        let entries = list_or_empty(&*self.disk, &self.layout.config)?;
        let mut config_files: Vec<String> =
            entries.into_iter().filter(|entry| !entry.is_folder).map(|entry| entry.name).collect();
        config_files.sort();
        let chain = &self.files.chain;
        let end = self.examined.end;
        Ok(Summary {
            folder: self.layout.root.clone(),
            holder: directory_lock::holder(&self.layout.lock)?,
            was_killed: self.examined.was_killed,
            segment_size_bytes: chain.layout().segment_size_bytes,
            segments: chain.all().len(),
            log_start: LogOffset(self.log_start()),
            log_end: end.offset,
            oldest_ms: self.oldest_ms()?,
            newest_ms: end.record.map(|_| end.timestamp_ms),
            queues,
            index_files: self.files.index.status(),
            checkpoint: self.files.checkpoint.times(),
            config_files,
        })
    }

    fn oldest_ms(&self) -> Result<Option<i64>> {
        let mut oldest_ms = None;
        let result = Walk::new(&self.files.chain, LogOffset(self.log_start()), self.examined.end.offset)
            .each(|record| {
                oldest_ms = Some(record.store_timestamp_ms());
                Ok(std::ops::ControlFlow::Break(()))
            });
        match result {
            // What is wrong with it, the check says.
            Ok(()) | Err(StoreError::Damaged { .. }) => Ok(oldest_ms),
            Err(error) => Err(error),
        }
    }
}
