//! The wheel: a slot for each tick of fourteen days, twice as many as a message may wait for. A slot names the last unit
//! of its chain in the timer log. The file is read and written slot by slot and never held in memory; which slots are
//! occupied is.
//!
//! ```text
//!  0      8            16          24      28      32     at 32 × (tick modulo number of slots)
//!  | tick | first unit | last unit | count | magic |
//! ```

use std::io;
use std::path::{Path, PathBuf};

use super::occupied::OccupiedSlots;
use crate::disk::{Disk, DiskFile};
use crate::error::{Result, StoreError};
use crate::whole_file::make_file;

/// Compat: Apache's number of slots, whatever their precision; its broker refuses a file of another size.
pub const WHEEL_SLOTS: u64 = 2 * 7 * 24 * 3600;

const SLOT_SIZE: usize = 32;
const _: () = assert!(SLOT_SIZE == 3 * size_of::<i64>() + 2 * size_of::<i32>());
/// Slots that are read at once when all are looked at.
const SCAN_SLOTS: usize = 8192;

/// A slot of the wheel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Slot {
    /// Its time, in ticks since 1970.
    pub tick: i64,
    /// Position of the first unit of its chain; for people, nothing reads it.
    pub first: u64,
    /// Position of the last unit of its chain.
    pub last: u64,
    /// Messages in it, those that take others back counted down.
    pub count: i32,
    /// Compat: Apache writes 0 and keeps what it finds.
    pub magic: i32,
}

impl Slot {
    /// A slot with one unit.
    pub fn new(tick: i64, unit: u64, count: i32) -> Self {
        Self { tick, first: unit, last: unit, count, magic: 0 }
    }

    fn encode(&self) -> [u8; SLOT_SIZE] {
        let mut bytes = [0; SLOT_SIZE];
        bytes[..8].copy_from_slice(&self.tick.to_be_bytes());
        bytes[8..16].copy_from_slice(&self.first.to_be_bytes());
        bytes[16..24].copy_from_slice(&self.last.to_be_bytes());
        bytes[24..28].copy_from_slice(&self.count.to_be_bytes());
        bytes[28..].copy_from_slice(&self.magic.to_be_bytes());
        bytes
    }

    fn decode(bytes: &[u8; SLOT_SIZE]) -> Self {
        let long = |at: usize| {
            let mut field = [0; 8];
            field.copy_from_slice(&bytes[at..at + 8]);
            u64::from_be_bytes(field)
        };
        let int = |at: usize| {
            let mut field = [0; 4];
            field.copy_from_slice(&bytes[at..at + 4]);
            i32::from_be_bytes(field)
        };
        Self { tick: long(0).cast_signed(), first: long(8), last: long(16), count: int(24), magic: int(28) }
    }
}

/// The wheel file.
#[derive(Debug)]
pub(super) struct Wheel {
    path: PathBuf,
    file: Box<dyn DiskFile>,
    slots: u64,
    pub occupied: OccupiedSlots,
}

impl Wheel {
    /// Opens the file; `None` where there is none, or one of another size, which is no wheel.
    pub fn open(disk: &dyn Disk, path: &Path, slots: u64) -> Result<Option<Self>> {
        let file = match disk.open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            result => result.map_err(StoreError::io("open", path))?,
        };
        let found = file.size_bytes().map_err(StoreError::io("read", path))?;
        let is_whole = found == slots * SLOT_SIZE as u64;
        Ok(is_whole.then(|| Self::new(path, file, slots)))
    }

    /// Puts a file of zeros in its place, durably.
    pub fn create(disk: &dyn Disk, path: &Path, temporary_folder: &Path, slots: u64) -> Result<Self> {
        let file = make_file(disk, path, temporary_folder, slots * SLOT_SIZE as u64, &[])?;
        Ok(Self::new(path, file, slots))
    }

    fn new(path: &Path, file: Box<dyn DiskFile>, slots: u64) -> Self {
        Self { path: path.to_path_buf(), file, slots, occupied: OccupiedSlots::new(slots) }
    }

    /// The slot of a tick; `None` where nothing was put into it.
    pub fn slot(&self, tick: i64) -> Result<Option<Slot>> {
        let mut bytes = [0; SLOT_SIZE];
        self.file.read_at(self.place(tick), &mut bytes).map_err(StoreError::io("read", &self.path))?;
        Ok(Some(Slot::decode(&bytes)).filter(|slot| slot.tick == tick))
    }

    /// Writes a slot. It is on disk after [`Self::sync`].
    pub fn put(&self, slot: &Slot) -> Result<()> {
        self.file.write_at(self.place(slot.tick), &slot.encode()).map_err(StoreError::io("write", &self.path))
    }

    /// Makes all slots durable.
    pub fn sync(&self) -> Result<()> {
        self.file.sync().map_err(StoreError::io("sync", &self.path))
    }

    /// Visits every slot whose tick is `from` or within a turn of the wheel after it.
    pub fn each_from(&self, from: i64, mut visit: impl FnMut(Slot)) -> Result<()> {
        let mut bytes = vec![0; SCAN_SLOTS * SLOT_SIZE];
        let end = from.saturating_add_unsigned(self.slots);
        let mut index = 0;
        while index < self.slots {
            let count = usize::try_from(self.slots - index).unwrap_or(SCAN_SLOTS).min(SCAN_SLOTS);
            let piece = &mut bytes[..count * SLOT_SIZE];
            self.file.read_at(index * SLOT_SIZE as u64, piece).map_err(StoreError::io("read", &self.path))?;
            let slots = piece.as_chunks::<SLOT_SIZE>().0.iter().map(Slot::decode);
            slots.filter(|slot| slot.tick != 0 && (from..end).contains(&slot.tick)).for_each(&mut visit);
            index += count as u64;
        }
        Ok(())
    }

    fn place(&self, tick: i64) -> u64 {
        tick.rem_euclid(self.slots.cast_signed()).cast_unsigned() * SLOT_SIZE as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::RealDisk;
    use proptest::prelude::*;

    #[test]
    fn a_slot_is_found_where_apache_looks_for_it() {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("timerwheel");
        let wheel = Wheel::create(&RealDisk, &path, folder.path(), WHEEL_SLOTS).expect("create");
        // Recorded from RocketMQ 5.5.0, with the index of its slot.
        let slot = Slot { tick: 1_795_004_321, first: 0, last: 104, count: 3, magic: 0 };
        wheel.put(&slot).expect("put");
        let bytes = std::fs::read(&path).expect("read");
        assert_eq!(bytes.len(), 38_707_200);
        assert_eq!(Slot::decode(bytes[1_167_521 * 32..][..32].try_into().expect("32 bytes")), slot);
        assert_eq!(wheel.slot(1_795_004_321).expect("slot"), Some(slot));
        assert_eq!(wheel.slot(1_795_004_321 + WHEEL_SLOTS.cast_signed()).expect("slot"), None);
    }

    #[test]
    fn all_slots_of_a_turn_are_visited_and_older_ones_are_not() {
        let folder = tempfile::tempdir().expect("folder");
        let wheel =
            Wheel::create(&RealDisk, &folder.path().join("wheel"), folder.path(), 10_000).expect("create");
        for tick in [49_999, 50_000, 50_001, 59_998] {
            wheel.put(&Slot::new(tick, 52, 1)).expect("put");
        }
        let mut found = Vec::new();
        wheel.each_from(50_000, |slot| found.push(slot.tick)).expect("visit");
        assert_eq!(found, [50_000, 50_001, 59_998]);
    }

    #[test]
    fn a_wheel_of_another_size_is_none() {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("wheel");
        assert!(Wheel::open(&RealDisk, &path, 10).expect("missing").is_none());
        std::fs::write(&path, [0; 319]).expect("write");
        assert!(Wheel::open(&RealDisk, &path, 10).expect("short").is_none());
    }

    proptest! {
        #[test]
        fn slots_come_back(tick: i64, first: u64, last: u64, count: i32, magic: i32) {
            let slot = Slot { tick, first, last, count, magic };
            prop_assert_eq!(Slot::decode(&slot.encode()), slot);
        }
    }
}
