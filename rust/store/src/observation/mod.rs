//! Reading a store that another process may be writing, ours or Apache's: by position, without a lock, without a mapping,
//! changing nothing and holding up nobody.
//!
//! ```text
//! open ─▶ queues ─▶ queue: from, to ─▶ scan ─▶ records, a window of the log at a time
//!            │
//!            └─ limit: a store of ours that runs says how far it is visible; else what reads as a whole record counts
//! ```
//! What a scan hands out was checked: it is the record that the queue names, and its body has its checksum.

mod files;
mod limit;
mod queue;
mod scan;

use std::path::Path;
use std::sync::Arc;

use files::Files;
pub use queue::ObservedQueue;
pub use scan::QueueScan;

use crate::disk::{Disk, ReadOnlyDisk};
use crate::error::{Result, StoreError};
use crate::layout::StoreLayout;
use crate::mapped::list_or_empty;

/// A store that is read while another process may be writing it.
#[derive(Debug)]
pub struct Observation {
    layout: StoreLayout,
    log: Arc<Files>,
}

impl Observation {
    /// Opens a store directory.
    ///
    /// # Errors
    /// [`StoreError::Io`] where there is no store, [`StoreError::UnsupportedStore`] where it is of another kind.
    pub fn open(folder: &Path) -> Result<Self> {
        let layout = StoreLayout::new(folder);
        ReadOnlyDisk.list(&layout.commit_log).map_err(StoreError::io("open", &layout.commit_log))?;
        layout.refuse_unsupported(&ReadOnlyDisk)?;
        let log = Arc::new(Files::new(layout.commit_log.clone(), "commit log"));
        Ok(Self { layout, log })
    }

    /// Topics that have queues, in order.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn topics(&self) -> Result<Vec<String>> {
        let folders = list_or_empty(&ReadOnlyDisk, &self.layout.consume_queues)?;
        let mut topics: Vec<_> =
            folders.into_iter().filter(|entry| entry.is_folder).map(|entry| entry.name).collect();
        topics.sort_unstable();
        Ok(topics)
    }

    /// The queues of a topic as they are now, in order; none where there is no such topic.
    ///
    /// # Errors
    /// [`StoreError::Io`], [`StoreError::ForeignFile`].
    pub fn queues(&self, topic: &str) -> Result<Vec<ObservedQueue>> {
        let folder = self.layout.consume_queues.join(topic);
        let mut numbers: Vec<u32> = list_or_empty(&ReadOnlyDisk, &folder)?
            .iter()
            .filter(|entry| entry.is_folder)
            .filter_map(|entry| entry.name.parse().ok())
            .collect();
        numbers.sort_unstable();
        // Before the queues: what they name by then is behind it, or visible.
        let limit = limit::visible(&self.layout)?;
        numbers
            .into_iter()
            .map(|queue_id| {
                let files = Files::new(folder.join(queue_id.to_string()), "consume queue");
                ObservedQueue::load(topic, queue_id, files, Arc::clone(&self.log), limit)
            })
            .collect()
    }
}
