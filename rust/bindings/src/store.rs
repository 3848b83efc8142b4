//! The store as Python sees it. Each method lets other Python threads run while the store works.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use escrowmq_store::{
    FlushMode, LogOffset, NewMessage, QueueOffset, Retention, Store as RustStore, StoreError, StoreOptions,
    StoredRecord,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::clock::Clock;
use crate::error::store_error;
use crate::message::{Message, parse_host};
use crate::observation::parse_boundary;
use crate::owner::Owned;
use crate::queue_iterator::QueueIterator;
use crate::receipt::Receipts;
use crate::record::Record;
use crate::report::{ExpiryReport, QueueEntry, QueueStatus, RecoveryReport, Statistics};

/// A commit log with its queues and key index, open in this process alone.
#[pyclass(frozen, module = "escrowmq._core")]
pub struct Store {
    store: Arc<Owned<RustStore>>,
    folder: PathBuf,
}

#[pymethods]
impl Store {
    #[staticmethod]
    #[pyo3(signature = (
        path, *, flush = "sync", segment_size_bytes = 1_073_741_824, queue_file_entries = 300_000, index_slots = 5_000_000,
        index_entries = 20_000_000, checkpoint_interval_ms = 1_000, body_size_max_bytes = 4_194_304, record_crc = false,
        store_host = "127.0.0.1:10911", retention_age_ms = 259_200_000, retention_hour = 4, disk_clean_ratio = 0.75,
        disk_force_ratio = 0.85, disk_refuse_ratio = 0.90, reader_grace_ms = 120_000, delay_levels_ms = None, clock = None,
    ))]
    #[allow(clippy::too_many_arguments, reason = "in Python all but one are keywords with defaults")]
    fn open(
        py: Python<'_>,
        path: PathBuf,
        flush: &str,
        segment_size_bytes: u64,
        queue_file_entries: u64,
        index_slots: u32,
        index_entries: u32,
        checkpoint_interval_ms: u64,
        body_size_max_bytes: u32,
        record_crc: bool,
        store_host: &str,
        retention_age_ms: i64,
        retention_hour: u8,
        disk_clean_ratio: f64,
        disk_force_ratio: f64,
        disk_refuse_ratio: f64,
        reader_grace_ms: i64,
        delay_levels_ms: Option<Vec<i64>>,
        clock: Option<&Bound<'_, Clock>>,
    ) -> PyResult<Self> {
        let options = StoreOptions {
            segment_size_bytes,
            queue_file_entries,
            index_slots,
            index_entries,
            flush: match flush {
                "sync" => FlushMode::Sync,
                "async" => FlushMode::ASYNC_DEFAULT,
                other => {
                    return Err(PyValueError::new_err(format!("flush {other:?}, expected sync or async")));
                }
            },
            checkpoint_interval_ms,
            body_size_max_bytes,
            has_record_crc: record_crc,
            retention: Retention {
                age_max_ms: retention_age_ms,
                delete_hour: retention_hour,
                clean_ratio: disk_clean_ratio,
                force_ratio: disk_force_ratio,
                refuse_ratio: disk_refuse_ratio,
                reader_grace_ms,
            },
            delay_levels_ms: delay_levels_ms.unwrap_or(StoreOptions::default().delay_levels_ms),
            store_host: parse_host(store_host)?,
        };
        let clock = clock.map(|clock| clock.get().shared()).unwrap_or_default();
        let store = py.detach(|| RustStore::open_with_clock(&path, options, clock)).map_err(store_error)?;
        Ok(Self { store: Arc::new(Owned::new(store)), folder: path })
    }

    #[pyo3(signature = (messages, *, uses_reserve = false))]
    fn append(&self, py: Python<'_>, messages: Vec<Py<Message>>, uses_reserve: bool) -> PyResult<Receipts> {
        self.with(py, |store| {
            let messages: Vec<NewMessage<'_>> =
                messages.iter().map(|message| message.get().as_new_message()).collect();
            if uses_reserve { store.append_into_reserve(&messages) } else { store.append(&messages) }
        })
        .map(Receipts)
    }

    #[pyo3(signature = (end_offset, *, timeout_s = 5.0))]
    fn wait_durable(&self, py: Python<'_>, end_offset: u64, timeout_s: f64) -> PyResult<()> {
        let timeout = duration(timeout_s)?;
        self.with(py, |store| store.wait_durable(LogOffset(end_offset), timeout))
    }

    #[pyo3(signature = (end_offset, *, timeout_s = 5.0))]
    fn wait_visible(&self, py: Python<'_>, end_offset: u64, timeout_s: f64) -> PyResult<()> {
        let timeout = duration(timeout_s)?;
        self.with(py, |store| store.wait_visible(LogOffset(end_offset), timeout))
    }

    fn flush(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, RustStore::flush).map(|end| end.0)
    }

    #[pyo3(signature = (topic, queue_id, offset, *, count_max = 32, size_max_bytes = 4_194_304))]
    fn read(
        &self,
        py: Python<'_>,
        topic: &str,
        queue_id: u32,
        offset: u64,
        count_max: usize,
        size_max_bytes: usize,
    ) -> PyResult<Vec<Record>> {
        let read = |store: &RustStore| {
            store.read_queue(topic, queue_id, QueueOffset(offset), count_max, size_max_bytes)
        };
        self.with(py, read).map(records)
    }

    #[pyo3(signature = (topic, queue_id, offset = 0, *, count_max = 256, size_max_bytes = 4_194_304))]
    fn iterate(
        &self,
        topic: String,
        queue_id: u32,
        offset: u64,
        count_max: usize,
        size_max_bytes: usize,
    ) -> QueueIterator {
        let (store, next) = (Arc::clone(&self.store), QueueOffset(offset));
        QueueIterator { store, topic, queue_id, next, count_max, size_max_bytes, batch: VecDeque::new() }
    }

    #[pyo3(signature = (topic, queue_id, offset, *, count_max = 256))]
    fn entries(
        &self,
        py: Python<'_>,
        topic: &str,
        queue_id: u32,
        offset: u64,
        count_max: usize,
    ) -> PyResult<Vec<QueueEntry>> {
        self.with(py, |store| {
            let Some(queue) = store.queue(topic, queue_id) else { return Ok(Vec::new()) };
            let from = queue.min_offset().max(QueueOffset(offset));
            let entries = queue.entries(from, count_max).into_iter();
            Ok((from.0..).zip(entries).map(|(offset, entry)| QueueEntry::at(offset, entry)).collect())
        })
    }

    fn queues(&self, py: Python<'_>) -> PyResult<Vec<QueueStatus>> {
        let queues = self.with(py, |store| Ok(store.queues()))?;
        Ok(queues.into_iter().map(QueueStatus::from).collect())
    }

    fn queue(&self, topic: &str, queue_id: u32) -> PyResult<Option<QueueStatus>> {
        Ok(self.get()?.queue_status(topic, queue_id).map(QueueStatus::from))
    }

    fn record_at(&self, py: Python<'_>, log_offset: u64) -> PyResult<Record> {
        self.with(py, |store| store.record_at(LogOffset(log_offset))).map(Record::stored)
    }

    #[pyo3(signature = (topic, key, *, count_max = 32, begin_ms = 0, end_ms = None))]
    fn find_by_key(
        &self,
        py: Python<'_>,
        topic: &str,
        key: &str,
        count_max: usize,
        begin_ms: i64,
        end_ms: Option<i64>,
    ) -> PyResult<Vec<Record>> {
        self.with(py, |store| store.find_by_key(topic, key, count_max, begin_ms, end_ms.unwrap_or(i64::MAX)))
            .map(records)
    }

    fn key_index_end(&self) -> PyResult<Option<(u64, i64)>> {
        Ok(self.get()?.key_index_end().map(|(at, store_timestamp_ms)| (at.0, store_timestamp_ms)))
    }

    fn find_by_unique_id(&self, py: Python<'_>, topic: &str, unique_id: &str) -> PyResult<Option<Record>> {
        let found = self.with(py, |store| store.find_by_unique_id(topic, unique_id))?;
        Ok(found.map(Record::stored))
    }

    #[pyo3(signature = (topic, queue_id, timestamp_ms, *, boundary = "lower"))]
    fn offset_by_time(
        &self,
        py: Python<'_>,
        topic: &str,
        queue_id: u32,
        timestamp_ms: i64,
        boundary: &str,
    ) -> PyResult<Option<u64>> {
        let boundary = parse_boundary(boundary)?;
        let found =
            self.with(py, |store| Ok(store.offset_by_time(topic, queue_id, timestamp_ms, boundary)))?;
        Ok(found.map(|offset| offset.0))
    }

    #[getter]
    fn path(&self) -> PathBuf {
        self.folder.clone()
    }

    #[getter]
    fn log_start(&self) -> PyResult<u64> {
        Ok(self.get()?.log_start().0)
    }

    #[getter]
    fn log_end(&self) -> PyResult<u64> {
        Ok(self.get()?.log_end().0)
    }

    #[getter]
    fn durable_end(&self) -> PyResult<u64> {
        Ok(self.get()?.durable_end().0)
    }

    #[getter]
    fn visible_end(&self) -> PyResult<u64> {
        Ok(self.get()?.visible_end().0)
    }

    #[getter]
    fn recovery_report(&self) -> PyResult<RecoveryReport> {
        Ok(self.get()?.recovery_report().into())
    }

    fn statistics(&self, py: Python<'_>) -> PyResult<Statistics> {
        self.with(py, |store| Ok(store.statistics())).map(Into::into)
    }

    #[pyo3(signature = (*, any_hour = false))]
    fn expire(&self, py: Python<'_>, any_hour: bool) -> PyResult<ExpiryReport> {
        self.with(py, |store| store.expire(any_hour)).map(Into::into)
    }

    fn expire_soon(&self) -> PyResult<()> {
        self.get().map(RustStore::expire_soon)
    }

    fn expire_queues(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, RustStore::expire_queues)
    }

    #[pyo3(signature = (*, age_ms, hour, disk_clean_ratio))]
    fn set_retention(&self, age_ms: i64, hour: u8, disk_clean_ratio: f64) -> PyResult<()> {
        let store = self.get()?;
        store.set_retention(Retention {
            age_max_ms: age_ms,
            delete_hour: hour,
            clean_ratio: disk_clean_ratio,
            ..store.options().retention
        });
        Ok(())
    }

    fn delete_topics(&self, py: Python<'_>, topics: Vec<String>) -> PyResult<usize> {
        let topics: Vec<&str> = topics.iter().map(String::as_str).collect();
        self.with(py, |store| store.delete_topics(&topics))
    }

    fn hold_from(&self, log_offset: Option<u64>) -> PyResult<()> {
        self.get()?.hold_from(log_offset.map(LogOffset));
        Ok(())
    }

    fn fail_next_flush(&self) -> PyResult<()> {
        self.get()?.fail_next_flush();
        Ok(())
    }

    fn abandon(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, |store| {
            store.abandon();
            Ok(())
        })
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, RustStore::close)
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) -> PyResult<()> {
        self.close(py)
    }

    fn __repr__(&self) -> String {
        format!("Store({})", self.folder.display())
    }
}

impl Store {
    /// Lets other Python threads run while the store works, and raises what it returns.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&RustStore) -> Result<T, StoreError> + Send,
    ) -> PyResult<T> {
        let store = self.get()?;
        py.detach(|| work(store)).map_err(store_error)
    }

    /// The store, for a server that outlives this object.
    pub fn shared(&self) -> PyResult<Arc<Owned<RustStore>>> {
        self.get().map(|_| Arc::clone(&self.store))
    }

    fn get(&self) -> PyResult<&RustStore> {
        self.store.get().ok_or(StoreError::Closed).map_err(store_error)
    }
}

fn records(records: Vec<StoredRecord>) -> Vec<Record> {
    records.into_iter().map(Record::stored).collect()
}

fn duration(seconds: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(seconds)
        .map_err(|error| PyValueError::new_err(format!("timeout_s {seconds}: {error}")))
}
