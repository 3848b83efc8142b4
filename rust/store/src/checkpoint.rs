//! The checkpoint: up to which store timestamps log, queues and index are durable. One page, of which 48 bytes are
//! used, written in place: they lie in one 512-byte sector, which a disk writes whole or not at all.
//!
//! ```text
//!  0        8           16         24                    32                 40             48      4096
//!  | log ms | queues ms | index ms | masterFlushedOffset | confirmPhyOffset | queues offset | zeros … |
//! ```
//! Two of them belong to replication, which is not ours: they stay as they were found. The queues offset is new in 5.5:
//! after a kill, Apache looks for the segment to recover from by it where it is above 0, else by the queues' time.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use crate::disk::{Allocation, Disk, DiskFile};
use crate::error::{Result, StoreError};
use crate::offset::LogOffset;

/// Size of the file.
pub const CHECKPOINT_SIZE: usize = 4096;

const FIELDS_SIZE: usize = 48;
const _: () = assert!(FIELDS_SIZE == 6 * size_of::<i64>() && FIELDS_SIZE <= 512);

/// Store timestamps of the newest record that is durable in each place; 0 for none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CheckpointTimes {
    /// In the log.
    pub log_ms: i64,
    /// In the consume queues.
    pub queues_ms: i64,
    /// In the key index.
    pub index_ms: i64,
}

/// The checkpoint file.
#[derive(Debug)]
pub struct Checkpoint {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    temporary_folder: PathBuf,
    current: Mutex<Current>,
}

#[derive(Debug)]
struct Current {
    /// `None` until the first save where there was no whole file: opening a store changes nothing.
    file: Option<Box<dyn DiskFile>>,
    times: CheckpointTimes,
    master_flushed_offset: i64,
    confirm_offset: i64,
    queues_offset: i64,
}

impl Checkpoint {
    /// Reads the checkpoint at `path`, which need not exist. Changes nothing.
    ///
    /// # Errors
    /// [`StoreError::Io`] where there is a file that can't be read.
    pub fn load(disk: Arc<dyn Disk>, path: &Path, temporary_folder: &Path) -> Result<Self> {
        let mut fields = [0; FIELDS_SIZE];
        let file = match disk.open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(StoreError::io("open", path)(error)),
            Ok(file) => match file.size_bytes().map_err(StoreError::io("read", path))? {
                found if found == CHECKPOINT_SIZE as u64 => {
                    file.read_at(0, &mut fields).map_err(StoreError::io("read", path))?;
                    Some(file)
                }
                found => {
                    tracing::warn!(path = %path.display(), found, "the checkpoint has another size, and counts for nothing");
                    None
                }
            },
        };
        let current = Mutex::new(Current {
            file,
            times: CheckpointTimes {
                log_ms: field(&fields, 0),
                queues_ms: field(&fields, 1),
                index_ms: field(&fields, 2),
            },
            master_flushed_offset: field(&fields, 3),
            confirm_offset: field(&fields, 4),
            queues_offset: field(&fields, 5),
        });
        let (path, temporary_folder) = (path.to_path_buf(), temporary_folder.to_path_buf());
        Ok(Self { disk, path, temporary_folder, current })
    }

    /// The times as they were loaded or last saved.
    pub fn times(&self) -> CheckpointTimes {
        self.current.lock().times
    }

    /// The log offset of the newest record that is durable in the queues, where Apache or we have written it.
    pub fn queues_offset(&self) -> Option<LogOffset> {
        u64::try_from(self.current.lock().queues_offset).ok().filter(|offset| *offset > 0).map(LogOffset)
    }

    /// Makes the times durable. The queues offset becomes 0, which says that only the times are known: one that was
    /// found here may be ahead of a log that was cut since.
    ///
    /// # Errors
    /// [`StoreError::Io`]. The caller must not save again: what reached the disk is unknown.
    pub fn save(&self, times: CheckpointTimes) -> Result<()> {
        self.save_with_offset(times, LogOffset(0))
    }

    /// As [`Self::save`], with the log offset of the newest record that is durable in the queues.
    ///
    /// # Errors
    /// As [`Self::save`].
    pub fn save_with_offset(&self, times: CheckpointTimes, queues_offset: LogOffset) -> Result<()> {
        let mut current = self.current.lock();
        let queues_offset = i64::try_from(queues_offset.0).unwrap_or(0);
        let fields = current.encode(times, queues_offset);
        match &current.file {
            Some(file) => {
                file.write_at(0, &fields).map_err(StoreError::io("write", &self.path))?;
                file.sync().map_err(StoreError::io("sync", &self.path))?;
            }
            None => current.file = Some(self.create(&fields).map_err(StoreError::io("create", &self.path))?),
        }
        // Behind the sync: until then the file vouches for the times before.
        (current.times, current.queues_offset) = (times, queues_offset);
        Ok(())
    }

    /// Puts a whole file where there is none, or one of another size.
    fn create(&self, fields: &[u8; FIELDS_SIZE]) -> io::Result<Box<dyn DiskFile>> {
        let temporary = self.temporary_folder.join("checkpoint");
        let file = self.disk.create(&temporary, CHECKPOINT_SIZE as u64, Allocation::Whole)?;
        file.write_at(0, fields)?;
        file.sync()?;
        self.disk.rename(&temporary, &self.path)?;
        if let Some(folder) = self.path.parent() {
            self.disk.sync_folder(folder)?;
        }
        // Opened by its own name, so that nothing depends on a handle that follows a rename.
        self.disk.open(&self.path)
    }
}

impl Current {
    fn encode(&self, times: CheckpointTimes, queues_offset: i64) -> [u8; FIELDS_SIZE] {
        let CheckpointTimes { log_ms, queues_ms, index_ms } = times;
        let (master, confirm) = (self.master_flushed_offset, self.confirm_offset);
        let values = [log_ms, queues_ms, index_ms, master, confirm, queues_offset];
        let mut fields = [0; FIELDS_SIZE];
        for (bytes, value) in fields.chunks_exact_mut(8).zip(values) {
            bytes.copy_from_slice(&value.to_be_bytes());
        }
        fields
    }
}

fn field(fields: &[u8; FIELDS_SIZE], index: usize) -> i64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&fields[index * 8..index * 8 + 8]);
    i64::from_be_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::RealDisk;
    use proptest::prelude::*;

    const TIMES: CheckpointTimes = CheckpointTimes { log_ms: 3, queues_ms: 2, index_ms: 1 };

    fn load(folder: &Path) -> Checkpoint {
        Checkpoint::load(Arc::new(RealDisk), &folder.join("checkpoint"), &folder.join("temporary"))
            .expect("load")
    }

    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("folder");
        std::fs::create_dir(folder.path().join("temporary")).expect("temporary");
        folder
    }

    #[test]
    fn loading_a_missing_checkpoint_changes_nothing_and_saving_makes_one() {
        let folder = folder();
        let checkpoint = load(folder.path());
        assert_eq!(checkpoint.times(), CheckpointTimes::default());
        assert!(!folder.path().join("checkpoint").exists());
        checkpoint.save_with_offset(CheckpointTimes::default(), LogOffset(7)).expect("save");
        assert_eq!(load(folder.path()).queues_offset(), Some(LogOffset(7)));
        checkpoint.save(TIMES).expect("save in place");
        assert_eq!(load(folder.path()).queues_offset(), None);
        assert_eq!(load(folder.path()).times(), TIMES);
    }

    #[test]
    fn a_checkpoint_of_another_size_counts_for_nothing_and_is_replaced() {
        let folder = folder();
        std::fs::write(folder.path().join("checkpoint"), [1; 100]).expect("write");
        let checkpoint = load(folder.path());
        assert_eq!(checkpoint.times(), CheckpointTimes::default());
        checkpoint.save(TIMES).expect("save");
        assert_eq!(std::fs::read(folder.path().join("checkpoint")).expect("read").len(), CHECKPOINT_SIZE);
        assert_eq!(load(folder.path()).times(), TIMES);
    }

    proptest! {
        #[test]
        fn a_save_keeps_what_is_not_ours(before: [i64; 6], after: [i64; 3], offset in 0..i64::MAX, rest: u8) {
            let folder = folder();
            let path = folder.path().join("checkpoint");
            let mut bytes = vec![rest; CHECKPOINT_SIZE];
            for (place, value) in bytes.chunks_exact_mut(8).zip(before) {
                place.copy_from_slice(&value.to_be_bytes());
            }
            std::fs::write(&path, &bytes).expect("write");
            let checkpoint = load(folder.path());
            let times = |from: &[i64]| CheckpointTimes { log_ms: from[0], queues_ms: from[1], index_ms: from[2] };
            prop_assert_eq!(checkpoint.times(), times(&before));
            checkpoint.save_with_offset(times(&after), LogOffset(offset.cast_unsigned())).expect("save");
            let [log, queues, index] = after;
            let saved = [log, queues, index, before[3], before[4], offset];
            for (place, value) in bytes.chunks_exact_mut(8).zip(saved) {
                place.copy_from_slice(&value.to_be_bytes());
            }
            prop_assert_eq!(std::fs::read(&path).expect("read"), bytes);
        }
    }
}
