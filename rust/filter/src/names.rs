//! The names of the properties that a filter looks at, found in property strings without searching for each.

use escrowmq_wire::NAME_VALUE_SEPARATOR;

use crate::NAMES_MAX;
use crate::expression::Slot;

const BUCKETS: usize = 32;

/// Names by slot.
#[derive(Debug, Clone)]
pub struct Names {
    names: Box<[Box<str>]>,
    /// The slots, as bits, whose names begin with a letter that goes here.
    buckets: [u64; BUCKETS],
}

const _: () = assert!(NAMES_MAX <= u64::BITS as usize);

impl Names {
    pub fn new(names: &[&str]) -> Self {
        let mut buckets = [0; BUCKETS];
        for (slot, name) in names.iter().enumerate() {
            buckets[bucket_of(name.as_bytes())] |= 1 << slot;
        }
        Self { names: names.iter().map(|&name| name.into()).collect(), buckets }
    }

    pub fn as_slice(&self) -> &[Box<str>] {
        &self.names
    }

    /// The slot and the value of a pair, if it has one of the names.
    pub fn find<'a>(&self, pair: &'a [u8]) -> Option<(Slot, &'a [u8])> {
        let mut slots = self.buckets[bucket_of(pair)];
        while slots != 0 {
            let slot = slots.trailing_zeros() as Slot;
            let name = self.names[slot].as_bytes();
            // A pair without a value is none.
            if pair.len() > name.len() + 1
                && pair[name.len()] == NAME_VALUE_SEPARATOR
                && pair.starts_with(name)
            {
                return Some((slot, &pair[name.len() + 1..]));
            }
            slots &= slots - 1;
        }
        None
    }
}

fn bucket_of(name: &[u8]) -> usize {
    usize::from(name.first().copied().unwrap_or_default()) % BUCKETS
}
