//! One event of `tracing` as a value.

use std::fmt;

use tracing::field::{Field, Visit};
use tracing::{Event, Level};

/// Most characters of a message or a value. Some repeat what a peer sent.
pub const VALUE_LENGTH_MAX: usize = 1_000;

/// What was logged, with its fields as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogRecord {
    /// How serious it is.
    pub level: Level,
    /// What happened.
    pub message: String,
    /// The facts, in the order in which they were given.
    pub fields: Vec<(&'static str, String)>,
}

impl From<&Event<'_>> for LogRecord {
    fn from(event: &Event<'_>) -> Self {
        let mut record =
            Self { level: *event.metadata().level(), message: String::new(), fields: Vec::new() };
        event.record(&mut record);
        record
    }
}

impl Visit for LogRecord {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.record_debug(field, &format_args!("{value}"));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let mut text = format!("{value:?}");
        if let Some((end, _)) = text.char_indices().nth(VALUE_LENGTH_MAX) {
            text.truncate(end);
        }
        match field.name() {
            "message" => self.message = text,
            name => self.fields.push((name, text)),
        }
    }
}
