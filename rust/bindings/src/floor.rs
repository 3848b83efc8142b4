//! The yardstick of `bench/python`: what appending costs at the very least. Not part of the public surface.

use std::hint::black_box;
use std::time::Instant;

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

/// Seconds that one copy and one CRC-32 of each of the bodies take, into memory that is there already.
#[pyfunction]
#[pyo3(name = "_measure_floor_s")]
pub fn measure_floor_s(py: Python<'_>, bodies: Vec<PyBackedBytes>, rounds: usize) -> f64 {
    py.detach(|| {
        let batch_size: usize = bodies.iter().map(|body| body.len()).sum();
        // As large as what a store writes in as many rounds, so that both miss the cache equally; and pre-faulted.
        let mut target = vec![1_u8; batch_size * rounds];
        let began = Instant::now();
        let mut at = 0;
        for _ in 0..rounds {
            for body in &bodies {
                target[at..at + body.len()].copy_from_slice(body);
                black_box(crc32fast::hash(&target[at..at + body.len()]));
                at += body.len();
            }
        }
        black_box(&target);
        began.elapsed().as_secs_f64()
    })
}
