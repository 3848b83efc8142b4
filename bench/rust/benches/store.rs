//! Append, sequential read and recovery of 1 KiB messages. Each group holds its own floor, measured in the same run:
//! `make bench` divides the two and prints the ratio.

use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, SamplingMode, Throughput, criterion_group, criterion_main};
use escrowmq_bench::Floor;
use escrowmq_store::{FlushMode, NewMessage, QueueOffset, Retention, Store, StoreOptions};
use escrowmq_wire::SysFlag;

const BODY: [u8; 1024] = [b'x'; 1024];
const MIB: usize = 1 << 20;
/// Appended in one go, well within the 32 MiB that the store keeps resident ahead of its end.
const BURST_BYTES: usize = 12 * MIB;

fn options() -> StoreOptions {
    let retention = Retention { refuse_ratio: 2.0, ..Retention::default() };
    StoreOptions {
        flush: FlushMode::ASYNC_DEFAULT,
        segment_size_bytes: 256 << 20,
        retention,
        ..StoreOptions::default()
    }
}

fn message() -> NewMessage<'static> {
    NewMessage {
        topic: "bench",
        queue_id: 0,
        flag: 0,
        sys_flag: SysFlag(0),
        born_timestamp_ms: 1_794_984_722_856,
        born_host: "127.0.0.1:4711".parse().expect("address"),
        store_host: None,
        reconsume_times: 0,
        prepared_transaction_offset: 0,
        body: &BODY,
        properties:
            b"UNIQ_KEY\x01FD000000000000000000000000000002478630946E0959058FD00001\x02TAGS\x01paid\x02",
    }
}

/// Time for the helper threads to build queues and to make the next part of the log resident: a burst measures the
/// append, not how fast the kernel hands out pages.
const PAUSE: Duration = Duration::from_millis(40);

/// Waits until the queues have caught up.
fn settle(store: &Store) {
    store.wait_visible(store.log_end(), Duration::from_secs(60)).expect("built");
}

/// Appends `count` messages in batches, in bursts between which the store settles. Only the appends are timed.
fn append(store: &Store, count: u64, batch: usize) -> Duration {
    let messages = vec![message(); batch];
    let mut left = usize::try_from(count).expect("count");
    let mut spent = Duration::ZERO;
    while left > 0 {
        let burst = left.min(BURST_BYTES / 1200);
        let start = Instant::now();
        let mut done = 0;
        while done < burst {
            let size = batch.min(burst - done);
            black_box(store.append(&messages[..size]).expect("append"));
            done += size;
        }
        spent += start.elapsed();
        left -= burst;
        settle(store);
        std::thread::sleep(PAUSE);
        store.expire().expect("expire");
    }
    spent
}

fn bench_append(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("append_1kib");
    group.throughput(Throughput::Elements(1)).sample_size(10).sampling_mode(SamplingMode::Flat);
    let folder = tempfile::tempdir().expect("folder");
    let mut floor = Floor::new(&folder.path().join("floor"), 32 * MIB).expect("floor");
    group.bench_function("floor", |bencher| bencher.iter(|| black_box(floor.append(black_box(&BODY)))));
    // Segments go as soon as they are full, so that a long run does not fill the disk.
    let retention =
        Retention { clean_ratio: 0.0, force_ratio: 0.0, refuse_ratio: 2.0, ..Retention::default() };
    let store =
        Store::open(&folder.path().join("store"), StoreOptions { retention, ..options() }).expect("open");
    for batch in [1, 64] {
        group.bench_with_input(BenchmarkId::new("batch", batch), &batch, |bencher, batch| {
            bencher.iter_custom(|count| append(&store, count, *batch));
        });
    }
    group.finish();
}

fn filled(folder: &Path, messages: usize) -> Store {
    let store = Store::open(folder, options()).expect("open");
    let batch = vec![message(); 64];
    for _ in 0..messages / 64 {
        store.append(&batch).expect("append");
    }
    settle(&store);
    store
}

fn bench_read(criterion: &mut Criterion) {
    const MESSAGES: usize = 64 * 1024;
    let mut group = criterion.benchmark_group("read_1kib");
    group.throughput(Throughput::Bytes((MESSAGES * BODY.len()) as u64)).sample_size(20);
    let folder = tempfile::tempdir().expect("folder");
    let floor = Floor::new(&folder.path().join("floor"), MESSAGES * BODY.len()).expect("floor");
    let mut target = vec![1_u8; MESSAGES * BODY.len()];
    group.bench_function("memcpy", |bencher| {
        bencher.iter(|| {
            for (to, from) in target.chunks_exact_mut(BODY.len()).zip(floor.bytes().chunks_exact(BODY.len()))
            {
                to.copy_from_slice(black_box(from));
            }
        });
    });
    let store = filled(&folder.path().join("store"), MESSAGES);
    group.bench_function("views", |bencher| {
        bencher.iter(|| {
            let mut offset = QueueOffset(0);
            loop {
                let records = store.read_queue("bench", 0, offset, 1024, usize::MAX).expect("read");
                if records.is_empty() {
                    break;
                }
                offset.0 += records.len() as u64;
                for record in &records {
                    black_box(record.view().body());
                }
            }
            assert_eq!(offset.0, MESSAGES as u64);
        });
    });
    group.finish();
}

fn bench_recovery(criterion: &mut Criterion) {
    const MESSAGES: usize = 192 * 1024;
    let mut group = criterion.benchmark_group("recovery");
    group.sample_size(10);
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("store");
    drop(filled(&path, MESSAGES));
    // As a kill leaves it whose checkpoint says that the log is on disk, but nothing of queues and index: everything
    // must be checked and built.
    let checkpoint = std::fs::read(path.join("checkpoint")).expect("checkpoint");
    let make_killed = || {
        let mut page = checkpoint.clone();
        page[8..24].fill(0);
        std::fs::write(path.join("abort"), "1").expect("abort");
        std::fs::write(path.join("checkpoint"), page).expect("checkpoint");
    };
    make_killed();
    let store = Store::open(&path, options()).expect("open");
    group.throughput(Throughput::Bytes(store.recovery_report().bytes_checked));
    drop(store);
    group.bench_function("after_a_kill", |bencher| {
        bencher.iter_custom(|count| {
            let mut spent = Duration::ZERO;
            for _ in 0..count {
                make_killed();
                let start = Instant::now();
                let store = Store::open(&path, options()).expect("open");
                spent += start.elapsed();
                assert_eq!(store.recovery_report().records_checked, MESSAGES as u64);
            }
            spent
        });
    });
    group.finish();
}

criterion_group!(benches, bench_append, bench_read, bench_recovery);
criterion_main!(benches);
