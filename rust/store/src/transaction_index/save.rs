//! Writing down what an index knows, for the next start to begin with. The index is free meanwhile, but for moments.

use parking_lot::{Mutex, MutexGuard};

use super::saving::Saving;
use super::tracker::TransactionIndex;
use crate::disk::Allocation;
use crate::error::{Result, StoreError};
use crate::offset::LogOffset;
use crate::store_core::StoreCore;

/// Transactions that are written without letting go of the index: less than a millisecond's work.
const SLICE_COUNT: usize = 512;

impl TransactionIndex {
    /// Writes down what an index knows. False where the log is not durable as far as that goes: what is known now is kept
    /// then, and gets its name by a later call. False, too, while another thread is at it.
    ///
    /// Whoever calls has told of everything that it appended.
    ///
    /// # Errors
    /// [`StoreError::Closed`], [`StoreError::Io`]. What was written before is still there then.
    pub fn save(index: &Mutex<Self>, store: &StoreCore) -> Result<bool> {
        store.refuse_if_closed()?;
        if store.log_start() == store.log_end() {
            return Ok(true);
        }
        let Some(end) = write(index, store)? else { return Ok(false) };
        if store.log.flushed().offset < end {
            return Ok(false);
        }
        let (path, temporary) = (&store.layout.transactions, store.layout.temporary_of_transactions());
        let named = (|| {
            store.disk.create_folder(path.parent().unwrap_or(path))?;
            store.disk.rename(&temporary, path)?;
            store.disk.sync_folder(path.parent().unwrap_or(path))
        })();
        let mut index = index.lock();
        index.written = None;
        named.map_err(StoreError::io("create", path))?;
        index.saved_end = end;
        Ok(true)
    }

    /// Begins a snapshot, with the bytes before its transactions; how far it goes. `None` where the log has no record that
    /// it could be known by.
    fn begin_saving(&mut self, store: &StoreCore, head: &mut Vec<u8>) -> Option<LogOffset> {
        let durable = store.log.flushed();
        if self.end <= durable.offset {
            // What was appended since concerns no transaction, or it would have been told of.
            (self.end, self.last_record) = (durable.offset, durable.record.or(self.last_record));
        }
        let record = store.log.record_at(self.last_record?, self.end).ok()?;
        let saving = Saving::begin(&self.index, self.end.0, record.view().into(), head);
        self.index.saving = Some(Box::new(saving));
        Some(self.end)
    }

    /// Writes the next slice of the snapshot; false when it was the last.
    fn go_on_saving(&mut self, out: &mut Vec<u8>) -> bool {
        let Some(mut saving) = self.index.saving.take() else { return false };
        let has_more = saving.slice(&self.index, SLICE_COUNT, out);
        self.index.saving = Some(saving);
        has_more
    }
}

/// Writes a snapshot under its temporary name, unless that is done; how far it goes.
fn write(index: &Mutex<TransactionIndex>, store: &StoreCore) -> Result<Option<LogOffset>> {
    let mut head = Vec::new();
    let end = {
        let mut index = index.lock();
        if index.written.is_some() || index.index.saving.is_some() {
            return Ok(index.written);
        }
        let Some(end) = index.begin_saving(store, &mut head) else { return Ok(None) };
        end
    };
    let written = write_file(index, store, head);
    let mut index = index.lock();
    index.index.saving = None;
    index.written = written.map(|()| Some(end))?;
    Ok(index.written)
}

fn write_file(index: &Mutex<TransactionIndex>, store: &StoreCore, mut bytes: Vec<u8>) -> Result<()> {
    let path = store.layout.temporary_of_transactions();
    let failed = || StoreError::io("write", &path);
    let file = store.disk.create(&path, 0, Allocation::OnDemand).map_err(failed())?;
    let (mut offset, mut checksum) = (0, crc32fast::Hasher::new());
    let mut has_more = true;
    while has_more {
        store.refuse_if_closed()?;
        let mut locked = index.lock();
        has_more = locked.go_on_saving(&mut bytes);
        // Whoever waits for it is next, and not this thread again.
        MutexGuard::unlock_fair(locked);
        checksum.update(&bytes);
        if !has_more {
            bytes.extend_from_slice(&checksum.clone().finalize().to_be_bytes());
        }
        file.write_at(offset, &bytes).map_err(failed())?;
        offset += bytes.len() as u64;
        bytes.clear();
    }
    file.sync().map_err(failed())
}
