//! The checkpoint and the configuration files.

use std::path::Path;
use std::sync::Arc;

use super::finding::{Finding, Findings, Part, Severity};
use crate::checkpoint::CHECKPOINT_SIZE;
use crate::config_file::ConfigFile;
use crate::disk::Disk;
use crate::error::Result;
use crate::layout::StoreLayout;
use crate::mapped::list_or_empty;
use crate::recovery::{CHECKPOINT_SLACK_MS, Examined, Files};

pub(super) fn check(
    disk: &Arc<dyn Disk>,
    layout: &StoreLayout,
    files: &Files,
    examined: &Examined,
    findings: &mut Findings,
) -> Result<()> {
    check_checkpoint(&**disk, layout, files, examined, findings)?;
    for entry in list_or_empty(&**disk, &layout.config)? {
        let is_json = Path::new(&entry.name).extension().is_some_and(|extension| extension == "json");
        if !entry.is_folder && is_json {
            check_config(disk, layout, &entry.name, findings)?;
        }
    }
    Ok(())
}

/// Times that are later than the newest record vouch for something that the log does not have.
fn check_checkpoint(
    disk: &dyn Disk,
    layout: &StoreLayout,
    files: &Files,
    examined: &Examined,
    findings: &mut Findings,
) -> Result<()> {
    let path = &layout.checkpoint;
    let mut add = |severity, message| {
        findings.add(Finding { severity, part: Part::Checkpoint, path: path.clone(), offset: None, message });
    };
    let found = list_or_empty(disk, &layout.root)?.into_iter().find(|entry| entry.name == "checkpoint");
    match found {
        None => add(Severity::Note, "there is none: the next start reads the whole log".to_owned()),
        Some(entry) if entry.size_bytes != CHECKPOINT_SIZE as u64 => {
            let found = entry.size_bytes;
            add(
                Severity::Note,
                format!("it has {found} bytes and not {CHECKPOINT_SIZE}, and counts for nothing"),
            );
        }
        Some(_) => {
            let times = files.checkpoint.times();
            let newest_ms = examined.end.timestamp_ms.saturating_add(CHECKPOINT_SLACK_MS);
            // Where the scan did not begin at the start, the newest time is known all the same: it ends at the end.
            for (what, time_ms) in
                [("log", times.log_ms), ("queues", times.queues_ms), ("index", times.index_ms)]
            {
                if time_ms > newest_ms && examined.end.record.is_some() {
                    let newest_ms = examined.end.timestamp_ms;
                    add(
                        Severity::Error,
                        format!(
                            "it vouches for the {what} up to {time_ms} ms, the newest record is of {newest_ms} ms"
                        ),
                    );
                }
            }
        }
    }
    Ok(())
}

/// A file that is no JSON is lost, unless its backup is.
fn check_config(
    disk: &Arc<dyn Disk>,
    layout: &StoreLayout,
    name: &str,
    findings: &mut Findings,
) -> Result<()> {
    let file = ConfigFile::new(Arc::clone(disk), &layout.config, &layout.temporary, name);
    if let Some((reason, has_backup)) = file.problem()? {
        let (severity, then) =
            if has_backup { (Severity::Note, "; its backup stands in") } else { (Severity::Error, "") };
        let message = format!("it is no JSON: {reason}{then}");
        findings.add(Finding { severity, part: Part::Config, path: file.path(), offset: None, message });
    }
    Ok(())
}
