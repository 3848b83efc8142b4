//! What the tests of this folder share: an index on a simulated disk, keys to put into it, and the files as Apache makes
//! them, one entry at a time in memory.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use escrowmq_wire::key_hash;
use proptest::prelude::*;

use super::KeyIndex;
use crate::disk::Disk;
use crate::offset::LogOffset;
use crate::simulation::{SimulatedDisk, VirtualClock};

pub(super) const SLOTS: u32 = 150;
pub(super) const ENTRIES: u32 = 101;
pub(super) const BEGIN_MS: i64 = 1_700_000_000_000;

pub(super) fn disk() -> SimulatedDisk {
    let disk = SimulatedDisk::default();
    disk.create_folder(Path::new("/store/temporary")).expect("folder");
    disk
}

pub(super) fn load(disk: &SimulatedDisk) -> KeyIndex {
    let clock = Arc::new(VirtualClock::new(BEGIN_MS));
    let (folder, temporary) = (Path::new("/store/index"), Path::new("/store/temporary"));
    KeyIndex::load(Arc::new(disk.clone()), clock, folder, temporary, SLOTS, ENTRIES).expect("load")
}

/// One key of a record.
#[derive(Debug, Clone)]
pub(super) struct Put {
    pub key: String,
    pub log_offset: LogOffset,
    pub ms: i64,
}

/// Keys of records one behind the other; some records have several, a few keys are the same.
pub(super) fn puts(count: Range<usize>) -> impl Strategy<Value = Vec<Put>> {
    proptest::collection::vec((0_u32..400, 0_u64..3, 0_i64..4_000), count).prop_map(|steps| {
        let mut last = (0, BEGIN_MS);
        let put = |(key, step, ms): (u32, u64, i64)| {
            if step > 0 {
                last = (last.0 + step * 150, last.1 + ms);
            }
            Put { key: format!("key-{key}"), log_offset: LogOffset(last.0), ms: last.1 }
        };
        steps.into_iter().map(put).collect()
    })
}

pub(super) fn put_all(index: &mut KeyIndex, puts: &[Put]) {
    for put in puts {
        index.put("orders", &put.key, put.log_offset, put.ms).expect("put");
    }
}

pub(super) fn contents(disk: &SimulatedDisk) -> Vec<Vec<u8>> {
    disk.files_under("/store/index").into_values().collect()
}

/// The files as Apache makes them, one entry at a time in memory.
pub(super) fn as_apache(puts: &[Put]) -> Vec<Vec<u8>> {
    let (slots, entries) = (SLOTS as usize, ENTRIES as usize);
    let mut files: Vec<Vec<u8>> = Vec::new();
    let mut header = (0_i64, 0_i64, 0_u64, 0_u64, 0_u32, entries);
    for put in puts {
        if header.5 == entries {
            header = (header.1, header.1, header.3, header.3, 0, 1);
            files.push(vec![0; 40 + slots * 4 + entries * 20]);
        }
        let file = files.last_mut().expect("file");
        let hash = key_hash("orders", &put.key);
        let slot_at = 40 + (hash as usize % slots) * 4;
        let entry_at = 40 + slots * 4 + header.5 * 20;
        let previous: [u8; 4] = file[slot_at..slot_at + 4].try_into().expect("4 bytes");
        let seconds =
            if header.0 <= 0 { 0 } else { i32::try_from((put.ms - header.0) / 1_000).expect("small") };
        file[entry_at..entry_at + 4].copy_from_slice(&hash.to_be_bytes());
        file[entry_at + 4..entry_at + 12].copy_from_slice(&put.log_offset.0.to_be_bytes());
        file[entry_at + 12..entry_at + 16].copy_from_slice(&seconds.to_be_bytes());
        file[entry_at + 16..entry_at + 20].copy_from_slice(&previous);
        let number = u32::try_from(header.5).expect("small");
        file[slot_at..slot_at + 4].copy_from_slice(&number.to_be_bytes());
        if header.5 <= 1 {
            (header.0, header.2) = (put.ms, put.log_offset.0);
        }
        header.4 += u32::from(previous == [0; 4]);
        (header.1, header.3, header.5) = (put.ms, put.log_offset.0, header.5 + 1);
        file[..8].copy_from_slice(&header.0.to_be_bytes());
        file[8..16].copy_from_slice(&header.1.to_be_bytes());
        file[16..24].copy_from_slice(&header.2.to_be_bytes());
        file[24..32].copy_from_slice(&header.3.to_be_bytes());
        file[32..36].copy_from_slice(&header.4.to_be_bytes());
        file[36..40].copy_from_slice(&(number + 1).to_be_bytes());
    }
    files
}
