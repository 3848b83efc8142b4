//! Append of 1 KiB messages, beside the floor: one memcpy and one CRC-32 of the same bytes, measured in the same run.

#![allow(clippy::cast_precision_loss)] // counts of messages, far below 2^52

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, SamplingMode, Throughput, criterion_group, criterion_main};
use escrowmq_bench::{BODY, Floor, MIB, message, options, settle};
use escrowmq_store::{Retention, Store, StoreOptions};

/// Appended in one go, well within what the store keeps resident ahead of its end.
const BURST_BYTES: usize = 12 * MIB;
/// A log never writes the same memory twice, so its floor must not either: more than any cache holds.
const FLOOR_BYTES: usize = 512 * MIB;
/// Time for the helper threads to build queues and to make the next part of the log resident: a burst measures the
/// append, not how fast the kernel hands out pages.
const PAUSE: Duration = Duration::from_millis(40);

/// Time that `count` appends take, measured over at least one whole burst. Only the appends are timed.
fn append(store: &Store, count: u64, batch: usize) -> Duration {
    let burst = BURST_BYTES / 1200 / batch;
    let bursts = usize::try_from(count).expect("count").div_ceil(burst * batch);
    let messages = vec![message(); batch];
    let mut spent = Duration::ZERO;
    for _ in 0..bursts {
        let start = Instant::now();
        for _ in 0..burst {
            if let [message] = &*messages {
                black_box(store.append_one(message).expect("append"));
            } else {
                black_box(store.append(&messages).expect("append"));
            }
        }
        spent += start.elapsed();
        settle(store);
        std::thread::sleep(PAUSE);
        store.expire(false).expect("expire");
    }
    spent.mul_f64(count as f64 / (bursts * burst * batch) as f64)
}

fn bench(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("append_1kib");
    group.throughput(Throughput::Elements(1)).sample_size(10).sampling_mode(SamplingMode::Flat);
    let folder = tempfile::tempdir().expect("folder");
    let mut floor = Floor::new(&folder.path().join("floor"), FLOOR_BYTES).expect("floor");
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

criterion_group!(benches, bench);
criterion_main!(benches);
