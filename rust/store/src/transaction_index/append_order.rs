//! Values in ascending order that come in at the end and leave from anywhere. In chunks, so that no value costs more than
//! its size and a little, whatever comes and goes, and none is far to move.

/// Values of a full chunk.
const CHUNK_LENGTH: usize = 256;

/// A value with a place in an order.
pub(super) trait Ordered: Copy {
    /// The place. No two values of an order have the same.
    fn place(&self) -> u64;
}

impl Ordered for u64 {
    fn place(&self) -> u64 {
        *self
    }
}

/// Values in the order of their places.
#[derive(Debug)]
pub(super) struct AppendOrder<T> {
    /// None is empty.
    chunks: Vec<Vec<T>>,
    count: usize,
}

impl<T> Default for AppendOrder<T> {
    fn default() -> Self {
        Self { chunks: Vec::new(), count: 0 }
    }
}

impl<T: Ordered> AppendOrder<T> {
    /// Adds a value behind all others.
    pub fn push(&mut self, value: T) {
        debug_assert!(self.last().is_none_or(|last| last.place() < value.place()), "out of order");
        match self.chunks.last_mut().filter(|chunk| chunk.len() < CHUNK_LENGTH) {
            Some(chunk) => chunk.push(value),
            None => self.chunks.push(vec![value]),
        }
        self.count += 1;
    }

    /// Takes the value at a place out.
    pub fn remove(&mut self, place: u64) -> Option<T> {
        let (chunk, at) = self.position(T::place, place)?;
        let removed = self.chunks[chunk].remove(at);
        self.count -= 1;
        if self.chunks[chunk].is_empty() {
            self.chunks.remove(chunk);
        } else {
            self.merge(chunk);
            self.merge(chunk.saturating_sub(1));
        }
        Some(removed)
    }

    /// The value at a place.
    pub fn get(&self, place: u64) -> Option<&T> {
        self.find(T::place, place)
    }

    /// The value at a place, to be changed without moving it.
    pub fn get_mut(&mut self, place: u64) -> Option<&mut T> {
        let (chunk, at) = self.position(T::place, place)?;
        Some(&mut self.chunks[chunk][at])
    }

    /// The value with a property that ascends as the places do.
    pub fn find(&self, property: impl Fn(&T) -> u64, wanted: u64) -> Option<&T> {
        let (chunk, at) = self.position(property, wanted)?;
        Some(&self.chunks[chunk][at])
    }

    /// Values from a place on.
    pub fn iter_from(&self, place: u64) -> impl Iterator<Item = &T> {
        let chunk = self.chunk_of(T::place, place);
        let skipped =
            self.chunks.get(chunk).map_or(0, |chunk| chunk.partition_point(|one| one.place() < place));
        self.chunks[chunk..].iter().flatten().skip(skipped)
    }

    /// The first value.
    pub fn first(&self) -> Option<&T> {
        self.chunks.first()?.first()
    }

    /// The last value.
    pub fn last(&self) -> Option<&T> {
        self.chunks.last()?.last()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.count
    }

    /// How much memory they take.
    pub fn memory_bytes(&self) -> usize {
        let values: usize = self.chunks.iter().map(Vec::capacity).sum();
        values * size_of::<T>() + self.chunks.capacity() * size_of::<Vec<T>>()
    }

    fn position(&self, property: impl Fn(&T) -> u64, wanted: u64) -> Option<(usize, usize)> {
        let chunk = self.chunk_of(&property, wanted);
        let at = self.chunks.get(chunk)?.binary_search_by_key(&wanted, property).ok()?;
        Some((chunk, at))
    }

    /// The first chunk that reaches as far as wanted.
    fn chunk_of(&self, property: impl Fn(&T) -> u64, wanted: u64) -> usize {
        self.chunks.partition_point(|chunk| chunk.last().is_some_and(|last| property(last) < wanted))
    }

    /// Makes one of a chunk and the next where both are small, so that few values never hold many chunks.
    fn merge(&mut self, chunk: usize) {
        let lengths = [chunk, chunk + 1].map(|at| self.chunks.get(at).map(Vec::len));
        if let [Some(length), Some(next)] = lengths
            && length + next <= CHUNK_LENGTH / 2
        {
            let next = self.chunks.remove(chunk + 1);
            self.chunks[chunk].extend(next);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn few_values_hold_few_chunks_whatever_left_before() {
        let mut order = AppendOrder::default();
        (0..100_000).for_each(|place| order.push(place));
        assert!(order.memory_bytes() < 100_000 * 9, "{}", order.memory_bytes());
        (0..100_000).filter(|place| place % 1_000 != 0).for_each(|place| {
            order.remove(place);
        });
        assert_eq!(order.len(), 100);
        assert!(order.chunks.len() <= 2, "{}", order.chunks.len());
    }

    proptest! {
        #[test]
        fn it_is_a_sorted_set(steps in proptest::collection::vec((0_u64..3, 0_u64..3_000), 0..3_000)) {
            let (mut order, mut model, mut next) = (AppendOrder::default(), BTreeSet::new(), 0);
            for (kind, number) in steps {
                if kind == 0 {
                    let place = number % (next + 1);
                    prop_assert_eq!(order.remove(place), model.take(&place));
                } else {
                    next += kind;
                    order.push(next);
                    model.insert(next);
                }
            }
            for place in 0..=next {
                prop_assert_eq!(order.get(place), model.get(&place));
            }
            for place in [0, next / 2, next, next + 1] {
                let wanted: Vec<u64> = model.range(place..).copied().collect();
                prop_assert_eq!(order.iter_from(place).copied().collect::<Vec<_>>(), wanted);
            }
            prop_assert_eq!((order.len(), order.first(), order.last()), (model.len(), model.first(), model.last()));
        }
    }
}
