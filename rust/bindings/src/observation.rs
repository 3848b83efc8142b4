//! A store that another process may be writing, as Python sees it, and its records as Arrow streams.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use escrowmq_columnar::{BatchBuilder, Column, RowFilter, ScanStream};
use escrowmq_store::QueueOffset;
use escrowmq_store::consume_queue::TimeBoundary;
use escrowmq_store::observation as store;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::error::store_error;
use crate::property_filter::PropertyFilter;
use crate::report::QueueEntry;

/// Reads a directory by position, without a lock, as far as it is visible.
#[pyclass(frozen, module = "escrowmq._core")]
pub struct Observation {
    observation: store::Observation,
    folder: PathBuf,
}

#[pymethods]
impl Observation {
    #[staticmethod]
    #[pyo3(signature = (path, /))]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let observation = py.detach(|| store::Observation::open(&path)).map_err(store_error)?;
        Ok(Self { observation, folder: path })
    }

    #[getter]
    fn path(&self) -> PathBuf {
        self.folder.clone()
    }

    fn topics(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        py.detach(|| self.observation.topics()).map_err(store_error)
    }

    #[pyo3(signature = (topic, /))]
    fn queues(&self, py: Python<'_>, topic: &str) -> PyResult<Vec<ObservedQueue>> {
        let queues = py.detach(|| self.observation.queues(topic)).map_err(store_error)?;
        Ok(queues.into_iter().map(|queue| ObservedQueue { queue: Arc::new(queue) }).collect())
    }
}

/// A queue as it was when it was looked at.
#[pyclass(frozen, module = "escrowmq._core")]
pub struct ObservedQueue {
    queue: Arc<store::ObservedQueue>,
}

#[pymethods]
impl ObservedQueue {
    #[getter]
    fn topic(&self) -> &str {
        self.queue.topic()
    }

    #[getter]
    fn queue_id(&self) -> u32 {
        self.queue.queue_id()
    }

    #[getter]
    fn min_offset(&self) -> u64 {
        self.queue.min_offset().0
    }

    #[getter]
    fn max_offset(&self) -> u64 {
        self.queue.max_offset().0
    }

    #[pyo3(signature = (queue_offset, /))]
    fn entry(&self, py: Python<'_>, queue_offset: u64) -> PyResult<QueueEntry> {
        let entry = py.detach(|| self.queue.entry(QueueOffset(queue_offset))).map_err(store_error)?;
        Ok(QueueEntry::at(queue_offset, entry))
    }

    #[pyo3(signature = (timestamp_ms, *, boundary = "lower"))]
    fn offset_by_time(&self, py: Python<'_>, timestamp_ms: i64, boundary: &str) -> PyResult<u64> {
        let boundary = parse_boundary(boundary)?;
        let found = py.detach(|| self.queue.offset_by_time(timestamp_ms, boundary)).map_err(store_error)?;
        Ok(found.0)
    }

    #[pyo3(signature = (
        start, end, *, columns, broker = "", tags = None, key = None, properties = None, store_time_ms = None,
        rows_max = 4_096, size_max_bytes = 8_388_608,
    ))]
    #[allow(clippy::too_many_arguments, reason = "in Python all but two are keywords with defaults")]
    fn scan(
        &self,
        start: u64,
        end: u64,
        columns: Vec<String>,
        broker: &str,
        tags: Option<Vec<String>>,
        key: Option<String>,
        properties: Option<Py<PropertyFilter>>,
        store_time_ms: Option<(i64, i64)>,
        rows_max: usize,
        size_max_bytes: usize,
    ) -> PyResult<ArrowStream> {
        let filter = RowFilter {
            tags,
            key,
            properties: properties.map(|filter| filter.get().shared()),
            store_time_ms: store_time_ms.map(|(from, to)| Range { start: from, end: to }),
        };
        let scan = self.queue.scan(QueueOffset(start), QueueOffset(end));
        let builder = BatchBuilder::new(&parse_columns(&columns)?, broker);
        let stream = ScanStream::new(scan, filter, builder, rows_max.max(1), size_max_bytes.max(1));
        Ok(ArrowStream { stream: Mutex::new(Some(stream)) })
    }
}

/// Batches that are made while they are read.
#[pyclass(frozen, module = "escrowmq._core")]
pub struct ArrowStream {
    /// None when somebody has it.
    stream: Mutex<Option<ScanStream>>,
}

#[pymethods]
impl ArrowStream {
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface lets a producer that can make one schema only return that one.
        drop(requested_schema);
        let taken = self.stream.lock().unwrap_or_else(PoisonError::into_inner).take();
        let stream = taken.ok_or_else(|| PyValueError::new_err("the stream was read already"))?;
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(stream)), c"arrow_array_stream")
    }
}

fn parse_columns(names: &[String]) -> PyResult<Vec<Column>> {
    let column = |name: &String| {
        Column::named(name).ok_or_else(|| {
            let known = Column::ALL.map(Column::name).join(", ");
            PyValueError::new_err(format!("column {name:?}, expected one of {known}"))
        })
    };
    names.iter().map(column).collect()
}

/// Which end of a run of equal times is meant.
pub fn parse_boundary(text: &str) -> PyResult<TimeBoundary> {
    match text {
        "lower" => Ok(TimeBoundary::Lower),
        "upper" => Ok(TimeBoundary::Upper),
        other => Err(PyValueError::new_err(format!("boundary {other:?}, expected lower or upper"))),
    }
}
