//! Transactions of a store: what is prepared and undecided, and what became of the rest. A function of the commit log: its
//! events are records, and the same state comes of them whether they are read at a start or told as they are appended.
//!
//! ```text
//! record ── event, op_marks ──▶ Half · Final · Op · Discard ── index ──▶ entries, orders, names ── queries ──▶ Transaction
//!                                                                                 └── snapshot, replay: a start without all of the log
//! ```
//! A transaction is its root half record; copies that are put back later belong to it. It is committed when a final record
//! names any of its copies, rolled back or discarded when a record says so, and the first decision stays.
//!
//! A pending transaction takes 142 bytes, as measured with half a million: an entry of 80, 24 for its copy, 8 for its place
//! in each of three orders, and about 12 to be found by its unique id. Its first put-back adds about 140, each later one
//! 32. One that is decided takes 186.

mod append_order;
mod decisions;
mod entry;
mod event;
mod index;
mod names;
mod op_marks;
mod queries;
mod replay;
mod same_key;
mod save;
mod saving;
mod snapshot;
mod tracker;
mod transaction;
mod unique_id;

pub use queries::PendingRange;
pub use tracker::TransactionIndex;
pub use transaction::{Transaction, TransactionState};

/// Topic of half messages.
pub const HALF_TOPIC: &str = "RMQ_SYS_TRANS_HALF_TOPIC";
/// Topic of op records.
pub const OP_TOPIC: &str = "RMQ_SYS_TRANS_OP_HALF_TOPIC";
/// Topic of half messages that nobody asks about any more.
pub const DISCARD_TOPIC: &str = "TRANS_CHECK_MAX_TIME_TOPIC";
/// The one queue of half messages.
pub const TRANSACTION_QUEUE: u32 = 0;
