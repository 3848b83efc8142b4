//! A filter expression and a property string, with a NUL between them. Both end, whatever they are; and what a filter
//! prints is the same filter, unless all its parentheses are more than an expression may have.

#![no_main]

use escrowmq_filter::{Problem, PropertyFilter};
use escrowmq_wire::Properties;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let (text, raw) = match bytes.iter().position(|&byte| byte == 0) {
        Some(end) => (&bytes[..end], &bytes[end + 1..]),
        None => (bytes, &[][..]),
    };
    let Ok(text) = std::str::from_utf8(text) else { return };
    let filter = match PropertyFilter::compile(text) {
        Ok(filter) => filter,
        Err(error) => {
            assert!(error.place.offset <= text.len() && error.to_string().len() < 400);
            return;
        }
    };
    let properties = Properties::new(raw);
    let is_wanted = filter.matches(properties);
    let printed = filter.to_string();
    match PropertyFilter::compile(&printed) {
        Ok(again) => {
            assert_eq!(again.to_string(), printed);
            assert_eq!(again.matches(properties), is_wanted);
        }
        Err(error) => assert!(matches!(
            error.problem,
            Problem::TooLong { .. } | Problem::TooDeep { .. } | Problem::TooManyOperands { .. }
        )),
    }
});
