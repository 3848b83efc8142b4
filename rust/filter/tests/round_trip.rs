//! Any text is an expression or an error, and an expression that is printed is read as the same one again.

use escrowmq_filter::PropertyFilter;
use escrowmq_wire::{Properties, encode_properties};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

const TOKENS: [&str; 44] = [
    "a",
    "b",
    "$c",
    "_d",
    "NOT",
    "AND",
    "OR",
    "BETWEEN",
    "IN",
    "TRUE",
    "FALSE",
    "NULL",
    "IS",
    "CONTAINS",
    "STARTSWITH",
    "ENDSWITH",
    "=",
    "<>",
    ">",
    ">=",
    "<",
    "<=",
    "(",
    ")",
    ",",
    "+",
    "-",
    "0",
    "1",
    "12l",
    "2147483648",
    "1.5",
    ".5e-3",
    "1e9",
    "'x'",
    "''",
    "'it''s'",
    "'é'",
    "-- c\n",
    "/* c */",
    "@",
    "'",
    "007",
    "\u{a0}",
];

fn value() -> impl Strategy<Value = String> {
    let plain =
        select(&["a", "b", "$c", "_d", "1", "12l", "2147483648", "1.5", ".5e-3", "1e9", "'x'", "'it''s'"]);
    (select(&["", "", "- ", "+"]), plain).prop_map(|(sign, value)| format!("{sign}{value}"))
}

fn test() -> impl Strategy<Value = String> {
    let name = || select(&["a", "b", "$c"]);
    let text = || select(&["'x'", "''", "'it''s'", "'é'"]);
    let not = || select(&["", "NOT "]);
    let sign = select(&["=", "<>", ">", ">=", "<", "<="]);
    prop_oneof![
        (value(), sign, value()).prop_map(|(left, sign, right)| format!("{left} {sign} {right}")),
        (name(), not(), value(), value())
            .prop_map(|(name, not, low, high)| format!("{name} {not}BETWEEN {low} AND {high}")),
        (name(), not(), vec(text(), 1..4))
            .prop_map(|(name, not, texts)| format!("{name} {not}IN ({})", texts.join(","))),
        (value(), not(), select(&["CONTAINS", "STARTSWITH", "ENDSWITH"]), text())
            .prop_map(|(value, not, part, text)| format!("{value} {not}{part} {text}")),
        (value(), not()).prop_map(|(value, not)| format!("{value} IS {not}NULL")),
        (not(), name()).prop_map(|(not, name)| format!("{not}{name}")),
        select(&["TRUE", "FALSE", "NULL"]).prop_map(str::to_owned),
    ]
}

fn condition() -> impl Strategy<Value = String> {
    test().prop_recursive(4, 24, 3, |inner| {
        let joined = (vec(inner.clone(), 1..4), select(&[" AND ", " OR "]));
        prop_oneof![
            joined.prop_map(|(conditions, joint)| format!("({})", conditions.join(joint))),
            inner.clone().prop_map(|condition| format!("NOT ({condition})")),
            (inner.clone(), inner).prop_map(|(left, right)| format!("({left}) = ({right})")),
        ]
    })
}

fn property_string() -> impl Strategy<Value = Vec<u8>> {
    let value = select(&["x", "it's", "é", "1", "1.5", "-1", "true", "NaN", "0x1p3", "3000000000"]);
    vec((select(&["a", "b", "$c", "_d", "e"]), value), 0..6).prop_map(|pairs| {
        let mut encoded = Vec::new();
        encode_properties(pairs, &mut encoded);
        encoded
    })
}

/// A filter, once more from what it prints.
fn again(filter: &PropertyFilter) -> PropertyFilter {
    let printed = filter.to_string();
    let again = PropertyFilter::compile(&printed).unwrap_or_else(|error| panic!("{printed}: {error}"));
    assert_eq!(again.to_string(), printed);
    again
}

proptest! {
    #[test]
    fn any_text_is_an_expression_or_an_error(text in ".{0,60}", raw in vec(any::<u8>(), 0..60)) {
        if let Ok(filter) = PropertyFilter::compile(&text) {
            let properties = Properties::new(&raw);
            prop_assert_eq!(filter.matches(properties), again(&filter).matches(properties));
        }
    }

    #[test]
    fn any_row_of_tokens_is_an_expression_or_an_error(
        tokens in vec(select(&TOKENS), 0..30), joint in select(&["", " "]), raw in property_string()
    ) {
        if let Ok(filter) = PropertyFilter::compile(&tokens.join(joint)) {
            let properties = Properties::new(&raw);
            prop_assert_eq!(filter.matches(properties), again(&filter).matches(properties));
        }
    }

    #[test]
    fn what_is_printed_means_the_same(text in condition(), raw in vec(property_string(), 1..8)) {
        // Some combinations of types are refused.
        if let Ok(filter) = PropertyFilter::compile(&text) {
            prop_assert_eq!(filter.ignored_from(), None);
            let again = again(&filter);
            for raw in &raw {
                let properties = Properties::new(raw);
                prop_assert_eq!(filter.matches(properties), again.matches(properties), "{} is {}", text, filter);
            }
        }
    }
}
