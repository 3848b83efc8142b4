//! What an append answers. A batch answers with one object; a receipt becomes a Python object when it is looked at.

use escrowmq_store::{LogOffset, QueueOffset, Receipt as StoreReceipt};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyList};

/// Where one message went.
#[pyclass(frozen, eq, hash, module = "escrowmq._core")]
#[derive(PartialEq, Eq, Hash)]
pub struct Receipt {
    #[pyo3(get)]
    log_offset: u64,
    #[pyo3(get)]
    size_bytes: u32,
    #[pyo3(get)]
    queue_offset: u64,
    #[pyo3(get)]
    store_timestamp_ms: i64,
    #[pyo3(get)]
    end_offset: u64,
}

impl From<&StoreReceipt> for Receipt {
    fn from(receipt: &StoreReceipt) -> Self {
        Self {
            log_offset: receipt.log_offset.0,
            size_bytes: receipt.size_bytes,
            queue_offset: receipt.queue_offset.0,
            store_timestamp_ms: receipt.store_timestamp_ms,
            end_offset: receipt.end_offset().0,
        }
    }
}

impl From<&Receipt> for StoreReceipt {
    fn from(receipt: &Receipt) -> Self {
        Self {
            log_offset: LogOffset(receipt.log_offset),
            size_bytes: receipt.size_bytes,
            queue_offset: QueueOffset(receipt.queue_offset),
            store_timestamp_ms: receipt.store_timestamp_ms,
        }
    }
}

#[pymethods]
impl Receipt {
    fn __repr__(&self) -> String {
        format!(
            "Receipt(log_offset={}, size_bytes={}, queue_offset={}, store_timestamp_ms={})",
            self.log_offset, self.size_bytes, self.queue_offset, self.store_timestamp_ms
        )
    }
}

/// Where the messages of a batch went, in the order given.
#[pyclass(frozen, sequence, module = "escrowmq._core")]
pub struct Receipts(pub Vec<StoreReceipt>);

#[pymethods]
impl Receipts {
    /// The log offset to wait for: durable up to here, the whole batch is.
    #[getter]
    fn end_offset(&self) -> u64 {
        self.0.last().map_or(0, |receipt| receipt.end_offset().0)
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __getitem__(&self, index: isize) -> PyResult<Receipt> {
        let from_start = if index < 0 { index + self.0.len().cast_signed() } else { index };
        usize::try_from(from_start)
            .ok()
            .and_then(|place| self.0.get(place))
            .map(Receipt::from)
            .ok_or_else(|| PyIndexError::new_err(format!("receipt {index} of a batch of {}", self.0.len())))
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        PyList::new(py, self.0.iter().map(Receipt::from))?.try_iter()
    }

    fn __repr__(&self) -> String {
        format!("Receipts({} messages, end_offset={})", self.0.len(), self.end_offset())
    }
}
