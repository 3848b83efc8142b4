//! What one core decodes and encodes per second: frames with a 1 KiB body and the header of a real send, and records.
//! The bar: a million binary frames, 400 thousand JSON frames.

use std::hint::black_box;
use std::net::SocketAddr;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use escrowmq_wire::{
    FRAME_SIZE_MAX_DEFAULT, FrameStep, HeaderKind, LogItem, Record, RemotingHeader, SysFlag, cut_frame,
    encode_frame, property_names,
};

const FRAMES: usize = 64;
const PROPERTIES: &str = "UNIQ_KEY\u{1}7F0000010A5B18B4AAC2591E0C5C0000\u{2}KEYS\u{1}order-1\u{2}TAGS\u{1}paid\u{2}WAIT\u{1}true\u{2}amount\u{1}10\u{2}";

fn send_header() -> RemotingHeader<'static> {
    RemotingHeader {
        code: 310,
        version: 513,
        opaque: 4711,
        ext_fields: [
            ("a", "billing"),
            ("b", "orders"),
            ("c", "TBW102"),
            ("d", "4"),
            ("e", "2"),
            ("f", "0"),
            ("g", "1794984736720"),
            ("h", "0"),
            ("i", PROPERTIES),
            ("j", "0"),
            ("k", "false"),
            ("m", "false"),
            ("n", "broker-a"),
            ("bname", "broker-a"),
        ]
        .into_iter()
        .collect(),
        ..RemotingHeader::default()
    }
}

fn record(body: &[u8]) -> Record<'_> {
    let host = SocketAddr::from(([10, 0, 0, 1], 10_911));
    Record {
        queue_id: 2,
        flag: 0,
        queue_offset: 7,
        log_offset: 4096,
        sys_flag: SysFlag(0),
        born_timestamp_ms: 1_794_984_736_720,
        born_host: host,
        store_timestamp_ms: 1_794_984_736_743,
        store_host: host,
        reconsume_times: 0,
        prepared_transaction_offset: 0,
        body,
        topic: "orders",
        properties: PROPERTIES.as_bytes(),
    }
}

fn frames(criterion: &mut Criterion) {
    let body = [b'x'; 1024];
    let mut group = criterion.benchmark_group("frame");
    for (name, kind) in [("binary", HeaderKind::Binary), ("json", HeaderKind::Json)] {
        let mut stream = Vec::new();
        for _ in 0..FRAMES {
            encode_frame(kind, &send_header(), &body, &mut stream).expect("the frame fits");
        }
        group.throughput(Throughput::Elements(FRAMES as u64));
        group.bench_function(format!("decode_{name}_1k"), |bencher| {
            bencher.iter(|| {
                let mut rest = black_box(&stream[..]);
                while let Ok(FrameStep::Frame(frame)) = cut_frame(rest, FRAME_SIZE_MAX_DEFAULT) {
                    black_box((frame.decode_header().expect("a header"), frame.body));
                    rest = &rest[frame.size()..];
                }
            });
        });
        let header = send_header();
        group.throughput(Throughput::Elements(1));
        group.bench_function(format!("encode_{name}_1k"), |bencher| {
            let mut out = Vec::with_capacity(4096);
            bencher.iter(|| {
                out.clear();
                black_box(encode_frame(kind, black_box(&header), &body, &mut out).expect("the frame fits"))
            });
        });
    }
    group.finish();
}

fn records(criterion: &mut Criterion) {
    let body = [b'x'; 1024];
    let mut group = criterion.benchmark_group("record");
    group.throughput(Throughput::Elements(1));
    let mut out = Vec::with_capacity(4096);
    group.bench_function("floor_copy_and_crc_1k", |bencher| {
        bencher.iter(|| {
            out.clear();
            out.extend_from_slice(black_box(&body));
            black_box(crc32fast::hash(black_box(&body)))
        });
    });
    group.bench_function("encode_1k", |bencher| {
        bencher.iter(|| {
            out.clear();
            black_box(record(black_box(&body)).encode_into(&mut out))
        });
    });
    group.bench_function("encode_with_crc_1k", |bencher| {
        bencher.iter(|| {
            out.clear();
            black_box(record(black_box(&body)).encode_with_crc_into(&mut out))
        });
    });
    out.clear();
    record(&body).encode_into(&mut out);
    group.bench_function("parse_1k", |bencher| {
        bencher.iter(|| black_box(LogItem::parse(black_box(&out), 4096)));
    });
    let Ok(LogItem::Record(view)) = LogItem::parse(&out, 4096) else { unreachable!("just encoded") };
    group.bench_function("check_whole_1k", |bencher| {
        bencher.iter(|| black_box(black_box(view).check_whole()));
    });
    group.bench_function("property_lookup", |bencher| {
        bencher.iter(|| black_box(black_box(view).properties().get(property_names::TAGS)));
    });
    group.finish();
}

criterion_group!(benches, frames, records);
criterion_main!(benches);
