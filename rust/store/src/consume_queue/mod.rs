//! Consume queues: for each topic and queue number a list of where its records lie in the log. They are a function of
//! the log: the queue builder fills them, recovery repairs them, and nothing here is not also there.

mod deletion;
mod entry;
mod queue;
mod removal;
mod repair;
mod status;
mod table;
mod time_search;

pub use entry::{ENTRY_SIZE, QueueEntry};
pub(crate) use queue::partition_point;
pub use queue::{ConsumeQueue, QueueLayout};
pub use status::QueueStatus;
pub use table::QueueTable;
pub use time_search::TimeBoundary;
pub(crate) use time_search::search as search_by_time;
