//! Filters by properties that pulls bring along. A consumer brings the same one with each pull, and compiling it takes as
//! long as asking it about a dozen messages, so it is done once.

use std::collections::HashMap;
use std::sync::Arc;

use escrowmq_filter::PropertyFilter;
use foldhash::fast::RandomState;

use super::message_filter::MessageFilter;

/// Most filters that are kept; with one more, all are forgotten.
const COUNT_MAX: usize = 64;

/// Compiled filters by their expression.
#[derive(Debug, Default)]
pub struct BroughtFilters {
    filters: HashMap<Box<str>, Arc<MessageFilter>, RandomState>,
}

impl BroughtFilters {
    /// The filter of an expression; `None` where it is none.
    pub fn get(&mut self, expression: &str) -> Option<Arc<MessageFilter>> {
        if let Some(filter) = self.filters.get(expression) {
            return Some(Arc::clone(filter));
        }
        let filter = PropertyFilter::compile(expression).ok()?;
        let filter = Arc::new(MessageFilter::Properties(Arc::new(filter)));
        if self.filters.len() >= COUNT_MAX {
            self.filters.clear();
        }
        self.filters.insert(expression.into(), Arc::clone(&filter));
        Some(filter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_is_compiled_once_and_not_too_many_are_kept() {
        let mut filters = BroughtFilters::default();
        let first = filters.get("a > 0").expect("an expression");
        assert!(Arc::ptr_eq(&first, &filters.get("a > 0").expect("the same")));
        assert_eq!(filters.get("a >"), None);
        for number in 1..=COUNT_MAX {
            assert!(filters.get(&format!("a > {number}")).is_some());
            assert!(filters.filters.len() <= COUNT_MAX);
        }
        assert!(!Arc::ptr_eq(&first, &filters.get("a > 0").expect("an expression")));
    }
}
