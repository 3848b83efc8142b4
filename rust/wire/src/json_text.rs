//! The little of JSON that headers need: a scanner that borrows, and the writer of a string.
//!
//! The scanner accepts what strict JSON allows and, as fastjson does, raw control characters inside strings.
//! It recurses nowhere and allocates only where a string holds an escape.

use std::borrow::Cow;

use memchr::{memchr, memchr2};

use crate::error::WireError;

/// Deeper than any peer nests; the same limit as `serde_json`'s.
pub(crate) const DEPTH_MAX: usize = 128;

/// A position in a JSON text.
#[derive(Debug)]
pub(crate) struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scanner<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self::from(text, 0)
    }

    /// At a place in a text.
    pub(crate) fn from(text: &'a str, at: usize) -> Self {
        Self { text, at }
    }

    /// The error that something else was expected here.
    pub(crate) fn expected(&self, expected: &'static str) -> WireError {
        WireError::Json { position: self.at, expected }
    }

    /// The next byte that is no white space, not consumed.
    pub(crate) fn peek(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        while let Some(byte) = bytes.get(self.at) {
            if !matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
                return Some(*byte);
            }
            self.at += 1;
        }
        None
    }

    /// Consumes this byte if it comes next.
    pub(crate) fn accept(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        self.at += usize::from(is_next);
        is_next
    }

    /// Consumes this byte.
    pub(crate) fn require(&mut self, byte: u8, expected: &'static str) -> Result<(), WireError> {
        if self.accept(byte) { Ok(()) } else { Err(self.expected(expected)) }
    }

    /// Consumes the `,` between members, or the closing byte: then the result is false.
    pub(crate) fn next_member(&mut self, close: u8, is_first: bool) -> Result<bool, WireError> {
        if self.accept(close) {
            return Ok(false);
        }
        if !is_first {
            self.require(b',', "',' or the end of the container")?;
        }
        Ok(true)
    }

    /// Consumes a string and returns its value.
    pub(crate) fn string(&mut self) -> Result<Cow<'a, str>, WireError> {
        self.require(b'"', "a string")?;
        let start = self.at;
        let bytes = self.text.as_bytes();
        match memchr2(b'"', b'\\', &bytes[start..]) {
            Some(size) if bytes[start + size] == b'"' => {
                self.at = start + size + 1;
                Ok(Cow::Borrowed(&self.text[start..start + size]))
            }
            Some(_) => self.escaped_string().map(Cow::Owned),
            None => Err(self.expected("the end of a string")),
        }
    }

    fn escaped_string(&mut self) -> Result<String, WireError> {
        let bytes = self.text.as_bytes();
        // The value is never longer than its text; the next quote is mostly its end.
        let mut value = String::with_capacity(memchr(b'"', &bytes[self.at..]).unwrap_or_default());
        loop {
            let Some(size) = memchr2(b'"', b'\\', &bytes[self.at..]) else {
                return Err(self.expected("the end of a string"));
            };
            value.push_str(&self.text[self.at..self.at + size]);
            self.at += size + 1;
            if bytes[self.at - 1] == b'"' {
                return Ok(value);
            }
            value.push(self.escape()?);
        }
    }

    /// The character of an escape whose backslash is consumed.
    fn escape(&mut self) -> Result<char, WireError> {
        let Some(&byte) = self.text.as_bytes().get(self.at) else {
            return Err(self.expected("an escape"));
        };
        let character = match byte {
            b'"' | b'\\' | b'/' => char::from(byte),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                self.at += 1;
                return self.unicode_escape();
            }
            _ => return Err(self.expected("an escape")),
        };
        self.at += 1;
        Ok(character)
    }

    /// Compat: Java writes characters beyond 16 bits as two escapes; half of such a pair reads as U+FFFD.
    fn unicode_escape(&mut self) -> Result<char, WireError> {
        let first = self.hex4()?;
        if !(0xD800..0xDC00).contains(&first) {
            return Ok(char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        if !self.text.as_bytes()[self.at..].starts_with(b"\\u") {
            return Ok(char::REPLACEMENT_CHARACTER);
        }
        let after_first = self.at;
        self.at += 2;
        let second = self.hex4()?;
        if (0xDC00..0xE000).contains(&second) {
            let code = 0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00);
            return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        // The second escape is a character of its own.
        self.at = after_first;
        Ok(char::REPLACEMENT_CHARACTER)
    }

    fn hex4(&mut self) -> Result<u32, WireError> {
        let digits = self.text.as_bytes()[self.at..].first_chunk::<4>();
        let value = digits.and_then(|digits| {
            digits.iter().try_fold(0, |value, &digit| Some(value << 4 | char::from(digit).to_digit(16)?))
        });
        let value = value.ok_or_else(|| self.expected("four hexadecimal digits"))?;
        self.at += 4;
        Ok(value)
    }

    /// Consumes a number or one of `true`, `false`, `null`, and returns its text. What it is made of is not checked.
    pub(crate) fn scalar(&mut self) -> Result<&'a str, WireError> {
        self.peek();
        let rest = &self.text[self.at..];
        let is_scalar = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.');
        let size = rest.bytes().position(|byte| !is_scalar(byte)).unwrap_or(rest.len());
        if size == 0 {
            return Err(self.expected("a value"));
        }
        self.at += size;
        Ok(&rest[..size])
    }

    /// Consumes any value and returns its text.
    pub(crate) fn raw_value(&mut self) -> Result<&'a str, WireError> {
        self.peek();
        let start = self.at;
        let mut depth = 0;
        loop {
            match self.peek() {
                Some(b'"') => self.skip_string()?,
                Some(b'{' | b'[') => {
                    depth += 1;
                    self.at += 1;
                    if depth > DEPTH_MAX {
                        return Err(WireError::JsonTooDeep { position: self.at, depth_max: DEPTH_MAX });
                    }
                }
                Some(b'}' | b']') if depth > 0 => {
                    depth -= 1;
                    self.at += 1;
                }
                Some(b',' | b':') if depth > 0 => self.at += 1,
                _ => {
                    self.scalar()?;
                }
            }
            if depth == 0 {
                return Ok(&self.text[start..self.at]);
            }
        }
    }

    /// Consumes a string without looking at its escapes.
    pub(crate) fn skip_string(&mut self) -> Result<(), WireError> {
        self.require(b'"', "a string")?;
        let bytes = self.text.as_bytes();
        loop {
            let Some(size) = memchr2(b'"', b'\\', &bytes[self.at..]) else {
                return Err(self.expected("the end of a string"));
            };
            self.at += size + 1;
            if bytes[self.at - 1] == b'"' {
                return Ok(());
            }
            // Whatever is escaped; a character of several bytes never looks like a quote or a backslash.
            self.at = (self.at + 1).min(bytes.len());
        }
    }

    /// Where the next byte stands.
    pub(crate) fn position(&self) -> usize {
        self.at
    }

    /// Consumes one byte of ASCII.
    pub(crate) fn advance(&mut self) {
        self.at += 1;
    }

    /// Consumes one character of any size.
    pub(crate) fn advance_character(&mut self) {
        self.at += self.text[self.at..].chars().next().map_or(0, char::len_utf8);
    }
}

fn needs_escape(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

/// Appends a JSON string. Escapes what JSON demands and nothing else, as fastjson does.
pub(crate) fn write_string(text: &str, out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    out.push(b'"');
    let mut copied = 0;
    // Most strings need no escape: to look at all of it without stopping costs a fraction of a search.
    let has_escapes = text.bytes().fold(false, |has, byte| has | needs_escape(byte));
    let escapable = if has_escapes { text } else { "" };
    for (at, byte) in escapable.bytes().enumerate() {
        let short = match byte {
            b'"' | b'\\' => byte,
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            0..0x20 => 0,
            _ => continue,
        };
        out.extend_from_slice(&text.as_bytes()[copied..at]);
        copied = at + 1;
        if short == 0 {
            out.extend_from_slice(b"\\u00");
            out.push(HEX[usize::from(byte >> 4)]);
            out.push(HEX[usize::from(byte & 15)]);
        } else {
            out.extend_from_slice(&[b'\\', short]);
        }
    }
    out.extend_from_slice(&text.as_bytes()[copied..]);
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn string(text: &str) -> Result<String, WireError> {
        Scanner::new(text).string().map(Cow::into_owned)
    }

    #[test]
    fn escapes_read_as_in_java() {
        assert_eq!(string(r#""a\u0001b\/\n\"\\""#).as_deref(), Ok("a\u{1}b/\n\"\\"));
        assert_eq!(string(r#""\ud83d\ude00""#).as_deref(), Ok("😀"));
        assert_eq!(string(r#""\ud83d!""#).as_deref(), Ok("\u{fffd}!"));
        assert_eq!(string(r#""\ud83d\u0041""#).as_deref(), Ok("\u{fffd}A"));
        assert_eq!(string(r#""\ude00""#).as_deref(), Ok("\u{fffd}"));
        assert_eq!(string("\"raw\u{1}\"").as_deref(), Ok("raw\u{1}"));
        for broken in
            ["", "\"", "\"a", r#""\"#, r#""\""#, r#""\x""#, r#""\u00g0""#, r#""\u00"#, r#""\ud83d\u"#]
        {
            assert!(string(broken).is_err(), "{broken}");
        }
    }

    #[test]
    fn a_string_without_escapes_is_borrowed() {
        assert!(matches!(Scanner::new("\"plain\"").string(), Ok(Cow::Borrowed("plain"))));
    }

    #[test]
    fn values_are_skipped_whole() {
        for value in ["1", "-2.5e3", "null", r#""a\"b""#, "{}", r#"{"a":[1,{"b":"}"}]}"#, "[ ]"] {
            let text = format!(" {value} ,rest");
            let mut scanner = Scanner::new(&text);
            assert_eq!(scanner.raw_value(), Ok(value));
            assert!(scanner.accept(b','));
        }
        assert!(Scanner::new("{").raw_value().is_err());
        assert!(Scanner::new("").raw_value().is_err());
        assert!(matches!(Scanner::new(&"[".repeat(200)).raw_value(), Err(WireError::JsonTooDeep { .. })));
    }

    proptest! {
        #[test]
        fn strings_agree_with_a_strict_parser(text: String) {
            let mut written = Vec::new();
            write_string(&text, &mut written);
            let written = String::from_utf8(written).expect("a string of text");
            prop_assert_eq!(serde_json::from_str::<String>(&written).ok(), Some(text.clone()));
            prop_assert_eq!(string(&written)?, text.clone());
            let strict = serde_json::to_string(&text).expect("any text");
            prop_assert_eq!(string(&strict)?, text);
        }

        #[test]
        fn no_text_panics(text in "[\"\\\\u0-9a{}\\[\\],: é]{0,30}") {
            let _ = string(&text);
            let _ = Scanner::new(&text).raw_value();
            let _ = Scanner::new(&text).skip_string();
        }
    }
}
