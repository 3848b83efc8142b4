//! The file `abort`: there while a process has the store open, and so left behind by one that was killed.
//!
//! It says how large the queue files are that the process makes. A power loss may leave one that was not synced shorter
//! than that, and a start has to tell it from files that are meant to be so.

use std::path::Path;

use crate::disk::{Allocation, Disk};
use crate::error::{Result, StoreError};
use crate::layout::StoreLayout;
use crate::mapped::{list_or_empty, remove_file};

/// No text of ours is longer.
const TEXT_SIZE_MAX: u64 = 64;

/// What a process that was killed has left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RunningMark {
    /// The size of the queue files that it made; none where an Apache broker was killed, which does not say.
    pub queue_file_size_bytes: Option<u64>,
}

impl RunningMark {
    /// The mark, if there is one: the last process was killed then.
    pub fn load(disk: &dyn Disk, layout: &StoreLayout) -> Result<Option<Self>> {
        let is_there = |name: &str| layout.abort.file_name().is_some_and(|abort| abort == name);
        if !list_or_empty(disk, &layout.root)?.iter().any(|entry| is_there(&entry.name)) {
            return Ok(None);
        }
        let text = read(disk, &layout.abort).map_err(StoreError::io("read", &layout.abort))?;
        let queue_file_size_bytes = text.split_whitespace().nth(1).and_then(|size| size.parse().ok());
        Ok(Some(Self { queue_file_size_bytes }))
    }

    /// Leaves a mark, durably: from now on a start without an orderly stop before it is a recovery. One that is there is
    /// replaced at once, since it may be needed until all is repaired.
    pub fn leave(disk: &dyn Disk, layout: &StoreLayout, queue_file_size_bytes: u64) -> Result<()> {
        let text = format!("{} {queue_file_size_bytes}", std::process::id());
        let temporary = layout.temporary.join("abort");
        disk.create(&temporary, 0, Allocation::OnDemand)
            .and_then(|file| file.write_at(0, text.as_bytes()).and_then(|()| file.sync()))
            .and_then(|()| disk.rename(&temporary, &layout.abort))
            .and_then(|()| disk.sync_folder(&layout.root))
            .map_err(StoreError::io("write", &layout.abort))
    }

    /// Takes the mark away, durably.
    pub fn remove(disk: &dyn Disk, layout: &StoreLayout) -> Result<()> {
        remove_file(disk, &layout.root, &layout.abort)
    }
}

fn read(disk: &dyn Disk, path: &Path) -> std::io::Result<String> {
    let file = disk.open(path)?;
    let size = file.size_bytes()?.min(TEXT_SIZE_MAX);
    let mut bytes = vec![0; usize::try_from(size).unwrap_or_default()];
    file.read_at(0, &mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::RealDisk;

    #[test]
    fn a_mark_is_found_until_it_is_removed_and_apaches_says_no_size() {
        let root = tempfile::tempdir().expect("folder");
        let layout = StoreLayout::new(root.path());
        layout.create_folders(&RealDisk).expect("folders");
        let load = || RunningMark::load(&RealDisk, &layout).expect("load");
        assert_eq!(load(), None);
        RunningMark::leave(&RealDisk, &layout, 6_000_000).expect("leave");
        assert_eq!(load(), Some(RunningMark { queue_file_size_bytes: Some(6_000_000) }));
        for text in ["", "4711", "4711 many", "\u{7f}"] {
            std::fs::write(&layout.abort, text).expect("write");
            assert_eq!(load(), Some(RunningMark { queue_file_size_bytes: None }));
        }
        RunningMark::remove(&RealDisk, &layout).expect("remove");
        assert_eq!(load(), None);
    }
}
