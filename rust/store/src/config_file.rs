//! A configuration file as `RocketMQ` keeps it: JSON with the version before it beside it as `.bak`. Apache writes in
//! place; we never do, so that at every moment either the old text or the new one is whole under the file's own name.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use escrowmq_wire::strict_json;
use parking_lot::Mutex;

use crate::disk::{Allocation, Disk};
use crate::error::{Result, StoreError};

/// A larger file is no configuration: it is refused before it is read.
const SIZE_MAX_BYTES: u64 = 256 << 20;

/// A file of JSON and its backup.
#[derive(Debug)]
pub struct ConfigFile {
    disk: Arc<dyn Disk>,
    folder: PathBuf,
    temporary_folder: PathBuf,
    name: String,
    /// One save at a time: two would share their temporary files.
    saving: Mutex<()>,
}

/// What is under a name.
enum Found {
    Nothing,
    /// Raw text, and the same in strict JSON.
    Json(Vec<u8>, String),
    Broken(String),
}

impl ConfigFile {
    /// The file `name` in `folder`, which need not exist. Temporary files of the same name go to `temporary_folder`.
    pub fn new(disk: Arc<dyn Disk>, folder: &Path, temporary_folder: &Path, name: &str) -> Self {
        let (folder, temporary_folder) = (folder.to_path_buf(), temporary_folder.to_path_buf());
        Self { disk, folder, temporary_folder, name: name.to_owned(), saving: Mutex::new(()) }
    }

    /// Its path.
    pub fn path(&self) -> PathBuf {
        self.folder.join(&self.name)
    }

    /// The text in strict JSON, whatever dialect the file has; the backup's where the file is missing, empty or broken;
    /// `None` where neither is there. Changes nothing.
    ///
    /// # Errors
    /// [`StoreError::BadConfig`] where something is there, and it is no JSON; [`StoreError::Io`].
    pub fn load(&self) -> Result<Option<String>> {
        let path = self.path();
        let reason = match self.read(&path)? {
            Found::Json(_, strict) => return Ok(Some(strict)),
            Found::Nothing => None,
            Found::Broken(reason) => Some(reason),
        };
        let backup = self.backup();
        match (self.read(&backup)?, reason) {
            (Found::Json(_, strict), reason) => {
                if let Some(reason) = reason {
                    tracing::warn!(path = %path.display(), reason, "the backup stands in for a broken file");
                }
                Ok(Some(strict))
            }
            (Found::Nothing, None) => Ok(None),
            (Found::Nothing | Found::Broken(_), Some(reason)) => Err(StoreError::BadConfig { path, reason }),
            (Found::Broken(reason), None) => Err(StoreError::BadConfig { path: backup, reason }),
        }
    }

    /// Why the file is no JSON, and whether its backup is; `None` where the file is, or is not there. Changes nothing.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn problem(&self) -> Result<Option<(String, bool)>> {
        match self.read(&self.path())? {
            Found::Broken(reason) => {
                let has_backup = matches!(self.read(&self.backup())?, Found::Json(..));
                Ok(Some((reason, has_backup)))
            }
            Found::Nothing | Found::Json(..) => Ok(None),
        }
    }

    /// Replaces the text, durably; what was there becomes the backup.
    ///
    /// # Errors
    /// [`StoreError::BadConfig`] where `text` could not be loaded again; [`StoreError::Io`]. The old text is then still
    /// there.
    pub fn save(&self, text: &str) -> Result<()> {
        let _saving = self.saving.lock();
        let path = self.path();
        if let Err(reason) = to_strict(text) {
            return Err(StoreError::BadConfig { path, reason });
        }
        self.disk.create_folder(&self.folder).map_err(StoreError::io("create", &self.folder))?;
        let temporary = self.write_temporary("", text.as_bytes())?;
        // A broken file must not push a good backup out.
        if let Found::Json(previous, _) = self.read(&path)? {
            let backup = self.backup();
            let temporary = self.write_temporary(".bak", &previous)?;
            self.disk.rename(&temporary, &backup).map_err(StoreError::io("write", &backup))?;
        }
        self.disk.rename(&temporary, &path).map_err(StoreError::io("write", &path))?;
        self.disk.sync_folder(&self.folder).map_err(StoreError::io("sync", &self.folder))
    }

    fn backup(&self) -> PathBuf {
        self.folder.join(format!("{}.bak", self.name))
    }

    /// A whole file under a temporary name. Its bytes are durable before any rename: a name must never come to a file
    /// that a power loss empties.
    fn write_temporary(&self, suffix: &str, bytes: &[u8]) -> Result<PathBuf> {
        let path = self.temporary_folder.join(format!("{}{suffix}", self.name));
        self.disk
            .create(&path, 0, Allocation::OnDemand)
            .and_then(|file| file.write_at(0, bytes).and_then(|()| file.sync()))
            .map_err(StoreError::io("write", &path))?;
        Ok(path)
    }

    fn read(&self, path: &Path) -> Result<Found> {
        let file = match self.disk.open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Found::Nothing),
            result => result.map_err(StoreError::io("open", path))?,
        };
        let size = file.size_bytes().map_err(StoreError::io("read", path))?;
        if size > SIZE_MAX_BYTES {
            return Ok(Found::Broken(format!("{size} bytes, the limit is {SIZE_MAX_BYTES}")));
        }
        let mut bytes = vec![0; usize::try_from(size).unwrap_or(0)];
        file.read_at(0, &mut bytes).map_err(StoreError::io("read", path))?;
        if bytes.trim_ascii().is_empty() {
            return Ok(Found::Nothing);
        }
        let strict = std::str::from_utf8(&bytes).map_err(|error| error.to_string()).and_then(to_strict);
        Ok(match strict {
            Ok(strict) => Found::Json(bytes, strict),
            Err(reason) => Found::Broken(reason),
        })
    }
}

/// The text in strict JSON, or why it is none.
fn to_strict(text: &str) -> std::result::Result<String, String> {
    let strict = strict_json(text).map_err(|error| error.to_string())?;
    serde_json::from_str::<serde_json::Value>(&strict).map_err(|error| error.to_string())?;
    Ok(strict.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::RealDisk;

    struct Fixture {
        root: tempfile::TempDir,
        file: ConfigFile,
    }

    fn fixture() -> Fixture {
        let root = tempfile::tempdir().expect("folder");
        let (folder, temporary) = (root.path().join("config"), root.path().join("temporary"));
        std::fs::create_dir(&temporary).expect("temporary");
        let file = ConfigFile::new(Arc::new(RealDisk), &folder, &temporary, "topics.json");
        Fixture { root, file }
    }

    impl Fixture {
        fn put(&self, name: &str, bytes: &[u8]) {
            std::fs::create_dir_all(self.root.path().join("config")).expect("folder");
            std::fs::write(self.root.path().join("config").join(name), bytes).expect("write");
        }

        fn get(&self, name: &str) -> String {
            std::fs::read_to_string(self.root.path().join("config").join(name)).expect("read")
        }
    }

    #[test]
    fn what_was_saved_is_loaded_and_the_version_before_is_the_backup() {
        let fixture = fixture();
        assert_eq!(fixture.file.load().expect("none"), None);
        fixture.file.save(r#"{"a":1}"#).expect("save");
        fixture.file.save(r#"{"a":2}"#).expect("save");
        assert_eq!(fixture.file.load().expect("load").as_deref(), Some(r#"{"a":2}"#));
        assert_eq!(fixture.get("topics.json.bak"), r#"{"a":1}"#);
        assert_eq!(std::fs::read_dir(fixture.root.path().join("temporary")).expect("list").count(), 0);
    }

    #[test]
    fn a_missing_empty_or_broken_file_is_replaced_by_its_backup() {
        for broken in [None, Some(&b""[..]), Some(b" \n"), Some(b"{\"a\":"), Some(b"\xff")] {
            let fixture = fixture();
            fixture.put("topics.json.bak", b"[1]");
            if let Some(broken) = broken {
                fixture.put("topics.json", broken);
            }
            assert_eq!(fixture.file.load().expect("load").as_deref(), Some("[1]"));
            fixture.file.save("[2]").expect("save");
            assert_eq!(fixture.get("topics.json.bak"), "[1]", "a good backup stays for {broken:?}");
        }
    }

    #[test]
    fn a_broken_file_without_a_good_backup_is_an_error() {
        for backup in [None, Some(&b""[..]), Some(b"{")] {
            let fixture = fixture();
            fixture.put("topics.json", b"{]");
            if let Some(backup) = backup {
                fixture.put("topics.json.bak", backup);
            }
            assert!(matches!(fixture.file.load(), Err(StoreError::BadConfig { .. })), "{backup:?}");
        }
        let fixture = fixture();
        fixture.put("topics.json.bak", b"{");
        assert!(matches!(fixture.file.load(), Err(StoreError::BadConfig { .. })));
    }

    #[test]
    fn the_dialect_of_apaches_files_is_loaded_as_strict_json() {
        let fixture = fixture();
        fixture.put("topics.json", b"{\"offsetTable\":{1:10,2:20}}");
        assert_eq!(fixture.file.load().expect("load").as_deref(), Some(r#"{"offsetTable":{"1":10,"2":20}}"#));
    }

    #[test]
    fn text_that_could_not_be_loaded_again_is_not_saved() {
        let fixture = fixture();
        fixture.file.save("[1]").expect("save");
        assert!(matches!(fixture.file.save("[1"), Err(StoreError::BadConfig { .. })));
        assert_eq!(fixture.file.load().expect("load").as_deref(), Some("[1]"));
    }
}
