//! A store that is looked at and not changed, as Python sees it. Other Python threads run while it is read.

use std::path::PathBuf;

use escrowmq_store::inspection::{self as native, Part, Severity};
use escrowmq_store::{StoreError, StoreOptions};
use parking_lot::Mutex;
use pyo3::prelude::*;

use crate::error::store_error;
use crate::report::QueueStatus;

/// A store that is looked at.
#[pyclass(frozen, module = "escrowmq._core")]
pub struct Inspection {
    inspection: Mutex<native::Inspection>,
}

#[pymethods]
impl Inspection {
    #[staticmethod]
    #[pyo3(signature = (
        path, *, segment_size_bytes = 1_073_741_824, queue_file_entries = 300_000, index_slots = 5_000_000,
        index_entries = 20_000_000,
    ))]
    fn open(
        py: Python<'_>,
        path: PathBuf,
        segment_size_bytes: u64,
        queue_file_entries: u64,
        index_slots: u32,
        index_entries: u32,
    ) -> PyResult<Self> {
        let options = StoreOptions {
            segment_size_bytes,
            queue_file_entries,
            index_slots,
            index_entries,
            ..StoreOptions::default()
        };
        let inspection = py.detach(|| native::Inspection::open(&path, &options)).map_err(store_error)?;
        Ok(Self { inspection: Mutex::new(inspection) })
    }

    fn summary(&self, py: Python<'_>) -> PyResult<StoreSummary> {
        self.with(py, |inspection| inspection.summary()).map(Into::into)
    }

    #[pyo3(signature = (*, size_bytes = 67_108_864))]
    fn check(&self, py: Python<'_>, size_bytes: u64) -> PyResult<bool> {
        self.with(py, |inspection| inspection.check(size_bytes))
    }

    #[getter]
    fn progress(&self) -> (u64, u64) {
        let progress = self.inspection.lock().progress();
        (progress.done_bytes, progress.total_bytes)
    }

    #[getter]
    fn findings(&self) -> Vec<Finding> {
        self.inspection.lock().findings().iter().cloned().map(Into::into).collect()
    }

    #[getter]
    fn errors(&self) -> u64 {
        self.inspection.lock().counts().0
    }

    #[getter]
    fn notes(&self) -> u64 {
        self.inspection.lock().counts().1
    }
}

impl Inspection {
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut native::Inspection) -> Result<T, StoreError> + Send,
    ) -> PyResult<T> {
        py.detach(|| work(&mut self.inspection.lock())).map_err(store_error)
    }
}

/// Something that is not as it should be.
#[pyclass(frozen, eq, get_all, module = "escrowmq._core")]
#[derive(Debug, PartialEq, Eq)]
pub struct Finding {
    severity: &'static str,
    part: &'static str,
    path: PathBuf,
    offset: Option<u64>,
    message: String,
}

#[pymethods]
impl Finding {
    fn __repr__(&self) -> String {
        format!("{self:?}")
    }
}

impl From<native::Finding> for Finding {
    fn from(found: native::Finding) -> Self {
        Self {
            severity: match found.severity {
                Severity::Error => "error",
                Severity::Note => "note",
            },
            part: match found.part {
                Part::Log => "log",
                Part::Queue => "queue",
                Part::Index => "index",
                Part::Checkpoint => "checkpoint",
                Part::Config => "config",
            },
            path: found.path,
            offset: found.offset,
            message: found.message,
        }
    }
}

/// A file of the key index.
#[pyclass(frozen, eq, get_all, module = "escrowmq._core")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexFileStatus {
    name: String,
    entries: u32,
    begin_ms: i64,
    end_ms: i64,
}

#[pymethods]
impl IndexFileStatus {
    fn __repr__(&self) -> String {
        format!("{self:?}")
    }
}

/// What a store holds.
#[pyclass(frozen, get_all, module = "escrowmq._core")]
#[derive(Debug)]
pub struct StoreSummary {
    path: PathBuf,
    holder: Option<u32>,
    was_killed: bool,
    segment_size_bytes: u64,
    segments: usize,
    log_start: u64,
    log_end: u64,
    oldest_ms: Option<i64>,
    newest_ms: Option<i64>,
    queues: Vec<QueueStatus>,
    index_files: Vec<IndexFileStatus>,
    checkpoint_log_ms: i64,
    checkpoint_queues_ms: i64,
    checkpoint_index_ms: i64,
    config_files: Vec<String>,
}

#[pymethods]
impl StoreSummary {
    fn __repr__(&self) -> String {
        format!("{self:?}")
    }
}

impl From<native::Summary> for StoreSummary {
    fn from(found: native::Summary) -> Self {
        Self {
            path: found.folder,
            holder: found.holder,
            was_killed: found.was_killed,
            segment_size_bytes: found.segment_size_bytes,
            segments: found.segments,
            log_start: found.log_start.0,
            log_end: found.log_end.0,
            oldest_ms: found.oldest_ms,
            newest_ms: found.newest_ms,
            queues: found.queues.into_iter().map(Into::into).collect(),
            index_files: found
                .index_files
                .into_iter()
                .map(|file| IndexFileStatus {
                    name: file.name,
                    entries: file.entries,
                    begin_ms: file.begin_ms,
                    end_ms: file.end_ms,
                })
                .collect(),
            checkpoint_log_ms: found.checkpoint.log_ms,
            checkpoint_queues_ms: found.checkpoint.queues_ms,
            checkpoint_index_ms: found.checkpoint.index_ms,
            config_files: found.config_files,
        }
    }
}
