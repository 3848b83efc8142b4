//! A scan of a queue as a stream of batches, the form that Arrow's C interface carries.

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use escrowmq_store::observation::QueueScan;

use crate::batch_builder::BatchBuilder;
use crate::error::ColumnarError;
use crate::row_filter::RowFilter;

/// Batches of the rows of a scan, each of so many rows or bytes.
#[derive(Debug)]
pub struct ScanStream {
    scan: QueueScan,
    filter: RowFilter,
    builder: BatchBuilder,
    rows_max: usize,
    size_max_bytes: usize,
    has_failed: bool,
}

impl ScanStream {
    /// A stream of what a filter wants of a scan.
    #[must_use]
    pub fn new(
        scan: QueueScan,
        filter: RowFilter,
        builder: BatchBuilder,
        rows_max: usize,
        size_max_bytes: usize,
    ) -> Self {
        let scan = match filter.tags_codes() {
            Some(codes) => scan.with_tags_codes(codes),
            None => scan,
        };
        Self { scan, filter, builder, rows_max, size_max_bytes, has_failed: false }
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>, ColumnarError> {
        let Self { scan, filter, builder, .. } = self;
        while builder.row_count() < self.rows_max && builder.size_bytes() < self.size_max_bytes {
            let mut failure = None;
            let has_more = scan.read_window(|record| {
                if failure.is_none() && filter.wants(record) {
                    failure = builder.append(record).err();
                }
            })?;
            if let Some(error) = failure {
                return Err(error);
            }
            if !has_more {
                break;
            }
        }
        if builder.row_count() == 0 { Ok(None) } else { builder.finish().map(Some) }
    }
}

impl Iterator for ScanStream {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        // Behind an error there is nothing: a reader that goes on must not pass over what could not be read.
        if self.has_failed {
            return None;
        }
        let next = self.next_batch().map_err(|error| ArrowError::ExternalError(error.into()));
        self.has_failed = next.is_err();
        next.transpose()
    }
}

impl RecordBatchReader for ScanStream {
    fn schema(&self) -> SchemaRef {
        self.builder.schema()
    }
}
