//! Which messages of a queue a subscription wants: by their tag, whose hash the queue knows, or by their properties, which
//! only the record tells.

use std::sync::Arc;

use escrowmq_filter::PropertyFilter;
use escrowmq_store::StoredRecord;

use super::tag_filter::TagFilter;

/// Properties of this many bytes cost one more look at each operand of an expression.
const COSTLY_SIZE: usize = 256;

/// Wants some of the messages of a queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MessageFilter {
    /// By tag.
    Tags(TagFilter),
    /// By an expression over properties.
    Properties(Arc<PropertyFilter>),
}

impl MessageFilter {
    /// Whether it may want a message, as far as the queue tells.
    pub(super) fn may_match(&self, tags_code: i64) -> bool {
        match self {
            Self::Tags(filter) => filter.matches(tags_code),
            Self::Properties(_) => true,
        }
    }

    /// Whether it wants a message that it may want, and what it cost to say so: the operands that were looked at.
    pub(super) fn matches(&self, record: &StoredRecord) -> (bool, usize) {
        match self {
            Self::Tags(_) => (true, 0),
            Self::Properties(filter) => {
                let properties = record.view().properties();
                let looks = 1 + properties.as_bytes().len() / COSTLY_SIZE;
                (filter.matches(properties), filter.operand_count() * looks)
            }
        }
    }
}

impl From<TagFilter> for MessageFilter {
    fn from(filter: TagFilter) -> Self {
        Self::Tags(filter)
    }
}
