//! A configuration file of a store as Python sees it. Other Python threads run while it is read or written.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use escrowmq_store::config_file::ConfigFile as RustConfigFile;
use escrowmq_store::disk::RealDisk;
use escrowmq_store::layout::StoreLayout;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::error::store_error;

/// A file of JSON in a store's folder, with the version before it beside it.
#[pyclass(frozen, module = "escrowmq._core")]
pub struct ConfigFile {
    file: RustConfigFile,
}

#[pymethods]
impl ConfigFile {
    #[new]
    fn new(store: PathBuf, name: &str) -> PyResult<Self> {
        let mut parts = Path::new(name).components();
        if !matches!((parts.next(), parts.next()), (Some(Component::Normal(part)), None) if part == name) {
            return Err(PyValueError::new_err(format!("{name:?} is not the name of a file")));
        }
        let layout = StoreLayout::new(&store);
        Ok(Self { file: RustConfigFile::new(Arc::new(RealDisk), &layout.config, &layout.temporary, name) })
    }

    #[getter]
    fn path(&self) -> PathBuf {
        self.file.path()
    }

    fn load(&self, py: Python<'_>) -> PyResult<Option<String>> {
        py.detach(|| self.file.load()).map_err(store_error)
    }

    #[pyo3(signature = (text, /))]
    fn save(&self, py: Python<'_>, text: &str) -> PyResult<()> {
        py.detach(|| self.file.save(text)).map_err(store_error)
    }
}
