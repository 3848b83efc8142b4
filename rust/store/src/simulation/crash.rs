//! The disks that a power loss could leave.

use std::collections::HashMap;
use std::sync::Arc;

use super::disk::{Files, Node, SimulatedDisk};
use super::journal::{FileId, Operation};
use super::names;
use super::pages::{Cut, FileHistory, PAGE_SIZE, Version};
use super::random::Random;

/// What survives of that which no sync covered.
#[derive(Debug)]
pub enum Survival<'a> {
    /// Nothing: the disk is as lazy as it may be.
    Synced,
    /// All of it: the disk is as busy as it may be.
    Written,
    /// Any part, as the generator says.
    Any(&'a mut Random),
}

impl SimulatedDisk {
    /// The disk after a power loss just before operation `at`, all of it durable.
    ///
    /// - What a sync covered is there.
    /// - Each 4 KiB page that was written since holds its bytes as of any moment since then, be it in the middle of a
    ///   write through a mapping. Or it is torn: each of its 512-byte sectors holds its bytes as of a moment of its own,
    ///   between two writes.
    /// - A name that no sync of its folder covered is there or not, each for itself. A rename is done or not done.
    /// - A file that was never synced may be shorter than it was.
    ///
    /// # Panics
    /// Where `at` lies beyond the journal.
    #[must_use]
    pub fn crash(&self, at: usize, survival: Survival<'_>) -> Self {
        let state = self.lock();
        let operations = &state.journal[..at];
        let mut chooser = Chooser::new(survival);

        let names = names::after_crash(&state.names_before, operations, || chooser.name_survives());
        let mut histories: HashMap<FileId, FileHistory<'_>> = HashMap::new();
        for (file, operation) in
            operations.iter().filter_map(|operation| Some((file_of(operation)?, operation)))
        {
            let before = state.files_before.get(&file).map_or(&[][..], |bytes| bytes.as_slice());
            histories.entry(file).or_insert_with(|| FileHistory::new(before)).follow(operation);
        }
        let mut files = Files::new();
        for node in names.values() {
            let Node::File(file) = node else { continue };
            let bytes = match histories.get(file) {
                Some(history) => Arc::new(history.after_crash(&mut chooser)),
                None => state.files_before.get(file).cloned().unwrap_or_default(),
            };
            files.insert(*file, bytes);
        }
        Self::durable(names, files, state.usage)
    }
}

fn file_of(operation: &Operation) -> Option<FileId> {
    match operation {
        Operation::Write { file, .. }
        | Operation::Resize { file, .. }
        | Operation::Sync { file, .. }
        | Operation::SyncFailed { file, .. } => Some(*file),
        _ => None,
    }
}

/// Decides what the model leaves open.
#[derive(Debug)]
pub(super) struct Chooser<'a> {
    survival: Survival<'a>,
    /// How many of a hundred pages and names are as new as can be: busy disks and lazy ones find different faults.
    newest_percent: usize,
    torn_percent: usize,
}

impl<'a> Chooser<'a> {
    fn new(mut survival: Survival<'a>) -> Self {
        let (newest_percent, torn_percent) = match &mut survival {
            Survival::Any(random) => (*random.pick(&[0, 20, 50, 80, 95]), *random.pick(&[0, 10, 50])),
            _ => (0, 0),
        };
        Self { survival, newest_percent, torn_percent }
    }

    fn name_survives(&mut self) -> bool {
        match &mut self.survival {
            Survival::Synced => false,
            Survival::Written => true,
            Survival::Any(random) => random.chance(self.newest_percent.clamp(10, 90)),
        }
    }

    pub(super) fn is_torn(&mut self) -> bool {
        match &mut self.survival {
            Survival::Any(random) => random.chance(self.torn_percent),
            _ => false,
        }
    }

    /// One of the states that a page or a sector may be in.
    pub(super) fn version(&mut self, versions: &[Version]) -> Version {
        let (oldest, newest) = (versions[0], versions[versions.len() - 1]);
        match &mut self.survival {
            Survival::Synced => oldest,
            Survival::Written => newest,
            Survival::Any(random) => {
                if random.chance(self.newest_percent) {
                    newest
                } else {
                    *random.pick(versions)
                }
            }
        }
    }

    /// How much of a page's last change is there, where it is not all.
    pub(super) fn cut(&mut self, version: Version) -> Option<Cut> {
        let Survival::Any(random) = &mut self.survival else { return None };
        let is_partial = version.may_be_partial && random.chance(self.torn_percent / 2);
        is_partial.then(|| Cut(random.below(257)))
    }

    /// One of the sizes that a file may have, or one between them.
    pub(super) fn size(&mut self, sizes: &[usize]) -> usize {
        let (oldest, newest) = (sizes[0], sizes[sizes.len() - 1]);
        match &mut self.survival {
            Survival::Synced => oldest,
            Survival::Any(random) if sizes.len() > 1 => {
                let size = *random.pick(sizes);
                let size_min = sizes.iter().copied().min().unwrap_or(0);
                let short = size_min.max(random.below(size / PAGE_SIZE + 1) * PAGE_SIZE);
                if random.chance(25) { short } else { size }
            }
            Survival::Any(_) | Survival::Written => newest,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::path::Path;

    use proptest::prelude::*;

    use super::*;
    use crate::disk::{Allocation, Disk, DiskFile};
    use crate::simulation::{Fault, FaultAt};

    const SIZE: usize = 3 * PAGE_SIZE;

    /// A step of a program that works on the files `/0`, `/1` and `/2`.
    #[derive(Debug, Clone)]
    enum Step {
        Create { name: u8 },
        Write { name: u8, offset: usize, value: u8, size: usize },
        MappedWrite { name: u8, offset: usize, value: u8, size: usize },
        Sync { name: u8 },
        MappedSync { name: u8, offset: usize, size: usize },
        FailedSync { name: u8 },
        Cut { name: u8, size: usize },
        Rename { from: u8, to: u8 },
        Remove { name: u8 },
        SyncFolder,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let name = 0..3_u8;
        let range = (0..SIZE - 1).prop_flat_map(|offset| (Just(offset), 1..=(SIZE - offset).min(5000)));
        let step = prop_oneof![
            3 => name.clone().prop_map(|name| Step::Create { name }),
            6 => (name.clone(), range.clone(), 1..255_u8)
                .prop_map(|(name, (offset, size), value)| Step::Write { name, offset, value, size }),
            6 => (name.clone(), range.clone(), 1..255_u8)
                .prop_map(|(name, (offset, size), value)| Step::MappedWrite { name, offset, value, size }),
            2 => name.clone().prop_map(|name| Step::Sync { name }),
            3 => (name.clone(), range).prop_map(|(name, (offset, size))| Step::MappedSync { name, offset, size }),
            1 => name.clone().prop_map(|name| Step::FailedSync { name }),
            1 => (name.clone(), 0..SIZE).prop_map(|(name, size)| Step::Cut { name, size }),
            2 => (name.clone(), name.clone()).prop_map(|(from, to)| Step::Rename { from, to }),
            1 => name.prop_map(|name| Step::Remove { name }),
            2 => Just(Step::SyncFolder),
        ];
        prop::collection::vec(step, 1..40)
    }

    fn path(name: u8) -> String {
        format!("/{name}")
    }

    /// Takes a step; one that the files do not allow is no step.
    fn take(disk: &SimulatedDisk, step: &Step) {
        let map = |name| disk.map(Path::new(&path(name)));
        let open = |name| disk.open(Path::new(&path(name)));
        match *step {
            Step::Create { name } => {
                disk.create(Path::new(&path(name)), SIZE as u64, Allocation::Whole)
                    .expect("the root is there");
            }
            Step::Write { name, offset, value, size } => {
                let _ = open(name).map(|file| file.write_at(offset as u64, &vec![value; size]));
            }
            Step::MappedWrite { name, offset, value, size } => {
                if let Some(mapping) =
                    map(name).ok().filter(|mapping| offset + size <= mapping.memory().len())
                {
                    mapping.wrote(offset, &vec![value; size]);
                }
            }
            Step::Sync { name } => {
                let _ = open(name).map(|file| file.sync());
            }
            Step::MappedSync { name, offset, size } => {
                if let Some(mapping) =
                    map(name).ok().filter(|mapping| offset + size <= mapping.memory().len())
                {
                    mapping.sync(offset..offset + size).expect("no fault is set");
                }
            }
            Step::FailedSync { name } => {
                disk.inject(Fault::io_error(FaultAt::Sync));
                let _ = open(name).map(|file| file.sync());
                disk.clear_faults();
            }
            Step::Cut { name, size } => {
                let _ = open(name).map(|file| file.truncate(size as u64));
            }
            Step::Rename { from, to } => {
                let _ = disk.rename(Path::new(&path(from)), Path::new(&path(to)));
            }
            Step::Remove { name } => {
                let _ = disk.remove(Path::new(&path(name)));
            }
            Step::SyncFolder => disk.sync_folder(Path::new("/")).expect("no fault is set"),
        }
    }

    /// The values that each byte of a file may have after a crash, kept byte by byte and with no notion of versions.
    #[derive(Default)]
    struct Bytes {
        now: Vec<u8>,
        may_be: Vec<BTreeSet<u8>>,
    }

    impl Bytes {
        fn set(&mut self, offset: usize, value: u8) {
            while self.now.len() <= offset {
                self.now.push(0);
                self.may_be.push(BTreeSet::from([0]));
            }
            self.now[offset] = value;
            self.may_be[offset].insert(value);
        }
    }

    /// The allowed bytes of every file, from the journal. A failed sync allows more than it must: nothing is settled.
    fn allowed(journal: &[Operation]) -> BTreeMap<FileId, Bytes> {
        let mut files: BTreeMap<FileId, Bytes> = BTreeMap::new();
        let mut had_failure = BTreeSet::new();
        for operation in journal {
            let Some(file) = file_of(operation) else { continue };
            let bytes = files.entry(file).or_default();
            match operation {
                Operation::Write { offset, bytes: written, .. } => {
                    let offset = usize::try_from(*offset).expect("small");
                    written.iter().enumerate().for_each(|(index, value)| bytes.set(offset + index, *value));
                }
                Operation::Resize { size_bytes, .. } => {
                    let size = usize::try_from(*size_bytes).expect("small");
                    (size..bytes.now.len().max(size)).for_each(|offset| bytes.set(offset, 0));
                }
                Operation::Sync { range, .. } if !had_failure.contains(&file) => {
                    let (start, end) = range.as_ref().map_or((0, u64::MAX), |range| (range.start, range.end));
                    for offset in 0..bytes.now.len() {
                        let page = (offset / PAGE_SIZE * PAGE_SIZE) as u64;
                        if page < end && page + (PAGE_SIZE as u64) > start {
                            bytes.may_be[offset] = BTreeSet::from([bytes.now[offset]]);
                        }
                    }
                }
                Operation::SyncFailed { .. } => {
                    had_failure.insert(file);
                }
                _ => {}
            }
        }
        files
    }

    proptest! {
        #[test]
        fn all_that_was_synced_is_there(steps in steps(), seed: u64) {
            let disk = SimulatedDisk::default();
            steps.iter().filter(|step| !matches!(step, Step::FailedSync { .. })).for_each(|step| take(&disk, step));
            for step in [Step::Sync { name: 0 }, Step::Sync { name: 1 }, Step::Sync { name: 2 }, Step::SyncFolder] {
                take(&disk, &step);
            }
            let image = disk.crash(disk.position(), Survival::Any(&mut Random::new(seed)));
            prop_assert_eq!(image.files_under("/"), disk.files_under("/"));
        }

        #[test]
        fn no_byte_appears_that_was_not_there_since_the_last_sync(steps in steps(), seed: u64, share in 0.0..=1.0) {
            let disk = SimulatedDisk::default();
            for step in &steps {
                take(&disk, step);
            }
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
            let at = (disk.position() as f64 * share) as usize;
            let image = disk.crash(at, Survival::Any(&mut Random::new(seed)));
            let allowed = allowed(&disk.journal()[..at]);
            let state = image.lock();
            for (path, node) in &state.names {
                let Node::File(file) = node else { continue };
                for (offset, value) in state.content(*file).iter().enumerate() {
                    let may_be = allowed.get(file).and_then(|bytes| bytes.may_be.get(offset));
                    let is_allowed = may_be.map_or(*value == 0, |values| values.contains(value));
                    prop_assert!(is_allowed, "{} at {offset} of {}", value, path.display());
                }
            }
        }

        #[test]
        fn the_busiest_disk_loses_nothing(steps in steps()) {
            let disk = SimulatedDisk::default();
            steps.iter().filter(|step| !matches!(step, Step::FailedSync { .. })).for_each(|step| take(&disk, step));
            let image = disk.crash(disk.position(), Survival::Written);
            prop_assert_eq!(image.files_under("/"), disk.files_under("/"));
        }
    }

    fn new_file(disk: &SimulatedDisk, name: &str) -> Box<dyn DiskFile> {
        disk.create(Path::new(name), SIZE as u64, Allocation::Whole).expect("the root is there")
    }

    /// The images of many seeds.
    fn images(disk: &SimulatedDisk) -> Vec<BTreeMap<std::path::PathBuf, Vec<u8>>> {
        let image =
            |seed| disk.crash(disk.position(), Survival::Any(&mut Random::new(seed))).files_under("/");
        (0..400).map(image).collect()
    }

    #[test]
    fn an_unsynced_page_is_old_or_new_or_torn() {
        let disk = SimulatedDisk::default();
        let file = new_file(&disk, "/a");
        file.sync().expect("no fault is set");
        disk.sync_folder(Path::new("/")).expect("no fault is set");
        file.write_at(0, &[1; PAGE_SIZE]).expect("no fault is set");
        let page = |image: &BTreeMap<_, Vec<u8>>| image[Path::new("/a")][..PAGE_SIZE].to_vec();
        let pages: Vec<Vec<u8>> = images(&disk).iter().map(page).collect();
        assert!(pages.iter().any(|page| page.iter().all(|byte| *byte == 0)), "old");
        assert!(pages.iter().any(|page| page.iter().all(|byte| *byte == 1)), "new");
        assert!(pages.iter().any(|page| page.contains(&0) && page.contains(&1)), "torn");
    }

    #[test]
    fn a_rename_happens_or_does_not_and_a_new_file_may_be_short() {
        let disk = SimulatedDisk::default();
        new_file(&disk, "/a").sync().expect("no fault is set");
        disk.sync_folder(Path::new("/")).expect("no fault is set");
        disk.rename(Path::new("/a"), Path::new("/b")).expect("it is there");
        new_file(&disk, "/c");
        let images = images(&disk);
        let has = |image: &BTreeMap<_, Vec<u8>>, name: &str| image.contains_key(Path::new(name));
        assert!(images.iter().all(|image| has(image, "/a") != has(image, "/b")), "never both, never none");
        assert!(images.iter().any(|image| has(image, "/a")) && images.iter().any(|image| has(image, "/b")));
        assert!(images.iter().any(|image| !has(image, "/c")));
        let sizes: BTreeSet<usize> =
            images.iter().filter_map(|image| image.get(Path::new("/c"))).map(Vec::len).collect();
        assert!(sizes.contains(&0) && sizes.contains(&SIZE) && sizes.len() > 2, "sizes {sizes:?}");
    }

    #[test]
    fn a_page_whose_sync_failed_stays_lost_until_it_is_written_again() {
        let disk = SimulatedDisk::default();
        let file = new_file(&disk, "/a");
        file.sync().expect("no fault is set");
        disk.sync_folder(Path::new("/")).expect("no fault is set");
        file.write_at(0, &[1]).expect("no fault is set");
        disk.inject(Fault::io_error(FaultAt::Sync));
        assert!(file.sync().is_err());
        assert!(file.sync().is_ok(), "the kernel tells it once");
        let image = disk.crash(disk.position(), Survival::Synced);
        assert_eq!(image.files_under("/")[Path::new("/a")][0], 0, "a sync that says it worked wrote nothing");
        file.write_at(1, &[1]).expect("no fault is set");
        file.sync().expect("no fault is set");
        let image = disk.crash(disk.position(), Survival::Synced);
        assert_eq!(image.files_under("/")[Path::new("/a")][..2], [1, 1]);
    }
}
