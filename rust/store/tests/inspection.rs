//! Stores that are looked at: whole ones, and ones that something has happened to.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use escrowmq_store::inspection::{Finding, Inspection, Part, Severity};
use escrowmq_store::{FlushMode, LogOffset, NewMessage, Receipt, Retention, Store, StoreError, StoreOptions};
use escrowmq_wire::SysFlag;
use tempfile::TempDir;

const WAIT: Duration = Duration::from_secs(60);
const INDEX_HEADER: u64 = 40;

fn options() -> StoreOptions {
    StoreOptions {
        segment_size_bytes: 16 * 1024,
        queue_file_entries: 100,
        index_slots: 50,
        index_entries: 120,
        flush: FlushMode::Sync,
        retention: Retention { refuse_ratio: 2.0, ..Retention::default() },
        ..StoreOptions::default()
    }
}

fn message<'a>(topic: &'a str, queue_id: i32, body: &'a [u8], properties: &'a [u8]) -> NewMessage<'a> {
    NewMessage {
        topic,
        queue_id,
        flag: 0,
        sys_flag: SysFlag(0),
        born_timestamp_ms: 1_794_984_722_856,
        born_host: "127.0.0.1:4711".parse().expect("address"),
        store_host: None,
        is_stored: false,
        reconsume_times: 0,
        prepared_transaction_offset: 0,
        body,
        properties,
    }
}

/// Messages of two topics in several queues, with keys, tags and neither, over several segments, queue and index files.
fn fill(store: &Store) -> Vec<Receipt> {
    let mut receipts = Vec::new();
    for number in 0..300_i32 {
        let body = vec![b'x'; 100 + usize::try_from(number).expect("positive")];
        let keys = format!("UNIQ_KEY\u{1}id{number}\u{2}KEYS\u{1}a{number} b\u{2}TAGS\u{1}paid\u{2}");
        let properties: &[u8] = if number % 3 == 0 { b"" } else { keys.as_bytes() };
        let topic = if number % 5 == 0 { "payments" } else { "orders" };
        receipts.extend(store.append(&[message(topic, number % 2, &body, properties)]).expect("append"));
    }
    store.wait_visible(store.log_end(), WAIT).expect("visible");
    receipts
}

/// A store that was closed in order, and where its messages are.
fn closed() -> (TempDir, Vec<Receipt>) {
    let folder = tempfile::tempdir().expect("folder");
    let store = Store::open(folder.path(), options()).expect("open");
    let receipts = fill(&store);
    fs::write(folder.path().join("config/topics.json"), b"{\"a\":1}").expect("config");
    store.close().expect("close");
    (folder, receipts)
}

fn inspect(folder: &Path) -> Inspection {
    let mut inspection = Inspection::open(folder, &options()).expect("a store");
    let mut before = inspection.progress().done_bytes;
    while inspection.check(5_000).expect("it can be read") {
        let progress = inspection.progress();
        assert!((before..=progress.total_bytes).contains(&progress.done_bytes), "{progress:?}");
        before = progress.done_bytes;
    }
    let progress = inspection.progress();
    assert_eq!(progress.done_bytes, progress.total_bytes);
    inspection
}

/// What is wrong with a store, as part and offset.
fn errors(folder: &Path) -> Vec<(Part, Option<u64>)> {
    let inspection = inspect(folder);
    let is_error = |finding: &&Finding| finding.severity == Severity::Error;
    inspection.findings().iter().filter(is_error).map(|finding| (finding.part, finding.offset)).collect()
}

fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).expect("folder") {
        let path = entry.expect("entry").path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.insert(path.clone(), fs::read(&path).expect("file"));
        }
    }
    found
}

fn flip(path: &Path, at: u64) {
    let file = OpenOptions::new().read(true).write(true).open(path).expect("file");
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).expect("read");
    file.write_all_at(&[!byte[0]], at).expect("write");
}

fn segment_of(folder: &Path, at: LogOffset) -> (PathBuf, u64) {
    let start = at.0 / options().segment_size_bytes * options().segment_size_bytes;
    (folder.join(format!("commitlog/{start:020}")), at.0 - start)
}

#[test]
fn a_whole_store_is_whole_and_looking_at_it_changes_nothing() {
    let (folder, receipts) = closed();
    let before = files(folder.path());
    let inspection = inspect(folder.path());
    assert_eq!(inspection.findings(), []);
    assert_eq!(inspection.counts(), (0, 0));
    let summary = inspection.summary().expect("a summary");
    assert_eq!(summary.log_end, receipts.last().expect("one").end_offset());
    assert_eq!(summary.queues.iter().map(|queue| queue.max_offset.0).sum::<u64>(), 300);
    assert_eq!((summary.holder, summary.was_killed), (None, false));
    assert!(summary.index_files.len() > 2 && summary.segments > 3, "{summary:?}");
    assert_eq!(summary.oldest_ms, Some(receipts[0].store_timestamp_ms));
    assert_eq!(summary.newest_ms, Some(receipts[299].store_timestamp_ms));
    assert!(files(folder.path()) == before, "nothing is written");
}

#[test]
fn a_store_that_is_open_says_by_whom() {
    let folder = tempfile::tempdir().expect("folder");
    let store = Store::open(folder.path(), options()).expect("open");
    fill(&store);
    let inspection = Inspection::open(folder.path(), &options()).expect("it can be looked at");
    assert_eq!(inspection.summary().expect("a summary").holder, Some(std::process::id()));
    store.append(&[message("orders", 0, b"on", b"")]).expect("looking has not taken the lock away");
    drop(store);
    let error = Inspection::open(&folder.path().join("nowhere"), &options()).expect_err("no store");
    assert!(matches!(error, StoreError::Io { .. }), "{error}");
}

#[test]
fn a_body_that_has_changed_is_found_where_it_is() {
    let (folder, receipts) = closed();
    let at = receipts[77].log_offset;
    let (path, within) = segment_of(folder.path(), at);
    flip(&path, within + 120);
    assert_eq!(errors(folder.path()), [(Part::Log, Some(at.0))]);
}

#[test]
fn a_record_that_is_none_is_found_and_the_next_segment_is_checked_all_the_same() {
    let (folder, receipts) = closed();
    let at = receipts[20].log_offset;
    let (path, within) = segment_of(folder.path(), at);
    flip(&path, within + 4);
    let later = receipts[250].log_offset;
    let (path, within) = segment_of(folder.path(), later);
    flip(&path, within + 120);
    let found: Vec<_> = errors(folder.path()).into_iter().filter(|(part, _)| *part == Part::Log).collect();
    assert_eq!(found, [(Part::Log, Some(at.0)), (Part::Log, Some(later.0))]);
}

#[test]
fn a_queue_that_names_another_record_is_found() {
    let (folder, _) = closed();
    let queue = folder.path().join("consumequeue/orders/1/00000000000000000000");
    flip(&queue, 7 * 20 + 7);
    let found = errors(folder.path());
    assert!(found.contains(&(Part::Queue, Some(7))), "{found:?}");
    assert!(found.iter().all(|finding| *finding == (Part::Queue, Some(7))), "{found:?}");
}

#[test]
fn a_tag_that_does_not_agree_is_found() {
    let (folder, _) = closed();
    flip(&folder.path().join("consumequeue/orders/0/00000000000000000000"), 3 * 20 + 19);
    assert_eq!(errors(folder.path()), [(Part::Queue, Some(3))]);
}

#[test]
fn an_entry_that_no_record_accounts_for_is_found() {
    let (folder, _) = closed();
    let queue = folder.path().join("consumequeue/payments/0/00000000000000000000");
    let file = OpenOptions::new().read(true).write(true).open(queue).expect("file");
    let count = inspect(folder.path()).summary().expect("a summary").queues;
    let count = count.iter().find(|queue| (queue.topic.as_str(), queue.queue_id) == ("payments", 0));
    let end = count.expect("the queue").max_offset.0;
    let mut last = [0; 20];
    file.read_exact_at(&mut last, (end - 1) * 20).expect("read");
    last[7] += 1;
    file.write_all_at(&last, end * 20).expect("write");
    assert_eq!(errors(folder.path()), [(Part::Queue, Some(end))]);
}

#[test]
fn a_queue_that_is_gone_is_found() {
    let (folder, _) = closed();
    fs::remove_dir_all(folder.path().join("consumequeue/payments/1")).expect("remove");
    let found = errors(folder.path());
    assert_eq!(found.len(), 30);
    assert!(found.iter().all(|(part, _)| *part == Part::Queue), "{found:?}");
}

fn index_file(folder: &Path, number: usize) -> PathBuf {
    let mut paths: Vec<_> = fs::read_dir(folder.join("index"))
        .expect("folder")
        .map(|entry| entry.expect("entry").path())
        .collect();
    paths.sort();
    paths[number].clone()
}

#[test]
fn an_index_entry_with_another_hash_or_record_is_found() {
    let entry = |number: u64| INDEX_HEADER + u64::from(options().index_slots) * 4 + number * 20;
    for within in [3, 11] {
        let (folder, _) = closed();
        flip(&index_file(folder.path(), 1), entry(5) + within);
        let found = errors(folder.path());
        assert!(!found.is_empty() && found.iter().all(|(part, _)| *part == Part::Index), "{found:?}");
    }
}

#[test]
fn a_slot_that_leads_nowhere_is_found() {
    let (folder, _) = closed();
    flip(&index_file(folder.path(), 0), INDEX_HEADER + 4 * 7 + 3);
    assert_eq!(errors(folder.path()), [(Part::Index, None)]);
}

#[test]
fn an_index_of_other_sizes_is_not_checked_and_says_so() {
    let (folder, _) = closed();
    let other = StoreOptions { index_slots: 51, ..options() };
    let mut inspection = Inspection::open(folder.path(), &other).expect("a store");
    while inspection.check(u64::MAX).expect("it can be read") {}
    assert_eq!(inspection.counts(), (0, 1));
    assert!(inspection.findings()[0].message.starts_with("not checked: "));
}

#[test]
fn a_checkpoint_of_the_future_and_broken_configuration_are_found() {
    let (folder, _) = closed();
    let checkpoint = OpenOptions::new().write(true).open(folder.path().join("checkpoint")).expect("file");
    checkpoint.write_all_at(&(1_i64 << 50).to_be_bytes(), 8).expect("write");
    fs::write(folder.path().join("config/topics.json"), b"{\"a\":").expect("config");
    assert_eq!(errors(folder.path()), [(Part::Checkpoint, None), (Part::Config, None)]);
    fs::write(folder.path().join("config/topics.json.bak"), b"{}").expect("config");
    assert_eq!(errors(folder.path()), [(Part::Checkpoint, None)], "its backup stands in");
}

#[test]
fn what_a_killed_process_leaves_is_no_error() {
    let folder = tempfile::tempdir().expect("folder");
    let store = Store::open(folder.path(), StoreOptions { flush: FlushMode::ASYNC_DEFAULT, ..options() });
    let store = store.expect("open");
    fill(&store);
    store.append(&vec![message("orders", 0, b"last", b"KEYS\x01k\x02"); 40]).expect("append");
    store.abandon();
    drop(store);
    let inspection = inspect(folder.path());
    assert!(inspection.summary().expect("a summary").was_killed);
    assert_eq!(inspection.counts().0, 0, "{:?}", inspection.findings());

    let end = inspection.summary().expect("a summary").log_end;
    let (path, within) = segment_of(folder.path(), end);
    let file = OpenOptions::new().write(true).open(path).expect("file");
    file.write_all_at(&[0, 0, 1, 0, 0xDA, 0xA3, 0x20, 0xA7, 9], within).expect("a torn record");
    let inspection = inspect(folder.path());
    assert_eq!(inspection.counts().0, 0, "{:?}", inspection.findings());
    let torn = inspection.findings().iter().find(|finding| finding.part == Part::Log).expect("a note");
    assert_eq!((torn.severity, torn.offset), (Severity::Note, Some(end.0)));
}
