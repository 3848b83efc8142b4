//! How far readers of other processes may go: one aligned 8-byte value, big-endian, in a file of its own.
//!
//! ```text
//! escrowmq/visible    [visible log offset: 8]
//! ```
//! A reader in another process reads it with one `pread`, then the log and the queues with `pread`, and never follows
//! a queue entry whose record ends beyond it. It is never synced: recovery writes it anew.

use std::path::Path;

use crate::disk::{Allocation, Disk, DiskFile};
use crate::error::{Result, StoreError};
use crate::offset::LogOffset;

/// Publishes how far the log may be read.
#[derive(Debug)]
pub(crate) struct VisibleLimit {
    file: Box<dyn DiskFile>,
}

impl VisibleLimit {
    /// Opens the file, or makes it with the value 0.
    pub fn open(disk: &dyn Disk, path: &Path) -> Result<Self> {
        let file = match disk.open(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                disk.create(path, 8, Allocation::Whole)
            }
            result => result,
        };
        Ok(Self { file: file.map_err(StoreError::io("open", path))? })
    }

    /// Lets readers go up to `limit`. A failure is the readers' delay, not the log's: they see less than there is.
    pub fn publish(&self, limit: LogOffset) {
        if let Err(error) = self.file.write_at(0, &limit.0.to_be_bytes()) {
            tracing::warn!(%error, %limit, "the visible limit could not be published");
        }
    }
}
