//! The JSON form of a remoting header.
//!
//! ```text
//! {"code":310,"extFields":{"a":"group",...},"flag":0,"language":"JAVA","opaque":7,
//!  "remark":"...","serializeTypeCurrentRPC":"JSON","version":513}
//! ```
//! Compat, as fastjson reads: keys may come in any order or be absent, unknown keys are skipped, numbers may be quoted,
//! null is the same as absent, and values of ext fields may be numbers, booleans or whole containers.

use std::borrow::Cow;

use crate::digits::Digits;
use crate::error::WireError;
use crate::header::{ExtFields, RemotingHeader};
use crate::header_json_plain;
use crate::json_text::{Scanner, write_string};
use crate::language::Language;

pub(crate) fn decode(bytes: &[u8]) -> Result<RemotingHeader<'_>, WireError> {
    match std::str::from_utf8(bytes) {
        Ok(text) => header_json_plain::decode(text).map_or_else(|| decode_any(text), Ok),
        Err(_) => decode_any(&String::from_utf8_lossy(bytes)).map(RemotingHeader::into_owned),
    }
}

/// Decodes a header in whatever way it is written.
pub(crate) fn decode_any(text: &str) -> Result<RemotingHeader<'_>, WireError> {
    let mut header = RemotingHeader::default();
    let mut scanner = Scanner::new(text);
    scanner.require(b'{', "a JSON object")?;
    let mut is_first = true;
    while scanner.next_member(b'}', is_first)? {
        is_first = false;
        let key = scanner.string()?;
        scanner.require(b':', "':'")?;
        match &*key {
            "code" => header.code = integer(&mut scanner)?,
            "version" => header.version = integer(&mut scanner)?,
            "opaque" => header.opaque = integer(&mut scanner)?,
            "flag" => header.flag = integer(&mut scanner)?,
            "language" => header.language = language(&mut scanner)?,
            "remark" => header.remark = value_text(&mut scanner)?,
            "extFields" => header.ext_fields = ext_fields(&mut scanner)?,
            _ => {
                scanner.raw_value()?;
            }
        }
    }
    if scanner.peek().is_some() {
        return Err(scanner.expected("the end of the header"));
    }
    Ok(header)
}

/// The text of any value; null is none.
fn value_text<'a>(scanner: &mut Scanner<'a>) -> Result<Option<Cow<'a, str>>, WireError> {
    if scanner.peek() == Some(b'"') {
        return scanner.string().map(Some);
    }
    let raw = scanner.raw_value()?;
    Ok((raw != "null").then_some(Cow::Borrowed(raw)))
}

fn integer(scanner: &mut Scanner<'_>) -> Result<i32, WireError> {
    match value_text(scanner)? {
        None => Ok(0),
        Some(text) => text.parse().map_err(|_| scanner.expected("a 32-bit integer before here")),
    }
}

fn language(scanner: &mut Scanner<'_>) -> Result<Language, WireError> {
    Ok(value_text(scanner)?.map_or_else(Language::default, |text| language_of(&text)))
}

/// The language of a name, or of the number that the binary form would hold.
pub(crate) fn language_of(text: &str) -> Language {
    let language = text.parse().map_or_else(|_| Language::from_name(text), Language::from_code);
    // The number of an unknown language cannot be written as JSON again.
    if let Language::Unknown(_) = language { Language::Other } else { language }
}

fn ext_fields<'a>(scanner: &mut Scanner<'a>) -> Result<ExtFields<'a>, WireError> {
    let mut fields = ExtFields::default();
    if !scanner.accept(b'{') {
        return match value_text(scanner)? {
            None => Ok(fields),
            Some(_) => Err(scanner.expected("an object of ext fields before here")),
        };
    }
    let mut is_first = true;
    while scanner.next_member(b'}', is_first)? {
        is_first = false;
        let name = scanner.string()?;
        scanner.require(b':', "':'")?;
        if let Some(value) = value_text(scanner)? {
            fields.push_bounded(name, value)?;
        }
    }
    Ok(fields)
}

/// Keys come in the order in which fastjson writes them.
pub(crate) fn encode(header: &RemotingHeader<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"code\":");
    write_integer(header.code, out);
    if !header.ext_fields.is_empty() {
        out.extend_from_slice(b",\"extFields\":{");
        for (index, (name, value)) in header.ext_fields.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            write_string(name, out);
            out.push(b':');
            write_string(value, out);
        }
        out.push(b'}');
    }
    out.extend_from_slice(b",\"flag\":");
    write_integer(header.flag, out);
    out.extend_from_slice(b",\"language\":\"");
    out.extend_from_slice(header.language.name().as_bytes());
    out.extend_from_slice(b"\",\"opaque\":");
    write_integer(header.opaque, out);
    if let Some(remark) = &header.remark {
        out.extend_from_slice(b",\"remark\":");
        write_string(remark, out);
    }
    out.extend_from_slice(b",\"serializeTypeCurrentRPC\":\"JSON\",\"version\":");
    write_integer(header.version, out);
    out.push(b'}');
}

fn write_integer(value: i32, out: &mut Vec<u8>) {
    out.extend_from_slice(Digits::of(value).as_str().as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::header::{EXT_FIELDS_MAX, tests::any_header};
    use proptest::prelude::*;

    #[test]
    fn a_recorded_response_decodes() {
        let text = br#"{"code":17,"flag":1,"language":"JAVA","opaque":0,"remark":"No route\nSee","serializeTypeCurrentRPC":"JSON","version":513}"#;
        let header = decode(text).expect("the text is a header");
        assert_eq!((header.code, header.flag, header.version), (17, 1, 513));
        assert_eq!(header.remark.as_deref(), Some("No route\nSee"));
        assert!(header.ext_fields.is_empty());
        let mut again = Vec::new();
        encode(&header, &mut again);
        assert_eq!(again, text);
    }

    #[test]
    fn what_java_tolerates_is_tolerated() {
        let text = br#" { "remark" : null, "extra": {"a":[1,"]"]}, "extFields":{"n":7,"b":true,"z":null,"o":{"k":"v"},"s":"x"},
            "opaque":"12", "language":9 , "code":-1 } "#;
        let header = decode(text).expect("the text is a header");
        assert_eq!((header.code, header.opaque, header.language), (-1, 12, Language::Go));
        assert_eq!(header.remark, None);
        let fields: Vec<_> = header.ext_fields.iter().collect();
        assert_eq!(fields, [("n", "7"), ("b", "true"), ("o", r#"{"k":"v"}"#), ("s", "x")]);
        assert_eq!(decode(br#"{"language":77}"#).map(|header| header.language), Ok(Language::Other));
        assert_eq!(decode(b"{}"), Ok(RemotingHeader::default()));
        assert_eq!(decode(br#"{"extFields":null}"#), Ok(RemotingHeader::default()));
        let lossy = decode(b"{\"remark\":\"\xff\"}").expect("the text is a header");
        assert_eq!(lossy.remark.as_deref(), Some("\u{fffd}"));
    }

    #[test]
    fn what_is_no_header_is_refused() {
        for text in [
            &b""[..],
            b"null",
            b"[]",
            b"{",
            b"{}x",
            b"{\"code\"}",
            b"{\"code\":}",
            b"{\"code\":1.5}",
            b"{\"code\":1,,}",
            b"{\"code\":9999999999}",
            b"{\"extFields\":7}",
            b"{\"extFields\":{\"a\"}}",
            b"{\"remark\":\"a}",
            b"{\"a\":1 \"b\":2}",
        ] {
            assert!(decode(text).is_err(), "{}", String::from_utf8_lossy(text));
        }
        let many = vec!["\"a\":1"; EXT_FIELDS_MAX + 1].join(",");
        let error = WireError::TooManyExtFields { count_max: EXT_FIELDS_MAX };
        assert_eq!(decode(format!("{{\"extFields\":{{{many}}}}}").as_bytes()), Err(error));
    }

    proptest! {
        #[test]
        fn what_is_written_is_strict_json(header in any_header()) {
            let mut bytes = Vec::new();
            encode(&header, &mut bytes);
            let value: serde_json::Value = serde_json::from_slice(&bytes).expect("strict JSON");
            prop_assert_eq!(value["code"].as_i64(), Some(i64::from(header.code)));
            prop_assert_eq!(value["remark"].as_str(), header.remark.as_deref());
            for (name, _) in header.ext_fields.iter() {
                prop_assert_eq!(value["extFields"][name].as_str(), header.ext_fields.get(name));
            }
        }

        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let _ = decode(&bytes);
        }
    }
}
