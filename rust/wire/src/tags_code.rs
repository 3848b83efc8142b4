//! Java's `String.hashCode` and the two numbers that stores derive from it: the tags code of a consume-queue
//! entry and the key hash of the index. Both are on disk, so they must agree with Java to the bit.

/// `String.hashCode`: `h = 31 * h + unit` over the UTF-16 units, wrapping in 32 bits.
#[must_use]
pub fn java_hash(text: &str) -> i32 {
    extend_hash(0, text)
}

/// Continues a hash, so that `topic#key` needs no concatenated copy.
fn extend_hash(hash: i32, text: &str) -> i32 {
    if text.is_ascii() {
        // Four at a time: each multiplication waits for the one before, and every key of every message is hashed.
        let (fours, rest) = text.as_bytes().as_chunks();
        let hash = fours.iter().fold(hash, |hash, &[a, b, c, d]| {
            let [a, b, c, d] = [a, b, c, d].map(i32::from);
            hash.wrapping_mul(31 * 31 * 31 * 31).wrapping_add(((a * 31 + b) * 31 + c) * 31 + d)
        });
        rest.iter().fold(hash, |hash, &byte| hash.wrapping_mul(31).wrapping_add(i32::from(byte)))
    } else {
        text.encode_utf16().fold(hash, |hash, unit| hash.wrapping_mul(31).wrapping_add(i32::from(unit)))
    }
}

/// The tags code of a consume-queue entry: the hash sign-extended to 64 bits, 0 for no tag.
#[must_use]
pub fn tags_code(tags: &str) -> i64 {
    i64::from(java_hash(tags))
}

/// The hash of `topic#key` in the key index.
#[must_use]
pub fn key_hash(topic: &str, key: &str) -> u32 {
    absolute(extend_hash(extend_hash(java_hash(topic), "#"), key))
}

/// Compat: `Math.abs(INT_MIN)` stays negative in Java, and the index then takes 0.
fn absolute(hash: i32) -> u32 {
    hash.checked_abs().map_or(0, i32::cast_unsigned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_hashes_are_those_of_java() {
        assert_eq!(java_hash(""), 0);
        assert_eq!(java_hash("paid"), 3_433_164);
        assert_eq!(java_hash("TagA"), 2_598_919);
        // Wraps below zero; the value is listed in Java's own documentation of collisions.
        assert_eq!(java_hash("polygenelubricants"), i32::MIN);
        assert_eq!(tags_code("polygenelubricants"), i64::from(i32::MIN));
        // Two UTF-16 units each: a surrogate pair counts twice.
        assert_eq!(java_hash("😀"), 0xd83d_i32.wrapping_mul(31).wrapping_add(0xde00));
    }

    #[test]
    fn a_key_hash_is_never_negative() {
        assert_eq!(key_hash("orders", "k"), java_hash("orders#k").unsigned_abs());
        assert_eq!(absolute(i32::MIN), 0);
        assert_eq!(absolute(-7), 7);
    }

    proptest! {
        #[test]
        fn pieces_hash_like_the_whole(topic: String, key: String) {
            let whole = java_hash(&format!("{topic}#{key}"));
            prop_assert_eq!(key_hash(&topic, &key), absolute(whole));
        }
    }
}
