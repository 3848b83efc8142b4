//! What can go wrong with a store, each with the facts needed to act.

use std::io;
use std::path::{Path, PathBuf};

use escrowmq_wire::RecordError;

use crate::offset::{LogOffset, QueueOffset};

/// What can go wrong with a store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// A file operation failed; the store is as it was before.
    #[error("{action} {path}: {source}", path = path.display())]
    Io {
        /// What was tried, as a verb: `open`, `create`.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Another process, or another store of this process, has the directory.
    #[error("{path} is in use by {holder}", path = path.display())]
    InUse {
        /// The store directory.
        path: PathBuf,
        /// `another process` or `this process`.
        holder: &'static str,
    },
    /// A name where only full-size files with 20-digit names may be.
    #[error("{path} is not a {kind} file: {reason}", path = path.display())]
    ForeignFile {
        /// What was found.
        path: PathBuf,
        /// `commit log`, `consume queue`.
        kind: &'static str,
        /// Why it is none.
        reason: &'static str,
    },
    /// A file whose size is not that of its neighbours.
    #[error("{path} has {found} bytes, expected {expected}", path = path.display())]
    WrongSize {
        /// The file.
        path: PathBuf,
        /// The size of the files beside it.
        expected: u64,
        /// Its own.
        found: u64,
    },
    /// A segment or queue file between two others is not there.
    #[error("{missing} is missing, though {next} is there: put it back, or remove the files before the hole", missing = missing.display(), next = next.display())]
    MissingFile {
        /// The file that should be there.
        missing: PathBuf,
        /// The one after it.
        next: PathBuf,
    },
    /// The first bytes of a log are not a record.
    #[error("{path} does not begin with a record: {reason}", path = path.display())]
    NotALog {
        /// The file.
        path: PathBuf,
        /// What the decoder said.
        reason: RecordError,
    },
    /// A store of a kind that this one can't keep whole.
    #[error("{path} belongs to a store with {feature}, which is not supported", path = path.display())]
    UnsupportedStore {
        /// What gave it away.
        path: PathBuf,
        /// `RocksDB queues`, `batch consume queues`, `consume queue extensions`, `compaction topics`, `DLedger`, `several
        /// log paths`.
        feature: &'static str,
    },
    /// An option that no store can be made with.
    #[error("option {name} is {found}, expected {expected}")]
    BadOption {
        /// Its name.
        name: &'static str,
        /// Its value.
        found: String,
        /// What it may be.
        expected: String,
    },
    /// A message that can't be stored.
    #[error("message {index} of the batch: {reason}")]
    BadMessage {
        /// Its place in the batch.
        index: usize,
        /// What is wrong with it.
        reason: BadMessage,
    },
    /// The disk is fuller than writes are allowed to make it.
    #[error("{path} is {used_percent} % full, writes are refused from {refuse_percent} % on", path = path.display())]
    DiskFull {
        /// The store directory.
        path: PathBuf,
        /// Its file system's use.
        used_percent: u32,
        /// The configured limit.
        refuse_percent: u32,
    },
    /// A flush failed before; what reached the disk is unknown until the store is opened again.
    #[error("the store is poisoned since a flush failed ({cause}): open it again")]
    Poisoned {
        /// The failure.
        cause: String,
    },
    /// The store is closed.
    #[error("the store is closed")]
    Closed,
    /// Topics that can't be deleted, since somebody appends to them all the time.
    #[error("messages are appended to {topics} while they are deleted", topics = topics.join(", "))]
    TopicInUse {
        /// The topics.
        topics: Vec<String>,
    },
    /// A wait ended before its event.
    #[error("{offset} was not durable after {waited_ms} ms")]
    NotYetDurable {
        /// What was waited for.
        offset: LogOffset,
        /// How long.
        waited_ms: u64,
    },
    /// A position where no record begins, or none is any more, or none is yet.
    #[error("no record at {at}: the log holds {start} to {end}")]
    NoRecord {
        /// The position asked for.
        at: LogOffset,
        /// The log's first byte.
        start: LogOffset,
        /// The byte after its last.
        end: LogOffset,
    },
    /// A record that was whole once is not any more.
    #[error("record at {at} is damaged: {reason}")]
    Damaged {
        /// Where.
        at: LogOffset,
        /// What the decoder said.
        reason: RecordError,
    },
    /// What a queue names in the log is no such record, seen by somebody who reads a store that is not his.
    #[error("{path}: the record of {topic}/{queue_id} at {offset}, {at}, is damaged: {reason}", path = path.display())]
    Unreadable {
        /// The log's file.
        path: PathBuf,
        /// The place in the log.
        at: LogOffset,
        /// Topic of the queue.
        topic: String,
        /// Its number.
        queue_id: u32,
        /// The entry.
        offset: QueueOffset,
        /// What is there.
        reason: Unreadable,
    },
    /// A queue is asked to take an entry that is not its next.
    #[error("queue {topic}/{queue_id} expects {expected}, the log has {found} at {at}")]
    QueueGap {
        /// Topic of the queue.
        topic: String,
        /// Its number.
        queue_id: u32,
        /// The queue's next entry.
        expected: QueueOffset,
        /// The record's.
        found: QueueOffset,
        /// The record's place.
        at: LogOffset,
    },
    /// A configuration file, and its backup, that are no JSON.
    #[error("{path} is not JSON, nor is its backup: {reason}", path = path.display())]
    BadConfig {
        /// The file.
        path: PathBuf,
        /// What the parser said.
        reason: String,
    },
    /// A queue has another record at an offset than the log says.
    #[error("queue {topic}/{queue_id} has {kept} at {offset}, the log has {found} for it")]
    QueueConflict {
        /// Topic of the queue.
        topic: String,
        /// Its number.
        queue_id: u32,
        /// The entry.
        offset: QueueOffset,
        /// The record that the entry names.
        kept: LogOffset,
        /// The record that claims the offset.
        found: LogOffset,
    },
    /// A topic that can't be the name of a folder, and so has no queues.
    #[error("topic {topic:?} can't name a folder: {reason}")]
    QueueName {
        /// The topic.
        topic: String,
        /// What is wrong with it.
        reason: &'static str,
    },
}

/// Why what a queue names can't be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unreadable {
    /// It does not read as a record.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// It is a record, and another one.
    #[error("another record stands there")]
    OtherRecord,
    /// It would go on beyond the end of its file.
    #[error("{record_size} bytes, and {left} to the end of the file")]
    BeyondFile {
        /// Its size, as the queue says.
        record_size: u32,
        /// Bytes that there are.
        left: u64,
    },
}

/// What is wrong with a message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadMessage {
    /// The topic's name.
    #[error(transparent)]
    Topic(#[from] TopicProblem),
    /// The body is too large.
    #[error("body of {found} bytes, the limit is {limit}")]
    Body {
        /// Its size.
        found: usize,
        /// The limit.
        limit: usize,
    },
    /// The property string is too large.
    #[error("properties of {found} bytes, the limit is {limit}")]
    Properties {
        /// Their size.
        found: usize,
        /// The limit.
        limit: usize,
    },
    /// Properties hold a byte that would end the log at recovery.
    #[error("properties hold a NUL byte at {at}")]
    PropertiesNul {
        /// Where.
        at: usize,
    },
    /// The queue number is negative, or too large for the format.
    #[error("queue {found}, expected 0 to {limit}")]
    Queue {
        /// The number.
        found: i64,
        /// The largest.
        limit: i64,
    },
    /// The record would not fit into a segment.
    #[error("record of {found} bytes, a segment has room for {limit}")]
    Record {
        /// Its size.
        found: usize,
        /// The room.
        limit: usize,
    },
}

/// A topic name that no queue may have; the text is `escrowmq-wire`'s.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TopicProblem(pub String);

impl StoreError {
    /// Whether the disk had no room: nothing is broken, and it may be tried again when there is. A sync that finds none
    /// is another matter: what it should have written is lost, and trying again would not write it.
    #[must_use]
    pub fn is_storage_full(&self) -> bool {
        matches!(self, Self::Io { source, action, .. }
            if *action != "sync" && matches!(source.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded))
    }

    /// Wraps what the system said about a path. For `map_err`.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Io { action, path, source }
    }
}

/// A result of this crate.
pub type Result<T, E = StoreError> = std::result::Result<T, E>;
