//! The answer to a pull: what was found, and where to go on. Records leave the log for the socket without a copy.

use bytes::Bytes;
use escrowmq_store::StoredRecord;
use escrowmq_wire::{Digits, ExtFields};

use super::pull_read::PullRead;
use super::reply::Asker;

/// A record as bytes that hold its segment.
struct RecordBytes(StoredRecord);

impl AsRef<[u8]> for RecordBytes {
    fn as_ref(&self) -> &[u8] {
        self.0.bytes()
    }
}

/// The head and the body of an answer to a pull from an offset.
pub fn pull_answer(asker: &Asker, queue_offset: i64, found: PullRead) -> (Bytes, Vec<Bytes>) {
    let (next, min) = (Digits::of(found.next_offset), Digits::of_offset(found.min_offset));
    let max = Digits::of_offset(found.max_offset);
    let mut fields = ExtFields::default();
    fields.push("suggestWhichBrokerId", "0");
    fields.push("nextBeginOffset", next.as_str());
    fields.push("minOffset", min.as_str());
    fields.push("maxOffset", max.as_str());
    fields.push("topicSysFlag", "0");
    fields.push("groupSysFlag", "0");
    let size = found.records.iter().map(|record| record.bytes().len()).sum();
    let head = asker.head(found.status.code(queue_offset), Some(found.status.name()), fields, size);
    let body = found.records.into_iter().map(|record| Bytes::from_owner(RecordBytes(record))).collect();
    (head, body)
}
