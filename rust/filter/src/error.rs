//! What is wrong with an expression, and where.

use std::fmt;

use thiserror::Error;

/// A place in an expression. Lines and columns count from 1, columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Bytes before it.
    pub offset: usize,
    /// Its line.
    pub line: usize,
    /// Its column.
    pub column: usize,
}

impl Place {
    /// The place behind so many bytes of a text.
    pub(crate) fn of(text: &str, offset: usize) -> Self {
        let before = &text[..offset];
        // A line ends with \n, \r or both.
        let ends = before.bytes().zip(before.bytes().skip(1).chain([0]));
        let lines = ends.filter(|&(end, next)| end == b'\n' || (end == b'\r' && next != b'\n')).count();
        let begin = before.rfind(['\n', '\r']).map_or(0, |end| end + 1);
        Self { offset, line: lines + 1, column: before[begin..].chars().count() + 1 }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "line {}, column {}", self.line, self.column)
    }
}

/// An expression that is none.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{place}: {problem}")]
pub struct FilterError {
    /// Where.
    pub place: Place,
    /// What.
    pub problem: Problem,
}

/// What is wrong with an expression.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Problem {
    /// Something else should stand there.
    #[error("expected {expected}, found {found}")]
    Unexpected {
        /// What should.
        expected: &'static str,
        /// What does.
        found: String,
    },
    /// A character that has no meaning outside of texts.
    #[error("{0:?} means nothing outside of a text")]
    UnknownCharacter(char),
    /// A text without its second quote.
    #[error("the text that begins here has no end")]
    UnclosedText,
    /// A comment without its end.
    #[error("the comment that begins here has no end")]
    UnclosedComment,
    /// An integer that does not fit into 64 bits.
    #[error("{0} is greater than 9223372036854775807")]
    IntegerTooLarge(String),
    /// A fraction that is 0, or too large for 64 bits.
    #[error("{0} is not between 4.9e-324 and 1.7976931348623157e308")]
    FloatOutOfRange(String),
    /// What can't be a condition.
    #[error("expected a condition, found {0}")]
    NotBoolean(String),
    /// What has no order.
    #[error("expected a number or a property to compare by order, found {0}")]
    NotOrdered(String),
    /// NULL beside = or <>.
    #[error("NULL equals nothing: use IS NULL or IS NOT NULL")]
    NullCompared,
    /// TRUE or FALSE on the left of a constant of another kind.
    #[error("{0} is never equal to {1}")]
    BooleanCompared(String, String),
    /// Something else than a property on the left of IN.
    #[error("expected a property before IN, found {0}")]
    NotAProperty(String),
    /// BETWEEN whose first value is the greater one.
    #[error("nothing is between {0} and {1}: the lesser value comes first")]
    EmptyRange(String, String),
    /// More bytes than an expression may have.
    #[error("an expression of {found} bytes, at most {max} are allowed")]
    TooLong {
        /// Its bytes.
        found: usize,
        /// The most.
        max: usize,
    },
    /// Deeper nesting than an expression may have.
    #[error("nested deeper than {max} levels")]
    TooDeep {
        /// The deepest.
        max: usize,
    },
    /// More constants and properties than an expression may have.
    #[error("more than {max} constants and properties")]
    TooManyOperands {
        /// The most.
        max: usize,
    },
    /// More different properties than an expression may have.
    #[error("more than {max} different properties")]
    TooManyNames {
        /// The most.
        max: usize,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_counted_in_lines_and_characters() {
        let place = |text: &str, offset| {
            let Place { line, column, .. } = Place::of(text, offset);
            (line, column)
        };
        assert_eq!(place("", 0), (1, 1));
        assert_eq!(place("äö x", 5), (1, 4));
        assert_eq!(place("a\nb\r\nc\rd", 7), (4, 1));
        assert_eq!(place("a\r\nbc", 4), (2, 2));
    }
}
