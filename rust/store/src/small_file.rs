//! Small files of our own, read and replaced whole: whatever happens, the old one is there or the new one.

use std::io;
use std::path::Path;

use crate::disk::{Allocation, Disk};
use crate::error::{Result, StoreError};

/// All of a file, which has to be of a size that one of ours may have.
pub(crate) fn read(disk: &dyn Disk, path: &Path, size_max_bytes: u64) -> io::Result<Vec<u8>> {
    let file = disk.open(path)?;
    let size = file.size_bytes()?;
    if size > size_max_bytes {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("{size} bytes")));
    }
    let mut bytes = vec![0; usize::try_from(size).unwrap_or(usize::MAX)];
    file.read_at(0, &mut bytes)?;
    Ok(bytes)
}

/// Replaces a file, durably.
///
/// # Errors
/// [`StoreError::Io`].
pub(crate) fn replace(disk: &dyn Disk, path: &Path, temporary_folder: &Path, bytes: &[u8]) -> Result<()> {
    let temporary = temporary_folder.join(path.file_name().unwrap_or_default());
    disk.create(&temporary, 0, Allocation::OnDemand)
        .and_then(|file| file.write_at(0, bytes).and_then(|()| file.sync()))
        .and_then(|()| disk.rename(&temporary, path))
        .and_then(|()| path.parent().map_or(Ok(()), |folder| disk.sync_folder(folder)))
        .map_err(StoreError::io("write", path))
}
