//! Opening a store that was killed: every record is checked, and queues and index are built again.

use std::time::{Duration, Instant};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use escrowmq_bench::{filled, options};
use escrowmq_store::Store;

fn bench(criterion: &mut Criterion) {
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

criterion_group!(benches, bench);
criterion_main!(benches);
