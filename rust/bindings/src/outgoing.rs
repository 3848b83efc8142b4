//! Requests of ours as Python makes them, to be sent as often as it takes: any, or a message for one of many queues.

use std::sync::Arc;

use bytes::Bytes;
use escrowmq_lanes::{Callable, LaneError, QueuedSend, SentMessage, ServerRequest};
use escrowmq_wire::{
    BatchMessage, CompressionKind, HeaderKind, Properties, SysFlag, compress, encode_properties,
    property_names,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyMapping;

use crate::answer::content;
use crate::error::{body_error, unsendable};
use crate::message::{Message, encode};

const PROPERTIES_SIZE_MAX: usize = 32_767;
const LATER: [&str; 4] = [
    property_names::DELAY,
    property_names::TIMER_DELAY_SEC,
    property_names::TIMER_DELAY_MS,
    property_names::TIMER_DELIVER_MS,
];
const PREPARED: i32 = 1 << 2;

/// A request, before it has a number.
#[pyclass(frozen, module = "escrowmq._core")]
pub struct OutgoingRequest {
    kind: Kind,
}

enum Kind {
    Any(ServerRequest),
    Send(QueuedSend),
}

impl OutgoingRequest {
    /// The frame of one that nobody answers.
    pub fn encode_one_way(&self) -> Result<Vec<Bytes>, LaneError> {
        match &self.kind {
            Kind::Any(request) => ServerRequest { is_one_way: true, ..request.clone() }.encode_call(0),
            Kind::Send(send) => send.encode(0, true),
        }
    }
}

impl Callable for OutgoingRequest {
    fn encode_call(&self, opaque: i32) -> Result<Vec<Bytes>, LaneError> {
        match &self.kind {
            Kind::Any(request) => request.encode_call(opaque),
            Kind::Send(send) => send.encode_call(opaque),
        }
    }
}

#[pymethods]
impl OutgoingRequest {
    #[new]
    #[pyo3(signature = (code, *, ext_fields = None, body = None, remark = None))]
    fn new(
        code: i32,
        ext_fields: Option<&Bound<'_, PyMapping>>,
        body: Option<&Bound<'_, PyAny>>,
        remark: Option<String>,
    ) -> PyResult<Self> {
        let content = content(code, remark, ext_fields, body, "PYTHON", escrowmq_lanes::Answer::VERSION)?;
        let request = ServerRequest { content, header_kind: HeaderKind::Json, is_one_way: false };
        Ok(Self { kind: Kind::Any(request) })
    }
}

/// A message as it is sent.
#[pyclass(frozen, module = "escrowmq._core")]
pub struct OutgoingMessage {
    message: Arc<SentMessage>,
    #[pyo3(get)]
    message_id: String,
}

#[pymethods]
impl OutgoingMessage {
    #[new]
    #[pyo3(signature = (
        message, *, group, message_id, size_max_bytes, compress_from_bytes = None, compression = "zlib",
        compression_level = 5, template_topic = "TBW102", new_topic_queues = 4, properties = None, is_prepared = false,
    ))]
    #[allow(clippy::too_many_arguments, reason = "in Python all but one are keywords, most with defaults")]
    fn new(
        py: Python<'_>,
        message: &Message,
        group: String,
        message_id: String,
        size_max_bytes: usize,
        compress_from_bytes: Option<usize>,
        compression: &str,
        compression_level: u8,
        template_topic: &str,
        new_topic_queues: i32,
        properties: Option<&Bound<'_, PyMapping>>,
        is_prepared: bool,
    ) -> PyResult<Self> {
        let plain = message.body_bytes();
        check_size("body", plain.len(), size_max_bytes)?;
        let more = properties.map(|pairs| encode(None, None, Some(pairs.as_any()))).transpose()?;
        let (properties, message_id) = sent_properties(
            message.as_new_message().properties,
            more.as_deref(),
            message_id,
            true,
            is_prepared,
        )?;
        let mut sys_flag =
            SysFlag(message.as_new_message().sys_flag.0 | if is_prepared { PREPARED } else { 0 });
        let body = if compress_from_bytes.is_some_and(|least| plain.len() >= least) {
            let kind = compression_kind(compression)?;
            sys_flag = sys_flag.with_compression(Some(kind));
            let bytes: &[u8] = plain;
            py.detach(|| compress(kind, compression_level, bytes)).map_err(body_error)?.into()
        } else {
            Bytes::from_owner(plain.clone_ref(py))
        };
        let new = message.as_new_message();
        let message = SentMessage {
            group,
            topic: new.topic.to_owned(),
            template_topic: template_topic.to_owned(),
            new_topic_queues,
            sys_flag: sys_flag.0,
            born_timestamp_ms: new.born_timestamp_ms,
            flag: new.flag,
            properties,
            is_batch: false,
            body,
        };
        Ok(Self { message: Arc::new(message), message_id })
    }

    #[staticmethod]
    #[pyo3(signature = (
        messages, *, group, message_ids, size_max_bytes, template_topic = "TBW102", new_topic_queues = 4,
    ))]
    fn batch(
        messages: Vec<Py<Message>>,
        group: String,
        message_ids: Vec<String>,
        size_max_bytes: usize,
        template_topic: &str,
        new_topic_queues: i32,
    ) -> PyResult<Self> {
        if messages.len() != message_ids.len() || messages.is_empty() {
            return Err(PyValueError::new_err("expected as many ids as messages, and one or more"));
        }
        let (mut body, mut ids) = (Vec::new(), Vec::new());
        for (message, id) in messages.iter().zip(message_ids) {
            let new = message.get().as_new_message();
            let (properties, id) = sent_properties(new.properties, None, id, false, false)?;
            let entry = BatchMessage { flag: new.flag, body: new.body, properties: properties.as_bytes() };
            entry.encode_into(&mut body).map_err(body_error)?;
            ids.push(id);
        }
        check_size("messages", body.len(), size_max_bytes)?;
        let first = messages[0].get().as_new_message();
        let mut properties = Vec::new();
        encode_properties([(property_names::WAIT, "true")], &mut properties);
        let message = SentMessage {
            group,
            topic: first.topic.to_owned(),
            template_topic: template_topic.to_owned(),
            new_topic_queues,
            sys_flag: 0,
            born_timestamp_ms: first.born_timestamp_ms,
            flag: 0,
            properties: text(properties),
            is_batch: true,
            body: body.into(),
        };
        Ok(Self { message: Arc::new(message), message_id: ids.join(",") })
    }

    #[getter]
    fn topic(&self) -> &str {
        &self.message.topic
    }

    fn request(&self, queue_id: i32, broker_name: String) -> OutgoingRequest {
        OutgoingRequest {
            kind: Kind::Send(QueuedSend { message: Arc::clone(&self.message), queue_id, broker_name }),
        }
    }
}

/// The property string of a message with what a producer adds, and its id: its own, where it has one.
fn sent_properties(
    own: &[u8],
    more: Option<&[u8]>,
    message_id: String,
    waits: bool,
    is_prepared: bool,
) -> PyResult<(String, String)> {
    let mut out = Vec::with_capacity(own.len() + more.map_or(0, <[u8]>::len) + 64);
    let given = Properties::new(own);
    if waits && given.get_bytes(property_names::WAIT).is_none() {
        encode_properties([(property_names::WAIT, "true")], &mut out);
    }
    if is_prepared {
        // Compat: a half message is never for later.
        let kept =
            given.iter_bytes().filter(|(name, _)| !LATER.iter().any(|later| later.as_bytes() == *name));
        encode_properties(kept, &mut out);
    } else {
        out.extend_from_slice(own);
    }
    out.extend_from_slice(more.unwrap_or_default());
    let own_id = given.get(property_names::UNIQ_KEY).map(ToOwned::to_owned);
    if own_id.is_none() {
        encode_properties([(property_names::UNIQ_KEY, message_id.as_str())], &mut out);
    }
    check_size("properties", out.len(), PROPERTIES_SIZE_MAX)?;
    Ok((text(out), own_id.unwrap_or(message_id)))
}

fn text(properties: Vec<u8>) -> String {
    String::from_utf8(properties)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

fn check_size(field: &str, found: usize, limit: usize) -> PyResult<()> {
    if found > limit { Err(unsendable(field, found, limit)) } else { Ok(()) }
}

fn compression_kind(name: &str) -> PyResult<CompressionKind> {
    match name {
        "zlib" => Ok(CompressionKind::Zlib),
        "lz4" => Ok(CompressionKind::Lz4),
        "zstd" => Ok(CompressionKind::Zstd),
        other => Err(PyValueError::new_err(format!("compression {other:?}, expected zlib, lz4 or zstd"))),
    }
}
