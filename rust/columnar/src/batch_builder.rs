//! A batch being filled, row by row.

use arrow_array::RecordBatch;
use arrow_array::RecordBatchOptions;
use arrow_schema::SchemaRef;
use escrowmq_wire::RecordView;

use crate::column::{Column, schema_of};
use crate::column_builder::ColumnBuilder;
use crate::error::ColumnarError;

/// Rows of one broker.
#[derive(Debug)]
pub struct BatchBuilder {
    schema: SchemaRef,
    broker: String,
    columns: Vec<ColumnBuilder>,
    row_count: usize,
    size_bytes: usize,
}

impl BatchBuilder {
    /// A builder of batches with these columns.
    #[must_use]
    pub fn new(columns: &[Column], broker: &str) -> Self {
        Self {
            schema: schema_of(columns),
            broker: broker.to_owned(),
            columns: columns.iter().copied().map(ColumnBuilder::new).collect(),
            row_count: 0,
            size_bytes: 0,
        }
    }

    /// The schema of its batches.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    /// Rows so far.
    #[must_use]
    pub fn row_count(&self) -> usize {
        self.row_count
    }

    /// About how large they are: the records that they were made from.
    #[must_use]
    pub fn size_bytes(&self) -> usize {
        self.size_bytes
    }

    /// Appends a row.
    ///
    /// # Errors
    /// [`ColumnarError::Body`] and [`ColumnarError::UnknownCompression`].
    pub fn append(&mut self, record: &RecordView<'_>) -> Result<(), ColumnarError> {
        for column in &mut self.columns {
            column.append(record, &self.broker)?;
        }
        self.row_count += 1;
        self.size_bytes += record.bytes().len();
        Ok(())
    }

    /// The rows so far, and none from now on.
    ///
    /// # Errors
    /// [`ColumnarError::Arrow`].
    pub fn finish(&mut self) -> Result<RecordBatch, ColumnarError> {
        let columns = self.columns.iter_mut().map(ColumnBuilder::finish).collect();
        // Rows of no column are counted all the same.
        let options = RecordBatchOptions::new().with_row_count(Some(self.row_count));
        (self.row_count, self.size_bytes) = (0, 0);
        Ok(RecordBatch::try_new_with_options(self.schema.clone(), columns, &options)?)
    }
}
