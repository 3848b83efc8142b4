//! A record as Python sees it: every attribute is read from the bytes when asked for.

use escrowmq_store::StoredRecord;
use escrowmq_wire::{
    LogItem, MAGIC_BLANK, OffsetMessageId, RecordError, RecordView, decompress, property_names,
};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict, PyMemoryView};

use crate::buffer::{Part, RecordBytes};
use crate::error::{body_error, record_error, unknown_compression};
use crate::message::properties_dict;

/// Where a record keeps its own position.
const LOG_OFFSET_AT: usize = 28;

/// A message in the log, or received in the log's format.
#[pyclass(frozen, module = "escrowmq._core")]
pub struct Record(Source);

/// Where a record's bytes are kept.
enum Source {
    /// In a segment, which stays mapped while the record lives.
    Stored(StoredRecord),
    /// In a bytes object, from this position on.
    Received { bytes: PyBackedBytes, at: usize },
}

impl Record {
    pub fn stored(record: StoredRecord) -> Self {
        Self(Source::Stored(record))
    }

    /// The record at a position of what was received.
    pub fn received(bytes: PyBackedBytes, at: usize) -> Result<Self, RecordError> {
        parse(&bytes[at..])?;
        Ok(Self(Source::Received { bytes, at }))
    }

    pub fn view(&self) -> RecordView<'_> {
        match &self.0 {
            Source::Stored(record) => record.view(),
            Source::Received { bytes, at } => parse(&bytes[*at..]).expect("`received` has parsed it"),
        }
    }
}

/// The record at the front of `bytes`. Where it says that it stands is taken for granted: it has left its log.
fn parse(bytes: &[u8]) -> Result<RecordView<'_>, RecordError> {
    let log_offset = bytes
        .get(LOG_OFFSET_AT..)
        .and_then(|rest| rest.first_chunk())
        .map_or(0, |at| u64::from_be_bytes(*at));
    match LogItem::parse(bytes, log_offset)? {
        LogItem::Record(view) => Ok(view),
        LogItem::Blank { .. } => Err(RecordError::BadMagic { at: log_offset, found: MAGIC_BLANK }),
    }
}

#[pymethods]
impl Record {
    #[getter]
    fn topic(&self) -> &str {
        self.view().topic()
    }

    #[getter]
    fn queue_id(&self) -> u32 {
        self.view().queue_id()
    }

    #[getter]
    fn queue_offset(&self) -> u64 {
        self.view().queue_offset()
    }

    #[getter]
    fn log_offset(&self) -> u64 {
        self.view().log_offset()
    }

    #[getter]
    fn size_bytes(&self) -> u32 {
        self.view().size()
    }

    #[getter]
    fn flag(&self) -> i32 {
        self.view().flag()
    }

    #[getter]
    fn sys_flag(&self) -> i32 {
        self.view().sys_flag().0
    }

    #[getter]
    fn body_crc(&self) -> u32 {
        self.view().body_crc()
    }

    #[getter]
    fn born_timestamp_ms(&self) -> i64 {
        self.view().born_timestamp_ms()
    }

    #[getter]
    fn born_host(&self) -> String {
        self.view().born_host().to_string()
    }

    #[getter]
    fn store_timestamp_ms(&self) -> i64 {
        self.view().store_timestamp_ms()
    }

    #[getter]
    fn store_host(&self) -> String {
        self.view().store_host().to_string()
    }

    #[getter]
    fn reconsume_times(&self) -> i32 {
        self.view().reconsume_times()
    }

    #[getter]
    fn prepared_transaction_offset(&self) -> i64 {
        self.view().prepared_transaction_offset()
    }

    #[getter]
    fn body<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyMemoryView>> {
        RecordBytes::view(slf, Part::Body)
    }

    #[getter]
    fn bytes<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyMemoryView>> {
        RecordBytes::view(slf, Part::Whole)
    }

    #[getter]
    fn properties<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        properties_dict(py, self.view().properties())
    }

    #[getter]
    fn properties_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.view().properties_bytes())
    }

    fn find_property(&self, name: &str) -> Option<String> {
        let value = self.view().properties().get_bytes(name)?;
        Some(String::from_utf8_lossy(value).into_owned())
    }

    #[getter]
    fn unique_id(&self) -> Option<String> {
        self.view().properties().get(property_names::UNIQ_KEY).map(str::to_owned)
    }

    #[getter]
    fn offset_message_id(&self) -> String {
        let view = self.view();
        OffsetMessageId { store_host: view.store_host(), log_offset: view.log_offset() }.to_string()
    }

    #[pyo3(signature = (*, size_max_bytes = 16_777_216))]
    fn decoded_body<'py>(&self, py: Python<'py>, size_max_bytes: usize) -> PyResult<Bound<'py, PyBytes>> {
        let view = self.view();
        if !view.sys_flag().is_compressed() {
            return Ok(PyBytes::new(py, view.body()));
        }
        let kind = view.sys_flag().compression().ok_or_else(|| unknown_compression(view.sys_flag()))?;
        let plain = py.detach(|| decompress(kind, view.body(), size_max_bytes)).map_err(body_error)?;
        Ok(PyBytes::new(py, &plain))
    }

    fn moved<'py>(&self, py: Python<'py>, topic: &str, queue_id: u32) -> PyResult<Bound<'py, PyBytes>> {
        let moved = self.view().moved(topic, queue_id).map_err(record_error)?;
        Ok(PyBytes::new(py, &moved))
    }

    fn __repr__(&self) -> String {
        let view = self.view();
        format!(
            "Record(topic={:?}, queue_id={}, queue_offset={}, log_offset={}, size_bytes={})",
            view.topic(),
            view.queue_id(),
            view.queue_offset(),
            view.log_offset(),
            view.size()
        )
    }
}
