//! A file system in memory that journals every effect on it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use rustix::io::Errno;

use super::fault::{Fault, FaultAt};
use super::file::{SimulatedFile, SimulatedMapping};
use super::journal::{FileId, Operation};
use super::pages::page_numbers;
use crate::disk::{Allocation, Disk, DiskFile, DiskUsage, FolderEntry, Mapping};

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Node {
    Folder,
    File(FileId),
}

/// Names and the bytes behind them.
pub(super) type Names = BTreeMap<PathBuf, Node>;

/// A file's bytes, shared until somebody writes.
pub(super) type Files = HashMap<FileId, Arc<Vec<u8>>>;

#[derive(Debug, Default)]
pub(super) struct State {
    /// What was durable when the journal began.
    pub(super) names_before: Names,
    pub(super) files_before: Files,
    pub(super) journal: Vec<Operation>,
    /// What a program sees now.
    pub(super) names: Names,
    pub(super) files: Files,
    /// Live mappings of each file.
    pub(super) mappings: HashMap<FileId, usize>,
    /// Pages that were written, be it with zeros: a file system keeps blocks for them, and says so.
    pub(super) written_pages: HashSet<(FileId, usize)>,
    /// Writes by position to each file.
    pub(super) positional_writes: HashMap<FileId, usize>,
    pub(super) usage: Option<DiskUsage>,
    faults: Vec<Fault>,
    /// The names files were last opened by, for faults that ask for a path.
    opened_as: HashMap<FileId, String>,
}

/// A file system in memory that journals every effect on it. Clones are the same disk.
#[derive(Debug, Clone, Default)]
pub struct SimulatedDisk {
    state: Arc<Mutex<State>>,
}

impl SimulatedDisk {
    /// A disk on which `names` and `files` are durable.
    pub(super) fn durable(names: Names, files: Files, usage: Option<DiskUsage>) -> Self {
        let state = State {
            names_before: names.clone(),
            files_before: files.clone(),
            names,
            files,
            usage,
            ..State::default()
        };
        Self { state: Arc::new(Mutex::new(state)) }
    }

    /// A disk that holds these files durably, and the folders that they need.
    ///
    /// # Panics
    /// Never for distinct paths.
    #[must_use]
    pub fn with_files<P: Into<PathBuf>>(contents: impl IntoIterator<Item = (P, Vec<u8>)>) -> Self {
        let mut names = Names::new();
        let mut files = Files::new();
        for (path, bytes) in contents {
            let path = path.into();
            let file = FileId(files.len() as u64);
            for folder in path.ancestors().skip(1).filter(|folder| !is_root(folder)) {
                names.insert(folder.to_path_buf(), Node::Folder);
            }
            names.insert(path, Node::File(file));
            files.insert(file, Arc::new(bytes));
        }
        Self::durable(names, files, None)
    }

    /// The number of operations so far: the position of a crash that loses nothing done yet.
    #[must_use]
    pub fn position(&self) -> usize {
        self.lock().journal.len()
    }

    /// The operations so far.
    #[must_use]
    pub fn journal(&self) -> Vec<Operation> {
        self.lock().journal.clone()
    }

    /// The files under a folder with their bytes, as a program sees them now.
    #[must_use]
    pub fn files_under(&self, folder: impl AsRef<Path>) -> BTreeMap<PathBuf, Vec<u8>> {
        let state = self.lock();
        let under = state.names.iter().filter(|(path, _)| path.starts_with(folder.as_ref()));
        under
            .filter_map(|(path, node)| match node {
                Node::File(file) => Some((path.clone(), state.files[file].to_vec())),
                Node::Folder => None,
            })
            .collect()
    }

    /// A disk of its own with the same names and bytes, all durable.
    #[must_use]
    pub fn copy(&self) -> Self {
        let state = self.lock();
        Self::durable(state.names.clone(), state.files.clone(), state.usage)
    }

    /// Says how full the disk is. It is nearly empty until told.
    pub fn set_usage(&self, usage: DiskUsage) {
        self.lock().usage = Some(usage);
    }

    /// Asks for a failure.
    pub fn inject(&self, fault: Fault) {
        self.lock().faults.push(fault);
    }

    /// Takes all asked-for failures back.
    pub fn clear_faults(&self) {
        self.lock().faults.clear();
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

impl State {
    /// Applies an operation and writes it down.
    pub(super) fn record(&mut self, operation: Operation) {
        match &operation {
            Operation::Write { file, offset, bytes, .. } => {
                let content = Arc::make_mut(self.files.entry(*file).or_default());
                let start = to_usize(*offset);
                let end = start + bytes.len();
                if content.len() < end {
                    content.resize(end, 0);
                }
                content[start..end].copy_from_slice(bytes);
                self.written_pages.extend(page_numbers(&(start..end)).map(|page| (*file, page)));
            }
            Operation::Resize { file, size_bytes } => {
                Arc::make_mut(self.files.entry(*file).or_default()).resize(to_usize(*size_bytes), 0);
            }
            Operation::CreateFile { file, .. } => {
                self.files.insert(*file, Arc::default());
                super::names::apply(&mut self.names, &operation);
            }
            Operation::Sync { .. } | Operation::SyncFailed { .. } => {}
            _ => super::names::apply(&mut self.names, &operation),
        }
        self.journal.push(operation);
    }

    /// The failure that was asked for at this call, if there is one.
    pub(super) fn meet_fault(&mut self, at: FaultAt, path: &str) -> io::Result<()> {
        self.faults.iter_mut().try_for_each(|fault| fault.meet(at, path))
    }

    /// The failure that was asked for at this call on a file.
    pub(super) fn meet_file_fault(&mut self, at: FaultAt, file: FileId) -> io::Result<()> {
        let path = self.opened_as.get(&file).cloned().unwrap_or_default();
        self.meet_fault(at, &path)
    }

    pub(super) fn content(&self, file: FileId) -> &[u8] {
        self.files.get(&file).map_or(&[], |bytes| bytes.as_slice())
    }

    fn node(&self, path: &Path) -> io::Result<Node> {
        if is_root(path) {
            Ok(Node::Folder)
        } else {
            self.names.get(path).copied().ok_or(Errno::NOENT.into())
        }
    }

    fn open(&mut self, path: &Path) -> io::Result<FileId> {
        match self.node(path)? {
            Node::File(file) => {
                self.opened_as.insert(file, path.to_string_lossy().into_owned());
                Ok(file)
            }
            Node::Folder => Err(Errno::ISDIR.into()),
        }
    }

    fn expect_folder(&self, path: &Path) -> io::Result<()> {
        match self.node(path)? {
            Node::Folder => Ok(()),
            Node::File(_) => Err(Errno::NOTDIR.into()),
        }
    }

    /// A folder and those above it that are not there, the outermost first.
    fn missing_folders(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        let mut missing: Vec<PathBuf> = Vec::new();
        for ancestor in folder.ancestors() {
            match self.node(ancestor) {
                Ok(Node::Folder) => break,
                Ok(Node::File(_)) => return Err(Errno::NOTDIR.into()),
                Err(_) => missing.push(ancestor.to_path_buf()),
            }
        }
        missing.reverse();
        Ok(missing)
    }

    fn assert_not_mapped(&self, file: FileId, path: &Path) {
        let is_mapped = self.mappings.get(&file).is_some_and(|count| *count > 0);
        assert!(!is_mapped, "{} is cut under a mapping, which would fault", path.display());
    }
}

impl Disk for SimulatedDisk {
    fn list(&self, folder: &Path) -> io::Result<Vec<FolderEntry>> {
        let state = self.lock();
        state.expect_folder(folder)?;
        let children = state.names.iter().filter(|(path, _)| path.parent() == Some(folder));
        let entry = |(path, node): (&PathBuf, &Node)| FolderEntry {
            name: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            is_folder: *node == Node::Folder,
            size_bytes: match node {
                Node::Folder => 0,
                Node::File(file) => state.content(*file).len() as u64,
            },
        };
        Ok(children.map(entry).collect())
    }

    fn create_folder(&self, folder: &Path) -> io::Result<()> {
        let missing = self.lock().missing_folders(folder)?;
        for path in missing {
            let parent = path.parent().map(Path::to_path_buf).unwrap_or_default();
            self.lock().record(Operation::CreateFolder { path });
            self.sync_folder(&parent)?;
        }
        Ok(())
    }

    fn create_folder_unsynced(&self, folder: &Path) -> io::Result<()> {
        let mut state = self.lock();
        for path in state.missing_folders(folder)? {
            state.record(Operation::CreateFolder { path });
        }
        Ok(())
    }

    fn create(&self, path: &Path, size_bytes: u64, _: Allocation) -> io::Result<Box<dyn DiskFile>> {
        let mut state = self.lock();
        state.expect_folder(path.parent().unwrap_or(Path::new("")))?;
        let fault = state.meet_fault(FaultAt::Allocate, &path.to_string_lossy());
        let file = match state.node(path) {
            // As `O_TRUNC`: the same file, emptied.
            Ok(Node::File(file)) => {
                state.assert_not_mapped(file, path);
                state.record(Operation::Resize { file, size_bytes: 0 });
                file
            }
            Ok(Node::Folder) => return Err(Errno::ISDIR.into()),
            Err(_) => {
                let file = FileId(state.files.keys().map(|file| file.0 + 1).max().unwrap_or(0));
                state.record(Operation::CreateFile { path: path.to_path_buf(), file });
                file
            }
        };
        if let Err(error) = fault {
            state.record(Operation::Remove { path: path.to_path_buf() });
            return Err(error);
        }
        state.record(Operation::Resize { file, size_bytes });
        state.opened_as.insert(file, path.to_string_lossy().into_owned());
        Ok(Box::new(SimulatedFile::new(self.clone(), file)))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        let file = self.lock().open(path)?;
        Ok(Box::new(SimulatedFile::new(self.clone(), file)))
    }

    fn map(&self, path: &Path) -> io::Result<Box<dyn Mapping>> {
        let file = self.lock().open(path)?;
        Ok(Box::new(SimulatedMapping::new(self.clone(), file)?))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.lock();
        state.expect_folder(to.parent().unwrap_or(Path::new("")))?;
        match (state.node(from)?, state.node(to)) {
            // The store renames no folders, and a power loss in the middle of one is not modelled.
            (Node::Folder, _) | (_, Ok(Node::Folder)) => Err(Errno::ISDIR.into()),
            _ => {
                state.record(Operation::Rename { from: from.to_path_buf(), to: to.to_path_buf() });
                Ok(())
            }
        }
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.lock();
        if state.node(path)? == Node::Folder && state.names.keys().any(|name| name.parent() == Some(path)) {
            return Err(Errno::NOTEMPTY.into());
        }
        state.record(Operation::Remove { path: path.to_path_buf() });
        Ok(())
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        let mut state = self.lock();
        state.expect_folder(folder)?;
        state.meet_fault(FaultAt::SyncFolder, &folder.to_string_lossy())?;
        state.record(Operation::SyncFolder { path: folder.to_path_buf() });
        Ok(())
    }

    fn usage(&self, _: &Path) -> io::Result<DiskUsage> {
        Ok(self.lock().usage.unwrap_or(DiskUsage { used_bytes: 1 << 30, available_bytes: 1 << 40 }))
    }
}

fn is_root(path: &Path) -> bool {
    path.parent().is_none()
}

pub(super) fn to_usize(offset: u64) -> usize {
    usize::try_from(offset).unwrap_or(usize::MAX)
}
