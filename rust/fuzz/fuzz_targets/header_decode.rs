//! A header in both forms, and fastjson's dialect. Values come back, and never hold more than the input can pay for.
//! Run with `-malloc_limit_mb=16`.

#![no_main]

use escrowmq_wire::{EXT_FIELDS_MAX, HeaderKind, RemotingHeader, strict_json};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    for kind in [HeaderKind::Json, HeaderKind::Binary] {
        let Ok(header) = RemotingHeader::decode(kind, bytes) else { continue };
        let remark_size = header.remark.as_ref().map_or(0, |remark| remark.len());
        let text_size = header.ext_fields.iter().map(|(name, value)| name.len() + value.len()).sum::<usize>();
        // A byte that is not UTF-8 becomes three.
        assert!(remark_size + text_size <= 3 * bytes.len());
        assert!(header.ext_fields.len() <= EXT_FIELDS_MAX.min(bytes.len() / 4));

        let mut again = Vec::new();
        if header.encode_into(kind, &mut again).is_ok() {
            assert_eq!(RemotingHeader::decode(kind, &again).as_ref(), Ok(&header));
        } else {
            assert_eq!(kind, HeaderKind::Binary);
        }
        assert_eq!(header.clone().into_owned(), header);
        if kind == HeaderKind::Json {
            // White space in front is read by another decoder than the one for what clients write.
            let spaced = [b" ", bytes].concat();
            assert_eq!(RemotingHeader::decode(kind, &spaced).as_ref(), Ok(&header));
        }
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(strict) = strict_json(text) {
        assert!(strict.len() <= 6 * text.len());
        // What is strict stays as it is.
        assert_eq!(strict_json(&strict).as_deref(), Ok(&*strict));
    }
});
