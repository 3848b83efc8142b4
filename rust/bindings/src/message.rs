//! A message to be appended. Its property string is encoded once, when it is made, so that appending costs no more
//! than copying bytes. Whether the store takes it is the store's to say.

use std::net::SocketAddr;
use std::time::{SystemTime, UNIX_EPOCH};

use escrowmq_lanes::Prepare;
use escrowmq_store::NewMessage;
use escrowmq_store::transaction_index::TRANSACTION_QUEUE;
use escrowmq_wire::{
    NAME_VALUE_SEPARATOR, PROPERTY_SEPARATOR, Properties, SysFlag, encode_properties, property_names,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{PyBytes, PyDict, PyMapping, PyString};

use crate::record::Record;

/// Whether a message is a copy of one that the store has. That is no part of what it says, so all origins are equal.
#[derive(Clone, Copy)]
struct Origin {
    is_stored: bool,
}

impl PartialEq for Origin {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// A message to be appended.
#[pyclass(frozen, eq, module = "escrowmq._core")]
#[derive(PartialEq)]
pub struct Message {
    topic: PyBackedStr,
    body: PyBackedBytes,
    properties: Vec<u8>,
    #[pyo3(get)]
    queue_id: i32,
    #[pyo3(get)]
    flag: i32,
    #[pyo3(get)]
    sys_flag: i32,
    #[pyo3(get)]
    born_timestamp_ms: i64,
    born_host: SocketAddr,
    #[pyo3(get)]
    reconsume_times: i32,
    #[pyo3(get)]
    prepared_transaction_offset: i64,
    store_host: Option<SocketAddr>,
    origin: Origin,
}

impl Message {
    /// A half message.
    pub fn of_prepare(prepare: &Prepare, topic: PyBackedStr, body: PyBackedBytes) -> Self {
        Self {
            topic,
            body,
            properties: prepare.properties.clone(),
            queue_id: TRANSACTION_QUEUE.cast_signed(),
            flag: prepare.flag,
            sys_flag: prepare.sys_flag,
            born_timestamp_ms: prepare.born_timestamp_ms,
            born_host: prepare.born_host,
            reconsume_times: 0,
            prepared_transaction_offset: 0,
            store_host: None,
            origin: Origin { is_stored: false },
        }
    }

    /// The body as Python's own bytes.
    pub fn body_bytes(&self) -> &PyBackedBytes {
        &self.body
    }

    /// What the store takes, borrowed.
    pub fn as_new_message(&self) -> NewMessage<'_> {
        NewMessage {
            topic: &self.topic,
            queue_id: self.queue_id,
            flag: self.flag,
            sys_flag: SysFlag(self.sys_flag),
            born_timestamp_ms: self.born_timestamp_ms,
            born_host: self.born_host,
            store_host: self.store_host,
            is_stored: self.origin.is_stored,
            reconsume_times: self.reconsume_times,
            prepared_transaction_offset: self.prepared_transaction_offset,
            body: &self.body,
            properties: &self.properties,
        }
    }
}

#[pymethods]
impl Message {
    #[new]
    #[pyo3(signature = (
        topic, body, *, tags = None, keys = None, properties = None, queue_id = 0, flag = 0, sys_flag = 0,
        born_timestamp_ms = None, born_host = "127.0.0.1:0", reconsume_times = 0, prepared_transaction_offset = 0,
        store_host = None,
    ))]
    #[allow(clippy::too_many_arguments, reason = "in Python all but two are keywords with defaults")]
    fn new(
        topic: PyBackedStr,
        body: &Bound<'_, PyAny>,
        tags: Option<PyBackedStr>,
        keys: Option<&Bound<'_, PyAny>>,
        properties: Option<&Bound<'_, PyAny>>,
        queue_id: i32,
        flag: i32,
        sys_flag: i32,
        born_timestamp_ms: Option<i64>,
        born_host: &str,
        reconsume_times: i32,
        prepared_transaction_offset: i64,
        store_host: Option<&str>,
    ) -> PyResult<Self> {
        Ok(Self {
            topic,
            body: bytes_of(body)?,
            properties: encode(tags, keys, properties)?,
            queue_id,
            flag,
            sys_flag,
            born_timestamp_ms: born_timestamp_ms.unwrap_or_else(now_ms),
            born_host: parse_host(born_host)?,
            reconsume_times,
            prepared_transaction_offset,
            store_host: store_host.map(parse_host).transpose()?,
            origin: Origin { is_stored: false },
        })
    }

    #[staticmethod]
    #[pyo3(signature = (
        record, *, topic = None, queue_id = None, properties = None, without = None, sys_flag = None,
        reconsume_times = None, prepared_transaction_offset = 0, keeps_store_host = false,
    ))]
    #[allow(clippy::too_many_arguments, reason = "in Python all but one are keywords with defaults")]
    fn copy_of(
        py: Python<'_>,
        record: &Record,
        topic: Option<PyBackedStr>,
        queue_id: Option<i32>,
        properties: Option<&Bound<'_, PyAny>>,
        without: Option<Vec<PyBackedStr>>,
        sys_flag: Option<i32>,
        reconsume_times: Option<i32>,
        prepared_transaction_offset: i64,
        keeps_store_host: bool,
    ) -> PyResult<Self> {
        let view = record.view();
        Ok(Self {
            topic: topic.map_or_else(|| PyString::new(py, view.topic()).extract(), Ok)?,
            body: PyBytes::new(py, view.body()).into(),
            properties: match (properties, without) {
                (Some(_), None) => encode(None, None, properties)?,
                (None, Some(names)) => encoded_without(view.properties(), &names),
                (None, None) => view.properties_bytes().to_vec(),
                (Some(_), Some(_)) => {
                    return Err(PyValueError::new_err("both properties and without, expected one of them"));
                }
            },
            queue_id: queue_id.unwrap_or(view.queue_id().cast_signed()),
            flag: view.flag(),
            sys_flag: sys_flag.unwrap_or(view.sys_flag().0),
            born_timestamp_ms: view.born_timestamp_ms(),
            born_host: view.born_host(),
            reconsume_times: reconsume_times.unwrap_or(view.reconsume_times()),
            prepared_transaction_offset,
            store_host: keeps_store_host.then(|| view.store_host()),
            origin: Origin { is_stored: true },
        })
    }

    #[getter]
    fn topic(&self) -> &str {
        &self.topic
    }

    #[getter]
    fn body<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.body)
    }

    #[getter]
    fn properties<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        properties_dict(py, Properties::new(&self.properties))
    }

    #[getter]
    fn properties_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.properties)
    }

    #[getter]
    fn born_host(&self) -> String {
        self.born_host.to_string()
    }

    #[getter]
    fn store_host(&self) -> Option<String> {
        self.store_host.map(|host| host.to_string())
    }

    fn __repr__(&self) -> String {
        format!(
            "Message(topic={:?}, queue_id={}, body of {} bytes)",
            &*self.topic,
            self.queue_id,
            self.body.len()
        )
    }
}

/// The bytes of anything with a buffer; only `bytes` itself is not copied, since nothing else is sure not to change.
pub fn bytes_of(data: &Bound<'_, PyAny>) -> PyResult<PyBackedBytes> {
    if let Ok(bytes) = data.cast::<PyBytes>() {
        return Ok(bytes.clone().into());
    }
    let view = pyo3::types::PyMemoryView::from(data)?;
    Ok(view.call_method0("tobytes")?.cast_into::<PyBytes>()?.into())
}

/// `host:port`, or `[host]:port` for IPv6.
pub fn parse_host(text: &str) -> PyResult<SocketAddr> {
    text.parse().map_err(|_| {
        PyValueError::new_err(format!("host {text:?}, expected address:port, as 127.0.0.1:10911"))
    })
}

/// A property string as a dictionary.
pub fn properties_dict<'py>(py: Python<'py>, properties: Properties<'_>) -> PyResult<Bound<'py, PyDict>> {
    let pairs = PyDict::new(py);
    for (name, value) in properties.iter() {
        pairs.set_item(name, value)?;
    }
    Ok(pairs)
}

/// The property string of pairs, or of one that is encoded already.
pub fn encode(
    tags: Option<PyBackedStr>,
    keys: Option<&Bound<'_, PyAny>>,
    properties: Option<&Bound<'_, PyAny>>,
) -> PyResult<Vec<u8>> {
    let mut encoded = Vec::new();
    let mut pairs = Vec::new();
    match properties {
        None => {}
        // A string that is encoded already: that of a record which is appended again.
        Some(raw) if raw.is_instance_of::<PyBytes>() => encoded.extend_from_slice(&bytes_of(raw)?),
        Some(mapping) => {
            let items = mapping.cast::<PyMapping>()?.items()?;
            pairs = items.extract::<Vec<(PyBackedStr, PyBackedStr)>>()?;
        }
    }
    let names = [(property_names::TAGS, tags), (property_names::KEYS, keys.map(join_keys).transpose()?)];
    let given = names.iter().filter_map(|(name, value)| Some((*name, &**value.as_ref()?)));
    for (name, value) in pairs.iter().map(|(name, value)| (&**name, &**value)).chain(given) {
        for text in [name, value] {
            check_text(name, text)?;
        }
        encode_properties([(name, value)], &mut encoded);
    }
    Ok(encoded)
}

/// The property string but for some names.
fn encoded_without(properties: Properties<'_>, names: &[PyBackedStr]) -> Vec<u8> {
    let mut encoded = Vec::with_capacity(properties.as_bytes().len());
    let kept =
        properties.iter_bytes().filter(|(name, _)| names.iter().all(|other| other.as_bytes() != *name));
    encode_properties(kept, &mut encoded);
    encoded
}

/// Keys stand in one property, separated by spaces.
fn join_keys(keys: &Bound<'_, PyAny>) -> PyResult<PyBackedStr> {
    if let Ok(key) = keys.cast::<PyString>() {
        return key.extract();
    }
    let words = keys.extract::<Vec<PyBackedStr>>()?;
    if let Some(word) = words.iter().find(|word| word.contains(' ') || word.is_empty()) {
        return Err(PyValueError::new_err(format!(
            "key {:?} is empty or holds a space, which separates keys",
            &**word
        )));
    }
    PyString::new(keys.py(), &words.join(" ")).extract()
}

/// Text that would read back as something else is refused: the format can't hold it.
fn check_text(name: &str, text: &str) -> PyResult<()> {
    let reason =
        match text.bytes().find(|&byte| matches!(byte, 0 | NAME_VALUE_SEPARATOR | PROPERTY_SEPARATOR)) {
            Some(byte) => format!("holds the byte {byte:#04x}, which the format keeps for itself"),
            None if text.is_empty() => "has an empty name or value".to_owned(),
            None => return Ok(()),
        };
    Err(PyValueError::new_err(format!("property {name:?} {reason}")))
}

fn now_ms() -> i64 {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since_1970.as_millis()).unwrap_or(i64::MAX)
}
