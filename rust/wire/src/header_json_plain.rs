//! The JSON form of a header as clients write it: without white space, with known keys, numbers that are numbers and ext
//! fields that are strings. It is read in one pass that allocates for the list of fields and for strings with escapes. What is
//! written in any other way is left to `header_json`, which reads all of it; where both read a header, they read the same.

use std::borrow::Cow;

use memchr::memchr2;

use crate::header::{ExtFields, RemotingHeader};
use crate::header_json::language_of;
use crate::json_text::Scanner;

/// Most strings are shorter: a search that looks at many bytes at once pays behind these.
const SHORT_SIZE: usize = 16;

/// Decodes a header, if it is written so.
pub(crate) fn decode(text: &str) -> Option<RemotingHeader<'_>> {
    let mut header = RemotingHeader::default();
    let mut cursor = Cursor { text, at: 0 };
    cursor.take(b'{')?;
    loop {
        let key = cursor.string()?;
        cursor.take(b':')?;
        match &*key {
            "code" => header.code = cursor.integer()?,
            "extFields" => header.ext_fields = cursor.ext_fields()?,
            "flag" => header.flag = cursor.integer()?,
            "language" => header.language = language_of(&cursor.string()?),
            "opaque" => header.opaque = cursor.integer()?,
            "remark" => header.remark = Some(cursor.string()?),
            "serializeTypeCurrentRPC" => drop(cursor.string()?),
            "version" => header.version = cursor.integer()?,
            _ => return None,
        }
        if !cursor.goes_on()? {
            return (cursor.at == text.len()).then_some(header);
        }
    }
}

struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        (self.peek() == Some(byte)).then(|| self.at += 1)
    }

    /// Whether a `,` comes and not the end of the object.
    fn goes_on(&mut self) -> Option<bool> {
        let goes_on = match self.peek()? {
            b',' => true,
            b'}' => false,
            _ => return None,
        };
        self.at += 1;
        Some(goes_on)
    }

    fn string(&mut self) -> Option<Cow<'a, str>> {
        let quote = self.at;
        self.take(b'"')?;
        let rest = &self.text.as_bytes()[self.at..];
        let is_end = |byte: &u8| matches!(byte, b'"' | b'\\');
        let size = rest
            .iter()
            .take(SHORT_SIZE)
            .position(is_end)
            .or_else(|| memchr2(b'"', b'\\', rest.get(SHORT_SIZE..)?).map(|size| SHORT_SIZE + size))?;
        if rest[size] == b'"' {
            let value = &self.text[self.at..self.at + size];
            self.at += size + 1;
            return Some(Cow::Borrowed(value));
        }
        let mut scanner = Scanner::from(self.text, quote);
        let value = scanner.string().ok()?;
        self.at = scanner.position();
        Some(value)
    }

    fn integer(&mut self) -> Option<i32> {
        let start = self.at;
        self.at += usize::from(self.peek()? == b'-');
        while self.peek()?.is_ascii_digit() {
            self.at += 1;
        }
        self.text[start..self.at].parse().ok()
    }

    fn ext_fields(&mut self) -> Option<ExtFields<'a>> {
        let mut fields = ExtFields::default();
        self.take(b'{')?;
        loop {
            let name = self.string()?;
            self.take(b':')?;
            let value = self.string()?;
            fields.push_bounded(name, value).ok()?;
            if !self.goes_on()? {
                return Some(fields);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::header::tests::any_header;
    use crate::header_json;
    use proptest::prelude::*;

    #[test]
    fn what_our_own_and_javas_clients_write_is_plain() {
        for text in [
            r#"{"code":310,"extFields":{"a":"group","i":"KEYS\u0001k\u0002"},"flag":0,"language":"JAVA","opaque":7,"serializeTypeCurrentRPC":"JSON","version":513}"#,
            r#"{"code":105,"flag":2,"language":"GO","opaque":-1,"remark":"a \"b\"","version":433}"#,
        ] {
            let header = decode(text).expect("it is plain");
            assert_eq!(Ok(header), header_json::decode_any(text));
        }
    }

    #[test]
    fn what_is_not_plain_is_left_alone() {
        for text in [
            "",
            "{}",
            r#"{"code":1"#,
            r#"{"code":1}x"#,
            r#"{"code":1,}"#,
            r#"{"code": 1}"#,
            r#"{"code":"1"}"#,
            r#"{"code":1e2}"#,
            r#"{"code":2147483648}"#,
            r#"{"code":-}"#,
            r#"{"code":null}"#,
            r#"{"extra":"x"}"#,
            r#"{"extFields":{}}"#,
            r#"{"extFields":{"a":1}}"#,
            r#"{"extFields":null}"#,
            r#"{"remark":"\x"}"#,
            r#"{"remark":"a"#,
            r#"{"a"#,
        ] {
            assert_eq!(decode(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn every_header_that_is_written_is_plain(header in any_header()) {
            let mut bytes = Vec::new();
            header_json::encode(&header, &mut bytes);
            let text = String::from_utf8(bytes).expect("JSON is text");
            prop_assert_eq!(decode(&text).map(RemotingHeader::into_owned), Some(header));
        }

        #[test]
        fn what_both_read_they_read_alike(
            members in proptest::collection::vec(
                "\"(code|flag|opaque|version|language|remark|extFields|extra|\\\\u0063ode)\":(-?[0-9]{1,11}|\"[a-zA-Z0-9\\\\né]{0,20}\"|null|true|\\{(\"[a-c]\":(\"[a-z]{0,20}\"|1|null),?){0,3}\\})",
                0..5,
            ),
            comma in "[,]|, |,,",
            end in "\\}|\\} |\\}x|",
        ) {
            let text = format!("{{{}{end}", members.join(&comma));
            if let Some(header) = decode(&text) {
                prop_assert_eq!(Ok(header), header_json::decode_any(&text));
            }
        }

        #[test]
        fn no_text_panics(text in "[{}\"\\\\:,0-9a-zé-]{0,60}") {
            if let Some(header) = decode(&text) {
                prop_assert_eq!(Ok(header), header_json::decode_any(&text));
            }
        }
    }
}
