//! Requests of producers of transactions, read many at a time.

use escrowmq_lanes as lanes;
use escrowmq_store::transaction_index::HALF_TOPIC;
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::answer::Answer;
use crate::message::{Message, parse_host};
use crate::server_event::Request;
use crate::transaction_index::receipts_of;

/// An ordinary prepare.
#[pyclass(frozen, module = "escrowmq._core")]
pub struct Prepare {
    prepare: lanes::Prepare,
}

impl Prepare {
    /// The group that decides it, and its id.
    pub fn identity(&self) -> (&str, &str) {
        (&self.prepare.group, &self.prepare.unique_id)
    }
}

#[pymethods]
impl Prepare {
    #[getter]
    fn topic(&self) -> &str {
        &self.prepare.topic
    }

    #[getter]
    fn queue_id(&self) -> i32 {
        self.prepare.queue_id
    }

    #[getter]
    fn group(&self) -> &str {
        &self.prepare.group
    }

    #[getter]
    fn unique_id(&self) -> &str {
        &self.prepare.unique_id
    }

    #[getter]
    fn size_bytes(&self) -> usize {
        self.prepare.body.len() + self.prepare.properties.len()
    }

    fn to_message(&self, py: Python<'_>) -> PyResult<Message> {
        let topic = intern!(py, HALF_TOPIC).extract()?;
        let body = PyBytes::new(py, &self.prepare.body).into();
        Ok(Message::of_prepare(&self.prepare, topic, body))
    }

    fn __repr__(&self) -> String {
        let lanes::Prepare { topic, queue_id, group, unique_id, .. } = &self.prepare;
        format!("Prepare(topic={topic:?}, queue_id={queue_id}, group={group:?}, unique_id={unique_id:?})")
    }
}

/// Reads prepares and answers them, for one broker.
#[pyclass(frozen, module = "escrowmq._core")]
pub struct PrepareReader {
    reader: lanes::PrepareReader,
}

#[pymethods]
impl PrepareReader {
    #[new]
    #[pyo3(signature = (*, region, cluster, asks_for_traces, store_host))]
    fn new(region: String, cluster: &str, asks_for_traces: bool, store_host: &str) -> PyResult<Self> {
        let store_host = parse_host(store_host)?;
        Ok(Self { reader: lanes::PrepareReader::new(region, cluster, asks_for_traces, store_host) })
    }

    fn read(&self, requests: Vec<Bound<'_, PyAny>>) -> Vec<Option<Prepare>> {
        let read = |request: &Bound<'_, PyAny>| {
            let request = request.cast::<Request>().ok()?;
            self.reader.read(request.get().request.received()).map(|prepare| Prepare { prepare })
        };
        requests.iter().map(read).collect()
    }

    fn answers(&self, prepares: Vec<Py<Prepare>>, receipts: &Bound<'_, PyAny>) -> PyResult<Vec<Answer>> {
        let receipts = receipts_of(receipts)?;
        if receipts.len() != prepares.len() {
            let (found, wanted) = (receipts.len(), prepares.len());
            return Err(PyValueError::new_err(format!("{found} receipts for {wanted} prepares")));
        }
        let answer = |(prepare, receipt): (&Py<Prepare>, _)| Answer {
            answer: self.reader.answer(&prepare.get().prepare, receipt),
            is_retry: false,
        };
        Ok(prepares.iter().zip(&receipts).map(answer).collect())
    }
}

/// Group, half offset, log offset, decision and whether it was asked for.
type Decision = (String, i64, i64, i32, bool);

#[pyfunction]
pub fn read_decisions(requests: Vec<Bound<'_, PyAny>>) -> Vec<Option<Decision>> {
    let read = |request: &Bound<'_, PyAny>| {
        let request = request.cast::<Request>().ok()?;
        let read = lanes::Decision::read(request.get().request.received())?;
        Some((read.group, read.half_offset, read.log_offset, read.commit_or_rollback, read.is_from_check))
    };
    requests.iter().map(read).collect()
}

#[pyfunction]
pub fn topics_of_sends(requests: Vec<Bound<'_, PyAny>>) -> Vec<Option<String>> {
    let topic = |request: &Bound<'_, PyAny>| {
        lanes::topic_of_send(request.cast::<Request>().ok()?.get().request.received())
    };
    requests.iter().map(topic).collect()
}
