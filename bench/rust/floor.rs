//! The floor that an append is measured against: one memcpy and one CRC-32 of the same bytes, into a file mapping whose
//! pages are there already. Nothing that keeps a message and a checksum of it can be faster.

#![allow(unsafe_code)] // a mapping of our own file, which nobody else knows

use std::fs::OpenOptions;
use std::io;
use std::path::Path;

use memmap2::{MmapMut, MmapOptions};

/// A mapped file, written front to back and over again.
#[derive(Debug)]
pub struct Floor {
    map: MmapMut,
    at: usize,
}

impl Floor {
    /// Makes a file and faults all of its pages in.
    ///
    /// # Errors
    /// What the file system says.
    pub fn new(path: &Path, size_bytes: usize) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(path)?;
        file.set_len(size_bytes as u64)?;
        // SAFETY: the file was just made, and is neither cut nor written by anyone else.
        let mut map = unsafe { MmapOptions::new().map_mut(&file)? };
        map.fill(1);
        Ok(Self { map, at: 0 })
    }

    /// Copies `bytes` behind the last ones and returns their CRC-32.
    pub fn append(&mut self, bytes: &[u8]) -> u32 {
        if self.at + bytes.len() > self.map.len() {
            self.at = 0;
        }
        self.map[self.at..self.at + bytes.len()].copy_from_slice(bytes);
        self.at += bytes.len();
        crc32fast::hash(bytes)
    }

    /// Its bytes, to be copied by who measures memcpy.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.map
    }
}
