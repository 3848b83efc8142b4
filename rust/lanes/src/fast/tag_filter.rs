//! Which messages of a queue a subscription wants, as far as the hash of their tag tells. The client looks at the tag
//! itself once more, so a hash that two tags share costs a message sent in vain and nothing else.

use escrowmq_wire::java_hash;

/// Wants all messages, or those with certain tags.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TagFilter {
    /// All.
    All,
    /// Those whose tag has one of these hashes, in order.
    Codes(Box<[i32]>),
}

impl TagFilter {
    /// A filter for the hashes of tags.
    #[must_use]
    pub fn of_codes(codes: impl IntoIterator<Item = i32>) -> Self {
        let mut codes: Vec<i32> = codes.into_iter().collect();
        codes.sort_unstable();
        codes.dedup();
        Self::Codes(codes.into())
    }

    /// A filter for an expression: `*`, or tags between `||`. `None` where it has neither.
    pub(super) fn parse(expression: &str) -> Option<Self> {
        if expression.is_empty() || expression == "*" {
            return Some(Self::All);
        }
        // Compat: Java drops empty parts at the end, and refuses what has no other part; empty tags are left out.
        if expression.split("||").all(str::is_empty) {
            return None;
        }
        let tags = expression.split("||").map(str::trim).filter(|tag| !tag.is_empty());
        Some(Self::of_codes(tags.map(java_hash)))
    }

    /// Whether it wants a message with this tags code, of which Apache compares the low half.
    #[allow(clippy::cast_possible_truncation, reason = "the low half is what counts")]
    pub(super) fn matches(&self, tags_code: i64) -> bool {
        match self {
            Self::All => true,
            Self::Codes(codes) => codes.binary_search(&(tags_code as i32)).is_ok(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use escrowmq_wire::tags_code;

    #[test]
    fn an_expression_is_read_as_java_reads_it() {
        assert_eq!(TagFilter::parse("*"), Some(TagFilter::All));
        assert_eq!(TagFilter::parse(""), Some(TagFilter::All));
        assert_eq!(TagFilter::parse("||"), None);
        assert_eq!(TagFilter::parse(" || "), Some(TagFilter::of_codes([])));
        let filter = TagFilter::parse("paid || shipped||").expect("it has tags");
        assert!(filter.matches(tags_code("paid")) && filter.matches(tags_code("shipped")));
        assert!(!filter.matches(tags_code("created")) && !filter.matches(0));
    }

    #[test]
    fn only_the_low_half_of_a_code_counts() {
        let filter = TagFilter::of_codes([-5]);
        assert!(filter.matches(-5) && filter.matches(i64::from((-5_i32).cast_unsigned())));
    }
}
