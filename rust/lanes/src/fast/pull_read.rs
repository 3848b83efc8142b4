//! Reading for a pull: from a queue offset on, the records that a filter wants, and where to go on.

use escrowmq_store::consume_queue::ConsumeQueue;
use escrowmq_store::{LogOffset, QueueOffset, StoreCore, StoredRecord};

use super::codes::response;
use super::message_filter::MessageFilter;

/// Compat: how many entries Apache looks at for one answer.
const SCAN_COUNT_MAX: usize = 800;
/// Entries that are read at a time.
const CHUNK_COUNT: usize = 64;
/// Operands that are looked at for one answer, so that no expression holds up the thread for long: ten comparisons on each
/// of the entries above, twice over.
const SCAN_COST_MAX: usize = 32_000;
/// A reader this many entries behind may need pages of the queue that are not resident. The hot window has fewer.
const HOT_ENTRIES: u64 = 65_536;

/// What became of a pull. Compat: the remark of its answer is one of Apache's names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PullStatus {
    Found,
    NoMatchedMessage,
    MessageWasRemoving,
    NoMessageInQueue,
    OffsetOverflowOne,
    OffsetOverflowBadly,
    OffsetTooSmall,
    OffsetReset,
}

impl PullStatus {
    /// The name that travels.
    pub fn name(self) -> &'static str {
        match self {
            Self::Found => "FOUND",
            Self::NoMatchedMessage => "NO_MATCHED_MESSAGE",
            Self::MessageWasRemoving => "MESSAGE_WAS_REMOVING",
            Self::NoMessageInQueue => "NO_MESSAGE_IN_QUEUE",
            Self::OffsetOverflowOne => "OFFSET_OVERFLOW_ONE",
            Self::OffsetOverflowBadly => "OFFSET_OVERFLOW_BADLY",
            Self::OffsetTooSmall => "OFFSET_TOO_SMALL",
            Self::OffsetReset => "OFFSET_RESET",
        }
    }

    /// The code of the answer to a pull from an offset.
    pub fn code(self, queue_offset: i64) -> i32 {
        match self {
            Self::Found => response::SUCCESS,
            Self::NoMatchedMessage | Self::MessageWasRemoving => response::PULL_RETRY_IMMEDIATELY,
            Self::NoMessageInQueue if queue_offset == 0 => response::PULL_NOT_FOUND,
            Self::OffsetOverflowOne => response::PULL_NOT_FOUND,
            Self::NoMessageInQueue | Self::OffsetOverflowBadly | Self::OffsetTooSmall | Self::OffsetReset => {
                response::PULL_OFFSET_MOVED
            }
        }
    }
}

/// What a pull found.
#[derive(Debug)]
pub struct PullRead {
    pub status: PullStatus,
    pub next_offset: i64,
    pub min_offset: u64,
    pub max_offset: u64,
    pub records: Vec<StoredRecord>,
    /// Whether nothing that is visible was left out.
    pub has_seen_all: bool,
    /// Entries and operands that were looked at.
    pub effort: usize,
}

impl PullRead {
    /// An answer without records, for which nothing had to be looked at.
    pub fn bare(status: PullStatus, next_offset: i64, (min_offset, max_offset): (u64, u64)) -> Self {
        let records = Vec::new();
        Self { status, next_offset, min_offset, max_offset, records, has_seen_all: true, effort: 0 }
    }

    /// Whether everything in the queue was looked at, and nothing of it wanted.
    pub fn has_seen_all_in_vain(&self) -> bool {
        self.status == PullStatus::NoMatchedMessage && self.has_seen_all
    }
}

/// Where to read, and how much.
#[derive(Debug, Clone, Copy)]
pub struct PullRange<'a> {
    pub topic: &'a str,
    pub queue_id: i32,
    pub from: i64,
    /// At least one record is read, whatever this says.
    pub count_max: usize,
    pub size_max_bytes: usize,
    /// Nothing before this log offset is touched.
    pub floor: LogOffset,
}

/// Reads; `None` where it would have to touch what lies before the floor.
pub fn read(store: &StoreCore, range: PullRange<'_>, filter: &MessageFilter) -> Option<PullRead> {
    let queue = u32::try_from(range.queue_id).ok().and_then(|queue_id| store.queue(range.topic, queue_id));
    let (min, max) = queue.as_ref().map_or((0, 0), |queue| (queue.min_offset().0, queue.max_offset().0));
    let at = |status, next_offset: u64| {
        let next_offset = i64::try_from(next_offset).unwrap_or(i64::MAX);
        Some(PullRead::bare(status, next_offset, (min, max)))
    };
    let Some(queue) = queue.filter(|_| max > 0) else { return at(PullStatus::NoMessageInQueue, 0) };
    // A negative offset is before any other.
    let Some(from) = u64::try_from(range.from).ok().filter(|&from| from >= min) else {
        return at(PullStatus::OffsetTooSmall, min);
    };
    if from == max {
        return at(PullStatus::OffsetOverflowOne, max);
    }
    if from > max {
        return at(PullStatus::OffsetOverflowBadly, max);
    }
    if range.floor.0 > 0 && max - from > HOT_ENTRIES {
        return None;
    }
    let visible_end = store.visible_end();
    let mut scan = Scan {
        range,
        visible_end,
        records: Vec::new(),
        size_bytes: 0,
        next: from,
        has_gap: false,
        cost: 0,
        has_met_invisible: false,
    };
    scan.run(store, &queue, filter)?;
    let status = if !scan.records.is_empty() {
        PullStatus::Found
    } else if scan.has_gap {
        PullStatus::MessageWasRemoving
    } else if scan.next == from {
        // There is an entry, and its record is about to become visible: until then there is nothing new.
        PullStatus::OffsetOverflowOne
    } else {
        PullStatus::NoMatchedMessage
    };
    let seen_count = usize::try_from(scan.next - from).unwrap_or(usize::MAX);
    Some(PullRead {
        records: scan.records,
        has_seen_all: scan.has_met_invisible || scan.next >= max,
        effort: seen_count.saturating_add(scan.cost),
        ..at(status, scan.next)?
    })
}

struct Scan<'a> {
    range: PullRange<'a>,
    /// A queue grows a moment before its records count as visible. An entry of one that does not is left for the next
    /// look: who takes it for a record that has expired skips a message.
    visible_end: LogOffset,
    records: Vec<StoredRecord>,
    size_bytes: usize,
    next: u64,
    /// Whether a record was gone from the log already.
    has_gap: bool,
    /// Operands that were looked at.
    cost: usize,
    /// Whether it ended at an entry whose record is about to become visible.
    has_met_invisible: bool,
}

impl Scan<'_> {
    fn run(&mut self, store: &StoreCore, queue: &ConsumeQueue, filter: &MessageFilter) -> Option<()> {
        let mut left = SCAN_COUNT_MAX.max(self.range.count_max);
        let mut entries = Vec::new();
        while left > 0 {
            entries.clear();
            queue.read_entries(QueueOffset(self.next), CHUNK_COUNT.min(left), &mut entries);
            if entries.is_empty() {
                break;
            }
            left = left.saturating_sub(entries.len());
            for entry in &entries {
                self.has_met_invisible = entry.log_offset >= self.visible_end;
                if self.has_met_invisible || self.is_full(entry.record_size as usize) {
                    return Some(());
                }
                if filter.may_match(entry.tags_code) {
                    if entry.log_offset < self.range.floor {
                        // What was found so far is an answer, and the rest the next pull's.
                        return (!self.records.is_empty()).then_some(());
                    }
                    match store.record_at(entry.log_offset) {
                        Ok(record) => {
                            let (is_wanted, looks) = filter.matches(&record);
                            self.cost += looks;
                            if is_wanted {
                                self.size_bytes += record.bytes().len();
                                self.records.push(record);
                            }
                        }
                        Err(_) => self.has_gap = true,
                    }
                }
                self.next += 1;
                if self.cost >= SCAN_COST_MAX {
                    return Some(());
                }
            }
        }
        Some(())
    }

    fn is_full(&self, size: usize) -> bool {
        !self.records.is_empty()
            && (self.records.len() >= self.range.count_max
                || self.size_bytes + size > self.range.size_max_bytes)
    }
}
