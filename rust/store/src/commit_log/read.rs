//! Reading records where they lie. A record that was handed out stays readable while it is held.

use std::ops::ControlFlow;
use std::sync::Arc;

use escrowmq_wire::{BLANK_SIZE_MIN, LogItem, RecordError, RecordView};

use super::CommitLog;
use crate::error::{Result, StoreError};
use crate::mapped::{LogSlice, Segment, SegmentChain};
use crate::offset::LogOffset;

/// A record of the log, held where it lies.
#[derive(Debug, Clone)]
pub struct StoredRecord {
    slice: LogSlice,
    at: u64,
}

impl StoredRecord {
    /// Its fields.
    ///
    /// # Panics
    /// Never: the record was parsed when it was read, and does not change.
    #[must_use]
    pub fn view(&self) -> RecordView<'_> {
        match LogItem::parse(&self.slice, self.at) {
            Ok(LogItem::Record(view)) => view,
            other => unreachable!("record at {} was whole when it was read: {other:?}", self.at),
        }
    }

    /// Its bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.slice
    }
}

impl CommitLog {
    /// The record at an offset, if all of it lies before `limit`.
    ///
    /// # Errors
    /// [`StoreError::NoRecord`], [`StoreError::Damaged`].
    pub fn record_at(&self, at: LogOffset, limit: LogOffset) -> Result<StoredRecord> {
        let no_record = || StoreError::NoRecord { at, start: self.start(), end: limit };
        if at >= limit {
            return Err(no_record());
        }
        let segment = self.chain.segment_for(at.0).ok_or_else(no_record)?;
        self.ask_for(&segment, at.0);
        match item_in(&segment, at.0).map_err(|reason| StoreError::Damaged { at, reason })? {
            LogItem::Record(view) if at.0 + u64::from(view.size()) <= limit.0 => {
                let start = usize::try_from(at.0 - segment.start()).unwrap_or(usize::MAX);
                let end = start + view.bytes().len();
                Ok(StoredRecord { slice: LogSlice::new(Arc::clone(&segment), start..end), at: at.0 })
            }
            _ => Err(no_record()),
        }
    }
}

impl CommitLog {
    /// Whether a record or a blank begins at an offset.
    pub fn is_item_at(&self, at: LogOffset) -> bool {
        self.chain.segment_for(at.0).is_some_and(|segment| item_in(&segment, at.0).is_ok())
    }
}

/// A walk over the records of a chain from an offset to a limit. Blanks are passed over.
#[derive(Debug)]
pub(crate) struct Walk<'a> {
    chain: &'a SegmentChain,
    at: u64,
    limit: u64,
}

impl<'a> Walk<'a> {
    /// Begins at `from`, where an item must stand, and ends at `limit`.
    pub fn new(chain: &'a SegmentChain, from: LogOffset, limit: LogOffset) -> Self {
        Self { chain, at: from.0, limit: limit.0 }
    }

    /// Where the next item would stand.
    pub fn position(&self) -> LogOffset {
        LogOffset(self.at)
    }

    /// Visits records until the limit, the chain's end, or a `Break`, which counts its record as visited.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] where what stands there is neither record nor blank, and what `visit` returns; the walk
    /// then stays where it is.
    pub fn each(&mut self, mut visit: impl FnMut(RecordView<'_>) -> Result<ControlFlow<()>>) -> Result<()> {
        while self.at < self.limit {
            let Some(segment) = self.chain.segment_for(self.at) else { return Ok(()) };
            while self.at < self.limit.min(segment.end()) {
                match item_in(&segment, self.at).map_err(|reason| self.damaged(reason))? {
                    LogItem::Blank { .. } => self.at = segment.end(),
                    LogItem::Record(view) => {
                        let flow = visit(view)?;
                        self.at += u64::from(view.size());
                        if flow.is_break() {
                            return Ok(());
                        }
                    }
                }
            }
        }
        Ok(())
    }

    fn damaged(&self, reason: RecordError) -> StoreError {
        StoreError::Damaged { at: LogOffset(self.at), reason }
    }
}

/// What stands at an offset of a segment.
fn item_in(segment: &Segment, at: u64) -> std::result::Result<LogItem<'_>, RecordError> {
    let start = usize::try_from(at - segment.start()).unwrap_or(segment.size());
    let rest = segment.size() - start;
    if rest < BLANK_SIZE_MIN {
        // Too small for anything: a segment that was filled to its last bytes has no blank.
        return Ok(LogItem::Blank { size: u32::try_from(rest).unwrap_or(u32::MAX) });
    }
    let published = segment.published();
    let bytes = if start < published { segment.slice(start..published) } else { &[] };
    match LogItem::parse(bytes, at)? {
        LogItem::Blank { size } if size as usize != rest => {
            Err(RecordError::BadSize { at, size: size.cast_signed(), size_min: rest })
        }
        item => Ok(item),
    }
}
