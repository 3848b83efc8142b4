//! What an orderly stop found, so that the next start need not look for it. Anything in it that does not agree with
//! the directory (an Apache broker ran in between, a folder was deleted) makes it worthless, never wrong.

use std::path::Path;

use serde_json::{Value, json};

use crate::consume_queue::QueueStatus;
use crate::disk::Disk;
use crate::error::Result;
use crate::mapped::remove_file;
use crate::offset::LogOffset;
use crate::small_file;

/// A larger note is none of ours: it would name a million queues.
const SIZE_MAX_BYTES: u64 = 256 << 20;

/// The state of a store after an orderly stop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StopNote {
    /// Where the log ends.
    pub log_end: LogOffset,
    /// Its last record, `None` in an empty log.
    pub last_record: Option<LogOffset>,
    /// Where each queue ends: topic, queue, next offset.
    pub queues: Vec<(String, u32, u64)>,
    /// The log offset of the key index's last entry.
    pub index_end: Option<LogOffset>,
}

impl StopNote {
    /// Where the queues end, in an order that does not depend on the table's.
    pub fn queue_ends(queues: &[QueueStatus]) -> Vec<(String, u32, u64)> {
        let mut ends: Vec<_> =
            queues.iter().map(|queue| (queue.topic.clone(), queue.queue_id, queue.max_offset.0)).collect();
        ends.sort_unstable();
        ends
    }

    /// Writes it, durably.
    pub fn save(&self, disk: &dyn Disk, path: &Path, temporary_folder: &Path) -> Result<()> {
        small_file::replace(disk, path, temporary_folder, self.to_json().to_string().as_bytes())
    }

    /// Reads it; `None` where there is none that can be understood.
    pub fn load(disk: &dyn Disk, path: &Path) -> Option<Self> {
        let text = small_file::read(disk, path, SIZE_MAX_BYTES).ok()?;
        Self::from_json(&serde_json::from_slice(&text).ok()?)
    }

    /// Removes it, durably. It may be gone already.
    pub fn remove(disk: &dyn Disk, path: &Path) -> Result<()> {
        match disk.open(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
            _ => path.parent().map_or(Ok(()), |folder| remove_file(disk, folder, path)),
        }
    }

    fn to_json(&self) -> Value {
        json!({
            "logEnd": self.log_end.0,
            "lastRecord": self.last_record.map(|offset| offset.0),
            "queues": self.queues,
            "indexEnd": self.index_end.map(|offset| offset.0),
        })
    }

    fn from_json(value: &Value) -> Option<Self> {
        let optional = |name: &str| value.get(name).map(|offset| offset.as_u64().map(LogOffset));
        let queue = |entry: &Value| {
            Some((
                entry.get(0)?.as_str()?.to_string(),
                u32::try_from(entry.get(1)?.as_u64()?).ok()?,
                entry.get(2)?.as_u64()?,
            ))
        };
        Some(Self {
            log_end: LogOffset(value.get("logEnd")?.as_u64()?),
            last_record: optional("lastRecord")?,
            queues: value.get("queues")?.as_array()?.iter().map(queue).collect::<Option<_>>()?,
            index_end: optional("indexEnd")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_reads_back_as_it_was_written() {
        let note = StopNote {
            log_end: LogOffset(4711),
            last_record: Some(LogOffset(4000)),
            queues: vec![("%RETRY%billing".to_string(), 0, 3), ("orders".to_string(), 1, 9)],
            index_end: None,
        };
        assert_eq!(StopNote::from_json(&note.to_json()), Some(note));
        assert_eq!(StopNote::from_json(&json!({"logEnd": 1})), None);
    }
}
