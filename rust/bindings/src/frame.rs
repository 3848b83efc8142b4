//! A remoting frame as Python sees it; its body is a slice of what was received.

use std::ops::Range;

use escrowmq_wire::{FrameView, HeaderKind, Language, RemotingHeader, WireError, encode_frame};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict, PyMapping, PyMemoryView, PySlice};

use crate::message::bytes_of;

/// A request or a response.
#[pyclass(frozen, module = "escrowmq._core")]
pub struct Frame {
    kind: HeaderKind,
    header: RemotingHeader<'static>,
    /// What was received, many frames perhaps, and where in it the body is.
    received: PyBackedBytes,
    body: Range<usize>,
}

impl Frame {
    /// A frame that ends at `end` of what was received.
    pub fn cut(view: &FrameView<'_>, received: PyBackedBytes, end: usize) -> Result<Self, WireError> {
        let header = view.decode_header()?.into_owned();
        Ok(Self { kind: view.kind, header, received, body: end - view.body.len()..end })
    }

    /// Appends the frame.
    pub fn encode_into(&self, out: &mut Vec<u8>) -> Result<usize, WireError> {
        encode_frame(self.kind, &self.header, self.body_bytes(), out)
    }

    fn body_bytes(&self) -> &[u8] {
        &self.received[self.body.clone()]
    }
}

#[pymethods]
impl Frame {
    #[new]
    #[pyo3(signature = (
        code, *, language = "PYTHON", version = 0, opaque = 0, flag = 0, remark = None, ext_fields = None, body = None,
        header_kind = "json",
    ))]
    #[allow(clippy::too_many_arguments, reason = "in Python all but one are keywords with defaults")]
    fn new(
        py: Python<'_>,
        code: i32,
        language: &str,
        version: i32,
        opaque: i32,
        flag: i32,
        remark: Option<String>,
        ext_fields: Option<&Bound<'_, PyMapping>>,
        body: Option<&Bound<'_, PyAny>>,
        header_kind: &str,
    ) -> PyResult<Self> {
        let fields = match ext_fields {
            Some(fields) => fields.items()?.extract::<Vec<(String, String)>>()?,
            None => Vec::new(),
        };
        let received = match body {
            Some(body) => bytes_of(body)?,
            None => PyBytes::new(py, b"").into(),
        };
        Ok(Self {
            kind: match header_kind {
                "json" => HeaderKind::Json,
                "binary" => HeaderKind::Binary,
                other => {
                    return Err(PyValueError::new_err(format!(
                        "header_kind {other:?}, expected json or binary"
                    )));
                }
            },
            header: RemotingHeader {
                code,
                language: Language::from_name(language),
                version,
                opaque,
                flag,
                remark: remark.map(Into::into),
                ext_fields: fields.into_iter().collect(),
            },
            body: 0..received.len(),
            received,
        })
    }

    #[getter]
    fn header_kind(&self) -> &'static str {
        match self.kind {
            HeaderKind::Json => "json",
            HeaderKind::Binary => "binary",
        }
    }

    #[getter]
    fn code(&self) -> i32 {
        self.header.code
    }

    #[getter]
    fn language(&self) -> &'static str {
        self.header.language.name()
    }

    #[getter]
    fn version(&self) -> i32 {
        self.header.version
    }

    #[getter]
    fn opaque(&self) -> i32 {
        self.header.opaque
    }

    #[getter]
    fn flag(&self) -> i32 {
        self.header.flag
    }

    #[getter]
    fn is_response(&self) -> bool {
        self.header.is_response()
    }

    #[getter]
    fn is_one_way(&self) -> bool {
        self.header.is_one_way()
    }

    #[getter]
    fn remark(&self) -> Option<&str> {
        self.header.remark.as_deref()
    }

    #[getter]
    fn ext_fields<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let fields = PyDict::new(py);
        for (name, value) in self.header.ext_fields.iter() {
            fields.set_item(name, value)?;
        }
        Ok(fields)
    }

    #[getter]
    fn body<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let (start, end) = (self.body.start.cast_signed(), self.body.end.cast_signed());
        PyMemoryView::from((&self.received).into_pyobject(py)?.as_any())?
            .get_item(PySlice::new(py, start, end, 1))
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| {
            let other = other.get();
            self.kind == other.kind && self.header == other.header && self.body_bytes() == other.body_bytes()
        })
    }

    fn __repr__(&self) -> String {
        format!(
            "Frame(code={}, opaque={}, flag={}, {} header with {} ext fields, body of {} bytes)",
            self.header.code,
            self.header.opaque,
            self.header.flag,
            self.header_kind(),
            self.header.ext_fields.len(),
            self.body.len()
        )
    }
}
