//! A transaction as others see it: a value of its own.

/// Where a transaction stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransactionState {
    /// Nobody has decided.
    Pending,
    /// Its message is in its queue.
    Committed,
    /// Its message never will be.
    RolledBack,
    /// It was asked about often enough, or too old: its message is in the discard topic.
    Discarded,
    /// An Apache broker was done with it, and left nothing that says how.
    Closed,
}

/// A transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transaction {
    /// Log offset of its first half record, which may have expired.
    pub root_log_offset: u64,
    /// When that one was stored.
    pub root_store_ms: i64,
    /// Producer group.
    pub group: String,
    /// Topic of its message.
    pub topic: String,
    /// Queue of its message.
    pub queue_id: i32,
    /// Unique id of its message.
    pub unique_id: String,
    /// Checksum of its message's body.
    pub body_crc: u32,
    /// How often its producer was asked.
    pub checks: u32,
    /// Whether the question about the newest copy has left, since the start.
    pub is_asked: bool,
    /// Where it stands.
    pub state: TransactionState,
    /// Half offset of the newest copy.
    pub half_offset: u64,
    /// Log offset of the newest copy.
    pub log_offset: u64,
    /// Half offsets of copies that no op record names.
    pub live_half_offsets: Vec<u64>,
    /// When the newest copy was stored.
    pub store_ms: i64,
    /// When it was decided.
    pub decided_ms: Option<i64>,
    /// Who decided.
    pub decided_by: Option<String>,
    /// The log offset behind the last record of the decision; 0 where there is none.
    pub decision_end: u64,
    /// Log offset of the message in its queue.
    pub final_log_offset: Option<u64>,
}
