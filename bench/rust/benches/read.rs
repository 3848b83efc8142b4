//! Sequential read of a queue of 1 KiB messages as views, beside a memcpy of as many bytes.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use escrowmq_bench::{BODY, Floor, filled};
use escrowmq_store::QueueOffset;

fn bench(criterion: &mut Criterion) {
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

criterion_group!(benches, bench);
criterion_main!(benches);
