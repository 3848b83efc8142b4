//! Names that many transactions share: groups, topics, who decided. Each is kept once, as long as somebody uses it.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

/// A name that is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct NameId(u32);

/// The names.
#[derive(Debug, Default)]
pub(super) struct Names {
    kept: Vec<Kept>,
    free: Vec<u32>,
    by_text: HashTable<u32>,
    hasher: RandomState,
}

#[derive(Debug, Default)]
struct Kept {
    text: Box<str>,
    uses: u64,
}

impl Names {
    /// The name, used once more.
    pub fn take(&mut self, text: &str) -> NameId {
        if let Some(found) = self.find(text) {
            self.kept[found.0 as usize].uses += 1;
            return found;
        }
        let kept = Kept { text: text.into(), uses: 1 };
        let id = if let Some(id) = self.free.pop() {
            self.kept[id as usize] = kept;
            id
        } else {
            self.kept.push(kept);
            u32::try_from(self.kept.len() - 1).expect("fewer names than transactions have fields")
        };
        let (kept, hasher) = (&self.kept, &self.hasher);
        let hash_of = |id: &u32| hasher.hash_one(&*kept[*id as usize].text);
        self.by_text.insert_unique(hasher.hash_one(text), id, hash_of);
        NameId(id)
    }

    /// Uses a name that is kept once more.
    pub fn take_again(&mut self, name: NameId) {
        self.kept[name.0 as usize].uses += 1;
    }

    /// Uses a name once less.
    pub fn release(&mut self, name: NameId) {
        let kept = &mut self.kept[name.0 as usize];
        kept.uses -= 1;
        if kept.uses > 0 {
            return;
        }
        let text = std::mem::take(&mut kept.text);
        if let Ok(entry) = self.by_text.find_entry(self.hasher.hash_one(&*text), |id| *id == name.0) {
            entry.remove();
        }
        self.free.push(name.0);
    }

    /// The name, where it is kept.
    pub fn find(&self, text: &str) -> Option<NameId> {
        let is_it = |id: &u32| *self.kept[*id as usize].text == *text;
        self.by_text.find(self.hasher.hash_one(text), is_it).copied().map(NameId)
    }

    /// Its text.
    pub fn text(&self, name: NameId) -> &str {
        &self.kept[name.0 as usize].text
    }

    /// All names that are used.
    pub fn iter(&self) -> impl Iterator<Item = (NameId, &str)> {
        let used = (0..).zip(&self.kept).filter(|(_, kept)| kept.uses > 0);
        used.map(|(id, kept)| (NameId(id), &*kept.text))
    }

    /// How much memory they take.
    pub fn memory_bytes(&self) -> usize {
        let texts: usize = self.kept.iter().map(|kept| kept.text.len()).sum();
        texts
            + self.kept.capacity() * size_of::<Kept>()
            + self.free.capacity() * size_of::<u32>()
            + self.by_text.allocation_size()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_kept_once_and_as_long_as_it_is_used() {
        let mut names = Names::default();
        let (first, second) = (names.take("payments"), names.take("orders"));
        assert_eq!(names.take("payments"), first);
        assert_eq!(names.text(second), "orders");
        names.release(first);
        assert_eq!(names.find("payments"), Some(first));
        names.release(first);
        assert_eq!(names.find("payments"), None);
        assert_eq!(names.take("refunds"), first, "its place is free");
        assert_eq!(names.find("orders"), Some(second));
    }
}
