//! Topics that were deleted, each with the log offset before which its records belong to no queue any more.
//!
//! ```text
//! escrowmq/deleted    {"orders": 4711}
//! ```
//! The log itself says nothing of a deletion, and a start that builds queues from it would bring the topic back. This
//! list is durable before anything of a topic goes, and the log is durable up to the offset before the list is. A topic
//! leaves it at a start, when the log begins behind the offset and nothing of its queues is left.

use std::collections::BTreeMap;
use std::path::Path;

use crate::disk::Disk;
use crate::error::{Result, StoreError};
use crate::offset::LogOffset;
use crate::small_file;

/// A larger list is none of ours: it would name a million topics.
const SIZE_MAX_BYTES: u64 = 256 << 20;

/// Deleted topics, and where their records end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeletedTopics {
    topics: BTreeMap<String, LogOffset>,
}

impl DeletedTopics {
    /// Reads the list; where there is none, no topic was deleted.
    ///
    /// # Errors
    /// [`StoreError::ForeignFile`] where it can't be understood: to go on without it would bring topics back.
    pub fn load(disk: &dyn Disk, path: &Path) -> Result<Self> {
        let text = match small_file::read(disk, path, SIZE_MAX_BYTES) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Self::default()),
            result => result.map_err(StoreError::io("read", path))?,
        };
        let foreign = || StoreError::ForeignFile {
            path: path.to_path_buf(),
            kind: "list of deleted topics",
            reason: "it is not an object of topics and log offsets",
        };
        let offsets: BTreeMap<String, u64> = serde_json::from_slice(&text).map_err(|_| foreign())?;
        Ok(Self { topics: offsets.into_iter().map(|(topic, before)| (topic, LogOffset(before))).collect() })
    }

    /// Writes the list, durably.
    ///
    /// # Errors
    /// [`StoreError::Io`]. The old list is then there, or the new one.
    pub fn save(&self, disk: &dyn Disk, path: &Path, temporary_folder: &Path) -> Result<()> {
        let offsets: BTreeMap<&str, u64> = self.iter().map(|(topic, before)| (topic, before.0)).collect();
        small_file::replace(disk, path, temporary_folder, serde_json::json!(offsets).to_string().as_bytes())
    }

    /// The same list for a log with that end, beyond which nothing is deleted: one that ends before an offset of the
    /// list is another log than the list was made for.
    #[must_use]
    pub fn up_to(&self, end: LogOffset) -> Self {
        Self { topics: self.iter().map(|(topic, before)| (topic.to_owned(), before.min(end))).collect() }
    }

    /// The same list without the topics of which a log with that start holds no record any more.
    #[must_use]
    pub fn from(&self, start: LogOffset) -> Self {
        let kept = self.iter().filter(|(_, before)| *before > start);
        Self { topics: kept.map(|(topic, before)| (topic.to_owned(), before)).collect() }
    }

    /// The same list with these topics deleted up to an offset.
    #[must_use]
    pub fn with(&self, topics: &[&str], before: LogOffset) -> Self {
        let mut all = self.clone();
        all.topics.extend(topics.iter().map(|&topic| (topic.to_owned(), before)));
        all
    }

    /// Where the records of a deleted topic end.
    #[must_use]
    pub fn before(&self, topic: &str) -> Option<LogOffset> {
        self.topics.get(topic).copied()
    }

    /// Whether a record belongs to no queue, since its topic was deleted behind it.
    #[must_use]
    pub fn is_deleted(&self, topic: &str, at: LogOffset) -> bool {
        // Most stores have none, and this is asked for every record.
        !self.topics.is_empty() && self.before(topic).is_some_and(|before| at < before)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (&str, LogOffset)> {
        self.topics.iter().map(|(topic, before)| (topic.as_str(), *before))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::RealDisk;

    #[test]
    fn a_list_is_read_back_as_it_was_written() {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("deleted");
        assert_eq!(DeletedTopics::load(&RealDisk, &path).expect("none"), DeletedTopics::default());
        let list = DeletedTopics::default().with(&["orders", "%RETRY%\"a"], LogOffset(9));
        let temporary = folder.path().join("temporary");
        std::fs::create_dir(&temporary).expect("temporary");
        list.save(&RealDisk, &path, &temporary).expect("save");
        assert_eq!(DeletedTopics::load(&RealDisk, &path).expect("load"), list);
        std::fs::write(&path, "[1]").expect("write");
        assert!(matches!(DeletedTopics::load(&RealDisk, &path), Err(StoreError::ForeignFile { .. })));
    }

    #[test]
    fn a_record_is_deleted_before_the_offset_of_its_topic() {
        let list = DeletedTopics::default().with(&["a"], LogOffset(10)).with(&["b"], LogOffset(30));
        let is_deleted = |topic, at| list.is_deleted(topic, LogOffset(at));
        assert!(is_deleted("a", 9) && !is_deleted("a", 10) && !is_deleted("c", 0));
        let kept = list.up_to(LogOffset(20)).from(LogOffset(10));
        assert_eq!((kept.before("a"), kept.before("b")), (None, Some(LogOffset(20))));
    }
}
