//! A queue from an offset on, record by record; the store is asked for a batch at a time.

use std::collections::VecDeque;
use std::sync::Arc;

use escrowmq_store::{QueueOffset, Store, StoreError, StoredRecord};
use pyo3::prelude::*;

use crate::error::store_error;
use crate::owner::Owned;
use crate::record::Record;

/// Iterates over a queue up to its end at the time it gets there.
#[pyclass(module = "escrowmq._core")]
pub struct QueueIterator {
    pub store: Arc<Owned<Store>>,
    pub topic: String,
    pub queue_id: u32,
    pub next: QueueOffset,
    pub count_max: usize,
    pub size_max_bytes: usize,
    pub batch: VecDeque<StoredRecord>,
}

#[pymethods]
impl QueueIterator {
    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__(&mut self, py: Python<'_>) -> PyResult<Option<Record>> {
        if self.batch.is_empty() {
            self.batch = py.detach(|| self.read_batch()).map_err(store_error)?;
        }
        let Some(record) = self.batch.pop_front() else { return Ok(None) };
        self.next = QueueOffset(record.view().queue_offset() + 1);
        Ok(Some(Record::stored(record)))
    }
}

impl QueueIterator {
    fn read_batch(&self) -> Result<VecDeque<StoredRecord>, StoreError> {
        let store = self.store.get().ok_or(StoreError::Closed)?;
        let Some(queue) = store.queue(&self.topic, self.queue_id) else { return Ok(VecDeque::new()) };
        // What has expired is not waited for.
        let from = self.next.max(queue.min_offset());
        let batch =
            store.read_queue(&self.topic, self.queue_id, from, self.count_max, self.size_max_bytes)?;
        Ok(batch.into())
    }
}
