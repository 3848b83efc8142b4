//! The native module `escrowmq._core`: what it exports, and nothing else. Each file carries one part of the store or
//! the wire formats over to Python; whatever decides anything lives in `escrowmq-store` or `escrowmq-wire`.

#![allow(clippy::needless_pass_by_value, reason = "PyO3 hands arguments over by value")]

mod buffer;
mod error;
mod floor;
mod frame;
mod message;
mod owner;
mod queue_iterator;
mod receipt;
mod record;
mod report;
mod store;
mod wire;

/// The native module.
#[pyo3::pymodule]
mod _core {
    #[pymodule_export]
    use crate::floor::measure_floor_s;
    #[pymodule_export]
    use crate::frame::Frame;
    #[pymodule_export]
    use crate::message::Message;
    #[pymodule_export]
    use crate::queue_iterator::QueueIterator;
    #[pymodule_export]
    use crate::receipt::{Receipt, Receipts};
    #[pymodule_export]
    use crate::record::Record;
    #[pymodule_export]
    use crate::report::{ExpiryReport, QueueStatus, RecoveryReport, Statistics};
    #[pymodule_export]
    use crate::store::Store;
    #[pymodule_export]
    use crate::wire::{decode_frames, decode_records, encode_frames};
}
