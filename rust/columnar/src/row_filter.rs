//! Which records become rows, told before anything is made of them.

use std::ops::Range;
use std::sync::Arc;

use escrowmq_filter::PropertyFilter;
use escrowmq_wire::{RecordView, java_hash, property_names as names};

/// What a record must be to become a row; whatever is not named does not matter.
#[derive(Debug, Clone, Default)]
pub struct RowFilter {
    /// One of these tags.
    pub tags: Option<Vec<String>>,
    /// This key among its keys.
    pub key: Option<String>,
    /// Properties that this expression wants.
    pub properties: Option<Arc<PropertyFilter>>,
    /// Stored within this time, in milliseconds.
    pub store_time_ms: Option<Range<i64>>,
}

impl RowFilter {
    /// The hashes by which a queue tells tags apart.
    #[must_use]
    pub fn tags_codes(&self) -> Option<Vec<i32>> {
        self.tags.as_ref().map(|tags| tags.iter().map(|tag| java_hash(tag)).collect())
    }

    /// Whether a record becomes a row.
    #[must_use]
    pub fn wants(&self, record: &RecordView<'_>) -> bool {
        let properties = record.properties();
        let has_tag = |tags: &Vec<String>| {
            properties.get(names::TAGS).is_some_and(|tag| tags.iter().any(|wanted| wanted == tag))
        };
        let has_key = |key: &String| {
            properties.get(names::KEYS).is_some_and(|keys| keys.split(' ').any(|found| found == key))
        };
        self.store_time_ms.as_ref().is_none_or(|time| time.contains(&record.store_timestamp_ms()))
            && self.tags.as_ref().is_none_or(has_tag)
            && self.key.as_ref().is_none_or(has_key)
            && self.properties.as_ref().is_none_or(|filter| filter.matches(properties))
    }
}
