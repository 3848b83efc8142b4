//! Events of `tracing` go into a log queue. There are no spans.

use std::io;
use std::sync::OnceLock;
use std::time::Instant;

use parking_lot::Mutex;
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::Interest;
use tracing::{Event, Level, Metadata, Subscriber};

use crate::log_queue::LogQueue;
use crate::log_record::LogRecord;

static QUEUE: OnceLock<LogQueue> = OnceLock::new();
static INSTALLING: Mutex<()> = Mutex::new(());

/// The queue of this process, which from now on gets what all threads log and is at least as serious as a level. The
/// last call's level holds.
///
/// # Errors
/// The system refuses an eventfd.
pub fn install(level: Level) -> io::Result<&'static LogQueue> {
    let _one_at_a_time = INSTALLING.lock();
    if let Some(queue) = QUEUE.get() {
        queue.set_level(level);
        return Ok(queue);
    }
    let queue = LogQueue::new(level)?;
    let queue = QUEUE.get_or_init(|| queue);
    tracing::subscriber::set_global_default(Forwarder { queue }).map_err(io::Error::other)?;
    Ok(queue)
}

struct Forwarder<'a> {
    queue: &'a LogQueue,
}

impl Subscriber for Forwarder<'static> {
    fn register_callsite(&self, _metadata: &'static Metadata<'static>) -> Interest {
        // The level may change, so it is looked at each time.
        Interest::sometimes()
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        self.queue.wants(*metadata.level())
    }

    fn event(&self, event: &Event<'_>) {
        self.queue.push(LogRecord::from(event), Instant::now());
    }

    fn new_span(&self, _span: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _span: &Id, _values: &Record<'_>) {}

    fn record_follows_from(&self, _span: &Id, _follows: &Id) {}

    fn enter(&self, _span: &Id) {}

    fn exit(&self, _span: &Id) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log_record::VALUE_LENGTH_MAX;

    #[test]
    fn events_become_records_with_their_fields_as_text() {
        let queue: &'static LogQueue = Box::leak(Box::new(LogQueue::new(Level::INFO).expect("a queue")));
        tracing::subscriber::with_default(Forwarder { queue }, || {
            let error = io::Error::other("no such thing");
            tracing::warn!(%error, size = 7, reason = ?Some(1), name = "n", "it failed");
            tracing::debug!("nobody wants this");
            tracing::info!(long = "ü".repeat(2 * VALUE_LENGTH_MAX), "long");
        });
        let records = queue.take().records;
        let fields = [("error", "no such thing"), ("size", "7"), ("reason", "Some(1)"), ("name", "n")];
        let first = LogRecord {
            level: Level::WARN,
            message: "it failed".to_owned(),
            fields: fields.map(|(name, text)| (name, text.to_owned())).to_vec(),
        };
        assert_eq!(records[0], first);
        assert_eq!(records[1].fields[0].1.chars().count(), VALUE_LENGTH_MAX);
        assert_eq!(records.len(), 2);
    }

    #[test]
    fn a_process_has_one_queue_and_every_thread_logs_to_it() {
        let queue = install(Level::WARN).expect("a queue");
        assert!(std::ptr::eq(queue, install(Level::INFO).expect("the same queue")));
        std::thread::spawn(|| tracing::info!("from a thread")).join().expect("no panic");
        let messages: Vec<_> = queue.take().records.into_iter().map(|record| record.message).collect();
        assert_eq!(messages, ["from a thread"]);
    }
}
