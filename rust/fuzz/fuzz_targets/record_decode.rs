//! A log item, a batch and a compressed body. Values come back, and every slice lies in the input.
//! Run with `-malloc_limit_mb=32`: a decompressor may ask for its window, but not for what it was told to expect.

#![no_main]

use escrowmq_wire::{CompressionKind, LogItem, RecordView, decompress, iter_batch};
use libfuzzer_sys::fuzz_target;

const PLAIN_SIZE_MAX: usize = 1 << 16;

fuzz_target!(|bytes: &[u8]| {
    // The position is taken from the record: a wrong one would end nearly every input early.
    let at =
        bytes.get(28..).and_then(|rest| rest.first_chunk()).map_or(0, |offset| u64::from_be_bytes(*offset));
    match LogItem::parse(bytes, at) {
        Ok(LogItem::Record(view)) => check_record(view, at, bytes),
        Ok(LogItem::Blank { size }) => assert!((8..=bytes.len()).contains(&(size as usize))),
        Err(_) => {}
    }

    let (mut again, mut messages) = (Vec::new(), Vec::new());
    for message in iter_batch(bytes).map_while(Result::ok) {
        message.encode_into(&mut again).expect("it came from less than 2 GiB");
        messages.push(message);
    }
    assert!(again.len() <= bytes.len());
    assert_eq!(iter_batch(&again).collect::<Result<Vec<_>, _>>(), Ok(messages));

    for kind in [CompressionKind::Zlib, CompressionKind::Lz4, CompressionKind::Zstd] {
        if let Ok(plain) = decompress(kind, bytes, PLAIN_SIZE_MAX) {
            assert!(plain.len() <= PLAIN_SIZE_MAX);
        }
    }
});

fn check_record(view: RecordView<'_>, at: u64, bytes: &[u8]) {
    assert_eq!(view.bytes(), &bytes[..view.size() as usize]);
    assert_eq!(view.log_offset(), at);
    let _ = (view.check_whole(), view.check_record_crc());

    let record = view.to_record();
    let mut again = Vec::new();
    assert_eq!(record.encode_into(&mut again), again.len());
    match LogItem::parse(&again, at) {
        Ok(LogItem::Record(found)) => {
            assert_eq!(found.to_record(), record);
            assert_eq!(
                found.check_whole().is_ok(),
                !record.properties.contains(&0) && !record.topic.contains('\0')
            );
        }
        other => panic!("{other:?}"),
    }

    if record.check_sizes().is_ok() {
        let mut with_crc = Vec::new();
        assert_eq!(record.encode_with_crc_into(&mut with_crc), record.encoded_size_with_crc());
        match LogItem::parse(&with_crc, at) {
            Ok(LogItem::Record(found)) => assert_eq!(found.check_record_crc(), Some(true)),
            other => panic!("{other:?}"),
        }
    }
}
