//! The right to write a store directory. Apache `RocketMQ` takes an fcntl lock on byte 0 of the file `lock`; so do we,
//! on the whole file, and each keeps the other out. fcntl locks do not exclude their own process, and closing *any*
//! descriptor of the file drops them, so a registry keeps a second store of this process from even opening the file.

use std::collections::BTreeSet;
use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use rustix::fs::{FlockOperation, fcntl_lock};
use rustix::io::Errno;
use rustix::process::{Flock, FlockType, fcntl_getlk};

use crate::error::{Result, StoreError};

/// What Apache writes into the file; nobody reads it.
const LOCK_TEXT: &[u8] = b"lock";

/// A file or folder whatever its name: device and inode.
type FileId = (u64, u64);

/// The folders that this process has locked.
static LOCKED: Mutex<BTreeSet<FileId>> = Mutex::new(BTreeSet::new());

/// The right to write a store directory, given back when dropped.
#[derive(Debug)]
pub struct DirectoryLock {
    path: PathBuf,
    folder: FileId,
    /// Whether there was no lock file before.
    is_new: bool,
    /// The only descriptor of the lock file in this process.
    file: Option<File>,
}

impl DirectoryLock {
    /// Takes the lock of a store directory, given its lock file, or says who has it. Does not wait.
    ///
    /// # Errors
    /// [`StoreError::InUse`], and [`StoreError::Io`] where the lock file can't be opened or written.
    pub fn acquire(path: &Path) -> Result<Self> {
        let store = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let folder = identify(&std::fs::metadata(store).map_err(StoreError::io("open", store))?);
        let in_use = |holder| StoreError::InUse { path: store.to_path_buf(), holder };
        // Held until the end: a second caller must not open the file while the first one's lock is young.
        let mut locked = LOCKED.lock();
        if locked.contains(&folder) {
            return Err(in_use("this process"));
        }
        loop {
            let (file, is_new) = open(path).map_err(StoreError::io("open", path))?;
            match fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {}
                Err(Errno::AGAIN | Errno::ACCESS) => return Err(in_use("another process")),
                Err(error) => return Err(StoreError::io("lock", path)(error.into())),
            }
            // Another process may have discarded the file between the open and the lock.
            let opened = file.metadata().map_err(StoreError::io("open", path))?;
            if std::fs::metadata(path).is_ok_and(|named| identify(&named) == identify(&opened)) {
                file.write_all_at(LOCK_TEXT, 0)
                    .and_then(|()| file.sync_all())
                    .map_err(StoreError::io("write", path))?;
                locked.insert(folder);
                return Ok(Self { path: path.to_path_buf(), folder, is_new, file: Some(file) });
            }
        }
    }

    /// Gives the lock back, and removes the lock file if there was none before: for a directory that turns out to be
    /// no store.
    pub fn discard(self) {
        if self.is_new {
            // While the lock is held, so that nobody else can hold it. A file that stays does no harm.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

impl Drop for DirectoryLock {
    fn drop(&mut self) {
        let mut locked = LOCKED.lock();
        // Closing releases the lock; only then may this process open the file again.
        self.file = None;
        locked.remove(&self.folder);
    }
}

/// The process that holds the lock of a directory, given its lock file; `None` where nobody does. Changes nothing.
///
/// # Errors
/// [`StoreError::Io`] where the lock file can't be read.
pub fn holder(path: &Path) -> Result<Option<u32>> {
    let store = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = identify(&std::fs::metadata(store).map_err(StoreError::io("open", store))?);
    // Held until the end: closing a descriptor of the file drops every lock that this process has on it.
    let locked = LOCKED.lock();
    if locked.contains(&folder) {
        return Ok(Some(std::process::id()));
    }
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        result => result.map_err(StoreError::io("open", path))?,
    };
    let found = fcntl_getlk(&file, &Flock::from(FlockType::WriteLock));
    let found = found.map_err(|error| StoreError::io("look at", path)(error.into()))?;
    Ok(found.map(|lock| lock.pid.map_or(0, |id| id.as_raw_nonzero().get().unsigned_abs())))
}

/// The lock file, and whether it had to be made.
fn open(path: &Path) -> io::Result<(File, bool)> {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    match options.open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Ok((options.create(true).truncate(false).open(path)?, true))
        }
        result => Ok((result?, false)),
    }
}

fn identify(metadata: &Metadata) -> FileId {
    (metadata.dev(), metadata.ino())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    const CHILD_FOLDER: &str = "ESCROWMQ_TEST_LOCK_FOLDER";

    fn take(folder: &Path) -> Result<DirectoryLock> {
        DirectoryLock::acquire(&folder.join("lock"))
    }

    /// What another process gets: `free`, or the error.
    fn in_another_process(folder: &Path) -> String {
        let output = Command::new(std::env::current_exe().expect("test binary"))
            .args(["--exact", "directory_lock::tests::as_another_process", "--nocapture"])
            .env(CHILD_FOLDER, folder)
            .output()
            .expect("child");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.lines()
            .find_map(|line| line.split("lock says: ").nth(1))
            .unwrap_or_else(|| panic!("{text}"))
            .to_owned()
    }

    /// Not a test of its own: the child that [`in_another_process`] runs.
    #[test]
    fn as_another_process() {
        if let Some(folder) = std::env::var_os(CHILD_FOLDER) {
            match take(Path::new(&folder)) {
                Ok(_) => println!("lock says: free"),
                Err(error) => println!("lock says: {error}"),
            }
        }
    }

    #[test]
    fn another_process_is_kept_out_until_the_lock_is_dropped() {
        let folder = tempfile::tempdir().expect("folder");
        let lock = take(folder.path()).expect("free");
        assert!(in_another_process(folder.path()).ends_with("is in use by another process"));
        drop(lock);
        assert_eq!(in_another_process(folder.path()), "free");
        assert_eq!(std::fs::read(folder.path().join("lock")).expect("read"), LOCK_TEXT);
    }

    #[test]
    fn a_second_store_of_this_process_is_refused_and_does_not_lose_the_lock() {
        let folder = tempfile::tempdir().expect("folder");
        let lock = take(folder.path()).expect("free");
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(folder.path(), &link).expect("link");
        for name in [folder.path(), &link] {
            let error = take(name).expect_err("taken");
            assert!(matches!(error, StoreError::InUse { holder: "this process", .. }));
        }
        assert!(in_another_process(folder.path()).ends_with("is in use by another process"));
        drop(lock);
        take(folder.path()).expect("free again");
    }

    #[test]
    fn discarding_removes_a_lock_file_only_if_there_was_none() {
        let folder = tempfile::tempdir().expect("folder");
        take(folder.path()).expect("free").discard();
        assert!(!folder.path().join("lock").exists());
        drop(take(folder.path()).expect("free"));
        take(folder.path()).expect("free").discard();
        assert!(folder.path().join("lock").exists());
    }

    #[test]
    fn a_folder_that_is_not_there_is_an_error_with_its_name() {
        let folder = tempfile::tempdir().expect("folder");
        let error = take(&folder.path().join("none")).expect_err("missing");
        assert!(matches!(error, StoreError::Io { action: "open", .. }));
    }
}
