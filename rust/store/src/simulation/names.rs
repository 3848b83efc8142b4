//! The names that a power loss may leave.
//!
//! A name operation is sure to be there once its folder was synced after it; for a rename that is the folder of the
//! new name. Any other may be there or not, each for itself, but for those that build on one another: an operation is
//! there only if the earlier ones on its names are (no removal of a file that was never created). A rename is one
//! operation: old name or new, never both, never none.

use std::path::Path;

use super::disk::{Names, Node};
use super::journal::Operation;

/// The names after the `operations`, of which those that no sync covers survive where `survives` says so.
pub(super) fn after_crash(
    before: &Names,
    operations: &[Operation],
    mut survives: impl FnMut() -> bool,
) -> Names {
    let mut names = before.clone();
    let is_sure = sure(operations);
    let mut lost: Vec<&Operation> = Vec::new();
    for (operation, is_sure) in operations.iter().zip(is_sure) {
        if paths(operation).is_empty() {
            continue;
        }
        let builds_on_lost = lost.iter().any(|earlier| builds_on(operation, earlier));
        if is_sure || (!builds_on_lost && survives()) {
            apply(&mut names, operation);
        } else {
            lost.push(operation);
        }
    }
    names
}

/// Changes the names as an operation says. Operations on bytes change none.
pub(super) fn apply(names: &mut Names, operation: &Operation) {
    match operation {
        Operation::CreateFolder { path } => {
            names.insert(path.clone(), Node::Folder);
        }
        Operation::CreateFile { path, file } => {
            names.insert(path.clone(), Node::File(*file));
        }
        Operation::Rename { from, to } => {
            if let Some(node) = names.remove(from) {
                names.insert(to.clone(), node);
            }
        }
        Operation::Remove { path } => {
            names.remove(path);
        }
        _ => {}
    }
}

/// Which operations every power loss leaves: those that a later sync of their folder covers, and what they build on.
fn sure(operations: &[Operation]) -> Vec<bool> {
    let mut is_sure = vec![false; operations.len()];
    let mut synced: Vec<&Path> = Vec::new();
    let mut sure_later: Vec<&Operation> = Vec::new();
    for (index, operation) in operations.iter().enumerate().rev() {
        if let Operation::SyncFolder { path } = operation {
            synced.push(path);
        }
        let Some(name) = paths(operation).last().copied() else { continue };
        let is_synced = name.parent().is_some_and(|folder| synced.contains(&folder));
        if is_synced || sure_later.iter().any(|later| builds_on(later, operation)) {
            is_sure[index] = true;
            sure_later.push(operation);
        }
    }
    is_sure
}

/// Whether `later` needs `earlier` to have happened: they share a name, or one's name is in the other's folder.
fn builds_on(later: &Operation, earlier: &Operation) -> bool {
    let is_near = |one: &Path, other: &Path| one.starts_with(other) || other.starts_with(one);
    paths(later).iter().any(|one| paths(earlier).iter().any(|other| is_near(one, other)))
}

/// The names an operation changes; the one whose folder's sync makes it sure comes last.
fn paths(operation: &Operation) -> Vec<&Path> {
    match operation {
        Operation::CreateFolder { path }
        | Operation::CreateFile { path, .. }
        | Operation::Remove { path } => {
            vec![path]
        }
        Operation::Rename { from, to } => vec![from, to],
        _ => Vec::new(),
    }
}
