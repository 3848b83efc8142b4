//! Zeros written ahead of the log's end, where zeros are anyway. The kernel keeps what one call writes in large pieces of
//! memory, which cost a quarter of what single pages do to get, to map and to flush. An append never meets such a write:
//! it waits until the write is over, and the write keeps its distance.

use std::ops::Range;

use super::CommitLog;
use crate::mapped::Segment;

impl CommitLog {
    /// Writes zeros over a range of a segment, given in log offsets, unless the log's end is nearer than `distance`.
    pub(super) fn zero_ahead(&self, segment: &Segment, range: &Range<u64>, distance: u64) {
        {
            let mut appender = self.appender.lock();
            if range.start < appender.end().offset.0 + distance {
                return;
            }
            appender.zeroed_from = Some(range.start);
        }
        segment.write_zeros(super::within(segment, range));
        self.appender.lock().zeroed_from = None;
        self.zeroed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;
    use std::sync::Arc;
    use std::thread;

    use escrowmq_wire::SysFlag;

    use super::super::{AppendRules, LogPoint, QueueOffsets, Walk};
    use super::*;
    use crate::disk::{Allocation, RealDisk};
    use crate::mapped::{ChainLayout, Expected, SegmentChain};
    use crate::message::NewMessage;
    use crate::offset::LogOffset;
    use crate::poison::Poison;

    const SEGMENT_SIZE: u64 = 1 << 20;
    const BATCHES: usize = 2000;

    fn log(root: &std::path::Path) -> CommitLog {
        let layout = ChainLayout {
            folder: root.join("log"),
            temporary_folder: root.to_path_buf(),
            kind: "commit log",
            segment_size_bytes: SEGMENT_SIZE,
            allocation: Allocation::Whole,
            is_durable_at_once: false,
        };
        let chain = SegmentChain::load(&RealDisk, layout, Expected::All).expect("chain");
        let rules = AppendRules {
            body_size_max: 4096,
            has_record_crc: false,
            store_host: "127.0.0.1:10911".parse().expect("address"),
        };
        let offsets = QueueOffsets::default();
        CommitLog::new(
            Arc::new(RealDisk),
            chain,
            rules,
            LogPoint::default(),
            offsets,
            Arc::new(Poison::default()),
        )
    }

    fn message(body: &[u8]) -> NewMessage<'_> {
        let host = "127.0.0.1:1".parse().expect("address");
        NewMessage {
            topic: "orders",
            queue_id: 0,
            flag: 0,
            sys_flag: SysFlag(0),
            born_timestamp_ms: 0,
            born_host: host,
            store_host: None,
            is_stored: false,
            reconsume_times: 0,
            prepared_transaction_offset: 0,
            body,
            properties: b"",
        }
    }

    #[test]
    fn no_append_is_lost_to_zeros_however_close_they_are_written() {
        let root = tempfile::tempdir().expect("folder");
        let log = log(root.path());
        thread::scope(|scope| {
            let appends = scope.spawn(|| {
                for _ in 0..BATCHES {
                    let batch = [message(&[7; 1000]), message(&[8; 300]), message(&[9; 2000])];
                    log.append(&batch, 1, |_| {}).expect("append");
                }
            });
            while !appends.is_finished() {
                let end = log.end().offset.0;
                if let Some(segment) = log.chain.segment_for(end) {
                    log.zero_ahead(&segment, &(end..(end + 50_000).min(segment.end())), 0);
                }
            }
        });
        let mut count = 0;
        let counted = Walk::new(&log.chain, LogOffset(0), log.end().offset).each(|record| {
            assert!(record.body().iter().all(|byte| *byte == record.body()[0] && *byte > 0));
            count += 1;
            Ok(ControlFlow::Continue(()))
        });
        counted.expect("every record is whole");
        assert_eq!(count, 3 * BATCHES);
    }

    #[test]
    fn zeros_keep_their_distance() {
        let root = tempfile::tempdir().expect("folder");
        let log = log(root.path());
        log.append(&[message(b"x")], 1, |_| {}).expect("append");
        let segment = log.chain.last().expect("segment");
        let end = usize::try_from(log.end().offset.0).expect("small");
        // What only an append may write stands in for a sign that nobody wrote here.
        segment.write_at(end + 5000, b"untouched");
        log.zero_ahead(&segment, &(end as u64 + 4999..SEGMENT_SIZE), 5000);
        segment.publish(segment.size());
        assert_eq!(segment.slice(end + 5000..end + 5009), b"untouched");
    }
}
