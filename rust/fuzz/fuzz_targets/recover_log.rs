//! A store directory whose files hold anything: commit log, a queue, an index, the checkpoint, the stop note. Opening it
//! says no with a clear error, or recovers it; then it can be read and appended to, and recovering it again changes
//! nothing. Run with `-malloc_limit_mb=32`: no length in a file may cost memory.

#![no_main]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use escrowmq_store::simulation::{SimulatedDisk, VirtualClock};
use escrowmq_store::{NewMessage, QueueOffset, StoreCore, StoreOptions};
use escrowmq_wire::{Record, SysFlag, encode_blank_into};
use libfuzzer_sys::fuzz_target;

const SEGMENT_SIZE: usize = 4096;
const QUEUE_SIZE: usize = 20 * 10;
const INDEX_SIZE: usize = 40 + 4 * 8 + 20 * 16;

fuzz_target!(|bytes: &[u8]| {
    let Some((&flags, bytes)) = bytes.split_first() else { return };
    let disk = disk(flags, bytes);
    let twin = disk.copy();
    let Ok(store) = open(&disk) else {
        assert!(open(&twin).is_err(), "the same files were refused the first time");
        return;
    };
    drop(open(&twin).expect("the same files were accepted the first time"));
    assert_eq!(files(&disk), files(&twin), "two recoveries of the same files");

    read_all(&store);
    append(&store);
    read_all(&store);
    let before = files(&disk);
    drop(store);
    drop(open(&disk).expect("what was recovered opens again"));
    assert_eq!(files(&disk), before, "a second recovery");
});

/// The input is cut into files by `flags`: which of them there are, and whether the store was killed. The log is bytes
/// of the input, or records with fields from it: few inputs would make a checksum agree.
fn disk(flags: u8, bytes: &[u8]) -> SimulatedDisk {
    let mut input = Input(bytes);
    let mut contents: Vec<(&str, Vec<u8>)> = Vec::new();
    for (bit, path, size) in [
        (1, "/store/checkpoint", 4096),
        (2, "/store/consumequeue/t/0/00000000000000000000", QUEUE_SIZE),
        (4, "/store/index/20261118065216720", INDEX_SIZE),
        (8, "/store/abort", 1),
        (16, "/store/escrowmq/stop", 100),
    ] {
        if flags & bit != 0 {
            contents.push((path, input.file(size, 40)));
        }
    }
    let names = ["/store/commitlog/00000000000000000000", "/store/commitlog/00000000000000004096"];
    let segments = if flags & 32 != 0 { &names[..] } else { &names[..1] };
    for (start, path) in (0..).step_by(SEGMENT_SIZE).zip(segments) {
        let segment =
            if flags & 64 != 0 { input.records(start) } else { input.file(SEGMENT_SIZE, SEGMENT_SIZE) };
        contents.push((path, segment));
    }
    SimulatedDisk::with_files(contents)
}

/// What is left of the fuzzer's bytes; zeros when nothing is.
struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn byte(&mut self) -> u8 {
        self.file(1, 1)[0]
    }

    /// A file of `size` bytes, of which the first come from the input.
    fn file(&mut self, size: usize, taken_max: usize) -> Vec<u8> {
        let (taken, left) = self.0.split_at(self.0.len().min(size).min(taken_max));
        self.0 = left;
        let mut bytes = taken.to_vec();
        bytes.resize(size, 0);
        bytes
    }

    /// A small number, or one at an edge.
    fn number(&mut self) -> u64 {
        match self.byte() {
            255 => u64::MAX,
            254 => i64::MAX as u64,
            253 => u64::MAX / 20,
            252 => u64::from(u32::MAX),
            small => u64::from(small),
        }
    }

    /// A segment of whole records, one of which may then be damaged.
    fn records(&mut self, start: u64) -> Vec<u8> {
        let mut segment = Vec::new();
        for _ in 0..self.byte() % 16 {
            let (body, properties) = (vec![self.byte(); self.byte().into()], self.file(24, 24));
            let record = Record {
                queue_id: self.number() as u32,
                flag: 0,
                queue_offset: self.number(),
                log_offset: start + segment.len() as u64,
                sys_flag: SysFlag(self.byte().into()),
                born_timestamp_ms: 0,
                born_host: ([127, 0, 0, 1], 1).into(),
                store_timestamp_ms: self.number() as i64,
                store_host: ([127, 0, 0, 1], 1).into(),
                reconsume_times: 0,
                prepared_transaction_offset: 0,
                body: &body,
                topic: ["t", "fuzz", "", "..", "a/b", "%RETRY%g", "SCHEDULE_TOPIC_XXXX", "\0"]
                    [usize::from(self.byte() % 8)],
                properties: properties.trim_ascii_end(),
            };
            if segment.len() + record.encoded_size() + 8 <= SEGMENT_SIZE {
                record.encode_into(&mut segment);
            }
        }
        if self.byte() % 2 == 1 {
            encode_blank_into((SEGMENT_SIZE - segment.len()) as u32, &mut segment);
        }
        segment.resize(SEGMENT_SIZE, 0);
        let damaged = usize::from(self.byte()) * 16 + usize::from(self.byte() % 16);
        segment[damaged] ^= self.byte();
        segment
    }
}

fn open(disk: &SimulatedDisk) -> escrowmq_store::Result<StoreCore> {
    let options = StoreOptions {
        segment_size_bytes: SEGMENT_SIZE as u64,
        queue_file_entries: 10,
        index_slots: 8,
        index_entries: 16,
        ..StoreOptions::default()
    };
    let clock = VirtualClock::new(1_794_984_736_720);
    StoreCore::open(Arc::new(disk.clone()), Arc::new(clock), Path::new("/store"), options)
}

/// What recovery may change, but for the names of index files, which tell the time.
fn files(disk: &SimulatedDisk) -> (BTreeMap<PathBuf, Vec<u8>>, BTreeMap<PathBuf, Vec<u8>>, Vec<Vec<u8>>) {
    (
        disk.files_under("/store/commitlog"),
        disk.files_under("/store/consumequeue"),
        disk.files_under("/store/index").into_values().collect(),
    )
}

fn read_all(store: &StoreCore) {
    for queue in store.queues() {
        let count = usize::try_from(queue.max_offset.0 - queue.min_offset.0).expect("a queue is in memory");
        let records = store.read_queue(&queue.topic, queue.queue_id, queue.min_offset, count, usize::MAX);
        for record in records.expect("a queue leads to whole records") {
            assert!(record.bytes().len() <= SEGMENT_SIZE);
        }
        let _ =
            store.find_by_key(&queue.topic, "key", 100, i64::MIN, i64::MAX).expect("the index can be read");
    }
    let _ = store.read_queue("t", 0, QueueOffset(0), 100, usize::MAX);
}

/// One more message. A hostile record may leave no room for it, in the offsets of its queue or in the log's.
fn append(store: &StoreCore) {
    let message = NewMessage {
        topic: "fuzz",
        queue_id: 0,
        flag: 0,
        sys_flag: SysFlag(0),
        born_timestamp_ms: 0,
        born_host: ([127, 0, 0, 1], 1).into(),
        store_host: None,
        is_stored: false,
        reconsume_times: 0,
        prepared_transaction_offset: 0,
        body: b"one more",
        properties: b"KEYS\x01key\x02",
    };
    if store.append(&[message]).is_ok() {
        let end = store.flush_once().expect("the disk works");
        while store.build_once().expect("the disk works") < end {}
        store.checkpoint_once().expect("the disk works");
    }
}
