//! The bytes that a power loss may leave of a file.
//!
//! A page becomes dirty when it is written and clean when a sync covers it. While it is dirty, the kernel may write it
//! to the disk at any moment, so that the disk may hold the page as it was at any moment since it became dirty, or as
//! it was before. A sync that succeeds settles it at its newest state. One that fails makes the page clean as well,
//! and leaves open which state is on the disk:
//!
//! ```text
//!   writes      1   2       3   4
//!   page    0 ──┴───┴───S───┴───┴───▶ crash: after a sync S that worked    2, 3 or 4
//!                                            after one that failed         0, 1, 2, 3 or 4
//! ```

use std::collections::BTreeMap;
use std::ops::Range;

use super::crash::Chooser;
use super::disk::to_usize;
use super::journal::Operation;

pub(super) const PAGE_SIZE: usize = 4096;
pub(super) const SECTOR_SIZE: usize = 512;

/// A change of a page's bytes.
#[derive(Debug, Clone, Copy)]
enum Change<'a> {
    Write {
        offset: usize,
        bytes: &'a [u8],
        is_mapped: bool,
    },
    /// The file was cut here.
    ZerosFrom(usize),
}

/// A state that the disk may hold: the page after its first `changes` changes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Version {
    pub(super) changes: usize,
    /// Whether the last of these changes may be there in part: the page was dirty while it was made.
    pub(super) may_be_partial: bool,
}

#[derive(Debug)]
struct Page<'a> {
    changes: Vec<Change<'a>>,
    /// What the disk may hold if nobody writes the page to it any more.
    settled: Vec<Version>,
    /// The number of the first change since the page was clean.
    dirty_since: Option<usize>,
}

impl<'a> Page<'a> {
    fn new() -> Self {
        Self {
            changes: Vec::new(),
            settled: vec![Version { changes: 0, may_be_partial: false }],
            dirty_since: None,
        }
    }

    fn change(&mut self, change: Change<'a>) {
        self.changes.push(change);
        self.dirty_since.get_or_insert(self.changes.len());
    }

    fn sync(&mut self) {
        if self.dirty_since.take().is_some() {
            self.settled = vec![Version { changes: self.changes.len(), may_be_partial: false }];
        }
    }

    fn fail_sync(&mut self) {
        self.settled = self.versions();
        self.dirty_since = None;
    }

    /// What the disk may hold, oldest first.
    fn versions(&self) -> Vec<Version> {
        let dirty = self.dirty_since.map_or(0..0, |first| first..self.changes.len() + 1);
        let versions = dirty.map(|changes| Version { changes, may_be_partial: true });
        self.settled.iter().copied().chain(versions).collect()
    }

    /// Writes a part of a state of this page into the file's `image`.
    fn restore(&self, image: &mut [u8], part: Range<usize>, version: Version, cut: Option<Cut>) {
        for (index, change) in self.changes[..version.changes].iter().enumerate() {
            let within = match cut {
                Some(cut) if index + 1 == version.changes => cut.within(*change, &part),
                _ => part.clone(),
            };
            change.apply(image, &within);
        }
    }
}

/// How much of a change is there: the bytes before this share of 256. Processors store in the order of the program, in
/// aligned groups of 8 bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cut(pub(super) usize);

impl Cut {
    /// The part of a change that is there: a store through a mapping that the kernel did not wait for.
    fn within(self, change: Change<'_>, part: &Range<usize>) -> Range<usize> {
        match change {
            Change::Write { offset, bytes, is_mapped: true } => {
                let end = (offset + bytes.len() * self.0 / 256).next_multiple_of(8);
                part.start..part.end.min(end)
            }
            _ => part.clone(),
        }
    }
}

impl Change<'_> {
    fn apply(self, image: &mut [u8], part: &Range<usize>) {
        match self {
            Self::Write { offset, bytes, .. } => {
                let start = offset.max(part.start);
                let end = (offset + bytes.len()).min(part.end).min(image.len());
                if start < end {
                    image[start..end].copy_from_slice(&bytes[start - offset..end - offset]);
                }
            }
            Self::ZerosFrom(offset) => {
                let start = offset.max(part.start);
                let end = part.end.min(image.len());
                if start < end {
                    image[start..end].fill(0);
                }
            }
        }
    }
}

/// What happened to one file.
#[derive(Debug)]
pub(super) struct FileHistory<'a> {
    before: &'a [u8],
    /// Sizes that the disk may hold, oldest first; the last is the current one.
    sizes: Vec<usize>,
    pages: BTreeMap<usize, Page<'a>>,
}

impl<'a> FileHistory<'a> {
    /// A file that had these bytes durably.
    pub(super) fn new(before: &'a [u8]) -> Self {
        Self { before, sizes: vec![before.len()], pages: BTreeMap::new() }
    }

    /// Takes the next operation on this file.
    pub(super) fn follow(&mut self, operation: &'a Operation) {
        match operation {
            Operation::Write { offset, bytes, is_mapped, .. } => {
                let offset = to_usize(*offset);
                let end = offset + bytes.len();
                self.change(offset..end, Change::Write { offset, bytes, is_mapped: *is_mapped });
                if end > self.size() {
                    self.sizes.push(end);
                }
            }
            Operation::Resize { size_bytes, .. } => {
                let size = to_usize(*size_bytes);
                if size < self.size() {
                    self.change(size..self.size(), Change::ZerosFrom(size));
                }
                if size != self.size() {
                    self.sizes.push(size);
                }
            }
            Operation::Sync { range, .. } => {
                self.sizes.drain(..self.sizes.len() - 1);
                self.touched(range.as_ref()).for_each(Page::sync);
            }
            Operation::SyncFailed { range, .. } => self.touched(range.as_ref()).for_each(Page::fail_sync),
            _ => {}
        }
    }

    /// The bytes that a power loss leaves, where `chooser` decides what is left open.
    pub(super) fn after_crash(&self, chooser: &mut Chooser<'_>) -> Vec<u8> {
        let mut image = self.before.to_vec();
        let size_max = self.sizes.iter().copied().max().unwrap_or(0);
        image.resize(size_max.max(image.len()), 0);
        for (number, page) in &self.pages {
            let start = number * PAGE_SIZE;
            let versions = page.versions();
            if versions.len() > 1 && chooser.is_torn() {
                for sector in (start..start + PAGE_SIZE).step_by(SECTOR_SIZE) {
                    let version = chooser.version(&versions);
                    page.restore(&mut image, sector..sector + SECTOR_SIZE, version, None);
                }
            } else {
                let version = chooser.version(&versions);
                let cut = chooser.cut(version);
                page.restore(&mut image, start..start + PAGE_SIZE, version, cut);
            }
        }
        image.resize(chooser.size(&self.sizes), 0);
        image
    }

    fn size(&self) -> usize {
        self.sizes.last().copied().unwrap_or(0)
    }

    fn change(&mut self, range: Range<usize>, change: Change<'a>) {
        for number in page_numbers(&range) {
            self.pages.entry(number).or_insert_with(Page::new).change(change);
        }
    }

    fn touched(&mut self, range: Option<&Range<u64>>) -> impl Iterator<Item = &mut Page<'a>> {
        let numbers = match range {
            Some(range) => page_numbers(&(to_usize(range.start)..to_usize(range.end))),
            None => 0..usize::MAX,
        };
        self.pages.range_mut(numbers).map(|(_, page)| page)
    }
}

/// The pages that a range touches.
pub(super) fn page_numbers(range: &Range<usize>) -> Range<usize> {
    if range.is_empty() { 0..0 } else { range.start / PAGE_SIZE..(range.end - 1) / PAGE_SIZE + 1 }
}
