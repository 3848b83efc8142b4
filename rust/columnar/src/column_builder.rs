//! One column being filled: what a record says of it, as an Arrow value.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::builder::{
    BinaryBuilder, Int32Builder, Int64Builder, ListBuilder, MapBuilder, MapFieldNames, StringBuilder,
    TimestampMicrosecondBuilder,
};
use arrow_schema::{DataType, Field};
use escrowmq_wire::{OffsetMessageId, RecordView, decompress, property_names as names};

use crate::column::Column;
use crate::error::ColumnarError;

/// No broker stores a body that unpacks to more.
const BODY_SIZE_MAX: usize = 64 * 1024 * 1024;
const MICROSECONDS: i64 = 1_000;

/// The values of a column so far.
#[derive(Debug)]
pub(crate) enum ColumnBuilder {
    Text(Column, StringBuilder),
    Number(Column, Int32Builder),
    Offset(Int64Builder),
    Time(Column, TimestampMicrosecondBuilder),
    Body(BinaryBuilder),
    Keys(ListBuilder<StringBuilder>),
    Properties(MapBuilder<StringBuilder, StringBuilder>),
}

impl ColumnBuilder {
    pub fn new(column: Column) -> Self {
        match column {
            Column::QueueId | Column::ReconsumeTimes => Self::Number(column, Int32Builder::new()),
            Column::QueueOffset => Self::Offset(Int64Builder::new()),
            Column::Body => Self::Body(BinaryBuilder::new()),
            Column::BornTimestamp | Column::StoreTimestamp => {
                Self::Time(column, TimestampMicrosecondBuilder::new().with_timezone("UTC"))
            }
            Column::Keys => {
                let element = Field::new("element", DataType::Utf8, true);
                Self::Keys(ListBuilder::new(StringBuilder::new()).with_field(element))
            }
            Column::Properties => {
                let [entry, key, value] = ["entries", "key", "value"].map(str::to_owned);
                let names = MapFieldNames { entry, key, value };
                Self::Properties(MapBuilder::new(Some(names), StringBuilder::new(), StringBuilder::new()))
            }
            Column::Topic
            | Column::Broker
            | Column::Tags
            | Column::BornHost
            | Column::MessageId
            | Column::TransactionId => Self::Text(column, StringBuilder::new()),
        }
    }

    /// Appends what a record says. `broker` has its queue.
    pub fn append(&mut self, record: &RecordView<'_>, broker: &str) -> Result<(), ColumnarError> {
        match self {
            Self::Text(column, values) => values.append_option(text_of(*column, record, broker)),
            Self::Number(Column::QueueId, values) => values.append_value(record.queue_id().cast_signed()),
            Self::Number(_, values) => values.append_value(record.reconsume_times()),
            Self::Offset(values) => values.append_value(record.queue_offset().cast_signed()),
            Self::Time(Column::BornTimestamp, values) => {
                values.append_value(record.born_timestamp_ms().saturating_mul(MICROSECONDS));
            }
            Self::Time(_, values) => {
                values.append_value(record.store_timestamp_ms().saturating_mul(MICROSECONDS));
            }
            Self::Body(values) => values.append_value(body_of(record)?),
            Self::Keys(values) => append_keys(values, record),
            Self::Properties(values) => append_properties(values, record)?,
        }
        Ok(())
    }

    pub fn finish(&mut self) -> ArrayRef {
        match self {
            Self::Text(_, values) => Arc::new(values.finish()),
            Self::Number(_, values) => Arc::new(values.finish()),
            Self::Offset(values) => Arc::new(values.finish()),
            Self::Time(_, values) => Arc::new(values.finish()),
            Self::Body(values) => Arc::new(values.finish()),
            Self::Keys(values) => Arc::new(values.finish()),
            Self::Properties(values) => Arc::new(values.finish()),
        }
    }
}

fn text_of<'a>(column: Column, record: &RecordView<'a>, broker: &'a str) -> Option<Cow<'a, str>> {
    match column {
        Column::Topic => Some(record.topic().into()),
        Column::Broker => Some(broker.into()),
        Column::BornHost => Some(record.born_host().to_string().into()),
        Column::MessageId => Some(property(record, names::UNIQ_KEY).unwrap_or_else(|| {
            let id = OffsetMessageId { store_host: record.store_host(), log_offset: record.log_offset() };
            id.to_string().into()
        })),
        Column::TransactionId => property(record, names::TRANSACTION_ID).or_else(|| {
            let is_prepared = property(record, names::TRAN_MSG).is_some_and(|value| value == "true");
            property(record, names::UNIQ_KEY).filter(|_| is_prepared)
        }),
        _ => property(record, names::TAGS),
    }
}

fn property<'a>(record: &RecordView<'a>, name: &str) -> Option<Cow<'a, str>> {
    record.properties().get_bytes(name).map(String::from_utf8_lossy)
}

fn body_of<'a>(record: &RecordView<'a>) -> Result<Cow<'a, [u8]>, ColumnarError> {
    if !record.sys_flag().is_compressed() {
        return Ok(record.body().into());
    }
    let (topic, queue_id, offset) = (record.topic().to_owned(), record.queue_id(), record.queue_offset());
    let Some(kind) = record.sys_flag().compression() else {
        return Err(ColumnarError::UnknownCompression { topic, queue_id, offset });
    };
    decompress(kind, record.body(), BODY_SIZE_MAX).map(Cow::Owned).map_err(|reason| ColumnarError::Body {
        topic,
        queue_id,
        offset,
        reason,
    })
}

fn append_keys(values: &mut ListBuilder<StringBuilder>, record: &RecordView<'_>) {
    if let Some(keys) = property(record, names::KEYS) {
        for key in keys.split(' ').filter(|key| !key.is_empty()) {
            values.values().append_value(key);
        }
    }
    values.append(true);
}

fn append_properties(
    values: &mut MapBuilder<StringBuilder, StringBuilder>,
    record: &RecordView<'_>,
) -> Result<(), ColumnarError> {
    let properties = record.properties();
    for (place, (name, value)) in properties.iter().enumerate() {
        // Compat: of two with one name the later counts, and a map has each name once.
        let is_last = properties.iter().skip(place + 1).all(|(later, _)| later != name);
        if is_last {
            values.keys().append_value(name);
            values.values().append_value(value);
        }
    }
    values.append(true)?;
    Ok(())
}
