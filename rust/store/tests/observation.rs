//! Stores that are read while their process writes, was killed, or is gone.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use escrowmq_store::consume_queue::TimeBoundary;
use escrowmq_store::observation::{Observation, ObservedQueue};
use escrowmq_store::{
    FlushMode, LogOffset, NewMessage, QueueOffset, Retention, Store, StoreError, StoreOptions,
};
use escrowmq_wire::{SysFlag, java_hash};
use tempfile::TempDir;

const WAIT: Duration = Duration::from_secs(60);
const QUEUE_COUNT: i32 = 3;

fn options(flush: FlushMode) -> StoreOptions {
    StoreOptions {
        segment_size_bytes: 16 * 1024,
        queue_file_entries: 100,
        index_slots: 50,
        index_entries: 120,
        flush,
        retention: Retention { refuse_ratio: 2.0, ..Retention::default() },
        ..StoreOptions::default()
    }
}

fn append(store: &Store, number: u64) {
    let body = number.to_be_bytes().repeat(10 + usize::try_from(number % 20).expect("small"));
    let properties = format!("TAGS\u{1}{}\u{2}", if number.is_multiple_of(4) { "paid" } else { "open" });
    let message = NewMessage {
        topic: "orders",
        queue_id: i32::try_from(number).expect("small") % QUEUE_COUNT,
        flag: 0,
        sys_flag: SysFlag(0),
        born_timestamp_ms: 1_794_984_722_856,
        born_host: "127.0.0.1:4711".parse().expect("address"),
        store_host: None,
        reconsume_times: 0,
        prepared_transaction_offset: 0,
        is_stored: false,
        body: &body,
        properties: properties.as_bytes(),
    };
    store.append(&[message]).expect("append");
}

fn filled(count: u64) -> (TempDir, Store) {
    let folder = tempfile::tempdir().expect("folder");
    let store = Store::open(folder.path(), options(FlushMode::Sync)).expect("open");
    for number in 0..count {
        append(&store, number);
    }
    store.wait_visible(store.log_end(), WAIT).expect("visible");
    (folder, store)
}

fn look(folder: &Path) -> Vec<Arc<ObservedQueue>> {
    let queues = Observation::open(folder).expect("a store").queues("orders").expect("queues");
    queues.into_iter().map(Arc::new).collect()
}

/// Numbers of the messages of a queue, by offset.
fn read(queue: &Arc<ObservedQueue>) -> Result<BTreeMap<u64, u64>, StoreError> {
    let mut scan = queue.scan(QueueOffset(0), QueueOffset(u64::MAX));
    let mut found = BTreeMap::new();
    while scan.read_window(|record| {
        let (number, _) = record.body().split_first_chunk().expect("a number");
        found.insert(record.queue_offset(), u64::from_be_bytes(*number));
    })? {}
    Ok(found)
}

/// What a queue holds up to `count` messages.
fn expected(queue_id: u32, count: u64) -> BTreeMap<u64, u64> {
    let step = QUEUE_COUNT.unsigned_abs();
    (0..).zip((u64::from(queue_id)..count).step_by(step as usize)).collect()
}

fn flip(path: &Path, at: u64) {
    let file = OpenOptions::new().read(true).write(true).open(path).expect("file");
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).expect("read");
    file.write_all_at(&[!byte[0]], at).expect("write");
}

fn place(folder: &Path, at: LogOffset) -> (PathBuf, u64) {
    let start = at.0 / (16 * 1024) * (16 * 1024);
    (folder.join(format!("commitlog/{start:020}")), at.0 - start)
}

#[test]
fn a_store_reads_the_same_while_it_runs_after_a_kill_and_at_rest() {
    let (folder, store) = filled(700);
    let check = || {
        let queues = look(folder.path());
        assert_eq!(queues.len(), 3);
        for queue in queues {
            assert_eq!(read(&queue).expect("whole"), expected(queue.queue_id(), 700));
        }
    };
    check();
    store.abandon();
    check();
    let store = Store::open(folder.path(), options(FlushMode::Sync)).expect("open");
    check();
    store.close().expect("close");
    check();
}

#[test]
fn a_reader_beside_a_writer_always_sees_a_prefix_of_each_queue() {
    let folder = tempfile::tempdir().expect("folder");
    let store = Store::open(
        folder.path(),
        options(FlushMode::Async { interval_ms: 5, pages_min: 0, thorough_interval_ms: 10_000 }),
    )
    .expect("open");
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0..3_000 {
                append(&store, number);
            }
            store.wait_visible(store.log_end(), WAIT).expect("visible");
            is_done.store(true, Ordering::Release);
        });
        let mut ends = BTreeMap::new();
        loop {
            let is_last = is_done.load(Ordering::Acquire);
            for queue in look(folder.path()) {
                let found = read(&queue).expect("whole");
                let whole = expected(queue.queue_id(), 3_000);
                assert_eq!(found, whole.into_iter().take(found.len()).collect());
                let before = ends.insert(queue.queue_id(), found.len());
                assert!(before.is_none_or(|before| before <= found.len()), "a queue became shorter");
            }
            if is_last {
                break;
            }
        }
        assert_eq!(ends.into_values().sum::<usize>(), 3_000);
    });
}

#[test]
fn tags_are_chosen_without_reading_the_others() {
    let (folder, _store) = filled(600);
    let queue = look(folder.path()).remove(0);
    let mut scan = queue.scan(QueueOffset(0), QueueOffset(u64::MAX)).with_tags_codes(vec![java_hash("paid")]);
    let mut found = Vec::new();
    while scan
        .read_window(|record| found.push(record.properties().get("TAGS") == Some("paid")))
        .expect("whole")
    {}
    assert_eq!((found.len(), found.iter().all(|is_paid| *is_paid)), (50, true));
    assert_eq!(scan.position(), queue.max_offset());
}

#[test]
fn a_range_starts_and_ends_where_it_says() {
    let (folder, _store) = filled(600);
    let queue = look(folder.path()).remove(1);
    let mut scan = queue.scan(QueueOffset(95), QueueOffset(105));
    let mut found = Vec::new();
    while scan.read_window(|record| found.push(record.queue_offset())).expect("whole") {}
    assert_eq!(found, (95..105).collect::<Vec<_>>());
    let mut nothing = queue.scan(QueueOffset(105), QueueOffset(95));
    assert!(!nothing.read_window(|_| panic!("a record")).expect("whole"));
}

#[test]
fn times_are_found_as_the_store_finds_them() {
    let (folder, store) = filled(300);
    let queue = look(folder.path()).remove(2);
    let times: Vec<i64> = store
        .read_queue("orders", 2, QueueOffset(0), 100, usize::MAX)
        .expect("records")
        .iter()
        .map(|record| record.view().store_timestamp_ms())
        .collect();
    for time in times.iter().flat_map(|time| [time - 1, *time, time + 1]) {
        for boundary in [TimeBoundary::Lower, TimeBoundary::Upper] {
            assert_eq!(
                Some(queue.offset_by_time(time, boundary).expect("whole")),
                store.offset_by_time("orders", 2, time, boundary)
            );
        }
    }
}

#[test]
fn a_damaged_record_in_the_middle_is_named_with_its_file() {
    let (folder, store) = filled(600);
    let queue = look(folder.path()).remove(0);
    let entry = queue.entry(QueueOffset(77)).expect("entry");
    let (path, at) = place(folder.path(), entry.log_offset);
    flip(&path, at + 95);
    let error = read(&queue).expect_err("it is damaged");
    let text = error.to_string();
    assert!(
        text.contains(&path.display().to_string()) && text.contains("orders/0 at queue offset 77"),
        "{text}"
    );
    store.abandon();
}

#[test]
fn a_queue_that_names_more_than_its_file_holds_allocates_nothing() {
    let (folder, store) = filled(600);
    let queue = folder.path().join("consumequeue/orders/0/00000000000000000000");
    let file = OpenOptions::new().write(true).open(queue).expect("file");
    file.write_all_at(&0x7fff_fff0_u32.to_be_bytes(), 50 * 20 + 8).expect("write");
    let queue = look(folder.path()).remove(0);
    let error = read(&queue).expect_err("it is damaged");
    assert!(error.to_string().contains("to the end of the file"), "{error}");
    store.abandon();
}

#[test]
fn what_nobody_vouches_for_ends_at_the_first_record_that_is_not_whole() {
    let (folder, store) = filled(600);
    store.close().expect("close");
    let queue = look(folder.path()).remove(0);
    let entry = queue.entry(QueueOffset(190)).expect("entry");
    let (path, at) = place(folder.path(), entry.log_offset);
    flip(&path, at + 95);
    let queue = look(folder.path()).remove(0);
    assert_eq!(queue.max_offset(), QueueOffset(190));
    assert_eq!(read(&queue).expect("whole").len(), 190);
}

#[test]
fn segments_that_expire_under_a_reader_are_an_error_and_not_a_hole() {
    let (folder, store) = filled(700);
    let queue = look(folder.path()).remove(0);
    let first = fs::read_dir(folder.path().join("commitlog"))
        .expect("folder")
        .map(|entry| entry.expect("entry").path())
        .min()
        .expect("a segment");
    fs::remove_file(first).expect("removed");
    assert!(matches!(read(&queue), Err(StoreError::NoRecord { .. })));
    let queue = look(folder.path()).remove(0);
    assert!(queue.min_offset() > QueueOffset(0));
    let found = read(&queue).expect("whole");
    assert_eq!(found.first_key_value().map(|(offset, _)| *offset), Some(queue.min_offset().0));
    assert_eq!(found.len() as u64, queue.max_offset().0 - queue.min_offset().0);
    store.abandon();
}

#[test]
fn there_is_no_store_where_there_is_none() {
    let folder = tempfile::tempdir().expect("folder");
    let error = Observation::open(folder.path()).expect_err("nothing");
    assert!(error.to_string().contains("commitlog"), "{error}");
}
