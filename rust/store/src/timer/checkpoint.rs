//! The timers' checkpoint, `config/timercheck`: what is delivered, and what is in wheel and log. It moves after what it
//! says is durable. One page, of which the first 96 bytes are used; they lie in one 512-byte sector.
//!
//! ```text
//!  0           8              16             24              32              40        48        56      64
//!  | read time | log position | queue offset | master's same | state version | changed | counter | zeros |
//!  64        72           80          88                 96      4096
//!  | "ESCROW" | log end   | precision | counter as above | zeros … |
//! ```
//! What follows 64 is ours. Apache leaves it as it is, so a counter that differs says that Apache was here since.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::disk::{Disk, DiskFile};
use crate::error::{Result, StoreError};
use crate::offset::{LogOffset, QueueOffset};
use crate::whole_file::make_file;

const PAGE_SIZE: u64 = 4096;
const FIELDS: usize = 12;
const FIELDS_SIZE: usize = FIELDS * size_of::<i64>();
/// Size of the part that Apache knows, which replicas ask for.
pub const CHECKPOINT_SIZE: usize = 56;
const MARK: i64 = i64::from_be_bytes(*b"ESCROW\0\x01");

/// How far the timers are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Progress {
    /// Slots before this time are delivered.
    pub read_ms: i64,
    /// The wheel knows all units before this position of the timer log.
    pub log_position: u64,
    /// Messages of the timer topic before this one are in the timer log, or delivered.
    pub queue_offset: QueueOffset,
}

/// What only we write down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Notes {
    /// Whatever was delivered beyond the progress stands behind this place of the log.
    pub log_end: LogOffset,
    /// Milliseconds of a tick.
    pub precision_ms: i64,
    /// Whether nobody has moved the checkpoint since.
    pub is_latest: bool,
}

/// The checkpoint file.
#[derive(Debug)]
pub(super) struct TimerCheckpoint {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    temporary_folder: PathBuf,
    file: Option<Box<dyn DiskFile>>,
    fields: [i64; FIELDS],
}

impl TimerCheckpoint {
    /// Reads the checkpoint at `path`, which need not exist. Changes nothing.
    pub fn load(disk: Arc<dyn Disk>, path: &Path, temporary_folder: &Path) -> Result<Self> {
        let mut bytes = [0; FIELDS_SIZE];
        let file = match disk.open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(StoreError::io("open", path)(error)),
            Ok(file) => {
                let found = file.size_bytes().map_err(StoreError::io("read", path))?;
                if found == PAGE_SIZE {
                    file.read_at(0, &mut bytes).map_err(StoreError::io("read", path))?;
                    Some(file)
                } else {
                    tracing::warn!(path = %path.display(), found, "the timers' checkpoint has another size, and counts for nothing");
                    None
                }
            }
        };
        let mut fields = [0; FIELDS];
        for (field, bytes) in fields.iter_mut().zip(bytes.as_chunks().0) {
            *field = i64::from_be_bytes(*bytes);
        }
        let (path, temporary_folder) = (path.to_path_buf(), temporary_folder.to_path_buf());
        Ok(Self { disk, path, temporary_folder, file, fields })
    }

    /// How far the timers were; `None` where nobody has said.
    pub fn progress(&self) -> Option<Progress> {
        self.file.as_ref()?;
        let [read_ms, log_position, queue_offset, master_offset, ..] = self.fields;
        Some(Progress {
            read_ms,
            log_position: u64::try_from(log_position).unwrap_or(0),
            // Compat: the smaller of the two counts, as for Apache.
            queue_offset: QueueOffset(u64::try_from(queue_offset.min(master_offset)).unwrap_or(0)),
        })
    }

    /// What we wrote down when we last moved it.
    pub fn notes(&self) -> Option<Notes> {
        let [_, _, _, _, _, _, counter, _, mark, log_end, precision_ms, our_counter] = self.fields;
        (mark == MARK).then(|| Notes {
            log_end: LogOffset(u64::try_from(log_end).unwrap_or(0)),
            precision_ms,
            is_latest: counter == our_counter,
        })
    }

    /// Makes progress durable. Where it is unchanged nothing is written.
    pub fn save(
        &mut self,
        progress: Progress,
        log_end: LogOffset,
        precision_ms: i64,
        now_ms: i64,
    ) -> Result<()> {
        if self.progress() == Some(progress) && self.notes().is_some_and(|notes| notes.is_latest) {
            return Ok(());
        }
        let signed = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        let queue_offset = signed(progress.queue_offset.0);
        let counter = self.fields[6].wrapping_add(1);
        let fields = [
            progress.read_ms,
            signed(progress.log_position),
            queue_offset,
            queue_offset,
            self.fields[4],
            now_ms,
            counter,
            self.fields[7],
            MARK,
            signed(log_end.0),
            precision_ms,
            counter,
        ];
        let bytes = encode(&fields);
        if let Some(file) = &self.file {
            file.write_at(0, &bytes).map_err(StoreError::io("write", &self.path))?;
            file.sync().map_err(StoreError::io("sync", &self.path))?;
        } else {
            let file = make_file(&*self.disk, &self.path, &self.temporary_folder, PAGE_SIZE, &bytes)?;
            self.file = Some(file);
        }
        self.fields = fields;
        Ok(())
    }

    /// The part that Apache knows, as replicas ask for it.
    pub fn bytes(&self) -> [u8; CHECKPOINT_SIZE] {
        let mut bytes = [0; CHECKPOINT_SIZE];
        bytes.copy_from_slice(&encode(&self.fields)[..CHECKPOINT_SIZE]);
        bytes
    }
}

fn encode(fields: &[i64; FIELDS]) -> [u8; FIELDS_SIZE] {
    let mut bytes = [0; FIELDS_SIZE];
    for (place, field) in bytes.chunks_exact_mut(8).zip(fields) {
        place.copy_from_slice(&field.to_be_bytes());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::RealDisk;
    use proptest::prelude::*;

    fn load(folder: &Path) -> TimerCheckpoint {
        TimerCheckpoint::load(Arc::new(RealDisk), &folder.join("timercheck"), folder).expect("load")
    }

    #[test]
    fn one_that_is_missing_or_of_another_size_says_nothing_and_is_replaced() {
        let folder = tempfile::tempdir().expect("folder");
        assert_eq!(load(folder.path()).progress(), None);
        std::fs::write(folder.path().join("timercheck"), [1; 100]).expect("write");
        let mut checkpoint = load(folder.path());
        assert_eq!((checkpoint.progress(), checkpoint.notes()), (None, None));
        let progress = Progress { read_ms: 5_000, log_position: 52, queue_offset: QueueOffset(1) };
        checkpoint.save(progress, LogOffset(9), 1_000, 6_000).expect("save");
        assert_eq!(load(folder.path()).progress(), Some(progress));
    }

    #[test]
    fn it_tells_whether_apache_moved_it() {
        let folder = tempfile::tempdir().expect("folder");
        let mut checkpoint = load(folder.path());
        checkpoint.save(Progress::default(), LogOffset(77), 1_000, 6_000).expect("save");
        let notes = Notes { log_end: LogOffset(77), precision_ms: 1_000, is_latest: true };
        assert_eq!(load(folder.path()).notes(), Some(notes));
        let path = folder.path().join("timercheck");
        let mut bytes = std::fs::read(&path).expect("read");
        bytes[55] += 1;
        std::fs::write(&path, &bytes).expect("write");
        assert_eq!(load(folder.path()).notes(), Some(Notes { is_latest: false, ..notes }));
    }

    proptest! {
        #[test]
        fn progress_comes_back_and_foreign_bytes_stay(
            read_ms: i64, position in 0..i64::MAX.cast_unsigned(), offset in 0..i64::MAX.cast_unsigned(), rest: u8,
        ) {
            let folder = tempfile::tempdir().expect("folder");
            let path = folder.path().join("timercheck");
            std::fs::write(&path, [rest; 4096]).expect("write");
            let progress = Progress { read_ms, log_position: position, queue_offset: QueueOffset(offset) };
            let mut checkpoint = load(folder.path());
            checkpoint.save(progress, LogOffset(3), 100, 8).expect("save");
            prop_assert_eq!(load(folder.path()).progress(), Some(progress));
            let bytes = std::fs::read(&path).expect("read");
            prop_assert_eq!(&bytes[..CHECKPOINT_SIZE], checkpoint.bytes());
            prop_assert!(bytes[32..40].iter().chain(&bytes[56..64]).chain(&bytes[96..]).all(|byte| *byte == rest));
        }
    }
}
