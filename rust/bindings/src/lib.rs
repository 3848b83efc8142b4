//! The native module `escrowmq._core`: what it exports, and nothing else. Each file carries one part of the store,
//! the wire formats or the server over to Python; whatever decides anything lives in the crates of those.

#![allow(clippy::needless_pass_by_value, reason = "PyO3 hands arguments over by value")]

mod answer;
mod broker_server;
mod buffer;
mod caller;
mod clock;
mod config_file;
mod error;
mod fast_entries;
mod floor;
mod frame;
mod inspection;
mod limits;
mod message;
mod native_log;
mod observation;
mod outgoing;
mod owner;
mod property_filter;
mod queue_iterator;
mod receipt;
mod record;
mod report;
mod server;
mod server_event;
mod store;
mod timers;
mod transaction_index;
mod transaction_requests;
mod wire;

/// The native module.
#[pyo3::pymodule]
mod _core {
    #[pymodule_export]
    use crate::answer::Answer;
    #[pymodule_export]
    use crate::broker_server::BrokerServer;
    #[pymodule_export]
    use crate::caller::{Caller, Replies};
    #[pymodule_export]
    use crate::clock::Clock;
    #[pymodule_export]
    use crate::config_file::ConfigFile;
    #[pymodule_export]
    use crate::fast_entries::{FastLaneStatistics, GroupEntry, SubscriptionEntry, TopicEntry, Traffic};
    #[pymodule_export]
    use crate::floor::measure_floor_s;
    #[pymodule_export]
    use crate::frame::Frame;
    #[pymodule_export]
    use crate::inspection::{Finding, IndexFileStatus, Inspection, StoreSummary};
    #[pymodule_export]
    use crate::limits::Limits;
    #[pymodule_export]
    use crate::message::Message;
    #[pymodule_export]
    use crate::native_log::NativeLog;
    #[pymodule_export]
    use crate::observation::{ArrowStream, Observation, ObservedQueue};
    #[pymodule_export]
    use crate::outgoing::{OutgoingMessage, OutgoingRequest};
    #[pymodule_export]
    use crate::property_filter::PropertyFilter;
    #[pymodule_export]
    use crate::queue_iterator::QueueIterator;
    #[pymodule_export]
    use crate::receipt::{Receipt, Receipts};
    #[pymodule_export]
    use crate::record::Record;
    #[pymodule_export]
    use crate::report::{ExpiryReport, QueueEntry, QueueStatus, RecoveryReport, Statistics};
    #[pymodule_export]
    use crate::server::{Server, ServerStatistics};
    #[pymodule_export]
    use crate::server_event::{
        ConnectionClosed, ConnectionOpened, LogVisible, Request, RequestWritten, Response,
    };
    #[pymodule_export]
    use crate::store::Store;
    #[pymodule_export]
    use crate::timers::{TimerStatistics, Timers};
    #[pymodule_export]
    use crate::transaction_index::{Transaction, TransactionIndex};
    #[pymodule_export]
    use crate::transaction_requests::{Prepare, PrepareReader, read_decisions, topics_of_sends};
    #[pymodule_export]
    use crate::wire::{decode_frames, decode_records, encode_frames};
}
