//! Queues of deleted topics: taken out of the table at once, their files afterwards. Readers keep what they hold.

use std::sync::Arc;

use parking_lot::MutexGuard;

use super::queue::ConsumeQueue;
use super::table::{QueueTable, Topics, remove_folder};
use crate::deleted_topics::DeletedTopics;
use crate::error::Result;
use crate::offset::LogOffset;

impl QueueTable {
    /// The topics that were deleted.
    pub fn deleted(&self) -> DeletedTopics {
        self.topics.read().deleted.clone()
    }

    /// Whether a record belongs to no queue, since its topic was deleted behind it.
    pub fn is_deleted(&self, topic: &str, at: LogOffset) -> bool {
        self.topics.read().deleted.is_deleted(topic, at)
    }

    /// Keeps queues from being made while the guard is held.
    pub fn pause_making(&self) -> MutexGuard<'_, ()> {
        self.making.lock()
    }

    /// Goes on with another list of deleted topics, and takes the queues of some of them out of the table.
    pub fn forget(&self, topics: &[&str], deleted: DeletedTopics) -> Vec<Arc<ConsumeQueue>> {
        let mut table = self.topics.write();
        table.deleted = deleted;
        topics.iter().filter_map(|&topic| table.queues.remove(topic)).flatten().collect()
    }

    /// Removes the files and folders of queues that are not in the table any more. Whoever calls it keeps queues from
    /// being made.
    ///
    /// # Errors
    /// [`crate::StoreError::Io`]. What is left goes at the next start, or when a queue needs its name.
    pub fn remove_files(&self, queues: &[Arc<ConsumeQueue>]) -> Result<()> {
        for queue in queues {
            queue.remove()?;
        }
        let mut topics: Vec<&str> = queues.iter().map(|queue| queue.topic()).collect();
        topics.dedup();
        let table = self.topics.read();
        let gone = topics.into_iter().filter(|&topic| !table.queues.contains_key(topic));
        gone.map(|topic| self.folder.join(topic))
            .try_for_each(|folder| remove_folder(self.disk.as_ref(), &folder))
    }

    /// Finishes deletions: what queues hold of deleted topics is not shown, and a queue that holds nothing else goes.
    ///
    /// # Errors
    /// [`crate::StoreError::Io`].
    pub fn settle_deleted(&self) -> Result<()> {
        let mut gone = Vec::new();
        {
            let Topics { queues, deleted } = &mut *self.topics.write();
            for (topic, before) in deleted.iter() {
                let Some(of_topic) = queues.get_mut(topic) else { continue };
                // Some may go on: Apache's broker builds old records into the queues of a topic that is made again.
                gone.extend(of_topic.extract_if(.., |queue| {
                    queue.hide_before(before);
                    queue.min_offset() == queue.max_offset()
                }));
                if of_topic.is_empty() {
                    queues.remove(topic);
                }
            }
        }
        self.remove_files(&gone)
    }
}
