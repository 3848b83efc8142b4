//! Which slots of the wheel hold something that is still to come: one bit each, so that the next one is found without
//! a look at the file, and a million waiting messages cost 150 KB.

/// A bit for each slot.
#[derive(Debug)]
pub(super) struct OccupiedSlots {
    words: Vec<u64>,
    slots: u64,
}

impl OccupiedSlots {
    pub fn new(slots: u64) -> Self {
        let words = usize::try_from(slots.div_ceil(64)).unwrap_or(usize::MAX);
        Self { words: vec![0; words], slots }
    }

    pub fn insert(&mut self, tick: i64) {
        let (word, bit) = self.place(tick);
        self.words[word] |= bit;
    }

    pub fn remove(&mut self, tick: i64) {
        let (word, bit) = self.place(tick);
        self.words[word] &= !bit;
    }

    /// The first occupied tick from `from` on, one turn of the wheel ahead at most.
    pub fn next(&self, from: i64) -> Option<i64> {
        let start = self.index(from);
        self.next_index(start, self.slots)
            .map(|found| found - start)
            .or_else(|| self.next_index(0, start).map(|found| self.slots - start + found))
            .map(|ahead| from + ahead.cast_signed())
    }

    fn next_index(&self, start: u64, end: u64) -> Option<u64> {
        let mut index = start;
        while index < end {
            let word = self.words[usize::try_from(index / 64).unwrap_or(usize::MAX)] >> (index % 64);
            if word != 0 {
                return Some(index + u64::from(word.trailing_zeros())).filter(|found| *found < end);
            }
            index = (index / 64 + 1) * 64;
        }
        None
    }

    fn index(&self, tick: i64) -> u64 {
        tick.rem_euclid(self.slots.cast_signed()).cast_unsigned()
    }

    fn place(&self, tick: i64) -> (usize, u64) {
        let index = self.index(tick);
        (usize::try_from(index / 64).unwrap_or(usize::MAX), 1 << (index % 64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn the_next_slot_is_that_of_a_plain_set(
            slots in 1_u64..400, from in 0_i64..10_000, ahead in proptest::collection::vec((0_i64..400, any::<bool>()), 0..40),
        ) {
            let mut occupied = OccupiedSlots::new(slots);
            let mut model = BTreeSet::new();
            for (ahead, is_added) in ahead {
                let tick = from + ahead % slots.cast_signed();
                if is_added {
                    occupied.insert(tick);
                    model.insert(tick);
                } else {
                    occupied.remove(tick);
                    model.remove(&tick);
                }
            }
            prop_assert_eq!(occupied.next(from), model.first().copied());
        }
    }
}
