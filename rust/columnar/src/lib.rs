//! Records as Arrow batches: which columns there are, which rows are wanted, and the records of a queue as a stream of
//! batches that Arrow's C interface can carry. No Python, and no object per message.
//!
//! ```text
//! QueueScan ─ records ─▶ RowFilter ─ wanted ─▶ BatchBuilder ─▶ RecordBatch      scan_stream
//! body of a pull ─▶ records ───┘                                                 pulled
//! ```

#![forbid(unsafe_code)]

mod batch_builder;
mod column;
mod column_builder;
mod error;
mod row_filter;
mod scan_stream;

pub use batch_builder::BatchBuilder;
pub use column::{Column, schema_of};
pub use error::ColumnarError;
pub use row_filter::RowFilter;
pub use scan_stream::ScanStream;
