//! Reading the fields of a request, all of which travel as text.

use std::str::FromStr;

/// A field that is needed and not there, or not what it should be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadField {
    /// Compat: said in Apache's words, which its clients' users search for.
    #[error("the custom field <{name}> is null")]
    Missing {
        /// Its name.
        name: &'static str,
    },
    #[error("the custom field <{name}> is {found:?}, which is no number")]
    NotANumber {
        /// Its name.
        name: &'static str,
        /// The beginning of what it is.
        found: String,
    },
}

const FOUND_SIZE_MAX: usize = 40;

/// The value of a field that has to be there.
pub fn needed<T>(name: &'static str, value: Option<T>) -> Result<T, BadField> {
    value.ok_or(BadField::Missing { name })
}

/// The number in a field.
pub fn number<T: FromStr>(name: &'static str, text: &str) -> Result<T, BadField> {
    text.parse()
        .map_err(|_| BadField::NotANumber { name, found: text.chars().take(FOUND_SIZE_MAX).collect() })
}
