//! Files that appear whole or not at all.

use std::path::Path;

use crate::disk::{Allocation, Disk, DiskFile};
use crate::error::{Result, StoreError};

/// Puts a file that begins with `head` and goes on with zeros under a name, durably, replacing what has the name.
pub(crate) fn make_file(
    disk: &dyn Disk,
    path: &Path,
    temporary_folder: &Path,
    size_bytes: u64,
    head: &[u8],
) -> Result<Box<dyn DiskFile>> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let name = path.file_name().unwrap_or_default();
    (|| {
        disk.create_folder(folder)?;
        let temporary = temporary_folder.join(name);
        let file = disk.create(&temporary, size_bytes, Allocation::OnDemand)?;
        if !head.is_empty() {
            file.write_at(0, head)?;
        }
        file.sync()?;
        disk.rename(&temporary, path)?;
        disk.sync_folder(folder)?;
        // Opened by its own name, so that nothing depends on a handle that follows a rename.
        disk.open(path)
    })()
    .map_err(StoreError::io("create", path))
}
