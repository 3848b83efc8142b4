//! Which keys of a record are indexed: its unique id first, then each word of its keys, then its tag.

use std::borrow::Cow;

use escrowmq_wire::property_names::{KEY_SEPARATOR, KEYS, TAGS, UNIQ_KEY};
use escrowmq_wire::{RecordView, TransactionKind};

/// What tells a tag from a key of the same text.
pub(super) const TAG_PREFIX: &str = "T#";

/// Calls `visit` with each key, until it fails. Rolled-back records have none.
///
/// Compat: words may be separated by several spaces; a key that is there twice is indexed twice; 5.5 indexes the
/// tag too, as the key `T#<tag>`.
pub(super) fn visit_keys<E>(
    record: &RecordView<'_>,
    mut visit: impl FnMut(&str) -> Result<(), E>,
) -> Result<(), E> {
    if record.sys_flag().transaction() == TransactionKind::Rollback {
        return Ok(());
    }
    let [unique, keys, tag] = record.properties().get_many([UNIQ_KEY, KEYS, TAGS]);
    if let Some(unique) = unique {
        visit(&text(unique))?;
    }
    if let Some(keys) = keys {
        text(keys).split(KEY_SEPARATOR).filter(|word| !word.is_empty()).try_for_each(&mut visit)?;
    }
    tag.map_or(Ok(()), |tag| visit(&format!("{TAG_PREFIX}{}", text(tag))))
}

fn text(bytes: &[u8]) -> Cow<'_, str> {
    // `from_utf8_lossy` alone would do, but is slower for the texts of every day.
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}
