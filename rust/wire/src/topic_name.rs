//! Which names a topic and a group may have. Names become directories, so this is also what keeps `..` and `/` out.

use crate::error::WireError;

/// Longest name of an ordinary topic.
pub const TOPIC_NAME_SIZE_MAX: usize = 127;
/// Longest name of a retry or dead-letter topic.
pub const RETRY_TOPIC_NAME_SIZE_MAX: usize = 255;
/// Longest name of a group; leaves room for the prefixes below.
pub const GROUP_NAME_SIZE_MAX: usize = 120;
/// Begins the name of a group's retry topic.
pub const RETRY_TOPIC_PREFIX: &str = "%RETRY%";
/// Begins the name of a group's dead-letter topic.
pub const DEAD_LETTER_TOPIC_PREFIX: &str = "%DLQ%";

/// Whether a topic may have this name.
///
/// # Errors
/// [`WireError::NameBlank`], [`WireError::NameCharacter`] or [`WireError::NameTooLong`].
pub fn check_topic_name(name: &str) -> Result<(), WireError> {
    let is_derived = name.starts_with(RETRY_TOPIC_PREFIX) || name.starts_with(DEAD_LETTER_TOPIC_PREFIX);
    check_name("topic", name, if is_derived { RETRY_TOPIC_NAME_SIZE_MAX } else { TOPIC_NAME_SIZE_MAX })
}

/// Whether a producer or consumer group may have this name.
///
/// # Errors
/// [`WireError::NameBlank`], [`WireError::NameCharacter`] or [`WireError::NameTooLong`].
pub fn check_group_name(name: &str) -> Result<(), WireError> {
    check_name("group", name, GROUP_NAME_SIZE_MAX)
}

fn check_name(what: &'static str, name: &str, size_max: usize) -> Result<(), WireError> {
    if name.trim().is_empty() {
        return Err(WireError::NameBlank { what });
    }
    let is_allowed =
        |character: char| character.is_ascii_alphanumeric() || matches!(character, '%' | '|' | '_' | '-');
    if let Some((position, character)) = name.char_indices().find(|&(_, character)| !is_allowed(character)) {
        return Err(WireError::NameCharacter { what, character, position });
    }
    if name.len() > size_max {
        return Err(WireError::NameTooLong { what, size: name.len(), size_max });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_that_apache_takes_are_taken() {
        for name in ["orders", "RMQ_SYS_TRANS_HALF_TOPIC", "%RETRY%billing", "a|b-c_9", "x"] {
            assert_eq!(check_topic_name(name), Ok(()));
        }
    }

    #[test]
    fn names_that_are_no_file_names_are_refused() {
        for name in ["", " ", "\t\n"] {
            assert_eq!(check_topic_name(name), Err(WireError::NameBlank { what: "topic" }));
        }
        for (name, character, position) in
            [("..", '.', 0), ("a/b", '/', 1), ("a b", ' ', 1), ("ä", 'ä', 0), ("a\0", '\0', 1)]
        {
            assert_eq!(
                check_topic_name(name),
                Err(WireError::NameCharacter { what: "topic", character, position })
            );
        }
    }

    #[test]
    fn the_limit_depends_on_the_kind_of_topic() {
        let check = |prefix: &str, size: usize| {
            check_topic_name(&format!("{prefix}{}", "t".repeat(size - prefix.len())))
        };
        assert_eq!(check("", 127), Ok(()));
        assert_eq!(check("", 128), Err(WireError::NameTooLong { what: "topic", size: 128, size_max: 127 }));
        for prefix in [RETRY_TOPIC_PREFIX, DEAD_LETTER_TOPIC_PREFIX] {
            assert_eq!(check(prefix, 255), Ok(()));
            assert_eq!(
                check(prefix, 256),
                Err(WireError::NameTooLong { what: "topic", size: 256, size_max: 255 })
            );
        }
        assert_eq!(check_group_name(&"g".repeat(120)), Ok(()));
        assert!(check_group_name(&"g".repeat(121)).is_err());
    }

    proptest! {
        #[test]
        fn a_name_is_legal_when_every_character_is(name in ".{0,20}|[%|a-zA-Z0-9_-]{1,127}") {
            let is_legal = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"%|_-".contains(&byte));
            prop_assert_eq!(check_topic_name(&name).is_ok(), is_legal);
        }
    }
}
