//! The timer log: units one after the other in files of one size, each naming the one before it in its slot. Units are
//! only ever added; a file goes when the log holds none of its messages any more.
//!
//! ```text
//! timerlog/00000000000000000000     | unit | unit | … | blank: rest of file 4, zeros 8, magic 4 | … |
//! ```
//! Compat: every file keeps room for the blank, which is written when the next unit does not fit.

use std::path::Path;
use std::sync::Arc;

use escrowmq_wire::MAGIC_BLANK;

use super::unit::{TimerUnit, UNIT_SIZE};
use crate::disk::{Allocation, Disk};
use crate::error::{Result, StoreError};
use crate::mapped::{ChainLayout, Segment, SegmentChain, remove_file};
use crate::offset::LogOffset;

const BLANK_SIZE: usize = 16;
const UNIT_SIZE_U64: u64 = UNIT_SIZE as u64;
/// Files are sparse; blocks are had in steps of this size.
const ALLOCATION_STEP: usize = 64 * 1024;
/// Size of the smallest file that can hold anything.
pub(super) const FILE_SIZE_MIN: u64 = 4096;

/// The timer log.
#[derive(Debug)]
pub(super) struct TimerLog {
    disk: Arc<dyn Disk>,
    chain: SegmentChain,
    end: u64,
    synced: u64,
}

impl TimerLog {
    /// Maps the files of a folder, which need not exist. Changes nothing. Where it ends is for [`Self::find_end`] to say.
    ///
    /// # Errors
    /// [`StoreError::ForeignFile`], [`StoreError::WrongSize`], [`StoreError::MissingFile`], [`StoreError::Io`].
    pub fn load(
        disk: Arc<dyn Disk>,
        folder: &Path,
        temporary_folder: &Path,
        file_size_bytes: u64,
    ) -> Result<Self> {
        let chain = SegmentChain::load(
            &*disk,
            ChainLayout {
                folder: folder.to_path_buf(),
                temporary_folder: temporary_folder.to_path_buf(),
                kind: "timer log",
                segment_size_bytes: file_size_bytes,
                allocation: Allocation::OnDemand,
            },
        )?;
        let size = chain.layout().segment_size_bytes;
        if let Some(file) = chain.first().filter(|_| size < FILE_SIZE_MIN) {
            return Err(StoreError::WrongSize {
                path: file.path().into(),
                expected: file_size_bytes,
                found: size,
            });
        }
        let start = chain.first().map_or(0, |file| file.start());
        Ok(Self { disk, chain, end: start, synced: start })
    }

    /// Position of the first unit that is still there.
    pub fn start(&self) -> u64 {
        self.chain.first().map_or(0, |file| file.start())
    }

    /// Position of the next unit.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Whether it has files.
    pub fn has_files(&self) -> bool {
        self.chain.first().is_some()
    }

    /// The unit at a position; `None` where there is none.
    pub fn unit_at(&self, position: u64) -> Option<TimerUnit> {
        let file = self.chain.segment_for(position)?;
        let start = place(&file, position);
        let is_unit = start.is_multiple_of(UNIT_SIZE) && start + UNIT_SIZE <= file.published();
        let bytes = is_unit.then(|| file.slice(start..start + UNIT_SIZE))?;
        TimerUnit::decode(bytes.as_chunks().0.first()?)
    }

    /// Where the run of good units ends that begins at `from`; `None` where `from` is no place of this log.
    pub fn find_end(&self, from: u64, mut is_good: impl FnMut(u64, &TimerUnit) -> bool) -> Option<u64> {
        let limit = self.chain.last().map_or(0, |file| file.end());
        if from > limit || from < self.start() || !self.is_aligned(from) {
            return None;
        }
        let mut at = self.settle(from);
        while let Some(unit) = self.unit_at(at).filter(|unit| is_good(at, unit)) {
            debug_assert!(unit.record_size > 0);
            at = self.settle(at + UNIT_SIZE_U64);
        }
        Some(at)
    }

    /// The position of the unit before a position, if its file is still there.
    pub fn before(&self, position: u64) -> Option<u64> {
        let size = self.chain.layout().segment_size_bytes;
        let before = match position % size {
            0 => position.checked_sub(size)? + self.units_per_file().checked_sub(1)? * UNIT_SIZE_U64,
            _ => position - UNIT_SIZE_U64,
        };
        Some(before).filter(|before| *before >= self.start())
    }

    /// Ends the log: whatever stands behind is zeroed or removed, durably. What stands between `synced` and the end is
    /// written once more, since a sync that failed may have left it in memory only.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn cut(&mut self, synced: u64, end: u64) -> Result<()> {
        self.chain.truncate(&*self.disk, end)?;
        let mut at = synced;
        while let Some(file) = self.chain.segment_mut(at).filter(|_| at < end) {
            let upto = place(file, end.min(file.end()));
            file.rewrite(place(file, at)..upto);
            at = file.end();
        }
        (self.end, self.synced) = (end, synced);
        Ok(())
    }

    /// Removes all units, durably.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn clear(&mut self) -> Result<()> {
        while let Some(file) = self.chain.take_first() {
            remove_file(&*self.disk, &self.chain.layout().folder, file.path())?;
        }
        (self.end, self.synced) = (0, 0);
        Ok(())
    }

    /// Gets files and blocks for so many units: their appends can't fail then.
    ///
    /// # Errors
    /// [`StoreError::Io`], of kind `StorageFull` where the disk has no room.
    pub fn reserve(&self, count: usize) -> Result<()> {
        let (mut at, mut left) = (self.settle(self.end), count);
        while left > 0 {
            let file = match self.chain.segment_for(at) {
                Some(file) => file,
                None => self.chain.push_new(&*self.disk, at)?,
            };
            let start = place(&file, at);
            let units = ((file.size() - BLANK_SIZE - start) / UNIT_SIZE).min(left);
            file.ensure_allocated(start + units * UNIT_SIZE + BLANK_SIZE, ALLOCATION_STEP)?;
            left -= units;
            at = file.end();
        }
        Ok(())
    }

    /// Adds a unit and returns its position.
    ///
    /// # Panics
    /// If it was not [reserved](Self::reserve).
    pub fn append(&mut self, unit: &TimerUnit) -> u64 {
        let at = self.settle(self.end);
        if at != self.end {
            let full = self.chain.segment_for(self.end).expect("units lie in files");
            let start = place(&full, self.end);
            full.write_at(start, &blank(full.size() - start));
            full.publish(full.size());
        }
        let file = self.chain.segment_for(at).expect("room was reserved");
        let start = place(&file, at);
        file.write_at(start, &unit.encode());
        file.publish(start + UNIT_SIZE);
        self.end = at + UNIT_SIZE_U64;
        at
    }

    /// Makes all units durable.
    ///
    /// # Errors
    /// [`StoreError::Io`]. What reached the disk is then unknown, and the caller must not try again.
    pub fn sync(&mut self) -> Result<()> {
        let mut at = self.synced;
        while let Some(file) = self.chain.segment_for(at).filter(|_| at < self.end) {
            let upto = place(&file, self.end.min(file.end()));
            file.sync(place(&file, at)..upto).map_err(StoreError::io("sync", file.path()))?;
            at = file.end();
        }
        self.synced = self.end;
        Ok(())
    }

    /// Removes files whose last message the log has lost.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn expire(&self, log_start: LogOffset) -> Result<()> {
        while let Some(file) = self.chain.first().filter(|file| file.end() <= self.end) {
            let newest = self.before(file.end()).and_then(|last| self.unit_at(last));
            if newest.is_none_or(|unit| unit.log_offset >= log_start) {
                break;
            }
            self.chain.take_first();
            remove_file(&*self.disk, &self.chain.layout().folder, file.path())?;
        }
        Ok(())
    }

    /// Lets its pages leave this process's memory.
    pub fn release(&self) {
        for file in self.chain.all() {
            file.release(0..file.size());
        }
    }

    fn is_aligned(&self, position: u64) -> bool {
        let within = position % self.chain.layout().segment_size_bytes;
        within.is_multiple_of(UNIT_SIZE_U64)
    }

    /// The position itself where a unit fits, else the start of the next file.
    fn settle(&self, position: u64) -> u64 {
        let size = self.chain.layout().segment_size_bytes;
        if position % size / UNIT_SIZE_U64 < self.units_per_file() {
            position
        } else {
            (position / size + 1) * size
        }
    }

    fn units_per_file(&self) -> u64 {
        (self.chain.layout().segment_size_bytes - BLANK_SIZE as u64) / UNIT_SIZE_U64
    }
}

fn place(file: &Segment, position: u64) -> usize {
    usize::try_from(position - file.start()).unwrap_or(usize::MAX)
}

fn blank(size: usize) -> [u8; BLANK_SIZE] {
    let mut bytes = [0; BLANK_SIZE];
    bytes[..4].copy_from_slice(&u32::try_from(size).unwrap_or(u32::MAX).to_be_bytes());
    bytes[12..].copy_from_slice(&MAGIC_BLANK.to_be_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::RealDisk;

    fn load(folder: &Path) -> TimerLog {
        TimerLog::load(Arc::new(RealDisk), &folder.join("timerlog"), folder, FILE_SIZE_MIN).expect("load")
    }

    fn unit(number: u64) -> TimerUnit {
        TimerUnit {
            previous: number.checked_sub(1),
            is_roll: false,
            is_delete: false,
            write_ms: 1_000,
            delay_ms: 5_000,
            log_offset: LogOffset(number * 100),
            record_size: 100,
            topic_hash: 84,
        }
    }

    #[test]
    fn units_go_on_in_the_next_file_behind_a_blank_and_are_found_again() {
        let folder = tempfile::tempdir().expect("folder");
        let mut log = load(folder.path());
        log.reserve(200).expect("reserve");
        let positions: Vec<u64> = (0..200).map(|number| log.append(&unit(number))).collect();
        log.sync().expect("sync");
        // 78 units of 52 bytes are 4056: 40 more hold a blank, and no unit with room for a blank behind it.
        assert_eq!((positions[77], positions[78], positions[156]), (77 * 52, 4096, 8192));
        let first = std::fs::read(folder.path().join("timerlog/00000000000000000000")).expect("read");
        assert_eq!(first[4056..4072], [0, 0, 0, 40, 0, 0, 0, 0, 0, 0, 0, 0, 0xcb, 0xd4, 0x31, 0x94]);
        let again = load(folder.path());
        assert_eq!(again.find_end(0, |_, _| true), Some(log.end()));
        assert_eq!(again.find_end(4056, |_, _| true), Some(log.end()));
        assert_eq!(again.unit_at(positions[123]), Some(unit(123)));
        let mut at = log.end();
        for position in positions.iter().rev() {
            at = again.before(at).expect("a unit before it");
            assert_eq!(at, *position);
        }
        assert_eq!(again.before(at), None);
    }

    #[test]
    fn what_stands_behind_the_end_is_gone_after_a_cut() {
        let folder = tempfile::tempdir().expect("folder");
        let mut log = load(folder.path());
        log.reserve(100).expect("reserve");
        for number in 0..100 {
            log.append(&unit(number));
        }
        drop(log);
        let mut log = load(folder.path());
        let end = log.find_end(0, |_, unit| unit.log_offset < LogOffset(1_000)).expect("a place");
        assert_eq!(end, 10 * 52);
        log.cut(0, end).expect("cut");
        log.reserve(1).expect("reserve");
        assert_eq!(log.append(&unit(500)), 520);
        drop(log);
        let log = load(folder.path());
        assert_eq!(log.find_end(0, |_, _| true), Some(11 * 52));
        assert_eq!(log.find_end(51, |_, _| true), None);
        assert_eq!(log.find_end(1 << 40, |_, _| true), None);
    }

    #[test]
    fn files_go_when_the_log_has_lost_their_messages() {
        let folder = tempfile::tempdir().expect("folder");
        let mut log = load(folder.path());
        log.reserve(200).expect("reserve");
        for number in 0..200 {
            log.append(&unit(number));
        }
        log.expire(LogOffset(7_700)).expect("expire");
        assert_eq!(log.start(), 0);
        log.expire(LogOffset(7_701)).expect("expire");
        assert_eq!(log.start(), 4096);
        log.expire(LogOffset(u64::MAX)).expect("expire");
        assert_eq!(log.start(), 8192);
    }
}
