//! What must hold of a store that was just opened, each as a function that panics where it does not.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use escrowmq_store::disk::Disk;
use escrowmq_store::simulation::{Random, SimulatedDisk, Survival, VirtualClock};
use escrowmq_store::{QueueOffset, StoreCore, StoreOptions, StoredRecord};
use escrowmq_wire::{LogItem, tags_code};

use super::model::{Allowed, Model};
use super::workload::{ROOT, open};

/// The bytes of a folder's files, by path.
pub type Folder = BTreeMap<PathBuf, Vec<u8>>;

/// A folder of the store.
pub fn folder(disk: &SimulatedDisk, name: &str) -> Folder {
    disk.files_under(Path::new(ROOT).join(name))
}

/// Everything that can be seen by reading alone. The model forgets what lies beyond the log's end.
pub fn check_contents(disk: &SimulatedDisk, store: &StoreCore, model: &mut Model, allowed: Allowed) {
    check_log(disk, store, model, allowed);
    model.cut(store.log_end().0);
    model.settle_deletions(store);
    check_queues(store, model);
    check_index(store, model);
    check_file_names(disk);
}

/// Acknowledged records are there, in their bytes and places; nothing else is, and behind them are zeros.
pub fn check_log(disk: &SimulatedDisk, store: &StoreCore, model: &Model, allowed: Allowed) {
    let (start, end) = (store.log_start().0, store.log_end().0);
    assert!(
        start <= allowed.start_max,
        "the log begins at {start}, nothing expired behind {}",
        allowed.start_max
    );
    assert!(end >= allowed.acknowledged, "the log ends at {end}, acknowledged was {}", allowed.acknowledged);
    assert_eq!((store.durable_end().0, store.visible_end().0), (end, end), "durable and visible end");

    check_log_files(disk, store, model);
    let first = folder(disk, "commitlog").keys().next().map(|path| segment_start(path));
    assert!(
        first.is_none_or(|first| first == start),
        "the log's files begin at {first:?}, the log at {start}"
    );
    for record in model.records_from(start).take_while(|record| record.end() <= end) {
        let read = store.record_at(record.receipt.log_offset).unwrap_or_else(|error| panic!("{error}"));
        assert!(read.bytes() == record.bytes, "read other bytes at {}", record.start());
    }
}

/// The log's files hold the records that were appended up to its end, nothing else, and zeros behind them.
pub fn check_log_files(disk: &SimulatedDisk, store: &StoreCore, model: &Model) {
    let (start, end) = (store.log_start().0, store.log_end().0);
    let found = walk(disk, start, end);
    let expected: Vec<(u64, &[u8])> = model
        .records_from(start)
        .take_while(|record| record.end() <= end)
        .map(|record| (record.start(), record.bytes.as_slice()))
        .collect();
    for (found, expected) in found.iter().zip(&expected) {
        assert_eq!(found.0, expected.0, "a record is not where it was appended");
        assert!(found.1 == expected.1, "the record at {} has other bytes than were appended", found.0);
    }
    assert_eq!(found.len(), expected.len(), "records from {start} to {end}");
}

/// The records in the log's files, which must reach exactly to `end` and be followed by zeros.
fn walk(disk: &SimulatedDisk, start: u64, end: u64) -> Vec<(u64, Vec<u8>)> {
    let mut records = Vec::new();
    for (path, bytes) in folder(disk, "commitlog") {
        let segment = segment_start(&path);
        if segment < start {
            // Expired, and waiting for its readers or for a disk that works.
            continue;
        }
        let mut at = 0;
        while segment + (at as u64) < end && at < bytes.len() {
            match LogItem::parse(&bytes[at..], segment + at as u64) {
                Ok(LogItem::Record(record)) => {
                    record.check_whole().unwrap_or_else(|error| panic!("{error}"));
                    records.push((record.log_offset(), record.bytes().to_vec()));
                    at += record.bytes().len();
                }
                Ok(LogItem::Blank { .. }) => at = bytes.len(),
                Err(error) => panic!("{} at {at}, before the log's end {end}: {error}", path.display()),
            }
        }
        assert!(bytes[at..].iter().all(|byte| *byte == 0), "{} is not zero from {at} on", path.display());
    }
    records
}

/// Queues are contiguous, hold each record once, and agree with it.
pub fn check_queues(store: &StoreCore, model: &Model) {
    let expected = model.queues_from(store.log_start().0);
    let mut unseen: BTreeSet<_> = expected.keys().cloned().collect();
    for status in store.queues() {
        let name = (status.topic.clone(), status.queue_id);
        unseen.remove(&name);
        let records = expected.get(&name).cloned().unwrap_or_default();
        let bounds = model.bounds(&name.0, name.1, store.log_start().0);
        assert_eq!((status.min_offset.0, status.max_offset.0), bounds, "bounds of {name:?}");

        let queue = store.queue(&name.0, name.1).expect("it is listed");
        let entries = queue.entries(status.min_offset, usize::MAX);
        assert_eq!(entries.len(), records.len(), "entries of {name:?}");
        for (entry, record) in entries.iter().zip(&records) {
            let code = record.message.tags.as_deref().map_or(0, tags_code);
            let found = (entry.log_offset, entry.record_size, entry.tags_code);
            assert_eq!(
                found,
                (record.receipt.log_offset, record.receipt.size_bytes, code),
                "an entry of {name:?}"
            );
        }
        let read = read_all(store, &name, status.min_offset);
        assert_eq!(read.len(), records.len(), "records of {name:?}");
        for (read, record) in read.iter().zip(&records) {
            assert!(
                read.bytes() == record.bytes,
                "{name:?} leads to another record than {:?}",
                record.receipt
            );
        }
    }
    assert!(unseen.is_empty(), "queues {unseen:?} are missing");
}

fn read_all(store: &StoreCore, name: &(String, u32), from: QueueOffset) -> Vec<StoredRecord> {
    let mut records: Vec<StoredRecord> = Vec::new();
    loop {
        let next = QueueOffset(from.0 + records.len() as u64);
        let more = store.read_queue(&name.0, name.1, next, 7, 4000).unwrap_or_else(|error| panic!("{error}"));
        if more.is_empty() {
            return records;
        }
        records.extend(more);
    }
}

/// Every record is found by each of its keys, and by no other.
pub fn check_index(store: &StoreCore, model: &Model) {
    let mut expected: BTreeMap<(&str, &str), BTreeSet<u64>> = BTreeMap::new();
    for record in model.records_from(store.log_start().0) {
        for key in record.message.index_keys() {
            expected.entry((&record.message.topic, key)).or_default().insert(record.start());
        }
    }
    expected.insert(("orders", "no such key"), BTreeSet::new());
    for ((topic, key), offsets) in expected {
        let found = store.find_by_key(topic, key, 1000, i64::MIN, i64::MAX);
        let found = found.unwrap_or_else(|error| panic!("{error}"));
        let found: BTreeSet<u64> = found.iter().map(|record| record.view().log_offset()).collect();
        assert_eq!(found, offsets, "records of {topic} with key {key}");
    }
}

/// The folders that an Apache broker reads hold only full-size files with 20-digit names.
pub fn check_file_names(disk: &SimulatedDisk) {
    for name in ["commitlog", "consumequeue"] {
        let files = folder(disk, name);
        let sizes: BTreeSet<usize> = files.values().map(Vec::len).collect();
        assert!(sizes.len() <= 1, "{name} has files of sizes {sizes:?}");
        for path in files.keys() {
            let name = path.file_name().expect("a file has a name").to_string_lossy();
            let is_number = name.len() == 20 && name.bytes().all(|byte| byte.is_ascii_digit());
            assert!(is_number, "{} is no name for a file of the store", path.display());
        }
    }
}

/// Whatever the next power loss leaves, the log is the same up to its end and zero behind it.
pub fn check_durable(disk: &SimulatedDisk, store: &StoreCore, random: &mut Random) {
    let images =
        [disk.crash(disk.position(), Survival::Synced), disk.crash(disk.position(), Survival::Any(random))];
    let now = folder(disk, "commitlog");
    for image in images {
        assert!(folder(&image, "commitlog") == now, "the log up to {} is not all durable", store.log_end());
        check_file_names(&image);
    }
}

/// The queues and the index come back the same from the log alone.
pub fn check_rebuild(disk: &SimulatedDisk, clock: &VirtualClock, options: &StoreOptions, has_expired: bool) {
    let bare = disk.copy();
    for name in ["consumequeue", "index"] {
        remove_folder(&bare, name);
    }
    let store = open(&bare, clock, options);
    assert!(folder(&bare, "commitlog") == folder(disk, "commitlog"), "a rebuild changed the log");
    if !has_expired {
        assert_same_folder(&folder(&bare, "consumequeue"), &folder(disk, "consumequeue"), "rebuilt queues");
        let (rebuilt, kept) = (folder(&bare, "index"), folder(disk, "index"));
        assert!(rebuilt.values().eq(kept.values()), "the index is not the same when it is rebuilt");
    }
    drop(store);
}

/// Two folders have the same files.
pub fn assert_same_folder(one: &Folder, other: &Folder, what: &str) {
    let names = |folder: &Folder| folder.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(one), names(other), "{what}: files");
    for (path, bytes) in one {
        let differs = bytes.iter().zip(&other[path]).position(|(one, other)| one != other);
        assert_eq!(differs, None, "{what}: first difference in {}", path.display());
        assert_eq!(bytes.len(), other[path].len(), "{what}: size of {}", path.display());
    }
}

/// Removes a folder of the store with all that is in it, for good.
pub fn remove_folder(disk: &SimulatedDisk, name: &str) {
    let path = Path::new(ROOT).join(name);
    remove_below(disk, &path);
    disk.remove(&path).expect("it is empty");
    disk.sync_folder(path.parent().expect("it is below the root")).expect("it is there");
}

fn remove_below(disk: &SimulatedDisk, folder: &Path) {
    for entry in disk.list(folder).expect("it is there") {
        let path = folder.join(&entry.name);
        if entry.is_folder {
            remove_below(disk, &path);
        }
        disk.remove(&path).expect("it is there, and empty");
    }
    disk.sync_folder(folder).expect("it is there");
}

fn segment_start(path: &Path) -> u64 {
    path.file_name().and_then(|name| name.to_str()).and_then(|name| name.parse().ok()).expect("20 digits")
}
