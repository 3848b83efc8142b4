//! A filter by properties as Python sees it.

use std::sync::Arc;

use escrowmq_filter::PropertyFilter as RustFilter;
use escrowmq_wire::Properties;
use pyo3::prelude::*;

use crate::error::filter_error;
use crate::message::encode;

/// Tells by its properties whether a message is wanted.
#[pyclass(frozen, eq, module = "escrowmq._core")]
#[derive(Debug, PartialEq, Eq)]
pub struct PropertyFilter {
    filter: Arc<RustFilter>,
}

impl PropertyFilter {
    /// The filter itself.
    pub fn shared(&self) -> Arc<RustFilter> {
        Arc::clone(&self.filter)
    }
}

#[pymethods]
impl PropertyFilter {
    #[new]
    fn new(expression: &str) -> PyResult<Self> {
        let filter = RustFilter::compile(expression).map_err(filter_error)?;
        Ok(Self { filter: Arc::new(filter) })
    }

    #[pyo3(signature = (properties, /))]
    fn matches(&self, properties: &Bound<'_, PyAny>) -> PyResult<bool> {
        let encoded = encode(None, None, Some(properties))?;
        Ok(self.filter.matches(Properties::new(&encoded)))
    }

    #[getter]
    fn expression(&self) -> &str {
        self.filter.text()
    }

    #[getter]
    fn understood(&self) -> String {
        self.filter.to_string()
    }

    #[getter]
    fn ignored_from(&self) -> Option<(usize, usize)> {
        self.filter.ignored_from().map(|place| (place.line, place.column))
    }

    fn __repr__(&self) -> String {
        format!("PropertyFilter({:?})", self.filter.text())
    }
}
