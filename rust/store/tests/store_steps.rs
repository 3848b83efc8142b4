//! A store's life, step by step, on the real file system.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use escrowmq_store::disk::RealDisk;
use escrowmq_store::simulation::VirtualClock;
use escrowmq_store::{
    Arrival, ArrivalListener, FlushMode, LogOffset, NewMessage, QueueOffset, Retention, StoreCore,
    StoreError, StoreOptions,
};
use escrowmq_wire::{SysFlag, TransactionKind};

const QUEUES: [i32; 3] = [0, 1, 2];
const NOW_MS: i64 = 1_794_984_722_856;

fn options() -> StoreOptions {
    StoreOptions {
        segment_size_bytes: 4096,
        queue_file_entries: 20,
        index_slots: 50,
        index_entries: 100,
        ..StoreOptions::default()
    }
}

fn open_with(folder: &Path, options: StoreOptions) -> (StoreCore, VirtualClock) {
    let clock = VirtualClock::new(NOW_MS);
    let core = StoreCore::open(Arc::new(RealDisk), Arc::new(clock.clone()), folder, options).expect("open");
    (core, clock)
}

fn open(folder: &Path) -> StoreCore {
    open_with(folder, options()).0
}

fn message<'a>(topic: &'a str, queue_id: i32, body: &'a [u8]) -> NewMessage<'a> {
    NewMessage {
        topic,
        queue_id,
        flag: 0,
        sys_flag: SysFlag(0),
        born_timestamp_ms: NOW_MS,
        born_host: "127.0.0.1:4711".parse().expect("address"),
        store_host: None,
        is_stored: false,
        reconsume_times: 0,
        prepared_transaction_offset: 0,
        body,
        properties: b"KEYS\x01order-1\x02TAGS\x01paid\x02",
    }
}

fn settle(core: &StoreCore) {
    let end = core.flush_once().expect("flush");
    while core.build_once().expect("build") < end {}
}

fn bodies(core: &StoreCore, topic: &str, queue_id: u32) -> Vec<Vec<u8>> {
    let records = core.read_queue(topic, queue_id, QueueOffset(0), usize::MAX, usize::MAX).expect("read");
    records.iter().map(|record| record.view().body().to_vec()).collect()
}

#[test]
fn messages_come_back_by_queue_in_order_across_segments() {
    let folder = tempfile::tempdir().expect("folder");
    let core = open(folder.path());
    let texts: Vec<String> = (0..100).map(|n| format!("body {n}")).collect();
    let batch: Vec<_> =
        texts.iter().enumerate().map(|(n, text)| message("orders", QUEUES[n % 3], text.as_bytes())).collect();
    let receipts = core.append(&batch).expect("append");
    settle(&core);
    assert!(core.statistics().segments > 2, "the log rolled over");
    for queue_id in 0..3 {
        let expected: Vec<_> =
            texts.iter().skip(queue_id).step_by(3).map(|text| text.as_bytes().to_vec()).collect();
        assert_eq!(bodies(&core, "orders", u32::try_from(queue_id).expect("small")), expected);
    }
    let last = receipts.last().expect("receipt");
    assert_eq!(core.record_at(last.log_offset).expect("record").view().body(), b"body 99");
    assert_eq!(core.visible_end(), last.end_offset());
}

#[test]
fn in_sync_mode_nothing_is_visible_before_it_is_durable() {
    let folder = tempfile::tempdir().expect("folder");
    let core = open(folder.path());
    core.append(&[message("orders", 0, b"held")]).expect("append");
    core.build_once().expect("build");
    assert_eq!(core.visible_end(), LogOffset(0));
    assert!(bodies(&core, "orders", 0).is_empty());
    settle(&core);
    assert_eq!(bodies(&core, "orders", 0), [b"held"]);
}

#[test]
fn in_async_mode_queues_follow_the_log_and_not_the_disk() {
    let folder = tempfile::tempdir().expect("folder");
    let (core, _) = open_with(folder.path(), StoreOptions { flush: FlushMode::ASYNC_DEFAULT, ..options() });
    core.append(&[message("orders", 0, b"soon")]).expect("append");
    core.build_once().expect("build");
    assert_eq!(core.durable_end(), LogOffset(0));
    assert_eq!(bodies(&core, "orders", 0), [b"soon"]);
}

#[test]
fn prepared_and_rolled_back_records_stay_out_of_the_queues() {
    let folder = tempfile::tempdir().expect("folder");
    let core = open(folder.path());
    let flagged =
        |kind| NewMessage { sys_flag: SysFlag(0).with_transaction(kind), ..message("orders", 0, b"x") };
    let batch = [
        flagged(TransactionKind::Prepared),
        flagged(TransactionKind::Commit),
        flagged(TransactionKind::Rollback),
        flagged(TransactionKind::None),
    ];
    let receipts = core.append(&batch).expect("append");
    settle(&core);
    assert_eq!(receipts.iter().map(|receipt| receipt.queue_offset.0).collect::<Vec<_>>(), [0, 0, 0, 1]);
    assert_eq!(bodies(&core, "orders", 0).len(), 2);
}

#[test]
fn a_bad_message_leaves_the_whole_batch_out() {
    let folder = tempfile::tempdir().expect("folder");
    let core = open(folder.path());
    let huge = vec![b'x'; 5 << 20];
    let long = vec![b'p'; 40_000];
    let topic = "t".repeat(128);
    let bad = [
        message("../etc", 0, b""),
        message("", 0, b""),
        message(&topic, 0, b""),
        message("orders", -1, b""),
        message("orders", 0, &huge),
        message("orders", 0, &huge[..4096]),
        NewMessage { properties: &long, ..message("orders", 0, b"") },
        NewMessage { properties: b"a\x01b\0\x02", ..message("orders", 0, b"") },
    ];
    for bad in bad {
        let error = core.append(&[message("orders", 0, b"good"), bad]).expect_err("refused");
        assert!(matches!(error, StoreError::BadMessage { index: 1, .. }), "{error}");
    }
    assert_eq!(core.log_end(), LogOffset(0));
}

#[test]
fn an_orderly_stop_is_reopened_without_a_scan() {
    let folder = tempfile::tempdir().expect("folder");
    let core = open(folder.path());
    core.append(&[message("orders", 0, b"first"), message("orders", 0, b"second")]).expect("append");
    core.close().expect("close");
    drop(core);
    let core = open(folder.path());
    assert!(core.recovery_report().was_orderly, "{:?}", core.recovery_report());
    let receipt = core.append(&[message("orders", 0, b"third")]).expect("append")[0];
    assert_eq!(receipt.queue_offset, QueueOffset(2));
    settle(&core);
    assert_eq!(bodies(&core, "orders", 0), [&b"first"[..], b"second", b"third"]);
}

#[test]
fn a_store_that_was_killed_keeps_what_was_written() {
    let folder = tempfile::tempdir().expect("folder");
    let core = open(folder.path());
    for n in 0..60 {
        core.append(&[message("orders", n % 2, b"before the kill")]).expect("append");
    }
    settle(&core);
    core.append(&[message("orders", 0, b"not flushed, but written")]).expect("append");
    drop(core);
    let core = open(folder.path());
    let report = core.recovery_report();
    assert!(!report.was_orderly);
    assert_eq!(report.records_checked, 61);
    assert_eq!(bodies(&core, "orders", 0).len() + bodies(&core, "orders", 1).len(), 61);
}

#[test]
fn queues_that_were_removed_come_back() {
    let folder = tempfile::tempdir().expect("folder");
    let core = open(folder.path());
    for n in 0..50 {
        core.append(&[message("orders", n % 2, b"orders"), message("payments", 0, b"payments")])
            .expect("append");
    }
    core.close().expect("close");
    drop(core);
    std::fs::remove_dir_all(folder.path().join("consumequeue/orders/1")).expect("remove");
    let core = open(folder.path());
    assert!(core.recovery_report().has_rebuilt_queues, "{:?}", core.recovery_report());
    assert_eq!(bodies(&core, "orders", 1).len(), 25);
    assert_eq!(bodies(&core, "payments", 0).len(), 50);
}

#[test]
fn a_topic_that_was_deleted_and_made_again_is_rebuilt_as_the_later_one() {
    let folder = tempfile::tempdir().expect("folder");
    let core = open(folder.path());
    core.append(&[message("orders", 0, b"old"), message("orders", 0, b"older still")]).expect("append");
    core.close().expect("close");
    drop(core);
    // As Apache deletes a topic: its queues go, its records stay, and its offsets begin again.
    std::fs::remove_dir_all(folder.path().join("consumequeue/orders")).expect("remove");
    std::fs::remove_dir_all(folder.path().join("escrowmq")).expect("remove");
    let log = folder.path().join("commitlog/00000000000000000000");
    let mut bytes = std::fs::read(&log).expect("log");
    let size = u32::from_be_bytes(bytes[..4].try_into().expect("size")) as usize;
    let second = u32::from_be_bytes(bytes[size..size + 4].try_into().expect("size")) as usize;
    bytes[size + 20..size + 28].copy_from_slice(&0_u64.to_be_bytes());
    assert_eq!(bytes[size + second..size + second + 4], [0; 4], "two records");
    std::fs::write(&log, bytes).expect("log");
    let core = open(folder.path());
    assert_eq!(bodies(&core, "orders", 0), [b"older still"]);
}

#[test]
fn a_deleted_topic_is_gone_for_good_and_begins_at_0_when_it_is_made_again() {
    let folder = tempfile::tempdir().expect("folder");
    let core = open(folder.path());
    for n in 0..50_u8 {
        core.append(&[message("orders", i32::from(n % 2), &[n]), message("other", 0, &[n])]).expect("append");
    }
    settle(&core);
    let held = core.read_queue("orders", 0, QueueOffset(0), 10, usize::MAX).expect("read");
    assert_eq!(core.delete_topics(&["orders", "none"]).expect("delete"), 2);
    assert!(core.queue("orders", 0).is_none() && !folder.path().join("consumequeue/orders").exists());
    assert_eq!(held[3].view().body(), [6], "who reads keeps what was read");
    assert_eq!(bodies(&core, "other", 0).len(), 50);
    assert_eq!(
        core.find_by_key("orders", "order-1", 100, 0, i64::MAX).expect("find").len(),
        50,
        "the log has them"
    );
    core.append(&[message("orders", 1, b"new")]).expect("append");
    settle(&core);
    let killed = |core: StoreCore| {
        drop(core);
        std::fs::remove_dir_all(folder.path().join("consumequeue")).expect("remove");
        open(folder.path())
    };
    let core = killed(core);
    assert_eq!(bodies(&core, "orders", 1), [b"new"]);
    assert!(core.queue("orders", 0).is_none());
    assert_eq!(core.delete_topics(&["orders"]).expect("once more"), 1);
    let core = killed(core);
    assert_eq!(core.queues().iter().map(|queue| queue.topic.as_str()).collect::<Vec<_>>(), ["other"]);
    core.close().expect("close");
    assert!(matches!(core.delete_topics(&["other"]), Err(StoreError::Closed)));
}

#[test]
fn a_deletion_that_is_refused_since_somebody_appends_deletes_nothing_at_the_next_start() {
    let folder = tempfile::tempdir().expect("folder");
    let core = open(folder.path());
    core.append(&[message("other", 0, b"gone")]).expect("append");
    core.delete_topics(&["other"]).expect("nobody appends to it");
    let list = || std::fs::read(folder.path().join("escrowmq/deleted")).expect("list");
    let listed = list();
    let is_over = AtomicBool::new(false);
    let count = std::thread::scope(|scope| {
        let (begun, has_begun) = std::sync::mpsc::channel();
        let (core, is_over) = (&core, &is_over);
        let writer = scope.spawn(move || {
            let mut count = 0;
            while !is_over.load(Ordering::SeqCst) {
                core.append(&[message("orders", 0, b"kept")]).expect("append");
                count += 1;
                let _ = begun.send(());
            }
            count
        });
        has_begun.recv().expect("a message");
        let refused = core.delete_topics(&["orders"]);
        is_over.store(true, Ordering::SeqCst);
        assert!(matches!(refused, Err(StoreError::TopicInUse { .. })), "{refused:?}");
        writer.join().expect("writer")
    });
    assert_eq!(list(), listed);
    drop(core);
    assert_eq!(bodies(&open(folder.path()), "orders", 0), vec![b"kept"; count]);
}

#[test]
fn what_a_deletion_that_was_cut_short_has_left_goes_at_the_next_start() {
    let folder = tempfile::tempdir().expect("folder");
    let core = open(folder.path());
    core.append(&[message("orders", 0, b"old")]).expect("append");
    settle(&core);
    core.checkpoint_once().expect("checkpoint");
    let queue = folder.path().join("consumequeue/orders/0/00000000000000000000");
    let left = std::fs::read(&queue).expect("queue");
    core.delete_topics(&["orders"]).expect("delete");
    drop(core);
    std::fs::create_dir_all(queue.parent().expect("folder")).expect("create");
    std::fs::write(&queue, left).expect("put back");
    let core = open(folder.path());
    assert!(core.queue("orders", 0).is_none() && !queue.exists());
}

/// A store with sixty messages whose segments expire after a second.
fn open_to_expire(folder: &Path) -> (StoreCore, VirtualClock) {
    let retention = Retention {
        age_max_ms: 1_000,
        clean_ratio: 0.0,
        force_ratio: 2.0,
        refuse_ratio: 2.0,
        ..Retention::default()
    };
    let (core, clock) = open_with(folder, StoreOptions { retention, ..options() });
    for n in 0..60 {
        core.append(&[message("orders", 0, format!("body {n}").as_bytes())]).expect("append");
    }
    settle(&core);
    (core, clock)
}

#[test]
fn old_segments_expire_and_readers_keep_what_they_hold() {
    let folder = tempfile::tempdir().expect("folder");
    let (core, clock) = open_to_expire(folder.path());
    let held = core.record_at(LogOffset(0)).expect("record");
    assert_eq!(core.expire_once().expect("expire").segments_expired, 0, "nothing is old yet");
    clock.advance(2_000);
    let report = core.expire_once().expect("expire");
    assert!(report.segments_expired > 0);
    assert_eq!(report.files_removed, 0, "a reader holds the first file");
    assert_eq!(held.view().body(), b"body 0");
    assert!(core.record_at(LogOffset(0)).is_err());
    let status = core.queues().remove(0);
    assert!(status.min_offset > QueueOffset(0));
    let first = core.read_queue("orders", 0, status.min_offset, 1, usize::MAX).expect("read");
    assert_eq!(first[0].view().queue_offset(), status.min_offset.0);
    drop(held);
    assert_eq!(core.expire_once().expect("expire").files_waiting, 0);
    drop(core);
    let (core, _) = open_with(folder.path(), options());
    assert_eq!(core.queues().remove(0).min_offset, status.min_offset);
    assert_eq!(core.log_start(), report.log_start);
}

#[test]
fn a_reader_holds_back_the_removal_of_a_file_for_its_grace_and_keeps_its_record_after_it() {
    let folder = tempfile::tempdir().expect("folder");
    let (core, clock) = open_to_expire(folder.path());
    let file = folder.path().join("commitlog").join("00000000000000000000");
    let held = core.record_at(LogOffset(0)).expect("record");
    clock.advance(2_000);
    let waiting = core.expire_once().expect("expire").files_waiting;
    assert!(waiting > 0);
    clock.advance(Retention::default().reader_grace_ms - 1);
    let report = core.expire_once().expect("expire");
    assert_eq!((report.files_removed, report.files_waiting), (0, waiting), "not a moment earlier");
    assert!(file.exists());
    clock.advance(1);
    let report = core.expire_once().expect("expire");
    assert_eq!((report.files_removed, report.files_waiting), (waiting, 0));
    assert!(!file.exists());
    assert_eq!(held.view().body(), b"body 0");
}

#[test]
fn messages_are_found_by_key() {
    let folder = tempfile::tempdir().expect("folder");
    let core = open(folder.path());
    core.append(&[
        message("orders", 0, b"first"),
        message("orders", 1, b"second"),
        message("payments", 0, b"other"),
    ])
    .expect("append");
    settle(&core);
    let found = core.find_by_key("orders", "order-1", 10, 0, i64::MAX).expect("find");
    assert_eq!(
        found.iter().map(|record| record.view().body()).collect::<Vec<_>>(),
        [&b"second"[..], b"first"]
    );
    assert!(core.find_by_key("orders", "order-2", 10, 0, i64::MAX).expect("find").is_empty());
}

#[derive(Debug, Default)]
struct Heard(Mutex<Vec<String>>);

impl ArrivalListener for Heard {
    fn arrived(&self, end: LogOffset, queues: &[Arrival]) {
        let queues = queues.iter().map(|queue| format!(" {}/{}", queue.topic, queue.queue_id));
        self.0.lock().expect("lock").push(format!("{}:{}", end.0, queues.collect::<String>()));
    }

    fn stopped(&self) {
        self.0.lock().expect("lock").push("stopped".to_string());
    }
}

#[test]
fn a_listener_hears_which_queues_have_grown() {
    let folder = tempfile::tempdir().expect("folder");
    let core = open(folder.path());
    let heard = Arc::new(Heard::default());
    let listener: Arc<dyn ArrivalListener> = Arc::clone(&heard) as _;
    assert!(core.listen(Arc::clone(&listener)));
    assert!(!core.listen(listener), "there is one");
    core.append(&[message("orders", 1, b""), message("orders", 0, b""), message("orders", 1, b"")])
        .expect("append");
    settle(&core);
    assert_eq!(*heard.0.lock().expect("lock"), [format!("{}: orders/0 orders/1", core.log_end().0)]);
}

#[test]
fn an_option_that_no_store_can_be_made_with_is_refused_by_name() {
    let folder = tempfile::tempdir().expect("folder");
    let bad = [
        StoreOptions { segment_size_bytes: 0, ..options() },
        StoreOptions { segment_size_bytes: 1 << 40, ..options() },
        StoreOptions { queue_file_entries: 0, ..options() },
        StoreOptions { index_slots: 0, ..options() },
        StoreOptions { index_entries: 1, ..options() },
        StoreOptions { checkpoint_interval_ms: 0, ..options() },
        StoreOptions { retention: Retention { delete_hour: 24, ..Retention::default() }, ..options() },
        StoreOptions { retention: Retention { refuse_ratio: f64::NAN, ..Retention::default() }, ..options() },
    ];
    for options in bad {
        let clock = Arc::new(VirtualClock::new(NOW_MS));
        let result = StoreCore::open(Arc::new(RealDisk), clock, folder.path(), options);
        assert!(matches!(result.expect_err("refused"), StoreError::BadOption { .. }));
    }
    assert_eq!(std::fs::read_dir(folder.path()).expect("folder").count(), 0, "nothing was made");
}

/// Goal: a record that was taken once is taken for ever. Apache stores NUL bytes in properties, which after a kill look
/// like a sector that was lost.
#[test]
fn nul_bytes_that_apache_stored_cost_nothing_that_comes_after_them() {
    let folder = tempfile::tempdir().expect("folder");
    let core = open(folder.path());
    core.append(&[message("orders", 0, b"with a NUL")]).expect("append");
    core.close().expect("close");
    drop(core);
    let log = folder.path().join("commitlog/00000000000000000000");
    let mut bytes = std::fs::read(&log).expect("log");
    let key = bytes.windows(7).position(|window| window == b"order-1").expect("its key");
    bytes[key + 3] = 0;
    std::fs::write(&log, bytes).expect("log");
    std::fs::remove_dir_all(folder.path().join("escrowmq")).expect("no note of ours");
    let core = open(folder.path());
    core.append(&[message("orders", 0, b"acknowledged")]).expect("append");
    settle(&core);
    drop(core);
    let core = open(folder.path());
    assert_eq!(bodies(&core, "orders", 0), [&b"with a NUL"[..], b"acknowledged"]);
    core.close().expect("close");
    drop(core);
    let core = open(folder.path());
    core.append(&[message("orders", 0, b"after an orderly start")]).expect("append");
    settle(&core);
    drop(core);
    assert_eq!(bodies(&open(folder.path()), "orders", 0).len(), 3);
}
