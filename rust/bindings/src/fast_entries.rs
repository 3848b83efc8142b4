//! What Python tells the fast lane of topics, groups and subscriptions, and the numbers that it tells Python.

use std::sync::Arc;

use escrowmq_lanes::fast::{self, MessageFilter, TagFilter, is_tag_type};
use pyo3::prelude::*;
use pyo3::types::PyFrozenSet;

use crate::property_filter::PropertyFilter;

/// What the fast lane knows of a topic.
#[pyclass(frozen, eq, get_all, module = "escrowmq._core")]
#[derive(Debug, PartialEq, Eq)]
pub struct TopicEntry {
    read_queue_count: u32,
    write_queue_count: u32,
    permission: u32,
    is_ordered: bool,
}

#[pymethods]
impl TopicEntry {
    #[new]
    #[pyo3(signature = (*, read_queue_count, write_queue_count, permission, is_ordered = false))]
    fn new(read_queue_count: u32, write_queue_count: u32, permission: u32, is_ordered: bool) -> Self {
        Self { read_queue_count, write_queue_count, permission, is_ordered }
    }

    fn __repr__(&self) -> String {
        format!("{self:?}")
    }
}

impl TopicEntry {
    pub fn entry(&self) -> fast::TopicEntry {
        let &Self { read_queue_count, write_queue_count, permission, is_ordered } = self;
        fast::TopicEntry { read_queue_count, write_queue_count, permission, is_ordered }
    }
}

/// What the fast lane knows of a subscription group.
#[pyclass(frozen, eq, get_all, module = "escrowmq._core")]
#[derive(Debug, PartialEq, Eq)]
pub struct GroupEntry {
    is_consume_enabled: bool,
}

#[pymethods]
impl GroupEntry {
    #[new]
    #[pyo3(signature = (*, is_consume_enabled = true))]
    fn new(is_consume_enabled: bool) -> Self {
        Self { is_consume_enabled }
    }

    fn __repr__(&self) -> String {
        format!("{self:?}")
    }
}

impl GroupEntry {
    pub fn entry(&self) -> fast::GroupEntry {
        fast::GroupEntry { is_consume_enabled: self.is_consume_enabled }
    }
}

/// What a group wants of a topic.
#[pyclass(frozen, eq, module = "escrowmq._core")]
#[derive(Debug, PartialEq, Eq)]
pub struct SubscriptionEntry {
    #[pyo3(get)]
    version: i64,
    #[pyo3(get)]
    expression_type: String,
    /// `None` where pulls are Python's to answer.
    filter: Option<Arc<MessageFilter>>,
}

#[pymethods]
impl SubscriptionEntry {
    #[new]
    #[pyo3(signature = (*, version, expression_type = "TAG", codes = None, property_filter = None))]
    fn new(
        version: i64,
        expression_type: &str,
        codes: Option<&Bound<'_, PyAny>>,
        property_filter: Option<&PropertyFilter>,
    ) -> PyResult<Self> {
        let filter = match (codes, property_filter) {
            (_, Some(filter)) => Some(MessageFilter::Properties(filter.shared())),
            (Some(codes), None) => {
                let codes: Vec<i32> =
                    codes.try_iter()?.map(|code| code?.extract()).collect::<PyResult<_>>()?;
                Some(TagFilter::of_codes(codes).into())
            }
            (None, None) => is_tag_type(Some(expression_type)).then(|| TagFilter::All.into()),
        };
        Ok(Self { version, expression_type: expression_type.to_owned(), filter: filter.map(Arc::new) })
    }

    #[getter]
    fn codes<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyFrozenSet>>> {
        match self.filter.as_deref() {
            Some(MessageFilter::Tags(TagFilter::Codes(codes))) => {
                PyFrozenSet::new(py, codes.iter()).map(Some)
            }
            _ => Ok(None),
        }
    }

    fn __repr__(&self) -> String {
        let Self { version, expression_type, filter } = self;
        format!("SubscriptionEntry(version={version}, expression_type={expression_type:?}, {filter:?})")
    }
}

impl SubscriptionEntry {
    pub fn entry(&self) -> fast::SubscriptionEntry {
        fast::SubscriptionEntry { version: self.version, filter: self.filter.clone() }
    }
}

/// Messages, and bytes of their records.
#[pyclass(frozen, eq, get_all, module = "escrowmq._core")]
#[derive(Debug, PartialEq, Eq)]
pub struct Traffic {
    messages: u64,
    size_bytes: u64,
}

#[pymethods]
impl Traffic {
    #[new]
    #[pyo3(signature = (*, messages = 0, size_bytes = 0))]
    fn new(messages: u64, size_bytes: u64) -> Self {
        Self { messages, size_bytes }
    }

    fn __repr__(&self) -> String {
        format!("{self:?}")
    }
}

impl From<fast::Traffic> for Traffic {
    fn from(fast::Traffic { messages, size_bytes }: fast::Traffic) -> Self {
        Self { messages, size_bytes }
    }
}

/// Numbers of the fast lane since the server was started.
#[pyclass(frozen, eq, get_all, module = "escrowmq._core")]
#[derive(Debug, PartialEq, Eq)]
pub struct FastLaneStatistics {
    sends: u64,
    messages_stored: u64,
    sends_refused: u64,
    sends_waiting: u64,
    pulls: u64,
    pulls_found: u64,
    messages_pulled: u64,
    pulls_parked: u64,
    cold_reads: u64,
    offsets: u64,
    retries: u64,
}

#[pymethods]
impl FastLaneStatistics {
    fn __repr__(&self) -> String {
        format!("{self:?}")
    }
}

impl From<fast::FastLaneStatistics> for FastLaneStatistics {
    fn from(found: fast::FastLaneStatistics) -> Self {
        Self {
            sends: found.sends,
            messages_stored: found.messages_stored,
            sends_refused: found.sends_refused,
            sends_waiting: found.sends_waiting,
            pulls: found.pulls,
            pulls_found: found.pulls_found,
            messages_pulled: found.messages_pulled,
            pulls_parked: found.pulls_parked,
            cold_reads: found.cold_reads,
            offsets: found.offsets,
            retries: found.retries,
        }
    }
}
