//! fastjson's dialect to strict JSON: what Java tools, brokers and their config files write where a map's keys are not
//! strings.
//!
//! ```text
//! {0:12,1:7}                                  →  {"0":12,"1":7}
//! {{"brokerName":"b","queueId":0}:{"offset":1}}  →  {"{\"brokerName\":\"b\",\"queueId\":0}":{"offset":1}}
//! ```
//! This is no validator: text that is neither dialect nor strict passes through, for the strict parser to refuse.

use std::borrow::Cow;

use crate::error::WireError;
use crate::json_text::{DEPTH_MAX, Scanner, write_string};

/// The same text in strict JSON; strict JSON comes back borrowed.
///
/// # Errors
/// [`WireError::Json`] where a string or an object key does not end or an object key holds another,
/// [`WireError::JsonTooDeep`] where containers are nested beyond all use.
pub fn strict_json(text: &str) -> Result<Cow<'_, str>, WireError> {
    rewrite(text, true)
}

/// An object key becomes a string, and each level of strings doubles the backslashes: only one level is allowed, so
/// that the result is never more than a few times as long as the text.
fn rewrite(text: &str, are_object_keys_allowed: bool) -> Result<Cow<'_, str>, WireError> {
    let mut scanner = Scanner::new(text);
    let mut strict = Strict { text, copied: 0, out: Vec::new() };
    let mut containers = Vec::new();
    let mut is_key_next = false;
    while let Some(byte) = scanner.peek() {
        let start = scanner.position();
        match byte {
            b'"' => scanner.skip_string()?,
            b'{' if is_key_next => {
                if !are_object_keys_allowed {
                    return Err(scanner.expected("a key that is no object, inside an object key,"));
                }
                let key = rewrite(scanner.raw_value()?, false)?;
                strict.replace(start, scanner.position(), &key);
            }
            b'-' | b'0'..=b'9' if is_key_next => {
                let key = scanner.scalar()?;
                strict.replace(start, scanner.position(), key);
            }
            b'{' | b'[' => {
                if containers.len() == DEPTH_MAX {
                    return Err(WireError::JsonTooDeep { position: start, depth_max: DEPTH_MAX });
                }
                containers.push(byte);
                scanner.advance();
            }
            b'}' | b']' => {
                containers.pop();
                scanner.advance();
            }
            _ => scanner.advance_character(),
        }
        is_key_next = match byte {
            b'{' => !is_key_next,
            b',' => containers.last() == Some(&b'{'),
            _ => false,
        };
    }
    Ok(strict.finish())
}

/// The result so far: nothing is copied before the first change.
struct Strict<'a> {
    text: &'a str,
    copied: usize,
    out: Vec<u8>,
}

impl<'a> Strict<'a> {
    /// Puts `key` as a string in the place of `text[start..end]`.
    fn replace(&mut self, start: usize, end: usize, key: &str) {
        self.out.extend_from_slice(&self.text.as_bytes()[self.copied..start]);
        write_string(key, &mut self.out);
        self.copied = end;
    }

    fn finish(mut self) -> Cow<'a, str> {
        if self.copied == 0 {
            return Cow::Borrowed(self.text);
        }
        self.out.extend_from_slice(&self.text.as_bytes()[self.copied..]);
        // Pieces of text and strings made of text: the lossy path is never taken.
        Cow::Owned(
            String::from_utf8(self.out)
                .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn strict(text: &str) -> String {
        strict_json(text).expect("the text is of the dialect").into_owned()
    }

    #[test]
    fn integer_keys_become_strings() {
        assert_eq!(strict("{0:1,1 : -2}"), r#"{"0":1,"1" : -2}"#);
        assert_eq!(
            strict("{\n\t\"offsetTable\":{\n\t\t0:2,\n\t\t-1:[1,{3:4}]}}"),
            "{\n\t\"offsetTable\":{\n\t\t\"0\":2,\n\t\t\"-1\":[1,{\"3\":4}]}}"
        );
    }

    #[test]
    fn object_keys_become_strings() {
        let text =
            r#"{"offsetTable":{ {"brokerName":"b","queueId":0,"topic":"t"} : {"min":0},{"q":{0:1}}:2}}"#;
        let value: serde_json::Value = serde_json::from_str(&strict(text)).expect("strict JSON");
        let table = value["offsetTable"].as_object().expect("an object");
        assert_eq!(table.len(), 2);
        assert_eq!(table[r#"{"brokerName":"b","queueId":0,"topic":"t"}"#]["min"], 0);
        assert_eq!(table[r#"{"q":{"0":1}}"#], 2);
    }

    #[test]
    fn what_never_ends_is_refused() {
        assert!(strict_json("{\"a").is_err());
        assert!(strict_json("{{\"a\":1").is_err());
        assert!(strict_json("{{{\"a\":1}:2}:3}").is_err());
        assert!(matches!(strict_json(&"[".repeat(1000)), Err(WireError::JsonTooDeep { .. })));
        assert!(matches!(
            strict_json(&"{".repeat(1000)),
            Err(WireError::JsonTooDeep { .. } | WireError::Json { .. })
        ));
    }

    #[test]
    fn nonsense_passes_through() {
        for text in ["", "}", "]{", "{a:1}", "1é", "{,}", "{1", "[1,2"] {
            let _ = strict_json(text);
        }
        assert_eq!(strict("é,{é:1}"), "é,{é:1}");
    }

    fn any_json() -> impl Strategy<Value = serde_json::Value> {
        use serde_json::Value;
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            ".{0,9}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 5, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                proptest::collection::hash_map(".{0,9}|[0-9]{1,3}", inner, 0..5)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    /// As fastjson writes it: integer keys without quotes.
    fn dialect(value: &serde_json::Value) -> String {
        use serde_json::Value;
        match value {
            Value::Array(items) => format!("[{}]", items.iter().map(dialect).collect::<Vec<_>>().join(",")),
            Value::Object(members) => {
                let member = |(key, value): (&String, &Value)| {
                    let is_integer = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_digit());
                    let key = if is_integer { key.clone() } else { Value::from(key.as_str()).to_string() };
                    format!("{key}:{}", dialect(value))
                };
                format!("{{{}}}", members.iter().map(member).collect::<Vec<_>>().join(","))
            }
            scalar => scalar.to_string(),
        }
    }

    proptest! {
        #[test]
        fn strict_json_is_left_alone(value in any_json()) {
            let text = value.to_string();
            prop_assert!(matches!(strict_json(&text)?, Cow::Borrowed(same) if same == text));
        }

        #[test]
        fn the_dialect_holds_the_same_value(value in any_json()) {
            let text = dialect(&value);
            prop_assert_eq!(serde_json::from_str::<serde_json::Value>(&strict_json(&text)?).ok(), Some(value));
        }

        #[test]
        fn no_text_panics_or_explodes(text in "[\"\\\\{}\\[\\],:0-9é ]{0,60}") {
            if let Ok(strict) = strict_json(&text) {
                prop_assert!(strict.len() <= 6 * text.len());
            }
        }
    }
}
