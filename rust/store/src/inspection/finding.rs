//! What an inspection finds wrong.

use std::path::PathBuf;

/// Findings beyond this many are counted and not kept: the first ones tell the story.
const FINDINGS_MAX: usize = 1_000;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// Something is lost, or a reader is told what is not so.
    Error,
    /// The next start puts it right, or it can't be checked.
    Note,
}

/// The part of a store that it is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The commit log; offsets are bytes of it.
    Log,
    /// A consume queue; offsets are its entries.
    Queue,
    /// The key index; offsets are entries of the file.
    Index,
    /// The checkpoint.
    Checkpoint,
    /// A configuration file.
    Config,
}

/// Something that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// What it is about.
    pub part: Part,
    /// The file or folder.
    pub path: PathBuf,
    /// Where in it, as its part counts.
    pub offset: Option<u64>,
    /// What is wrong.
    pub message: String,
}

/// The first findings, and how many there were of each severity.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub kept: Vec<Finding>,
    pub errors: u64,
    pub notes: u64,
}

impl Findings {
    pub fn add(&mut self, finding: Finding) {
        match finding.severity {
            Severity::Error => self.errors += 1,
            Severity::Note => self.notes += 1,
        }
        if self.kept.len() < FINDINGS_MAX {
            self.kept.push(finding);
        }
    }
}
