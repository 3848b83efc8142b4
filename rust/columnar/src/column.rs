//! The columns that a record has. Types are those that Spark makes of the same SQL types, so that batches need no change
//! on their way: timestamps in microseconds of UTC, everything nullable.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef, TimeUnit};

/// A column, by its name in a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Column {
    /// The topic.
    Topic,
    /// The name of the broker that has the queue.
    Broker,
    /// The number of the queue.
    QueueId,
    /// The place in the queue.
    QueueOffset,
    /// Business keys.
    Keys,
    /// The tag.
    Tags,
    /// The body, unpacked.
    Body,
    /// All properties.
    Properties,
    /// When the producer made the message.
    BornTimestamp,
    /// When the broker stored it.
    StoreTimestamp,
    /// Where it came from.
    BornHost,
    /// The id that its producer gave it, else the one of its place.
    MessageId,
    /// The transaction that it was part of.
    TransactionId,
    /// How often consumers gave it back.
    ReconsumeTimes,
}

impl Column {
    /// All columns, in the order of a schema that names none.
    pub const ALL: [Self; 14] = [
        Self::Topic,
        Self::Broker,
        Self::QueueId,
        Self::QueueOffset,
        Self::Keys,
        Self::Tags,
        Self::Body,
        Self::Properties,
        Self::BornTimestamp,
        Self::StoreTimestamp,
        Self::BornHost,
        Self::MessageId,
        Self::TransactionId,
        Self::ReconsumeTimes,
    ];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Topic => "topic",
            Self::Broker => "broker",
            Self::QueueId => "queue_id",
            Self::QueueOffset => "queue_offset",
            Self::Keys => "keys",
            Self::Tags => "tags",
            Self::Body => "body",
            Self::Properties => "properties",
            Self::BornTimestamp => "born_timestamp",
            Self::StoreTimestamp => "store_timestamp",
            Self::BornHost => "born_host",
            Self::MessageId => "message_id",
            Self::TransactionId => "transaction_id",
            Self::ReconsumeTimes => "reconsume_times",
        }
    }

    /// The column of a name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|column| column.name() == name)
    }

    fn data_type(self) -> DataType {
        match self {
            Self::QueueId | Self::ReconsumeTimes => DataType::Int32,
            Self::QueueOffset => DataType::Int64,
            Self::Body => DataType::Binary,
            Self::BornTimestamp | Self::StoreTimestamp => {
                DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))
            }
            Self::Keys => DataType::List(Arc::new(Field::new("element", DataType::Utf8, true))),
            Self::Properties => {
                let pair = Fields::from(vec![
                    Field::new("key", DataType::Utf8, false),
                    Field::new("value", DataType::Utf8, true),
                ]);
                DataType::Map(Arc::new(Field::new("entries", DataType::Struct(pair), false)), false)
            }
            Self::Topic
            | Self::Broker
            | Self::Tags
            | Self::BornHost
            | Self::MessageId
            | Self::TransactionId => DataType::Utf8,
        }
    }
}

/// The schema of these columns.
#[must_use]
pub fn schema_of(columns: &[Column]) -> SchemaRef {
    let field = |column: &Column| Field::new(column.name(), column.data_type(), true);
    Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()))
}
