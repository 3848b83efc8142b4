//! What is no expression: the error says where, and what was expected there; and nothing is larger than it may be.

use escrowmq_filter::{DEPTH_MAX, NAMES_MAX, OPERANDS_MAX, PropertyFilter, SIZE_MAX_BYTES};

fn refusal(expression: &str) -> String {
    match PropertyFilter::compile(expression) {
        Ok(filter) => panic!("{expression} is {filter}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn an_error_names_the_place_and_what_was_expected() {
    for (expression, expected) in [
        ("", "line 1, column 1: expected a property, a value, NOT or (, found the end"),
        ("a >", "line 1, column 4: expected a property, a value, NOT or (, found the end"),
        ("a = 1 AND\n (b = 2", "line 2, column 8: expected an operator or ), found the end"),
        ("a BETWEEN 1 OR 5", "line 1, column 13: expected AND, found OR"),
        ("a IN 'x'", "line 1, column 6: expected (, found 'x'"),
        ("a IN ('x' 'y')", "line 1, column 11: expected , or ), found 'y'"),
        ("a IN (5)", "line 1, column 7: expected a text in single quotes, found 5"),
        ("a NOT b", "line 1, column 7: expected BETWEEN, IN, CONTAINS, STARTSWITH or ENDSWITH, found b"),
        ("a IS 5", "line 1, column 6: expected NULL or NOT NULL, found 5"),
        ("a IS NOT 5", "line 1, column 10: expected NULL, found 5"),
        ("a > 'x'", "line 1, column 5: expected a number or a property to compare by order, found 'x'"),
        ("NOT a > 5", "line 1, column 1: expected a number or a property to compare by order, found (NOT a)"),
        ("a = 1 AND 5", "line 1, column 11: expected a condition, found 5"),
        ("a = NULL", "line 1, column 5: NULL equals nothing: use IS NULL or IS NOT NULL"),
        ("TRUE = 5", "line 1, column 1: TRUE is never equal to 5"),
        ("'x' IN ('x')", "line 1, column 1: expected a property before IN, found 'x'"),
        ("a BETWEEN 5 AND 1", "line 1, column 11: nothing is between 5 and 1: the lesser value comes first"),
        (
            "a > 9223372036854775808",
            "line 1, column 5: 9223372036854775808 is greater than 9223372036854775807",
        ),
        ("a > 0.0", "line 1, column 5: 0.0 is not between 4.9e-324 and 1.7976931348623157e308"),
        ("a != 1", "line 1, column 3: '!' means nothing outside of a text"),
    ] {
        assert_eq!(refusal(expression), expected, "{expression}");
    }
}

#[test]
fn an_error_repeats_no_more_than_a_line() {
    let text = "x".repeat(10_000);
    assert!(refusal(&format!("a IN {text}")).len() < 200);
    assert!(refusal(&format!("a > '{text}'")).len() < 200);
    assert!(refusal(&format!("a > {}", "9".repeat(10_000))).len() < 200);
}

#[test]
fn an_expression_has_no_more_than_it_may() {
    let allowed = format!("a = '{}'", "x".repeat(SIZE_MAX_BYTES - 6));
    assert!(PropertyFilter::compile(&allowed).is_ok());
    assert!(refusal(&format!("{allowed} ")).contains("32769 bytes, at most 32768 are allowed"));
    let terms = |count| vec!["a"; count].join(" OR ");
    assert!(PropertyFilter::compile(&terms(OPERANDS_MAX)).is_ok());
    assert!(refusal(&terms(OPERANDS_MAX + 1)).contains("more than 2048 constants and properties"));
    let names = |count| (0..count).map(|number| format!("p{number}")).collect::<Vec<_>>().join(" OR ");
    assert!(PropertyFilter::compile(&names(NAMES_MAX)).is_ok());
    assert!(refusal(&names(NAMES_MAX + 1)).contains("more than 64 different properties"));
}

#[test]
fn nesting_has_an_end_however_it_is_made() {
    for (open, inner, close) in [
        ("(", "TRUE", ")"),
        ("NOT ", "TRUE", ""),
        ("- ", "5 < a", ""),
        ("+", "a IS NULL", ""),
        ("", "a", " IS NULL"),
        ("", "a", " CONTAINS 'x'"),
        ("", "a", " = b"),
        ("", "a", " <> b"),
        ("(TRUE AND (FALSE OR ", "TRUE", "))"),
    ] {
        let nested = |depth| format!("{}{inner}{}", open.repeat(depth), close.repeat(depth));
        assert!(PropertyFilter::compile(&nested(DEPTH_MAX / 4)).is_ok(), "{open}{inner}{close}");
        for depth in [DEPTH_MAX + 1, 1000] {
            assert!(
                refusal(&nested(depth)).contains("nested deeper than 100 levels"),
                "{open}{inner}{close}"
            );
        }
    }
}
