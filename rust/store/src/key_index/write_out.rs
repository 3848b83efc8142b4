//! Writing pending entries to an index file: entries in one piece, then the slots that changed, then the header. Slots
//! are read and written many at a time, so that a batch that is large enough costs a fraction of a call for each entry.

use super::entry::IndexEntry;
use super::file::IndexFile;
use super::geometry::{SLOT_SIZE, slot_at};
use crate::error::Result;

/// Slots are read and written together with those between them where they are no further apart than a page: pages that
/// hold no changed slot are left alone.
const GAP_MAX: u32 = 1024;
const _: () = assert!(GAP_MAX as usize * SLOT_SIZE == 4096);
/// The most slots that are read or written at once.
const SPAN_MAX: u32 = 64 * 1024;

/// A slot, and a pending entry that belongs to it.
type SlotUse = (u32, u32);

impl IndexFile {
    /// Hands all pending entries to the operating system; they are durable after a sync.
    ///
    /// # Errors
    /// [`StoreError::Io`](crate::StoreError::Io). The entries are then still pending, and another call tries again.
    pub fn write_out(&mut self) -> Result<()> {
        if self.is_header_written {
            return Ok(());
        }
        self.has_unsynced = true;
        let uses = self.slot_uses();
        self.resolve(&uses)?;
        let bytes: Vec<u8> = self.pending.iter().flat_map(IndexEntry::encode).collect();
        self.write(self.geometry.entry_at(self.first_pending()), &bytes)?;
        self.write_slots(&uses)?;
        self.write(0, &self.header.encode())?;
        self.pending.clear();
        self.resolved = 0;
        self.is_header_written = true;
        Ok(())
    }

    /// The slots of the pending entries, in order; entries of one slot from oldest to newest.
    #[allow(clippy::cast_possible_truncation)] // entry numbers have 32 bits
    fn slot_uses(&self) -> Vec<SlotUse> {
        let slot_of = |entry: &IndexEntry| self.geometry.slot_of(entry.key_hash);
        let mut uses: Vec<SlotUse> =
            self.pending.iter().enumerate().map(|(index, entry)| (slot_of(entry), index as u32)).collect();
        uses.sort_unstable();
        uses
    }

    /// Finds the previous entry of each pending one. Those that a failed write-out has resolved stay as they are: their
    /// slots may have changed on disk since.
    fn resolve(&mut self, uses: &[SlotUse]) -> Result<()> {
        let first_pending = self.first_pending();
        let mut bytes = Vec::new();
        for uses in spans(uses) {
            let start = self.read_span(uses, &mut bytes)?;
            let mut newest: Option<(u32, u32)> = None;
            for &(slot, index) in uses {
                let number = first_pending + index;
                let previous = match newest {
                    Some((newest_slot, newest)) if newest_slot == slot => newest,
                    // Compat: a slot that names no earlier entry counts as empty.
                    _ => Some(slot_in(&bytes, slot - start)).filter(|found| *found < number).unwrap_or(0),
                };
                newest = Some((slot, number));
                if index as usize >= self.resolved {
                    self.pending[index as usize].previous = previous;
                    self.header.slots_used += u32::from(previous == 0);
                }
            }
        }
        self.resolved = self.pending.len();
        Ok(())
    }

    fn write_slots(&self, uses: &[SlotUse]) -> Result<()> {
        let first_pending = self.first_pending();
        let mut bytes = Vec::new();
        for uses in spans(uses) {
            // Read again and not kept: the slots of a large batch are spread over 20 MB.
            let start = self.read_span(uses, &mut bytes)?;
            for &(slot, index) in uses {
                let at = (slot - start) as usize * SLOT_SIZE;
                bytes[at..at + SLOT_SIZE].copy_from_slice(&(first_pending + index).to_be_bytes());
            }
            self.write(slot_at(start), &bytes)?;
        }
        Ok(())
    }

    /// Reads the slots from the first to the last of some, and returns the first one's number.
    fn read_span(&self, uses: &[SlotUse], bytes: &mut Vec<u8>) -> Result<u32> {
        let (first, last) = (uses[0].0, uses[uses.len() - 1].0);
        bytes.resize((last - first + 1) as usize * SLOT_SIZE, 0);
        self.read(slot_at(first), bytes)?;
        Ok(first)
    }
}

/// Slots in order, taken together where they are close to each other. Uses of one slot stay together.
fn spans(uses: &[SlotUse]) -> impl Iterator<Item = &[SlotUse]> {
    let mut start = uses.first().map_or(0, |(slot, _)| *slot);
    uses.chunk_by(move |(before, _), (slot, _)| {
        let is_close = slot - before <= GAP_MAX && slot - start < SPAN_MAX;
        if !is_close {
            start = *slot;
        }
        is_close
    })
}

fn slot_in(bytes: &[u8], place: u32) -> u32 {
    let at = place as usize * SLOT_SIZE;
    bytes[at..].first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes))
}
