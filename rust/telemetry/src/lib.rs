//! What the other crates log by way of `tracing`, kept until Python takes it and writes it where its own logs go.
//!
//! Whoever logs waits for nobody: a queue that is full, or an event that comes too often, is counted instead of kept.

mod log_queue;
mod log_record;
mod subscriber;

pub use log_queue::{LogQueue, RECORDS_MAX, RECORDS_PER_SECOND_MAX, Taken};
pub use log_record::{LogRecord, VALUE_LENGTH_MAX};
pub use subscriber::install;
