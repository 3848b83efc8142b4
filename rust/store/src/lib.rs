//! Files and records: a commit log with consume queues and a key index, in Apache `RocketMQ`'s formats.
//!
//! [`Store`] is a directory that is open; [`StoreCore`] the same without threads, for tests that run its steps in an
//! order of their own. Data flows one way: messages are appended to the log, the log is flushed, the queue builder
//! turns what is durable into queue and index entries, readers follow the queues back into the log. Queues and index
//! are functions of the log, and of the list of topics that were deleted: remove them, and the next start makes them
//! again.
//!
//! ```text
//! disk/           what a file system promises, and nothing more; the seam for crash tests
//! mapped/         one file in memory, many as one, marks to wait on
//! commit_log/     append, flush, read
//! consume_queue/  a queue's entries, all queues, search by time
//! key_index/      messages by key
//! queue_builder   log -> queues and index
//! timer/          messages that wait for a time of their own
//! topic_deletion  queues that go with their topic, for good
//! transaction_index/  what is prepared and undecided, and what became of it
//! recovery/       what a start does with what it finds
//! observation/    a store that another process may be writing, read by position
//! store_core      all of it, step by step; store: on threads
//! ```

mod arrivals;
pub mod checkpoint;
pub mod clock;
mod commit_log;
pub mod config_file;
pub mod consume_queue;
pub mod deleted_topics;
pub mod directory_lock;
pub mod disk;
pub mod error;
mod expiry;
mod expiry_rounds;
pub mod inspection;
pub mod key_index;
pub mod layout;
pub mod mapped;
mod message;
pub mod observation;
pub mod offset;
pub mod options;
mod poison;
mod queue_builder;
mod recovery;
mod running_mark;
#[cfg(feature = "simulation")]
pub mod simulation;
mod small_file;
mod statistics;
mod stop_note;
mod store;
mod store_core;
mod store_reads;
pub mod timer;
mod topic_deletion;
pub mod transaction_index;
mod visible_limit;
mod whole_file;

pub use arrivals::{Arrival, ArrivalListener};
pub use commit_log::StoredRecord;
pub use consume_queue::{QueueEntry, QueueStatus, TimeBoundary};
pub use error::{BadMessage, Result, StoreError, Unreadable};
pub use expiry::ExpiryReport;
pub use message::{NewMessage, Receipt};
pub use offset::{LogOffset, QueueOffset};
pub use options::{FlushMode, Retention, StoreOptions};
pub use recovery::RecoveryReport;
pub use statistics::Statistics;
pub use store::Store;
pub use store_core::StoreCore;
