//! The binary form of a remoting header, `ROCKETMQ` in Java.
//!
//! ```text
//! code int16 | language int8 | version int16 | opaque int32 | flag int32
//! remark size int32 | remark
//! ext size int32    | { name size int16 | name | value size int32 | value } ...
//! ```
//! A remark of size 0 is none. Bytes that are not UTF-8 read as U+FFFD, as in Java.

use std::borrow::Cow;

use crate::big_endian::Cursor;
use crate::error::WireError;
use crate::header::{ExtFields, RemotingHeader};
use crate::language::Language;

const FIXED_SIZE: usize = 13;

pub(crate) fn decode(bytes: &[u8]) -> Result<RemotingHeader<'_>, WireError> {
    let mut rest = Cursor::new(bytes);
    let fixed = rest.array::<FIXED_SIZE>().ok_or(WireError::HeaderFieldLength {
        field: "fixed part",
        length: 13,
        remaining: bytes.len(),
    })?;
    let [code1, code2, language, version1, version2, o1, o2, o3, o4, f1, f2, f3, f4] = fixed;

    let size = rest.i32();
    let remark = counted("remark", size.map(i64::from), &mut rest)?;
    let size = rest.i32();
    let fields = counted("ext fields", size.map(i64::from), &mut rest)?;
    if rest.remaining() > 0 {
        return Err(WireError::HeaderTrailingBytes { size: rest.remaining() });
    }
    Ok(RemotingHeader {
        code: i32::from(i16::from_be_bytes([code1, code2])),
        language: Language::from_code(language),
        version: i32::from(i16::from_be_bytes([version1, version2])),
        opaque: i32::from_be_bytes([o1, o2, o3, o4]),
        flag: i32::from_be_bytes([f1, f2, f3, f4]),
        remark: (!remark.is_empty()).then(|| text(remark)),
        ext_fields: decode_fields(fields)?,
    })
}

fn decode_fields(bytes: &[u8]) -> Result<ExtFields<'_>, WireError> {
    let mut fields = ExtFields::default();
    let mut rest = Cursor::new(bytes);
    while rest.remaining() > 0 {
        let size = rest.i16();
        let name = counted("ext name", size.map(i64::from), &mut rest)?;
        let size = rest.i32();
        let value = counted("ext value", size.map(i64::from), &mut rest)?;
        fields.push_bounded(text(name), text(value))?;
    }
    Ok(fields)
}

/// The bytes of a field whose size was just read; no size was there where `size` is none.
fn counted<'a>(field: &'static str, size: Option<i64>, rest: &mut Cursor<'a>) -> Result<&'a [u8], WireError> {
    let remaining = rest.remaining();
    let length = size.unwrap_or(0);
    size.and_then(|size| usize::try_from(size).ok())
        .and_then(|size| rest.slice(size))
        .ok_or(WireError::HeaderFieldLength { field, length, remaining })
}

fn text(bytes: &[u8]) -> Cow<'_, str> {
    // `from_utf8_lossy` alone would do, but is slower for the texts of every day.
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

pub(crate) fn encode(header: &RemotingHeader<'_>, out: &mut Vec<u8>) -> Result<(), WireError> {
    let narrow =
        |field, value| i16::try_from(value).map_err(|_| WireError::HeaderValueTooLarge { field, value });
    out.extend_from_slice(&narrow("code", header.code)?.to_be_bytes());
    out.push(header.language.code());
    out.extend_from_slice(&narrow("version", header.version)?.to_be_bytes());
    out.extend_from_slice(&header.opaque.to_be_bytes());
    out.extend_from_slice(&header.flag.to_be_bytes());

    let remark = header.remark.as_deref().unwrap_or_default();
    out.extend_from_slice(&size_of("remark", remark.len())?.to_be_bytes());
    out.extend_from_slice(remark.as_bytes());

    let fields_size = header.ext_fields.iter().map(|(name, value)| 2 + name.len() + 4 + value.len()).sum();
    out.extend_from_slice(&size_of("ext fields", fields_size)?.to_be_bytes());
    for (name, value) in header.ext_fields.iter() {
        let name_size = i16::try_from(name.len()).map_err(|_| WireError::HeaderFieldTooLarge {
            field: "ext name",
            size: name.len(),
            size_max: 32_767,
        })?;
        out.extend_from_slice(&name_size.to_be_bytes());
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(&size_of("ext value", value.len())?.to_be_bytes());
        out.extend_from_slice(value.as_bytes());
    }
    Ok(())
}

fn size_of(field: &'static str, size: usize) -> Result<i32, WireError> {
    i32::try_from(size).map_err(|_| WireError::HeaderFieldTooLarge { field, size, size_max: 0x7FFF_FFFF })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::header::{EXT_FIELDS_MAX, tests::any_header};
    use proptest::prelude::*;

    #[test]
    fn a_recorded_request_decodes_and_encodes_to_the_same_bytes() {
        let bytes = b"\0\x69\0\x02\x01\0\0\0\x02\0\0\0\0\0\0\0\0\0\0\0\x11\0\x05topic\0\0\0\x06TBW102";
        let header = decode(bytes).expect("the bytes are a header");
        assert_eq!((header.code, header.language, header.version), (105, Language::Java, 513));
        assert_eq!((header.opaque, header.flag, &header.remark), (2, 0, &None));
        assert_eq!(header.ext_fields.get("topic"), Some("TBW102"));
        let mut again = Vec::new();
        encode(&header, &mut again).expect("the header fits");
        assert_eq!(again, bytes);
    }

    #[test]
    fn lengths_that_lie_are_refused() {
        let good = b"\0\x69\0\x02\x01\0\0\0\x02\0\0\0\0\0\0\0\0\0\0\0\x09\0\x01t\0\0\0\x02TB";
        assert!(decode(good).is_ok());
        for (at, byte, field, length) in [
            (13, 0x80, "remark", i64::from(i32::MIN)),
            (16, 0x40, "remark", 0x40),
            (17, 0xFF, "ext fields", -0x0100_0000 + 9),
            (20, 0x0A, "ext fields", 10),
            (21, 0x80, "ext name", -0x8000 + 1),
            (24, 0x80, "ext value", i64::from(i32::MIN) + 2),
            (27, 0x03, "ext value", 3),
        ] {
            let mut bytes = good.to_vec();
            bytes[at] = byte;
            match decode(&bytes) {
                Err(WireError::HeaderFieldLength { field: found, length: wrong, .. }) => {
                    assert_eq!((found, wrong), (field, length));
                }
                other => panic!("byte {at}: {other:?}"),
            }
        }
        let longer = [&good[..], b"x"].concat();
        assert_eq!(decode(&longer), Err(WireError::HeaderTrailingBytes { size: 1 }));
        assert!(matches!(decode(&good[..12]), Err(WireError::HeaderFieldLength { field: "fixed part", .. })));
    }

    #[test]
    fn codes_beyond_16_bits_are_refused() {
        let header = RemotingHeader { code: 200_050, ..RemotingHeader::default() };
        let error = WireError::HeaderValueTooLarge { field: "code", value: 200_050 };
        assert_eq!(encode(&header, &mut Vec::new()), Err(error));
    }

    #[test]
    fn too_many_fields_are_refused() {
        let mut header = RemotingHeader::default();
        for _ in 0..=EXT_FIELDS_MAX {
            header.ext_fields.push("", "");
        }
        let mut bytes = Vec::new();
        encode(&header, &mut bytes).expect("the header fits");
        assert_eq!(decode(&bytes), Err(WireError::TooManyExtFields { count_max: EXT_FIELDS_MAX }));
    }

    proptest! {
        #[test]
        fn every_header_encodes_to_the_same_bytes_again(header in any_header()) {
            let (mut bytes, mut again) = (Vec::new(), Vec::new());
            encode(&header, &mut bytes)?;
            encode(&decode(&bytes)?, &mut again)?;
            prop_assert_eq!(bytes, again);
        }

        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let _ = decode(&bytes);
        }
    }
}
