//! Queue offset by store timestamp. Store timestamps never decrease along a queue, so this is a binary search; what
//! needs care is what Apache answers where no record has exactly that time.
//!
//! ```text
//!  offset        3   4   5   6   7        min 3, max 8
//!  timestamp    10  20  20  20  40
//!
//!  asked         5  10  15  20  30  40  50
//!  lower         3   3   4   4   7   7   8     first record at or after the time; else max
//!  upper         3   3   3   6   6   7   7     last record at or before the time; else min
//! ```
//! Compat: before the first record `upper` is min and not min - 1. Apache searches file by file and bounds the result
//! by min and max; over timestamps that never decrease this comes to the rules above. An empty queue answers its max.

use super::entry::QueueEntry;
use super::queue::{ConsumeQueue, partition_point};
use crate::offset::{LogOffset, QueueOffset};

/// Which end of a run of equal timestamps is meant, and which neighbour where there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeBoundary {
    /// The first record at or after the time.
    Lower,
    /// The last record at or before the time.
    Upper,
}

impl ConsumeQueue {
    /// The queue offset for a store timestamp. `store_time` reads a record's timestamp from the log; records that it
    /// does not know count as older than all others: they have expired.
    pub fn offset_by_time(
        &self,
        timestamp_ms: i64,
        boundary: TimeBoundary,
        store_time: &dyn Fn(LogOffset, u32) -> Option<i64>,
    ) -> QueueOffset {
        // Once, so that a queue that grows meanwhile is searched as it was.
        let (min, max) = (self.min_offset(), self.max_offset());
        search(min, max, timestamp_ms, boundary, &mut |offset| {
            let QueueEntry { log_offset, record_size, .. } = self.entry(offset)?;
            store_time(log_offset, record_size)
        })
    }
}

pub(crate) fn search(
    min: QueueOffset,
    max: QueueOffset,
    timestamp_ms: i64,
    boundary: TimeBoundary,
    time_of: &mut dyn FnMut(QueueOffset) -> Option<i64>,
) -> QueueOffset {
    let low = partition_point(min.0, max.0, |offset| match (time_of(QueueOffset(offset)), boundary) {
        (None, _) => true,
        (Some(time), TimeBoundary::Lower) => time < timestamp_ms,
        (Some(time), TimeBoundary::Upper) => time <= timestamp_ms,
    });
    match boundary {
        TimeBoundary::Lower => QueueOffset(low),
        TimeBoundary::Upper if low > min.0 => QueueOffset(low - 1),
        TimeBoundary::Upper => min,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use TimeBoundary::{Lower, Upper};
    use proptest::prelude::*;

    fn find(min: u64, times: &[Option<i64>], timestamp_ms: i64, boundary: TimeBoundary) -> u64 {
        let max = min + times.len() as u64;
        let mut time_of = |offset: QueueOffset| times[usize::try_from(offset.0 - min).expect("small")];
        search(QueueOffset(min), QueueOffset(max), timestamp_ms, boundary, &mut time_of).0
    }

    #[test]
    fn every_case_of_the_table() {
        let times = [10, 20, 20, 20, 40].map(Some);
        for (asked, lower, upper) in
            [(5, 3, 3), (10, 3, 3), (15, 4, 3), (20, 4, 6), (30, 7, 6), (40, 7, 7), (50, 8, 7)]
        {
            assert_eq!(find(3, &times, asked, Lower), lower, "lower of {asked}");
            assert_eq!(find(3, &times, asked, Upper), upper, "upper of {asked}");
        }
    }

    #[test]
    fn an_empty_queue_answers_its_end() {
        for boundary in [Lower, Upper] {
            assert_eq!(find(0, &[], 7, boundary), 0);
            assert_eq!(find(9, &[], 7, boundary), 9);
        }
    }

    #[test]
    fn expired_records_count_as_older() {
        let times = [None, None, Some(10), Some(20)];
        assert_eq!(find(0, &times, 5, Lower), 2);
        assert_eq!(find(0, &times, 5, Upper), 1);
        assert_eq!(find(0, &times, 10, Upper), 2);
    }

    proptest! {
        #[test]
        fn the_search_agrees_with_a_linear_one(
            min in 0_u64..100,
            steps in proptest::collection::vec(0_i64..3, 0..60),
            asked in -2_i64..100,
        ) {
            let times: Vec<i64> =
                steps.iter().scan(0, |time, step| { *time += step; Some(*time) }).collect();
            let max = min + times.len() as u64;
            let lower = times.iter().position(|time| *time >= asked).map_or(max, |at| min + at as u64);
            let upper = times.iter().rposition(|time| *time <= asked).map_or(min, |at| min + at as u64);
            let times: Vec<_> = times.into_iter().map(Some).collect();
            prop_assert_eq!(find(min, &times, asked, Lower), lower);
            prop_assert_eq!(find(min, &times, asked, Upper), upper);
        }
    }
}
