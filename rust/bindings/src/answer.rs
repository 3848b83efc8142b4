//! What a request is answered with, and the parts that a request of ours has in common with it.

use bytes::Bytes;
use escrowmq_lanes as lanes;
use escrowmq_lanes::fast::Late;
use escrowmq_store::LogOffset;
use escrowmq_wire::{ExtFields, Language};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyMapping};

use crate::message::bytes_of;

const SYSTEM_ERROR: i32 = 1;

/// What a request is answered with.
#[pyclass(frozen, module = "escrowmq._core")]
pub struct Answer {
    pub answer: lanes::Answer,
    /// Whether the request is to be given back to the fast lane instead.
    pub is_retry: bool,
}

#[pymethods]
impl Answer {
    #[new]
    #[pyo3(signature = (
        code, remark = None, *, ext_fields = None, body = None, language = "JAVA", version = 513, after = None,
        late_code = 10, late_remark = None,
    ))]
    #[allow(clippy::too_many_arguments, reason = "in Python all but two are keywords with defaults")]
    fn new(
        code: i32,
        remark: Option<String>,
        ext_fields: Option<&Bound<'_, PyMapping>>,
        body: Option<&Bound<'_, PyAny>>,
        language: &str,
        version: i32,
        after: Option<u64>,
        late_code: i32,
        late_remark: Option<String>,
    ) -> PyResult<Self> {
        let mut answer = content(code, remark, ext_fields, body, language, version)?;
        let late = Late { code: late_code, remark: late_remark };
        answer.after = after.map(|end| lanes::After { end: LogOffset(end), late });
        Ok(Self { answer, is_retry: false })
    }

    #[classattr]
    #[pyo3(name = "RETRY")]
    fn retry() -> Self {
        let remark = "the request was given back where no lane could take it".to_owned();
        Self { answer: lanes::Answer::remark(SYSTEM_ERROR, remark), is_retry: true }
    }

    #[getter]
    fn code(&self) -> i32 {
        self.answer.code
    }

    #[getter]
    fn remark(&self) -> Option<&str> {
        self.answer.remark.as_deref()
    }

    #[getter]
    fn ext_fields<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        fields_dict(py, &self.answer.ext_fields)
    }

    #[getter]
    fn body<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.answer.body)
    }

    #[getter]
    fn language(&self) -> &'static str {
        self.answer.language.name()
    }

    #[getter]
    fn version(&self) -> i32 {
        self.answer.version
    }

    #[getter]
    fn after(&self) -> Option<u64> {
        self.answer.after.as_ref().map(|after| after.end.0)
    }

    #[getter]
    fn late_code(&self) -> i32 {
        self.answer.after.as_ref().map_or(Late::default().code, |after| after.late.code)
    }

    #[getter]
    fn late_remark(&self) -> Option<&str> {
        self.answer.after.as_ref()?.late.remark.as_deref()
    }

    fn __repr__(&self) -> String {
        if self.is_retry {
            return "Answer.RETRY".to_owned();
        }
        let Self { answer, .. } = self;
        format!(
            "Answer(code={}, remark={:?}, {} ext fields, body of {} bytes)",
            answer.code,
            answer.remark,
            answer.ext_fields.len(),
            answer.body.len()
        )
    }
}

/// The parts of an answer or a request from Python's arguments.
pub fn content(
    code: i32,
    remark: Option<String>,
    ext_fields: Option<&Bound<'_, PyMapping>>,
    body: Option<&Bound<'_, PyAny>>,
    language: &str,
    version: i32,
) -> PyResult<lanes::Answer> {
    let fields = match ext_fields {
        Some(fields) => fields.items()?.extract::<Vec<(String, String)>>()?,
        None => Vec::new(),
    };
    let body = match body {
        // Python's own bytes go out from where they are. The thread that drops them leaves counting to Python's threads.
        Some(body) => Bytes::from_owner(bytes_of(body)?),
        None => Bytes::new(),
    };
    let language = Language::from_name(language);
    let ext_fields = fields.into_iter().collect();
    Ok(lanes::Answer { code, remark, ext_fields, body, language, version, after: None })
}

/// Ext fields as a dictionary; of several with one name the last.
pub fn fields_dict<'py>(py: Python<'py>, fields: &ExtFields<'_>) -> PyResult<Bound<'py, PyDict>> {
    let pairs = PyDict::new(py);
    for (name, value) in fields.iter() {
        pairs.set_item(name, value)?;
    }
    Ok(pairs)
}
