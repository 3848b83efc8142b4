//! Open files and mappings of a simulated disk.

use std::io;
use std::ops::Range;

use memmap2::{MmapMut, MmapRaw};
use rustix::io::Errno;

use super::disk::{SimulatedDisk, to_usize};
use super::fault::FaultAt;
use super::journal::{FileId, Operation};
use super::pages::PAGE_SIZE;
use crate::disk::{DiskFile, Mapping};

#[derive(Debug)]
pub(super) struct SimulatedFile {
    disk: SimulatedDisk,
    file: FileId,
}

impl SimulatedFile {
    pub(super) fn new(disk: SimulatedDisk, file: FileId) -> Self {
        Self { disk, file }
    }
}

impl DiskFile for SimulatedFile {
    fn size_bytes(&self) -> io::Result<u64> {
        Ok(self.disk.lock().content(self.file).len() as u64)
    }

    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        let state = self.disk.lock();
        let from = state.content(self.file).get(to_usize(offset)..).and_then(|rest| rest.get(..bytes.len()));
        bytes.copy_from_slice(from.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.disk.lock();
        *state.positional_writes.entry(self.file).or_default() += 1;
        let fault = state.meet_file_fault(FaultAt::Write, self.file);
        let written = if fault.is_ok() { bytes } else { &bytes[..bytes.len() / 2] };
        if !written.is_empty() {
            let (file, bytes) = (self.file, written.to_vec());
            state.record(Operation::Write { file, offset, bytes, is_mapped: false });
        }
        fault
    }

    fn truncate(&self, size_bytes: u64) -> io::Result<()> {
        let mut state = self.disk.lock();
        let mapped = state.mappings.get(&self.file).copied().unwrap_or(0);
        assert!(mapped == 0, "cut while mapped: the next access to the mapping would fault");
        state.record(Operation::Resize { file: self.file, size_bytes });
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        sync(&self.disk, self.file, None)
    }
}

/// A mapping. Its memory is a copy that its one writer keeps alike by telling what it wrote.
#[derive(Debug)]
pub(super) struct SimulatedMapping {
    disk: SimulatedDisk,
    file: FileId,
    memory: MmapRaw,
    /// The file's writes by position when it was mapped; later ones are not in this memory.
    positional_writes: usize,
}

impl SimulatedMapping {
    pub(super) fn new(disk: SimulatedDisk, file: FileId) -> io::Result<Self> {
        let mut state = disk.lock();
        let content = state.content(file);
        if content.is_empty() {
            return Err(Errno::INVAL.into());
        }
        let mut memory = MmapMut::map_anon(content.len())?;
        memory.copy_from_slice(content);
        *state.mappings.entry(file).or_default() += 1;
        let positional_writes = state.positional_writes.get(&file).copied().unwrap_or(0);
        drop(state);
        Ok(Self { disk, file, memory: MmapRaw::from(memory), positional_writes })
    }
}

impl Drop for SimulatedMapping {
    fn drop(&mut self) {
        if let Some(count) = self.disk.lock().mappings.get_mut(&self.file) {
            *count -= 1;
        }
    }
}

impl Mapping for SimulatedMapping {
    fn memory(&self) -> &MmapRaw {
        let written = self.disk.lock().positional_writes.get(&self.file).copied().unwrap_or(0);
        assert_eq!(
            written, self.positional_writes,
            "written by position since it was mapped: this memory is stale"
        );
        &self.memory
    }

    fn wrote(&self, offset: usize, bytes: &[u8]) {
        let end = offset + bytes.len();
        assert!(end <= self.memory.len(), "wrote to {end} of a mapping of {} bytes", self.memory.len());
        if !bytes.is_empty() {
            let (offset, bytes) = (offset as u64, bytes.to_vec());
            let write = Operation::Write { file: self.file, offset, bytes, is_mapped: true };
            self.disk.lock().record(write);
        }
    }

    fn sync(&self, range: Range<usize>) -> io::Result<()> {
        assert!(
            range.end <= self.memory.len(),
            "synced {range:?} of a mapping of {} bytes",
            self.memory.len()
        );
        sync(&self.disk, self.file, Some(range.start as u64..range.end as u64))
    }

    fn allocate(&self, _: Range<usize>) -> io::Result<()> {
        self.disk.lock().meet_file_fault(FaultAt::Allocate, self.file)
    }

    fn use_singly(&self) {}

    fn ask_for(&self, _: Range<usize>) {}

    fn populate(&self, _: Range<usize>) {}

    fn write_zeros(&self, _: Range<usize>) {}

    fn release(&self, _: Range<usize>) {}

    fn data_from(&self, offset: usize) -> io::Result<Option<Range<usize>>> {
        let state = self.disk.lock();
        let content = state.content(self.file);
        if offset >= content.len() {
            return Ok(None);
        }
        let is_hole = |page: &usize| {
            let start = page * PAGE_SIZE;
            let is_zero = content[start..content.len().min(start + PAGE_SIZE)].iter().all(|byte| *byte == 0);
            is_zero && !state.written_pages.contains(&(self.file, *page))
        };
        let page_end = content.len().div_ceil(PAGE_SIZE);
        let Some(first) = (offset / PAGE_SIZE..page_end).find(|page| !is_hole(page)) else { return Ok(None) };
        let end = (first..page_end).find(is_hole).unwrap_or(page_end);
        Ok(Some((first * PAGE_SIZE).max(offset)..(end * PAGE_SIZE).min(content.len())))
    }
}

fn sync(disk: &SimulatedDisk, file: FileId, range: Option<Range<u64>>) -> io::Result<()> {
    let mut state = disk.lock();
    let fault = state.meet_file_fault(FaultAt::Sync, file);
    state.record(match fault {
        Ok(()) => Operation::Sync { file, range },
        Err(_) => Operation::SyncFailed { file, range },
    });
    fault
}
