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
    let properties = record.properties();
    let text = |name| properties.get_bytes(name).map_or(Cow::Borrowed(""), String::from_utf8_lossy);
    let unique = text(UNIQ_KEY);
    if !unique.is_empty() {
        visit(&unique)?;
    }
    text(KEYS).split(KEY_SEPARATOR).filter(|word| !word.is_empty()).try_for_each(&mut visit)?;
    let tag = text(TAGS);
    if tag.is_empty() { Ok(()) } else { visit(&format!("{TAG_PREFIX}{tag}")) }
}
