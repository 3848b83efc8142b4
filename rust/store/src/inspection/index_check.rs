//! The slots of the key index: a look-up begins there, so each has to name the newest of its entries.

use super::finding::{Finding, Findings, Part, Severity};
use crate::error::Result;
use crate::key_index::KeyIndex;
use crate::recovery::Examined;

/// How many files are checked.
#[derive(Debug, Default)]
pub(super) struct IndexCheck {
    files: usize,
}

impl IndexCheck {
    /// Checks one more file; whether it is through.
    pub fn step(&mut self, index: &KeyIndex, examined: &Examined, findings: &mut Findings) -> Result<bool> {
        // A start after a kill makes the slots of the last file anew.
        let severity = |is_last: bool| match (examined.was_killed, is_last) {
            (true, true) => Severity::Note,
            _ => Severity::Error,
        };
        let part = Part::Index;
        if let Some(wrong) = index.wrong_geometry() {
            let (expected, found) = (wrong.expected, wrong.found);
            let message = format!(
                "not checked: it has {found} bytes, with the settings given it would have {expected}"
            );
            let path = wrong.path.clone();
            findings.add(Finding { severity: Severity::Note, part, path, offset: None, message });
            return Ok(true);
        }
        let paths = index.paths();
        let Some(path) = paths.get(self.files) else { return Ok(true) };
        if let Some(slot) = index.wrong_slot(self.files)? {
            let message = format!("slot {slot} does not lead to all of its entries");
            let severity = severity(self.files + 1 == paths.len());
            findings.add(Finding { severity, part, path: path.clone(), offset: None, message });
        }
        self.files += 1;
        Ok(false)
    }
}
