//! All consume queues of a store, by topic and queue number. Looking one up takes a short read lock and no allocation.
//!
//! ```text
//!  consumequeue/
//!    orders/0/00000000000000000000
//!    %RETRY%billing/0/…
//! ```

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::{Mutex, RwLock};

use super::entry::QueueEntry;
use super::queue::{ConsumeQueue, QueueLayout};
use super::status::QueueStatus;
use crate::deleted_topics::DeletedTopics;
use crate::disk::{Disk, FolderEntry};
use crate::error::{Result, StoreError};
use crate::mapped::{Expected, list_or_empty};
use crate::offset::{LogOffset, QueueOffset};

const KIND: &str = "consume queue";

/// No file system of ours takes a longer name.
const NAME_SIZE_MAX: usize = 255;

/// The queues of a topic, by ascending number.
type TopicQueues = Vec<Arc<ConsumeQueue>>;

/// What the lock guards: the queues, and which records belong to none.
#[derive(Debug, Default)]
pub(super) struct Topics {
    pub queues: HashMap<Arc<str>, TopicQueues>,
    pub deleted: DeletedTopics,
}

/// All consume queues of a store.
#[derive(Debug)]
pub struct QueueTable {
    pub(super) disk: Arc<dyn Disk>,
    pub(super) folder: PathBuf,
    temporary_folder: PathBuf,
    file_size_bytes: u64,
    pub(super) topics: RwLock<Topics>,
    /// Held while a queue is made, and while files are removed whose names it may get.
    pub(super) making: Mutex<()>,
}

impl QueueTable {
    /// Maps the queues of `folder`, which need not exist. Changes nothing. The size of the files found beats
    /// `file_size_bytes`, unless a process that made them so large was killed: then shorter ones are what it had not synced.
    /// Queues of deleted topics are there until [`Self::settle_deleted`] is called.
    ///
    /// # Errors
    /// [`StoreError::ForeignFile`], [`StoreError::WrongSize`], [`StoreError::MissingFile`] where the folder holds
    /// anything but queues whose files have one size and follow each other; [`StoreError::Io`].
    pub fn load(
        disk: Arc<dyn Disk>,
        folder: &Path,
        temporary_folder: &Path,
        file_size_bytes: u64,
        expected: Expected,
        deleted: DeletedTopics,
    ) -> Result<Self> {
        let mut found: Vec<(String, u32)> = Vec::new();
        for topic in list_or_empty(disk.as_ref(), folder)? {
            let topic_folder = folder_of(folder, &topic)?;
            if let Some(reason) = name_problem(&topic.name) {
                return Err(StoreError::ForeignFile { path: topic_folder, kind: KIND, reason });
            }
            for queue in list_or_empty(disk.as_ref(), &topic_folder)? {
                let path = folder_of(&topic_folder, &queue)?;
                let reason = "its name is not a queue number";
                let queue_id = parse_queue_id(&queue.name).ok_or(StoreError::ForeignFile {
                    path,
                    kind: KIND,
                    reason,
                })?;
                found.push((topic.name.clone(), queue_id));
            }
        }
        found.sort_unstable();
        let (folder, temporary_folder) = (folder.to_path_buf(), temporary_folder.to_path_buf());
        let topics = RwLock::new(Topics { deleted, ..Topics::default() });
        let making = Mutex::default();
        let mut table = Self { disk, folder, temporary_folder, file_size_bytes, topics, making };
        let mut has_size = false;
        for (topic, queue_id) in found {
            let queue = table.map_queue(topic.into(), queue_id, expected)?;
            if let Some(file) = queue.chain.first() {
                let size = queue.file_size_bytes();
                if has_size && size != table.file_size_bytes {
                    let (path, expected) = (file.path().to_path_buf(), table.file_size_bytes);
                    return Err(StoreError::WrongSize { path, expected, found: size });
                }
                (has_size, table.file_size_bytes) = (true, size);
            }
            insert(&mut table.topics.get_mut().queues, queue);
        }
        Ok(table)
    }

    /// Size of the queue files.
    pub fn file_size_bytes(&self) -> u64 {
        self.file_size_bytes
    }

    /// The queue of a topic and number, if it ever had an entry.
    pub fn get(&self, topic: &str, queue_id: u32) -> Option<Arc<ConsumeQueue>> {
        find(self.topics.read().queues.get(topic)?, queue_id).cloned()
    }

    /// Adds an entry to its queue, which is made where it is not there. See [`ConsumeQueue::append`]. One whose topic was
    /// deleted behind its record is left out.
    ///
    /// # Errors
    /// As [`ConsumeQueue::append`]; [`StoreError::QueueName`] where the topic can't name a folder.
    pub fn append(&self, topic: &str, queue_id: u32, at: QueueOffset, entry: QueueEntry) -> Result<()> {
        {
            let topics = self.topics.read();
            if topics.deleted.is_deleted(topic, entry.log_offset) {
                return Ok(());
            }
            if let Some(queue) = topics.queues.get(topic).and_then(|queues| find(queues, queue_id)) {
                return queue.append(at, entry);
            }
        }
        match self.get_or_create(topic, queue_id, entry.log_offset)? {
            Some(queue) => queue.append(at, entry),
            None => Ok(()),
        }
    }

    /// All queues with their bounds, by topic and number.
    pub fn list(&self) -> Vec<QueueStatus> {
        self.queues_where(|_| true).iter().map(|queue| QueueStatus::from(&**queue)).collect()
    }

    /// Whether any queue has entries that are not durable.
    pub fn is_dirty(&self) -> bool {
        self.topics.read().queues.values().flatten().any(|queue| queue.is_dirty())
    }

    /// Makes durable what is not.
    ///
    /// # Errors
    /// [`StoreError::Io`]. What reached the disk is then unknown, and the caller must not try again.
    pub fn sync_dirty(&self) -> Result<()> {
        let mut grown: Vec<Arc<ConsumeQueue>> = Vec::new();
        for queue in self.queues_where(ConsumeQueue::is_dirty) {
            match queue.sync() {
                Ok(true) => grown.push(queue),
                Ok(false) => {}
                // Its topic was deleted since it was listed, and its files with it.
                Err(_) if !self.holds(&queue) => {}
                Err(error) => return Err(error),
            }
        }
        for queues in grown.chunk_by(|one, other| one.topic() == other.topic()) {
            let folder = self.folder.join(queues[0].topic());
            if let Err(error) = self.disk.sync_folder(&folder)
                && queues.iter().any(|queue| self.holds(queue))
            {
                return Err(StoreError::io("sync", &folder)(error));
            }
        }
        if grown.is_empty() {
            return Ok(());
        }
        self.disk.sync_folder(&self.folder).map_err(StoreError::io("sync", &self.folder))
    }

    /// Whether a queue is in the table, and not one of that name which was made after it.
    fn holds(&self, queue: &Arc<ConsumeQueue>) -> bool {
        self.get(queue.topic(), queue.queue_id()).is_some_and(|held| Arc::ptr_eq(&held, queue))
    }

    /// Ends every queue where the log ends. Whether anything had to change is returned. See [`ConsumeQueue::cut`].
    ///
    /// # Errors
    /// [`StoreError::Io`].
    ///
    /// # Panics
    /// If anyone holds a queue: this is for recovery, before anyone reads.
    pub fn cut(&mut self, log_end: LogOffset) -> Result<bool> {
        let mut has_changed = false;
        let mut topics: Vec<_> = self.topics.get_mut().queues.iter_mut().collect();
        topics.sort_unstable_by(|a, b| a.0.cmp(b.0));
        for queue in topics.into_iter().flat_map(|(_, queues)| queues) {
            has_changed |= Arc::get_mut(queue).expect("nobody reads while queues are cut").cut(log_end)?;
        }
        Ok(has_changed)
    }

    /// Lets readers see no entries of records before `log_start`. See [`ConsumeQueue::hide_before`].
    pub fn hide_before(&self, log_start: LogOffset) {
        self.queues_where(|_| true).iter().for_each(|queue| queue.hide_before(log_start));
    }

    /// Follows the log's start. See [`ConsumeQueue::expire`].
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn expire(&self, log_start: LogOffset) -> Result<()> {
        self.queues_where(|_| true).iter().try_for_each(|queue| queue.expire(log_start))
    }

    /// Removes the entries of a queue, durably: the next one may have any offset.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn restart(&self, topic: &str, queue_id: u32) -> Result<()> {
        self.get(topic, queue_id).map_or(Ok(()), |queue| queue.remove())
    }

    /// Some queues, to work on without the lock; in order, so that a crash test meets the same effects every time.
    pub(super) fn queues_where(&self, is_wanted: impl Fn(&ConsumeQueue) -> bool) -> Vec<Arc<ConsumeQueue>> {
        let topics = self.topics.read();
        let mut queues: Vec<_> =
            topics.queues.values().flatten().filter(|queue| is_wanted(queue)).cloned().collect();
        queues.sort_unstable_by(|a, b| (a.topic(), a.queue_id()).cmp(&(b.topic(), b.queue_id())));
        queues
    }

    /// The queue for a record, made if it is not there; `None` where the topic was deleted behind the record meanwhile.
    fn get_or_create(
        &self,
        topic: &str,
        queue_id: u32,
        record_at: LogOffset,
    ) -> Result<Option<Arc<ConsumeQueue>>> {
        if let Some(reason) = name_problem(topic) {
            return Err(StoreError::QueueName { topic: topic.to_owned(), reason });
        }
        let _making = self.making.lock();
        // Only now: a deletion may have held up the making, and the queue would come back with what was deleted.
        if self.is_deleted(topic, record_at) {
            return Ok(None);
        }
        if let Some(queue) = self.get(topic, queue_id) {
            return Ok(Some(queue));
        }
        let mut topics = self.topics.write();
        let queues = &mut topics.queues;
        let name = queues.get_key_value(topic).map_or_else(|| topic.into(), |(name, _)| Arc::clone(name));
        let queue = self.map_queue(name, queue_id, Expected::All)?;
        // What is on disk and not in the table is what a deletion that failed has left.
        queue.remove()?;
        Ok(Some(insert(queues, queue)))
    }

    fn map_queue(&self, topic: Arc<str>, queue_id: u32, expected: Expected) -> Result<ConsumeQueue> {
        let layout = QueueLayout {
            folder: self.folder.join(&*topic).join(queue_id.to_string()),
            temporary_folder: self.temporary_folder.clone(),
            file_size_bytes: self.file_size_bytes,
        };
        ConsumeQueue::load(Arc::clone(&self.disk), topic, queue_id, layout, expected)
    }
}

/// Removes an empty folder, durably, if it is there.
pub(super) fn remove_folder(disk: &dyn Disk, folder: &Path) -> Result<()> {
    match disk.remove(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        result => result.map_err(StoreError::io("remove", folder))?,
    }
    folder.parent().map_or(Ok(()), |parent| disk.sync_folder(parent).map_err(StoreError::io("sync", parent)))
}

/// Numbers mostly run from 0 without a gap, so that a queue's number is its place.
fn find(queues: &TopicQueues, queue_id: u32) -> Option<&Arc<ConsumeQueue>> {
    match queues.get(queue_id as usize) {
        Some(queue) if queue.queue_id() == queue_id => Some(queue),
        _ => {
            queues.binary_search_by_key(&queue_id, |queue| queue.queue_id()).ok().map(|place| &queues[place])
        }
    }
}

fn insert(topics: &mut HashMap<Arc<str>, TopicQueues>, queue: ConsumeQueue) -> Arc<ConsumeQueue> {
    let queue = Arc::new(queue);
    let queues = topics.entry(queue.topic().into()).or_default();
    let place = queues.partition_point(|other| other.queue_id() < queue.queue_id());
    queues.insert(place, Arc::clone(&queue));
    queue
}

fn folder_of(parent: &Path, entry: &FolderEntry) -> Result<PathBuf> {
    let path = parent.join(&entry.name);
    if entry.is_folder {
        Ok(path)
    } else {
        Err(StoreError::ForeignFile { path, kind: KIND, reason: "it is not a folder" })
    }
}

/// Why a topic can't be a folder. Records come from disks and networks: `../elsewhere` must not be followed.
fn name_problem(topic: &str) -> Option<&'static str> {
    match topic {
        "" => Some("it is empty"),
        _ if topic.len() > NAME_SIZE_MAX => Some("it is longer than 255 bytes"),
        _ if topic.starts_with('.') => Some("it begins with a dot"),
        _ if topic.contains(|c: char| c == '/' || c == char::REPLACEMENT_CHARACTER || c.is_control()) => {
            Some("it holds a character that no topic has")
        }
        _ => None,
    }
}

/// A number as it is printed: no sign, no leading zero.
fn parse_queue_id(name: &str) -> Option<u32> {
    name.parse().ok().filter(|queue_id: &u32| queue_id.to_string() == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::RealDisk;

    fn load(root: &Path) -> Result<QueueTable> {
        let temporary = root.join("temporary");
        std::fs::create_dir_all(&temporary).expect("temporary");
        let size = 5 * super::super::ENTRY_SIZE as u64;
        let (folder, deleted) = (root.join("consumequeue"), DeletedTopics::default());
        QueueTable::load(Arc::new(RealDisk), &folder, &temporary, size, Expected::All, deleted)
    }

    fn entry(log_offset: u64) -> QueueEntry {
        QueueEntry { log_offset: LogOffset(log_offset), record_size: 10, tags_code: 7 }
    }

    fn names(table: &QueueTable) -> Vec<(String, u32, u64)> {
        table.list().into_iter().map(|queue| (queue.topic, queue.queue_id, queue.max_offset.0)).collect()
    }

    #[test]
    fn queues_are_made_by_their_first_entry_and_found_again() {
        let root = tempfile::tempdir().expect("folder");
        let table = load(root.path()).expect("empty");
        assert!(table.get("orders", 0).is_none());
        for (topic, queue_id) in [("orders", 3), ("%RETRY%a|b", 0), ("orders", 1)] {
            table.append(topic, queue_id, QueueOffset(0), entry(1)).expect("append");
        }
        assert!(table.is_dirty());
        table.sync_dirty().expect("sync");
        assert!(!table.is_dirty());
        let expected = [("%RETRY%a|b".into(), 0, 1), ("orders".into(), 1, 1), ("orders".into(), 3, 1)];
        assert_eq!(names(&table), expected);
        let again = load(root.path()).expect("load");
        assert_eq!(names(&again), expected);
        assert_eq!(again.get("orders", 3).expect("queue").entry(QueueOffset(0)), Some(entry(1)));
        assert!(again.get("orders", 0).is_none() && again.get("order", 1).is_none());
    }

    #[test]
    fn a_cut_and_an_expiry_reach_every_queue() {
        let root = tempfile::tempdir().expect("folder");
        let mut table = load(root.path()).expect("empty");
        for at in 0..20 {
            let topic = if at % 2 == 0 { "a" } else { "b" };
            table.append(topic, 0, QueueOffset(at / 2), entry(at)).expect("append");
        }
        assert!(table.cut(LogOffset(15)).expect("cut"));
        assert!(!table.cut(LogOffset(15)).expect("again"));
        assert_eq!(names(&table), [("a".into(), 0, 8), ("b".into(), 0, 7)]);
        table.expire(LogOffset(12)).expect("expire");
        assert!(table.list().iter().all(|queue| queue.min_offset == QueueOffset(6)));
    }

    #[test]
    fn what_is_no_queue_is_refused_by_name() {
        let root = tempfile::tempdir().expect("folder");
        let folder = root.path().join("consumequeue");
        let refused = |path: &str, bytes: usize| {
            let path = folder.join(path);
            std::fs::create_dir_all(path.parent().expect("parent")).expect("folder");
            std::fs::write(&path, vec![0; bytes]).expect("write");
            let error = load(root.path()).expect_err("refused");
            std::fs::remove_file(&path).expect("remove");
            error
        };
        let foreign = |error: StoreError| match error {
            StoreError::ForeignFile { reason, .. } => reason,
            other => panic!("{other}"),
        };
        assert_eq!(foreign(refused("notes.txt", 1)), "it is not a folder");
        assert_eq!(foreign(refused("a/0/notes.txt", 1)), "its name is not 20 digits");
        assert_eq!(foreign(refused("a/0/00000000000000000000", 99)), "its size is not a multiple of 20");
        assert_eq!(
            foreign(refused("a/0/00000000000000000050", 100)),
            "its name is not a multiple of its size"
        );
        std::fs::write(folder.join("a/0/00000000000000000000"), [0; 100]).expect("write");
        assert!(matches!(
            refused("b/0/00000000000000000000", 200),
            StoreError::WrongSize { expected: 100, found: 200, .. }
        ));
        assert!(matches!(refused("a/0/00000000000000000200", 100), StoreError::MissingFile { .. }));
        std::fs::create_dir(folder.join("a/01")).expect("folder");
        assert_eq!(foreign(load(root.path()).expect_err("refused")), "its name is not a queue number");
    }

    #[test]
    fn a_topic_never_leads_out_of_the_folder() {
        let root = tempfile::tempdir().expect("folder");
        let table = load(root.path()).expect("empty");
        for topic in ["", ".", "..", "../a", "a/b", "a\u{0}b", &"x".repeat(256)] {
            let error = table.append(topic, 0, QueueOffset(0), entry(0)).expect_err("refused");
            assert!(matches!(error, StoreError::QueueName { .. }));
        }
        assert!(names(&table).is_empty());
    }
}
