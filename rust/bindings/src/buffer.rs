//! Bytes of a record or a frame as a Python buffer that does not copy. The only `unsafe` of this crate: the buffer protocol
//! has no other form. A memoryview holds its [`RecordBytes`], which holds the [`Record`], which keeps its segment mapped; or
//! its [`SharedBytes`], which share the memory that a frame was received into.

#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};

use bytes::Bytes;
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
        // SAFETY: `view` is as Python promises. The bytes live as long as `slf`, since it holds the record, which keeps its
        // mapping; and records never change.
        unsafe { fill(slf, slf.get().bytes(), view, flags) }
    }
}

/// Part of what was received, for `memoryview`.
#[pyclass(frozen, module = "escrowmq._core")]
pub struct SharedBytes(Bytes);

impl SharedBytes {
    /// A read-only memoryview of the bytes.
    pub fn view(py: Python<'_>, bytes: Bytes) -> PyResult<Bound<'_, PyMemoryView>> {
        PyMemoryView::from(Bound::new(py, Self(bytes))?.as_any())
    }
}

#[pymethods]
impl SharedBytes {
    // SAFETY: Python calls this with a `view` that it owns and that is valid for writes.
    unsafe fn __getbuffer__(slf: &Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        // SAFETY: `view` is as Python promises. The bytes live as long as `slf`, which shares them, and never change.
        unsafe { fill(slf, &slf.get().0, view, flags) }
    }
}

/// Describes bytes to Python.
///
/// # Safety
/// `view` is valid for writes, and `bytes` neither move nor change while `owner` lives.
unsafe fn fill<T>(
    owner: &Bound<'_, T>,
    bytes: &[u8],
    view: *mut ffi::Py_buffer,
    flags: c_int,
) -> PyResult<()> {
    let size = ffi::Py_ssize_t::try_from(bytes.len())
        .map_err(|_| PyBufferError::new_err("too large for a buffer"))?;
    let start = bytes.as_ptr().cast_mut().cast::<c_void>();
    // SAFETY: `view` is valid for writes as the caller promises. `PyBuffer_FillInfo` takes a reference to `owner`, so the
    // bytes outlive the buffer; `readonly` keeps Python from writing.
    let result = unsafe { ffi::PyBuffer_FillInfo(view, owner.as_ptr(), start, size, 1, flags) };
    if result == 0 { Ok(()) } else { Err(PyErr::fetch(owner.py())) }
}
