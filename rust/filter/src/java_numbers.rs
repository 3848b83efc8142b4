//! Numbers as Java reads them from a text: `Integer.valueOf`, `Long.valueOf` and `Double.valueOf`. `None` is its
//! `NumberFormatException`.

/// `Integer.valueOf`.
pub fn parse_int(text: &[u8]) -> Option<i32> {
    parse_long(text).and_then(|number| i32::try_from(number).ok())
}

/// `Long.valueOf`.
pub fn parse_long(text: &[u8]) -> Option<i64> {
    let (is_negative, digits) = signed(text);
    if digits.is_empty() {
        return None;
    }
    if let Some(number) = parse_short(digits) {
        return Some(if is_negative { -number } else { number });
    }
    // Towards the negative side, which reaches one further.
    let add = |number: i64, digit: u8| number.checked_mul(10)?.checked_sub(digit.into());
    let digits = std::str::from_utf8(digits).ok()?;
    let number = digits.chars().try_fold(0, |number, character| add(number, digit_of(character)?))?;
    if is_negative { Some(number) } else { number.checked_neg() }
}

/// A number that is too short to overflow, in digits that nearly all numbers are written in; `None` for any other.
fn parse_short(digits: &[u8]) -> Option<i64> {
    if digits.len() > 18 {
        return None;
    }
    digits.iter().try_fold(0, |number, byte| {
        let digit = byte.wrapping_sub(b'0');
        (digit < 10).then(|| number * 10 + i64::from(digit))
    })
}

/// Whether there is a minus, and what follows the sign.
fn signed(text: &[u8]) -> (bool, &[u8]) {
    match text {
        [sign @ (b'-' | b'+'), rest @ ..] => (*sign == b'-', rest),
        rest => (false, rest),
    }
}

/// The zeros of scripts that have digits of their own within Unicode's first plane; the other nine follow each.
#[rustfmt::skip]
const ZEROS: [char; 37] = [
    '0', '\u{660}', '\u{6f0}', '\u{7c0}', '\u{966}', '\u{9e6}', '\u{a66}', '\u{ae6}',
    '\u{b66}', '\u{be6}', '\u{c66}', '\u{ce6}', '\u{d66}', '\u{de6}', '\u{e50}', '\u{ed0}',
    '\u{f20}', '\u{1040}', '\u{1090}', '\u{17e0}', '\u{1810}', '\u{1946}', '\u{19d0}', '\u{1a80}',
    '\u{1a90}', '\u{1b50}', '\u{1bb0}', '\u{1c40}', '\u{1c50}', '\u{a620}', '\u{a8d0}', '\u{a900}',
    '\u{a9d0}', '\u{a9f0}', '\u{aa50}', '\u{abf0}', '\u{ff10}',
];

/// The value of a decimal digit in any script. Java does not look beyond the first plane here.
fn digit_of(character: char) -> Option<u8> {
    let zero = ZEROS[..ZEROS.partition_point(|&zero| zero <= character)].last()?;
    u8::try_from(u32::from(character) - u32::from(*zero)).ok().filter(|&digit| digit < 10)
}

/// `Double.valueOf`.
pub fn parse_double(text: &[u8]) -> Option<f64> {
    // Java trims whatever is not greater than a blank.
    let start = text.iter().position(|&byte| byte > b' ')?;
    let end = text.iter().rposition(|&byte| byte > b' ')? + 1;
    let (is_negative, magnitude) = signed(&text[start..end]);
    let number = match magnitude {
        b"NaN" => return Some(f64::NAN),
        b"Infinity" => f64::INFINITY,
        [b'0', b'x' | b'X', rest @ ..] => parse_hexadecimal(without_suffix(rest))?,
        rest => parse_decimal(without_suffix(rest))?,
    };
    Some(if is_negative { -number } else { number })
}

fn without_suffix(digits: &[u8]) -> &[u8] {
    match digits {
        [rest @ .., b'f' | b'F' | b'd' | b'D'] => rest,
        digits => digits,
    }
}

fn parse_decimal(text: &[u8]) -> Option<f64> {
    // Rust reads more than Java: words for infinity, which begin with no digit, and a sign, which was taken off.
    let is_number = matches!(text, [b'0'..=b'9' | b'.', ..]);
    std::str::from_utf8(text).ok().filter(|_| is_number)?.parse().ok()
}

/// `1.8p-3`, behind `0x`: hexadecimal digits, and the power of two that they are multiplied by.
fn parse_hexadecimal(text: &[u8]) -> Option<f64> {
    let mark = text.iter().position(|byte| matches!(byte, b'p' | b'P'))?;
    let (is_negative, digits) = signed(&text[mark + 1..]);
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let add = |power: i64, digit: &u8| power.saturating_mul(10).saturating_add((digit - b'0').into());
    // Far beyond any double, and far from any overflow.
    let power = digits.iter().fold(0, add).min(1 << 40);
    let (significand, exponent) = hexadecimal_digits(&text[..mark])?;
    Some(rounded(significand, exponent + if is_negative { -power } else { power }))
}

/// The digits as an integer, and the power of two that it is to be multiplied by. Of what does not fit, the last bit
/// says only whether there was any.
fn hexadecimal_digits(text: &[u8]) -> Option<(u64, i64)> {
    let (mut significand, mut exponent) = (0_u64, 0);
    let (mut has_point, mut has_digit) = (false, false);
    for &byte in text {
        if byte == b'.' && !has_point {
            has_point = true;
            continue;
        }
        let digit = u64::from(char::from(byte).to_digit(16)?);
        has_digit = true;
        let has_room = significand >> 60 == 0;
        significand = if has_room { significand << 4 | digit } else { significand | u64::from(digit > 0) };
        exponent += i64::from(!has_room) * 4 - i64::from(has_point) * 4;
    }
    has_digit.then_some((significand, exponent))
}

/// The double next to an integer times a power of two; of two that are as near, the even one.
#[allow(clippy::cast_precision_loss, reason = "there are 53 bits at most")]
fn rounded(significand: u64, exponent: i64) -> f64 {
    let Some(shift) = significand.checked_ilog2().map(|top| 63 - top) else { return 0.0 };
    let (significand, exponent) = (u128::from(significand << shift), exponent - i64::from(shift));
    // The value is at least two to the power of `top`, and less than twice that.
    let top = exponent + 63;
    if top > 1023 {
        return f64::INFINITY;
    }
    // 11 bits are too many for a double, and more below its least normal exponent.
    let dropped_count = 11 + (-1022 - top).max(0);
    if dropped_count > 64 {
        return 0.0;
    }
    let half = 1_u128 << (dropped_count - 1);
    let is_odd = significand >> dropped_count & 1;
    let kept = (significand + half - 1 + is_odd) >> dropped_count;
    // Both factors are exact, and so is their product.
    kept as f64 * power_of_two(exponent + dropped_count)
}

/// Two to the power of an exponent from -1074 to 1023.
fn power_of_two(exponent: i64) -> f64 {
    let bits = if exponent < -1022 { 1 << (exponent + 1074) } else { (exponent + 1023) << 52 };
    f64::from_bits(bits.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_read_as_java_reads_them() {
        for (text, expected) in [
            ("0", Some(0)),
            ("-0", Some(0)),
            ("+12", Some(12)),
            ("0012", Some(12)),
            ("9223372036854775807", Some(i64::MAX)),
            ("-9223372036854775808", Some(i64::MIN)),
            ("9223372036854775808", None),
            ("-9223372036854775809", None),
            ("\u{663}\u{662}1", Some(321)),
            ("-\u{ff11}", Some(-1)),
            ("\u{1d7ce}", None),
            ("", None),
            ("-", None),
            (" 1", None),
            ("1L", None),
            ("1.0", None),
            ("+-1", None),
        ] {
            assert_eq!(parse_long(text.as_bytes()), expected, "{text:?}");
        }
        assert_eq!(parse_int(b"-2147483648"), Some(i32::MIN));
        assert_eq!(parse_int(b"2147483648"), None);
        assert_eq!(parse_long(b"1\xff"), None);
    }

    #[test]
    fn doubles_are_read_as_java_reads_them() {
        for (text, expected) in [
            ("1", Some(1.0)),
            (" \t1.5\n", Some(1.5)),
            ("-.5e1f", Some(-5.0)),
            ("1.D", Some(1.0)),
            ("+Infinity", Some(f64::INFINITY)),
            ("1e400", Some(f64::INFINITY)),
            ("1e99999999999999999999", Some(f64::INFINITY)),
            ("inf", None),
            ("infinity", None),
            ("nan", None),
            ("", None),
            (" ", None),
            (".", None),
            ("1e", None),
            ("1L", None),
            ("1_0", None),
            ("--1", None),
            ("+-1", None),
            ("1ff", None),
            ("f", None),
            ("0x1p3", Some(8.0)),
            ("-0X.8P+1d", Some(-1.0)),
            ("0x10.p-4", Some(1.0)),
            ("0x1", None),
            ("0xp1", None),
            ("0x.p1", None),
            ("0x1p", None),
            ("0x1p99999999999999999999", Some(f64::INFINITY)),
            ("0x1p-99999999999999999999", Some(0.0)),
            ("0x0p99999999999999999999", Some(0.0)),
        ] {
            assert_eq!(parse_double(text.as_bytes()), expected, "{text:?}");
        }
        assert!(parse_double(b"-NaN").is_some_and(|number| number.is_nan() && number.is_sign_positive()));
    }

    #[test]
    fn hexadecimal_doubles_are_rounded_to_the_nearest_and_even() {
        for (text, expected) in [
            ("0x1.fffffffffffffp1023", f64::MAX),
            ("0x1.fffffffffffff7p1023", f64::MAX),
            ("0x1.fffffffffffff8p1023", f64::INFINITY),
            ("0x1.00000000000008p0", 1.0),
            ("0x1.000000000000080000000000001p0", 1.0 + f64::EPSILON),
            ("0x1.00000000000018p0", 1.0 + 2.0 * f64::EPSILON),
            ("0x1p-1074", f64::from_bits(1)),
            ("0x1p-1075", 0.0),
            ("0x1.8p-1075", f64::from_bits(1)),
            ("0x1p-1022", f64::MIN_POSITIVE),
            ("0x0.fffffffffffff8p-1022", f64::MIN_POSITIVE),
            ("0x123456789abcdef0123p0", 5_373_003_642_731_685_151_011.0),
        ] {
            assert_eq!(parse_double(text.as_bytes()), Some(expected), "{text}");
        }
    }
}
