//! Names in a store directory, and which directories are none of ours.
//!
//! ```text
//! commitlog/  consumequeue/<topic>/<queue>/  index/  config/  checkpoint  abort  lock     Apache RocketMQ's
//! escrowmq/   visible, stop, deleted, transactions, temporary/                             ours, unseen by Apache
//! ```

use std::path::{Path, PathBuf};

use crate::disk::Disk;
use crate::error::{Result, StoreError};
use crate::mapped::list_or_empty;

/// Any of these names tells a store, be it one that was only just begun.
const STORE_NAMES: [&str; 6] = ["commitlog", "consumequeue", "config", "checkpoint", "abort", "lock"];

/// The paths of a store directory.
#[derive(Debug, Clone)]
pub struct StoreLayout {
    /// The directory itself.
    pub root: PathBuf,
    /// Log segments.
    pub commit_log: PathBuf,
    /// A folder for each topic, in it one for each queue.
    pub consume_queues: PathBuf,
    /// Key-index files.
    pub key_index: PathBuf,
    /// Configuration as JSON.
    pub config: PathBuf,
    /// The timers' wheel.
    pub timer_wheel: PathBuf,
    /// Files of the timer log.
    pub timer_log: PathBuf,
    /// How far the timers are.
    pub timer_checkpoint: PathBuf,
    /// Times up to which log, queues and index are durable.
    pub checkpoint: PathBuf,
    /// Present while a broker runs, and after it was killed.
    pub abort: PathBuf,
    /// Locked while a broker runs.
    pub lock: PathBuf,
    /// What only this store knows of.
    pub own: PathBuf,
    /// How far readers of other processes may go.
    pub visible: PathBuf,
    /// What an orderly stop found.
    pub stop: PathBuf,
    /// Topics that were deleted.
    pub deleted_topics: PathBuf,
    /// What the transaction index knew.
    pub transactions: PathBuf,
    /// Files that have not got their final name yet.
    pub temporary: PathBuf,
}

impl StoreLayout {
    /// What the transaction index knows, while it is being written.
    #[must_use]
    pub fn temporary_of_transactions(&self) -> PathBuf {
        self.temporary.join("transactions")
    }

    /// The paths below `root`.
    #[must_use]
    pub fn new(root: &Path) -> Self {
        let own = root.join("escrowmq");
        Self {
            commit_log: root.join("commitlog"),
            consume_queues: root.join("consumequeue"),
            key_index: root.join("index"),
            config: root.join("config"),
            timer_wheel: root.join("timerwheel"),
            timer_log: root.join("timerlog"),
            timer_checkpoint: root.join("config").join("timercheck"),
            checkpoint: root.join("checkpoint"),
            abort: root.join("abort"),
            lock: root.join("lock"),
            visible: own.join("visible"),
            stop: own.join("stop"),
            deleted_topics: own.join("deleted"),
            transactions: own.join("transactions"),
            temporary: own.join("temporary"),
            root: root.to_path_buf(),
            own,
        }
    }

    /// Refuses a folder that holds something, but no store: a path that was mistyped must not get one.
    ///
    /// # Errors
    /// [`StoreError::ForeignFile`] names what is there.
    pub fn refuse_foreign_folder(&self, disk: &dyn Disk) -> Result<()> {
        // What a fresh mount point and a desktop leave in any folder says nothing.
        let is_noise = |name: &str| name.starts_with('.') || name == "lost+found";
        let entries = list_or_empty(disk, &self.root)?;
        let mut names: Vec<&str> =
            entries.iter().map(|entry| entry.name.as_str()).filter(|name| !is_noise(name)).collect();
        names.sort_unstable();
        match names.first() {
            Some(first) if !names.iter().any(|name| STORE_NAMES.contains(name)) => {
                let reason = "its folder is not empty and holds no store";
                Err(StoreError::ForeignFile { path: self.root.join(first), kind: "store", reason })
            }
            _ => Ok(()),
        }
    }

    /// Refuses stores that Apache wrote with features whose files this store would not keep in step.
    ///
    /// # Errors
    /// [`StoreError::UnsupportedStore`] names the feature.
    pub fn refuse_unsupported(&self, disk: &dyn Disk) -> Result<()> {
        let refuse = |path: PathBuf, feature| Err(StoreError::UnsupportedStore { path, feature });
        for entry in list_or_empty(disk, &self.root)? {
            let path = self.root.join(&entry.name);
            let feature = match entry.name.as_str() {
                "batchconsumequeue" => "batch consume queues",
                "consumequeue_ext" => "consume queue extensions",
                "consumequeue_rocksdb" => "RocksDB queues",
                name if name.starts_with("dledger") => "DLedger",
                _ => continue,
            };
            if entry.is_folder && has_file(disk, &path)? {
                return refuse(path, feature);
            }
        }
        // Beside these Apache keeps a `position-checkpoint`, which it writes at every orderly stop, compaction or not.
        for folder in ["compactionLog", "compactionCq"].map(|name| self.root.join("compaction").join(name)) {
            if has_file(disk, &folder)? {
                return refuse(folder, "compaction topics");
            }
        }
        for entry in list_or_empty(disk, &self.consume_queues)? {
            // RocksDB keeps its manifest where Apache's default keeps a folder for each topic.
            if !entry.is_folder && (entry.name == "CURRENT" || entry.name.starts_with("MANIFEST")) {
                return refuse(self.consume_queues.join(entry.name), "RocksDB queues");
            }
        }
        for entry in list_or_empty(disk, &self.commit_log)? {
            if entry.is_folder && entry.name.starts_with("dledger") {
                return refuse(self.commit_log.join(entry.name), "DLedger");
            }
        }
        if has_several_log_paths(disk, &self.commit_log)? {
            return refuse(self.commit_log.clone(), "several log paths");
        }
        Ok(())
    }

    /// Makes the folders, and empties the one for temporaries.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn create_folders(&self, disk: &dyn Disk) -> Result<()> {
        let folders =
            [&self.commit_log, &self.consume_queues, &self.key_index, &self.config, &self.temporary];
        for folder in folders {
            disk.create_folder(folder).map_err(StoreError::io("create", folder))?;
        }
        for entry in list_or_empty(disk, &self.temporary)? {
            let path = self.temporary.join(entry.name);
            disk.remove(&path).map_err(StoreError::io("remove", &path))?;
        }
        Ok(())
    }
}

/// Whether a log's files stand at equal distances larger than their size: Apache deals files out to its log paths in
/// turn, so that each has every second or third.
fn has_several_log_paths(disk: &dyn Disk, folder: &Path) -> Result<bool> {
    let mut files: Vec<(u64, u64)> = list_or_empty(disk, folder)?
        .iter()
        .filter_map(|entry| Some((entry.name.parse().ok()?, entry.size_bytes)))
        .collect();
    files.sort_unstable();
    let Some((_, size)) = files.first().copied().filter(|_| files.len() > 2) else { return Ok(false) };
    let gap = files[1].0 - files[0].0;
    let is_even = files.windows(2).all(|pair| pair[1].0 - pair[0].0 == gap);
    Ok(is_even && size > 0 && gap > size && gap.is_multiple_of(size))
}

/// Whether a folder holds a file, at any depth: Apache makes some folders that it never uses.
fn has_file(disk: &dyn Disk, folder: &Path) -> Result<bool> {
    for entry in list_or_empty(disk, folder)? {
        if !entry.is_folder || has_file(disk, &folder.join(entry.name))? {
            return Ok(true);
        }
    }
    Ok(false)
}
