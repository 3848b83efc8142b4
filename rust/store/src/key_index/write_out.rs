//! Writing pending entries to an index file: entries in one piece, then the slots that changed, then the header. Slots
//! are read and written page by page, so that a batch that is large enough costs a fraction of a call for each entry.

use std::ops::Range;

use super::entry::IndexEntry;
use super::file::IndexFile;
use super::geometry::{SLOT_SIZE, slot_at};
use crate::error::Result;

/// Slots are taken together where they lie in one page of the file.
const PAGE_SIZE: u64 = 4096;

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
        for page in pages(uses) {
            let (span, bytes) = self.read_span(&uses[page.clone()])?;
            let mut newest: Option<(u32, u32)> = None;
            for &(slot, index) in &uses[page] {
                let number = first_pending + index;
                let previous = match newest {
                    Some((newest_slot, newest)) if newest_slot == slot => newest,
                    // Compat: a slot that names no earlier entry counts as empty.
                    _ => {
                        Some(slot_in(&bytes, slot - span.start)).filter(|found| *found < number).unwrap_or(0)
                    }
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
        for page in pages(uses) {
            let (span, mut bytes) = self.read_span(&uses[page.clone()])?;
            for &(slot, index) in &uses[page] {
                let at = (slot - span.start) as usize * SLOT_SIZE;
                bytes[at..at + SLOT_SIZE].copy_from_slice(&(first_pending + index).to_be_bytes());
            }
            self.write(slot_at(span.start), &bytes)?;
        }
        Ok(())
    }

    /// The slots from the first to the last of some, as they are on disk.
    fn read_span(&self, uses: &[SlotUse]) -> Result<(Range<u32>, Vec<u8>)> {
        let first = uses.first().map_or(0, |(slot, _)| *slot);
        let span = first..uses.last().map_or(first, |(slot, _)| slot + 1);
        let mut bytes = vec![0; span.len() * SLOT_SIZE];
        self.read(slot_at(first), &mut bytes)?;
        Ok((span, bytes))
    }
}

/// Ranges of `uses` whose slots lie in one page.
fn pages(uses: &[SlotUse]) -> Vec<Range<usize>> {
    let page = |slot: u32| slot_at(slot) / PAGE_SIZE;
    let mut start = 0;
    let runs = uses.chunk_by(|a, b| page(a.0) == page(b.0));
    runs.map(|run| {
        start += run.len();
        start - run.len()..start
    })
    .collect()
}

fn slot_in(bytes: &[u8], place: u32) -> u32 {
    let at = place as usize * SLOT_SIZE;
    bytes[at..].first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes))
}
