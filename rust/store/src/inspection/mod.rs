//! Looking at a store without changing it: what it holds, and whether all of it is whole and agrees.
//!
//! ```text
//! open ─▶ summary
//!      └▶ check, in steps:  log ─▶ queues ─▶ index ─▶ checkpoint, configuration
//!                           each record: size, magic, CRC; its queue entry; its index entries
//! ```
//! The log is the truth: queues and index are held against it, in both directions. What a killed process may leave
//! behind, and the next start puts right, is a note and no error.

mod finding;
mod index_check;
mod log_check;
mod queue_check;
mod small_files;
mod summary;

use std::path::Path;
use std::sync::Arc;

use finding::Findings;
pub use finding::{Finding, Part, Severity};
use index_check::IndexCheck;
use log_check::LogCheck;
use queue_check::QueueCheck;
pub use summary::Summary;

use crate::clock::{Clock, SystemClock};
use crate::disk::{Disk, ReadOnlyDisk};
use crate::error::{Result, StoreError};
use crate::layout::StoreLayout;
use crate::options::StoreOptions;
use crate::queue_builder::EntryRules;
use crate::recovery::{self, Examined, Files};
use crate::running_mark::RunningMark;
use crate::stop_note::StopNote;
use crate::store_core;

/// A store that is looked at.
#[derive(Debug)]
pub struct Inspection {
    disk: Arc<dyn Disk>,
    layout: StoreLayout,
    files: Files,
    rules: EntryRules,
    examined: Examined,
    findings: Findings,
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    Log(LogCheck),
    Queues(QueueCheck),
    Slots(IndexCheck),
    SmallFiles,
    Done,
}

/// How far a check is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Bytes that were looked at.
    pub done_bytes: u64,
    /// Bytes that there are to look at.
    pub total_bytes: u64,
}

impl Inspection {
    /// Opens a store to look at it. Sizes found on disk beat those of the options, but for the key index: whether its
    /// files can be read at all depends on them.
    ///
    /// # Errors
    /// [`StoreError::Io`] where there is no store, and what is wrong with one that can't even be opened.
    pub fn open(folder: &Path, options: &StoreOptions) -> Result<Self> {
        options.validate()?;
        let disk: Arc<dyn Disk> = Arc::new(ReadOnlyDisk);
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
        let layout = StoreLayout::new(folder);
        // A folder that is not there reads as an empty store otherwise.
        disk.list(&layout.commit_log).map_err(StoreError::io("open", &layout.commit_log))?;
        layout.refuse_unsupported(&*disk)?;
        let mark = RunningMark::load(&*disk, &layout)?;
        let files = store_core::load(&disk, &clock, &layout, options, mark)?;
        let note = StopNote::load(&*disk, &layout.stop);
        let examined = recovery::examine(&files, options.segment_size_bytes, mark.is_some(), note.as_ref())?;
        let start = files.chain.first().map_or(0, |segment| segment.start());
        Ok(Self {
            disk,
            layout,
            rules: EntryRules { delay_levels_ms: options.delay_levels_ms.clone() },
            stage: Stage::Log(LogCheck::new(crate::LogOffset(start))),
            findings: Findings::default(),
            files,
            examined,
        })
    }

    /// Checks some more, about as many bytes; whether there is anything left.
    ///
    /// # Errors
    /// [`StoreError::Io`] where a file can't be read.
    pub fn check(&mut self, size_bytes: u64) -> Result<bool> {
        let Self { disk, layout, files, rules, examined, findings, stage } = self;
        match stage {
            Stage::Log(check) => {
                let mut against = log_check::Against { files, rules, examined, layout, findings };
                if check.step(&mut against, size_bytes)? {
                    *stage = Stage::Queues(check.finish(&mut against)?);
                }
            }
            Stage::Queues(check) => {
                if check.step(files, examined, layout, findings, size_bytes) {
                    *stage = Stage::Slots(IndexCheck::default());
                }
            }
            Stage::Slots(check) => {
                if check.step(&files.index, examined, findings)? {
                    *stage = Stage::SmallFiles;
                }
            }
            Stage::SmallFiles => {
                small_files::check(disk, layout, files, examined, findings)?;
                *stage = Stage::Done;
            }
            Stage::Done => {}
        }
        Ok(!matches!(self.stage, Stage::Done))
    }

    /// How far the check is.
    pub fn progress(&self) -> Progress {
        let (start, end) = (self.log_start(), self.examined.end.offset.0);
        let queues: u64 = self.files.queues.list().iter().map(queue_check::size_bytes).sum();
        let (log_bytes, total_bytes) = (end - start, end - start + queues);
        let done_bytes = match &self.stage {
            Stage::Log(check) => check.position().0.clamp(start, end) - start,
            Stage::Queues(check) => log_bytes + check.done_bytes(),
            Stage::Slots(_) | Stage::SmallFiles | Stage::Done => total_bytes,
        };
        Progress { done_bytes: done_bytes.min(total_bytes), total_bytes }
    }

    /// What was found so far, the first thousand.
    pub fn findings(&self) -> &[Finding] {
        &self.findings.kept
    }

    /// How many errors were found, and how many notes.
    pub fn counts(&self) -> (u64, u64) {
        (self.findings.errors, self.findings.notes)
    }

    fn log_start(&self) -> u64 {
        self.files.chain.first().map_or(self.examined.end.offset.0, |segment| segment.start())
    }
}
