//! Deleting topics. What is on disk always means one of two things: the topic is there with all of its queues, or it is
//! gone and its queues are at most left-overs.
//!
//! ```text
//! log durable ──> appends held up ──> list of deleted topics durable ──> queues out of the table, offsets from 0 ──> files removed
//!                 ^ in use: tried again          ^ from here on the topic is deleted, whenever the power goes
//! ```
//! The list is written when nothing can keep the deletion from succeeding any more: one that is refused leaves no trace.

use std::sync::Arc;

use crate::consume_queue::ConsumeQueue;
use crate::deleted_topics::DeletedTopics;
use crate::error::{Result, StoreError};
use crate::offset::LogOffset;
use crate::store_core::StoreCore;

/// How often it is tried: each append to one of the topics meanwhile costs another round.
const ATTEMPTS_MAX: usize = 8;

impl StoreCore {
    /// Deletes topics: their queues go, and a topic that is made again begins at queue offset 0. Their records stay in the
    /// log, and in the key index, until they expire. Readers keep what they hold. How many queues went is returned.
    ///
    /// # Errors
    /// [`StoreError::TopicInUse`] where somebody appends to one of them all the time, [`StoreError::Poisoned`],
    /// [`StoreError::Closed`], [`StoreError::Io`] where the list of deleted topics can't be written. Nothing is changed
    /// then, unless a disk took the new list, failed to confirm it and took the old one back neither.
    pub fn delete_topics(&self, topics: &[&str]) -> Result<usize> {
        // Expiry looks at the same queues, and a store that closes writes down which there are.
        let _no_expiry = self.expiry.pause();
        self.refuse_if_closed()?;
        for _ in 0..ATTEMPTS_MAX {
            let (before, offsets) = self.log.offsets_of(topics);
            // A log that ended before the offset after a power loss would grow beyond it again, and what is appended then
            // must not count as deleted.
            self.flush_once()?;
            let _no_new_queues = self.queues.pause_making();
            let forget = || self.forget_queues(topics, before);
            if let Some(mut gone) = self.log.forget_offsets(topics, &offsets, forget)? {
                gone.sort_unstable_by(|one, other| {
                    (one.topic(), one.queue_id()).cmp(&(other.topic(), other.queue_id()))
                });
                if let Err(error) = self.queues.remove_files(&gone) {
                    tracing::warn!(%error, ?topics, "files of deleted topics are left to the next start");
                }
                tracing::info!(?topics, queues = gone.len(), "topics deleted");
                return Ok(gone.len());
            }
        }
        Err(StoreError::TopicInUse { topics: topics.iter().map(|&topic| topic.to_owned()).collect() })
    }

    /// Writes down that topics are deleted up to an offset, durably, and takes their queues out of the table.
    fn forget_queues(&self, topics: &[&str], before: LogOffset) -> Result<Vec<Arc<ConsumeQueue>>> {
        let listed = self.queues.deleted();
        let deleted = listed.with(topics, before);
        let save = |list: &DeletedTopics| {
            list.save(&*self.disk, &self.layout.deleted_topics, &self.layout.temporary)
        };
        if let Err(error) = save(&deleted) {
            // The new list may be there all the same, and the next start must not go by it.
            if let Err(error) = save(&listed) {
                tracing::error!(%error, ?topics, "the next start may find topics deleted whose deletion was refused");
            }
            return Err(error);
        }
        Ok(self.queues.forget(topics, deleted))
    }
}
