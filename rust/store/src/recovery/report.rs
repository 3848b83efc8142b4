//! What a start found and did.

use crate::offset::LogOffset;

/// What a start found and did.
#[allow(clippy::struct_excessive_bools)] // facts for people to read, not states
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecoveryReport {
    /// The last stop was orderly and its note was right: nothing had to be looked for.
    pub was_orderly: bool,
    /// From where records were checked; the log's end where none had to be.
    pub checked_from: LogOffset,
    /// How many records were checked.
    pub records_checked: u64,
    /// How many bytes of records were checked.
    pub bytes_checked: u64,
    /// Where the log ends.
    pub log_end: LogOffset,
    /// Why the log ends there, in words; empty where nothing follows its last record.
    pub end_reason: String,
    /// Whether bytes behind the end, or whole segments, had to go.
    pub has_cut_log: bool,
    /// Whether all consume queues were made anew from the log.
    pub has_rebuilt_queues: bool,
    /// Whether the key index was made anew from the log.
    pub has_rebuilt_index: bool,
    /// How many records went through the queue builder.
    pub records_rebuilt: u64,
    /// Records whose trailing CRC property does not agree with an otherwise whole record. They stay in the log: an
    /// Apache broker that does not write the property copies it along.
    pub record_crc_mismatches: Vec<LogOffset>,
}
