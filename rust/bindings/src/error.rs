//! The one map from Rust's errors to Python's classes. Python owns the classes, in `escrowmq.errors`; here each Rust
//! variant is given its class and its facts.

use std::io::ErrorKind;
use std::path::Path;

use escrowmq_filter::FilterError;
use escrowmq_lanes::LaneError;
use escrowmq_net::NetError;
use escrowmq_store::{BadMessage, StoreError};
use escrowmq_wire::{RecordError, SysFlag, WireError};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// A frame or a header that can't be read or written.
pub fn frame_error(error: WireError) -> PyErr {
    raise("BadFrame", &error.to_string(), |_| Ok(()))
}

/// A compressed body that can't be read.
pub fn body_error(error: WireError) -> PyErr {
    raise("BadBody", &error.to_string(), |_| Ok(()))
}

/// A message that no broker would take, since a part of it is too large.
pub fn unsendable(field: &str, found: usize, limit: usize) -> PyErr {
    let message = format!("{field} of {found} bytes, at most {limit} are allowed");
    raise("Unsendable", &message, |facts| {
        facts.set_item("field", field)?;
        facts.set_item("found", found)?;
        facts.set_item("limit", limit)
    })
}

/// A body whose compression no version of `RocketMQ` defines.
pub fn unknown_compression(flag: SysFlag) -> PyErr {
    raise("BadBody", &format!("system flag {:#x} names an unknown compression", flag.0), |_| Ok(()))
}

/// An expression that is no filter.
pub fn filter_error(error: FilterError) -> PyErr {
    raise("BadFilter", &error.to_string(), |facts| {
        facts.set_item("line", error.place.line)?;
        facts.set_item("column", error.place.column)?;
        facts.set_item("offset", error.place.offset)?;
        facts.set_item("problem", error.problem.to_string())
    })
}

/// Bytes that are not a record.
pub fn record_error(error: RecordError) -> PyErr {
    raise("BadRecord", &error.to_string(), |_| Ok(()))
}

/// What the store could not do.
pub fn store_error(error: StoreError) -> PyErr {
    raise(class_of(&error), &error.to_string(), |facts| add_facts(facts, &error))
}

/// What a server could not do.
pub fn server_error(error: LaneError) -> PyErr {
    match &error {
        LaneError::Net(NetError::Closed) => server_closed(),
        LaneError::Net(NetError::Listen { address, source }) => {
            let system_error = source.raw_os_error();
            raise("ListenFailed", &error.to_string(), |facts| {
                facts.set_item("address", address.to_string())?;
                facts.set_item("system_error", system_error)
            })
        }
        LaneError::Wire(_) => raise("BadFrame", &error.to_string(), |_| Ok(())),
        LaneError::AnsweredBefore { .. } | LaneError::Net(NetError::LimitTooSmall { .. }) => {
            PyValueError::new_err(error.to_string())
        }
        // The enums may grow; what has no class of its own is still a transport error.
        _ => raise("TransportError", &error.to_string(), |_| Ok(())),
    }
}

/// A server that was closed, or is the parent process's.
pub fn server_closed() -> PyErr {
    raise("ServerClosed", "the server is closed", |_| Ok(()))
}

fn raise(class: &str, message: &str, add_facts: impl FnOnce(&Bound<'_, PyDict>) -> PyResult<()>) -> PyErr {
    Python::attach(|py| {
        let build = || {
            let facts = PyDict::new(py);
            add_facts(&facts)?;
            py.import("escrowmq.errors")?.getattr(class)?.call((message,), Some(&facts))
        };
        build().map_or_else(|failure| failure, PyErr::from_value)
    })
}

fn class_of(error: &StoreError) -> &'static str {
    match error {
        StoreError::Io { source, .. } => match source.kind() {
            ErrorKind::PermissionDenied => "PermissionDenied",
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "DiskFull",
            _ => "IoFailure",
        },
        StoreError::InUse { .. } => "StoreInUse",
        StoreError::ForeignFile { .. } => "ForeignFile",
        StoreError::WrongSize { .. } => "WrongSize",
        StoreError::MissingFile { .. } => "MissingFile",
        StoreError::NotALog { .. } => "NotALog",
        StoreError::UnsupportedStore { .. } => "UnsupportedStore",
        StoreError::BadOption { .. } => "BadOption",
        StoreError::BadMessage { .. } => "BadMessage",
        StoreError::DiskFull { .. } => "DiskFull",
        StoreError::Poisoned { .. } => "StorePoisoned",
        StoreError::Closed => "StoreClosed",
        StoreError::TopicInUse { .. } => "TopicInUse",
        StoreError::NotYetDurable { .. } => "NotYetDurable",
        StoreError::NoRecord { .. } => "NoRecord",
        StoreError::Damaged { .. } | StoreError::Unreadable { .. } => "Damaged",
        StoreError::QueueGap { .. } => "QueueGap",
        StoreError::QueueConflict { .. } => "QueueConflict",
        StoreError::QueueName { .. } => "QueueName",
        StoreError::BadConfig { .. } => "BadConfig",
        // The enum may grow; what has no class of its own is still a store error.
        _ => "StoreError",
    }
}

/// The values of an error as attributes of its exception.
fn add_facts(facts: &Bound<'_, PyDict>, error: &StoreError) -> PyResult<()> {
    match error {
        StoreError::Io { action, path, source } => {
            facts.set_item("action", action)?;
            facts.set_item("path", text(path))?;
            facts.set_item("system_error", source.raw_os_error())?;
            if class_of(error) == "DiskFull" {
                facts.set_item("used_percent", None::<u32>)?;
                facts.set_item("refuse_percent", None::<u32>)?;
            }
        }
        StoreError::InUse { path, holder } => {
            facts.set_item("path", text(path))?;
            facts.set_item("holder", holder)?;
        }
        StoreError::ForeignFile { path, kind, reason } => {
            facts.set_item("path", text(path))?;
            facts.set_item("kind", kind)?;
            facts.set_item("reason", reason)?;
        }
        StoreError::WrongSize { path, expected, found } => {
            facts.set_item("path", text(path))?;
            facts.set_item("expected", expected)?;
            facts.set_item("found", found)?;
        }
        StoreError::MissingFile { missing, next } => {
            facts.set_item("missing", text(missing))?;
            facts.set_item("next", text(next))?;
        }
        StoreError::NotALog { path, reason } => {
            facts.set_item("path", text(path))?;
            facts.set_item("reason", reason.to_string())?;
        }
        StoreError::UnsupportedStore { path, feature } => {
            facts.set_item("path", text(path))?;
            facts.set_item("feature", feature)?;
        }
        StoreError::BadOption { name, found, expected } => {
            facts.set_item("name", name)?;
            facts.set_item("found", found)?;
            facts.set_item("expected", expected)?;
        }
        StoreError::BadMessage { index, reason } => {
            facts.set_item("index", index)?;
            add_message_facts(facts, reason)?;
        }
        StoreError::DiskFull { path, used_percent, refuse_percent } => {
            facts.set_item("path", text(path))?;
            facts.set_item("used_percent", used_percent)?;
            facts.set_item("refuse_percent", refuse_percent)?;
        }
        StoreError::Poisoned { cause } => facts.set_item("cause", cause)?,
        StoreError::TopicInUse { topics } => facts.set_item("topics", topics)?,
        StoreError::NotYetDurable { offset, waited_ms } => {
            facts.set_item("offset", offset.0)?;
            facts.set_item("waited_ms", waited_ms)?;
        }
        StoreError::NoRecord { at, start, end } => {
            facts.set_item("at", at.0)?;
            facts.set_item("start", start.0)?;
            facts.set_item("end", end.0)?;
        }
        StoreError::Damaged { at, reason } => {
            facts.set_item("at", at.0)?;
            facts.set_item("reason", reason.to_string())?;
        }
        StoreError::Unreadable { path, at, topic, queue_id, offset, reason } => {
            facts.set_item("at", at.0)?;
            facts.set_item("reason", reason.to_string())?;
            facts.set_item("path", text(path))?;
            facts.set_item("topic", topic)?;
            facts.set_item("queue_id", queue_id)?;
            facts.set_item("offset", offset.0)?;
        }
        StoreError::QueueGap { topic, queue_id, expected, found, at } => {
            facts.set_item("topic", topic)?;
            facts.set_item("queue_id", queue_id)?;
            facts.set_item("expected", expected.0)?;
            facts.set_item("found", found.0)?;
            facts.set_item("at", at.0)?;
        }
        StoreError::QueueConflict { topic, queue_id, offset, kept, found } => {
            facts.set_item("topic", topic)?;
            facts.set_item("queue_id", queue_id)?;
            facts.set_item("offset", offset.0)?;
            facts.set_item("kept", kept.0)?;
            facts.set_item("found", found.0)?;
        }
        StoreError::QueueName { topic, reason } => {
            facts.set_item("topic", topic)?;
            facts.set_item("reason", reason)?;
        }
        StoreError::BadConfig { path, reason } => {
            facts.set_item("path", text(path))?;
            facts.set_item("reason", reason)?;
        }
        _ => {}
    }
    Ok(())
}

fn add_message_facts(facts: &Bound<'_, PyDict>, reason: &BadMessage) -> PyResult<()> {
    let size = |bytes: &usize| i64::try_from(*bytes).ok();
    let (field, found, limit) = match reason {
        BadMessage::Topic(_) => ("topic", None, None),
        BadMessage::Body { found, limit } => ("body", size(found), size(limit)),
        BadMessage::Properties { found, limit } => ("properties", size(found), size(limit)),
        BadMessage::PropertiesNul { .. } => ("properties", None, None),
        BadMessage::Queue { found, limit } => ("queue_id", Some(*found), Some(*limit)),
        BadMessage::Record { found, limit } => ("record", size(found), size(limit)),
        _ => ("message", None, None),
    };
    facts.set_item("field", field)?;
    facts.set_item("found", found)?;
    facts.set_item("limit", limit)
}

fn text(path: &Path) -> String {
    path.display().to_string()
}
