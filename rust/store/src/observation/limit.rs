//! How far a store may be read: what its process says, where it is ours and runs.

use crate::disk::{Disk, ReadOnlyDisk};
use crate::error::{Result, StoreError};
use crate::layout::StoreLayout;
use crate::offset::LogOffset;
use crate::running_mark::RunningMark;

/// The log offset up to which everything is visible. `None`: nobody says; the store is at rest, or Apache's.
///
/// Only a process of ours that runs, or was killed, vouches for what it has published: an Apache broker that had the
/// directory since leaves the file as it was.
pub(super) fn visible(layout: &StoreLayout) -> Result<Option<LogOffset>> {
    let mark = RunningMark::load(&ReadOnlyDisk, layout)?;
    if mark.is_none_or(|mark| mark.queue_file_size_bytes.is_none()) {
        return Ok(None);
    }
    let mut bytes = [0; size_of::<u64>()];
    ReadOnlyDisk
        .open(&layout.visible)
        .and_then(|file| file.read_at(0, &mut bytes))
        .map_err(StoreError::io("read", &layout.visible))?;
    Ok(Some(LogOffset(u64::from_be_bytes(bytes))))
}
