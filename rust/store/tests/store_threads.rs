//! A store with its threads: who reads, expires and closes while others write.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use escrowmq_store::{
    FlushMode, NewMessage, QueueOffset, Retention, Store, StoreError, StoreOptions, TimeBoundary,
};
use escrowmq_wire::SysFlag;

const WAIT: Duration = Duration::from_secs(60);

fn options() -> StoreOptions {
    StoreOptions {
        segment_size_bytes: 256 * 1024,
        index_slots: 1_000,
        index_entries: 4_000,
        flush: FlushMode::ASYNC_DEFAULT,
        retention: Retention { refuse_ratio: 2.0, ..Retention::default() },
        ..StoreOptions::default()
    }
}

fn open(folder: &Path) -> Store {
    Store::open(folder, options()).expect("open")
}

fn message<'a>(topic: &'a str, body: &'a [u8]) -> NewMessage<'a> {
    NewMessage {
        topic,
        queue_id: 0,
        flag: 0,
        sys_flag: SysFlag(0),
        born_timestamp_ms: 1_794_984_722_856,
        born_host: "127.0.0.1:4711".parse().expect("address"),
        store_host: None,
        is_stored: false,
        reconsume_times: 0,
        prepared_transaction_offset: 0,
        body,
        properties: b"TAGS\x01paid\x02",
    }
}

#[test]
fn a_reader_at_the_tail_meets_no_error_while_queues_are_built() {
    const MESSAGES: u64 = 20_000;
    let folder = tempfile::tempdir().expect("folder");
    let store = open(folder.path());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let batch = vec![message("orders", b"body"); 50];
            for _ in 0..MESSAGES / 50 {
                store.append(&batch).expect("append");
            }
        });
        let mut next = QueueOffset(0);
        while next.0 < MESSAGES {
            for record in store.read_queue("orders", 0, next, 100, usize::MAX).expect("read") {
                assert_eq!(record.view().queue_offset(), next.0);
                next.0 += 1;
            }
            let first = store.offset_by_time("orders", 0, 0, TimeBoundary::Lower);
            assert!(first.is_none_or(|offset| offset == QueueOffset(0)), "{first:?}: all messages are newer");
        }
    });
}

#[test]
fn a_topic_whose_name_fills_a_file_name_is_stored() {
    let folder = tempfile::tempdir().expect("folder");
    let topic = format!("%RETRY%{}", "x".repeat(248));
    let store = open(folder.path());
    let receipt = store.append_one(&message(&topic, b"long")).expect("append");
    store.wait_visible(receipt.end_offset(), WAIT).expect("visible");
    drop(store);
    let store = open(folder.path());
    assert_eq!(store.read_queue(&topic, 0, QueueOffset(0), 1, usize::MAX).expect("read").len(), 1);
}

#[test]
fn a_closed_store_leaves_the_directory_to_its_next_owner() {
    let folder = tempfile::tempdir().expect("folder");
    let store = open(folder.path());
    store.append_one(&message("orders", b"x")).expect("append");
    store.close().expect("close");
    let next = open(folder.path());
    assert!(matches!(store.expire(true), Err(StoreError::Closed)));
    assert!(matches!(store.checkpoint_once(), Err(StoreError::Closed)));
    assert!(matches!(store.append_one(&message("orders", b"x")), Err(StoreError::Closed)));
    store.close().expect("once more");
    next.close().expect("the next owner's files are untouched");
}

#[test]
fn a_topic_is_deleted_while_others_are_written_and_read() {
    let folder = tempfile::tempdir().expect("folder");
    let store = open(folder.path());
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut count = 0_u64;
            while !is_done.load(Ordering::SeqCst) {
                let receipt = store.append_one(&message("orders", b"x")).expect("append");
                assert_eq!(receipt.queue_offset.0, count, "the offsets of others go on");
                count += 1;
                if count.is_multiple_of(100) {
                    // A writer that is faster than the builder would leave it ever further behind.
                    store.wait_visible(receipt.end_offset(), WAIT).expect("visible");
                }
            }
            count
        });
        for round in 0..50 {
            for offset in 0..3 {
                let receipt = store.append_one(&message("short", b"x")).expect("append");
                assert_eq!(receipt.queue_offset.0, offset, "round {round}");
            }
            if round % 2 == 0 {
                store.wait_visible(store.log_end(), WAIT).expect("visible");
            }
            store.delete_topics(&["short"]).expect("nobody else writes to it");
            assert!(store.queue("short", 0).is_none());
        }
        is_done.store(true, Ordering::SeqCst);
        let count = writer.join().expect("writer");
        store.wait_visible(store.log_end(), WAIT).expect("visible");
        assert!(store.queue("short", 0).is_none(), "what was built after the deletion is in no queue");
        assert_eq!(store.queue("orders", 0).expect("queue").max_offset().0, count);
    });
    store.close().expect("close");
    assert_eq!(open(folder.path()).queues().len(), 1);
}

#[test]
fn whoever_closes_second_returns_when_the_directory_is_free() {
    for _ in 0..20 {
        let folder = tempfile::tempdir().expect("folder");
        let store = open(folder.path());
        store.append(&vec![message("orders", b"x"); 500]).expect("append");
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    store.close().expect("close");
                    // Another of these threads may be the next owner already; none may find the store half closed.
                    match Store::open(folder.path(), options()) {
                        Ok(next) => next.close().expect("an orderly stop"),
                        Err(error) => assert!(matches!(error, StoreError::InUse { .. }), "{error}"),
                    }
                });
            }
        });
        assert!(!folder.path().join("abort").exists());
    }
}

#[test]
fn waits_end_when_the_store_is_closed_or_time_is_endless() {
    let folder = tempfile::tempdir().expect("folder");
    let store = Arc::new(open(folder.path()));
    let receipt = store.append_one(&message("orders", b"x")).expect("append");
    store.wait_visible(receipt.end_offset(), Duration::MAX).expect("visible");
    let is_waiting = Arc::new(AtomicBool::new(false));
    let waiter = std::thread::spawn({
        let (store, is_waiting) = (Arc::clone(&store), Arc::clone(&is_waiting));
        move || {
            is_waiting.store(true, Ordering::SeqCst);
            store.wait_durable(escrowmq_store::LogOffset(u64::MAX), Duration::MAX)
        }
    });
    while !is_waiting.load(Ordering::SeqCst) {
        std::thread::yield_now();
    }
    store.close().expect("close");
    assert!(matches!(waiter.join().expect("waiter"), Err(StoreError::Closed)));
}

#[test]
fn an_abandoned_store_is_opened_again_as_after_a_kill() {
    let folder = tempfile::tempdir().expect("folder");
    let store = open(folder.path());
    let batch = vec![message("orders", b"body"); 50];
    store.append(&batch).expect("append");
    store.abandon();
    assert!(matches!(store.append(&batch), Err(StoreError::Closed)));
    assert!(folder.path().join("abort").exists());
    store.close().expect("nothing is left to do");
    assert!(folder.path().join("abort").exists(), "closing does not make it orderly");

    let store = open(folder.path());
    assert!(!store.recovery_report().was_orderly);
    let found = store.read_queue("orders", 0, QueueOffset(0), 100, usize::MAX).expect("read");
    assert_eq!(found.len(), 50);
}

#[test]
fn a_flush_that_a_test_has_fail_poisons_the_store_until_it_is_opened_again() {
    let folder = tempfile::tempdir().expect("folder");
    let options = || StoreOptions { flush: FlushMode::Sync, ..options() };
    let store = Store::open(folder.path(), options()).expect("open");
    store.fail_next_flush();
    let receipts = store.append(&[message("orders", b"body")]).expect("append");
    let refused = store.wait_durable(receipts[0].end_offset(), WAIT);
    assert!(matches!(refused, Err(StoreError::Poisoned { .. })), "{refused:?}");
    store.close().expect_err("it is poisoned");
    Store::open(folder.path(), options()).expect("open").flush().expect("all is well");
}
