//! What expressions mean: nulls, types and order. The whole of it is in the golden table; these are the rules by name.

use escrowmq_filter::PropertyFilter;
use escrowmq_wire::Properties;

fn matches(expression: &str, properties: &str) -> bool {
    let filter = PropertyFilter::compile(expression).unwrap_or_else(|error| panic!("{expression}: {error}"));
    let properties = properties.replace('=', "\u{1}").replace(';', "\u{2}");
    filter.matches(Properties::new(properties.as_bytes()))
}

/// Whether an expression is true, false or unknown (`None`); what can't be evaluated panics.
fn truth(expression: &str, properties: &str) -> Option<bool> {
    let is_true = matches(expression, properties);
    let is_false = matches(&format!("NOT ({expression})"), properties);
    let is_unknown = matches(&format!("({expression}) IS NULL"), properties);
    assert_eq!([is_true, is_false, is_unknown].iter().filter(|&&holds| holds).count(), 1, "{expression}");
    if is_unknown { None } else { Some(is_true) }
}

/// Whether it matches neither as it stands, nor negated, nor as unknown.
fn fails(expression: &str, properties: &str) -> bool {
    let forms = [expression.to_owned(), format!("NOT ({expression})"), format!("({expression}) IS NULL")];
    forms.iter().all(|form| !matches(form, properties))
}

#[test]
fn logic_knows_true_false_and_unknown() {
    for (expression, expected) in [
        ("TRUE AND NULL", None),
        ("FALSE AND NULL", Some(false)),
        ("NULL AND FALSE", Some(false)),
        ("TRUE OR NULL", Some(true)),
        ("NULL OR FALSE", None),
        ("NOT NULL", None),
        ("TRUE OR TRUE AND FALSE", Some(true)),
        ("(TRUE OR TRUE) AND FALSE", Some(false)),
    ] {
        assert_eq!(truth(expression, ""), expected, "{expression}");
    }
}

#[test]
fn a_missing_property_is_null() {
    assert_eq!(truth("a IS NULL", ""), Some(true));
    assert_eq!(truth("a IS NOT NULL", "a=1;"), Some(true));
    for expression in ["a = 1", "a <> 1", "a > 1", "a BETWEEN 1 AND 2", "a IN ('x')", "a NOT IN ('x')", "a"] {
        assert_eq!(truth(expression, "b=1;"), None, "{expression}");
    }
    assert_eq!(truth("a = b", ""), Some(true), "two nulls are equal");
    assert_eq!(truth("a = b", "b=1;"), None);
    assert_eq!(truth("a = b", "a=1;"), Some(false));
    for expression in ["a CONTAINS 'x'", "a NOT CONTAINS 'x'", "a NOT STARTSWITH 'x'", "a NOT ENDSWITH 'x'"] {
        assert_eq!(truth(expression, ""), Some(false), "{expression}");
    }
}

#[test]
fn a_property_is_read_as_what_it_is_compared_with() {
    assert_eq!(truth("a = '5.0'", "a=5;"), Some(false));
    assert_eq!(truth("a = 5.0", "a=5;"), Some(true));
    assert_eq!(truth("a >= 5", "a=+05;"), Some(true));
    assert_eq!(truth("a = TRUE", "a=tRUE;"), Some(true));
    assert_eq!(truth("a = TRUE", "a=1;"), Some(false));
    assert_eq!(truth("a > 2147483648", "a=9223372036854775807;"), Some(true));
    assert_eq!(truth("a > b", "a=10;b=9.5;"), Some(true));
}

#[test]
fn what_can_t_be_read_so_matches_nothing() {
    assert!(fails("a > 5", "a=x;"));
    assert!(fails("a > 5", "a=5.5;"));
    assert!(fails("a > 5", "a=2147483648;"), "a small number asks for 32 bits");
    assert!(fails("a > 5.0", "a=5L;"));
    assert!(fails("a > b", "a=x;b=y;"), "texts have no order");
    assert!(fails("TRUE = a", "a=true;"));
    assert!(fails("a > 5 OR TRUE", "a=x;"));
    assert!(matches("TRUE OR a > 5", "a=x;"), "it was decided before");
    assert!(fails("a IS NULL OR a > 5", "a=x;"));
}

#[test]
fn ranges_lists_and_parts() {
    assert_eq!(truth("a BETWEEN 1 AND 5", "a=5;"), Some(true));
    assert_eq!(truth("a NOT BETWEEN 1 AND 5", "a=6;"), Some(true));
    assert_eq!(truth("a IN ('x', 'it''s')", "a=it's;"), Some(true));
    assert_eq!(truth("a NOT IN ('x', 'y', 'z', 'u', 'v', 'w')", "a=v;"), Some(false));
    assert_eq!(truth("a CONTAINS 'ö'", "a=schön;"), Some(true));
    assert_eq!(truth("a STARTSWITH 'sch'", "a=schön;"), Some(true));
    assert_eq!(truth("a NOT ENDSWITH 'n'", "a=schön;"), Some(false));
    assert_eq!(truth("a CONTAINS ''", "a=x;"), Some(false), "no text has an empty part");
}

#[test]
fn of_two_pairs_with_one_name_the_later_counts() {
    assert!(matches("a = '2'", "a=1;b=1;a=2;"));
    assert!(matches("A = '2'", "a=1;A=2;"), "names have capitals");
}

#[test]
fn what_is_no_utf8_reads_as_the_replacement_character() {
    let filter = |text: &str| PropertyFilter::compile(text).expect("an expression");
    let properties = Properties::new(b"a\x01x\xff\x02b\x01x\xfe\x02");
    assert!(filter("a = 'x\u{fffd}'").matches(properties));
    assert!(filter("a = b").matches(properties));
    assert!(filter("a IN ('x\u{fffd}')").matches(properties));
    assert!(filter("a ENDSWITH '\u{fffd}'").matches(properties));
    assert!(!filter("a = 'x'").matches(properties));
}

#[test]
fn what_follows_an_expression_is_ignored_and_named() {
    let filter = PropertyFilter::compile("a > 5\n  b @").expect("an expression");
    let place = filter.ignored_from().expect("there is more");
    assert_eq!((place.offset, place.line, place.column), (8, 2, 3));
    assert_eq!(filter.to_string(), "(a > 5)");
    assert_eq!(PropertyFilter::compile("a > 5 ").expect("an expression").ignored_from(), None);
}
