//! Bytes of a record as a Python buffer that does not copy. The only `unsafe` of this crate: the buffer protocol has no
//! other form. A memoryview holds its [`RecordBytes`], which holds the [`Record`], which keeps its segment mapped.

#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};

use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyMemoryView;

use crate::record::Record;

/// Which bytes of a record.
#[derive(Clone, Copy)]
pub enum Part {
    Whole,
    Body,
}

/// Part of a record, for `memoryview`.
#[pyclass(frozen, module = "escrowmq._core")]
pub struct RecordBytes {
    record: Py<Record>,
    part: Part,
}

impl RecordBytes {
    /// A read-only memoryview of part of a record.
    pub fn view<'py>(record: &Bound<'py, Record>, part: Part) -> PyResult<Bound<'py, PyMemoryView>> {
        let bytes = Self { record: record.clone().unbind(), part };
        PyMemoryView::from(Bound::new(record.py(), bytes)?.as_any())
    }

    fn bytes(&self) -> &[u8] {
        let view = self.record.get().view();
        match self.part {
            Part::Whole => view.bytes(),
            Part::Body => view.body(),
        }
    }
}

#[pymethods]
impl RecordBytes {
    // SAFETY: Python calls this with a `view` that it owns and that is valid for writes.
    unsafe fn __getbuffer__(slf: &Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        let bytes = slf.get().bytes();
        let size =
            ffi::Py_ssize_t::try_from(bytes.len()).map_err(|_| PyBufferError::new_err("record too large"))?;
        let start = bytes.as_ptr().cast_mut().cast::<c_void>();
        // SAFETY: `view` is valid for writes as Python promises. `PyBuffer_FillInfo` takes a reference to `slf`, so the
        // record and its mapping outlive the buffer; records never change, and `readonly` keeps Python from writing.
        let result = unsafe { ffi::PyBuffer_FillInfo(view, slf.as_ptr(), start, size, 1, flags) };
        if result == 0 { Ok(()) } else { Err(PyErr::fetch(slf.py())) }
    }
}
