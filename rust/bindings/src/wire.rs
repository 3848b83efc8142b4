//! Bytes of many frames or records to values, and back, in one call each.

use escrowmq_wire::{FrameStep, cut_frame};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::{frame_error, record_error};
use crate::frame::Frame;
use crate::message::bytes_of;
use crate::record::Record;

/// The whole frames at the front of `data`, and how many bytes they take.
#[pyfunction]
#[pyo3(signature = (data, *, frame_size_max_bytes = 16_777_216))]
pub fn decode_frames(data: &Bound<'_, PyAny>, frame_size_max_bytes: usize) -> PyResult<(Vec<Frame>, usize)> {
    let received = bytes_of(data)?;
    let (mut frames, mut consumed) = (Vec::new(), 0);
    while let FrameStep::Frame(view) =
        cut_frame(&received[consumed..], frame_size_max_bytes).map_err(frame_error)?
    {
        consumed += view.size();
        frames.push(Frame::cut(&view, received.clone_ref(data.py()), consumed).map_err(frame_error)?);
    }
    Ok((frames, consumed))
}

/// The bytes of the frames, one after the other.
#[pyfunction]
pub fn encode_frames<'py>(py: Python<'py>, frames: Vec<Bound<'py, Frame>>) -> PyResult<Bound<'py, PyBytes>> {
    let mut bytes = Vec::new();
    for frame in &frames {
        frame.get().encode_into(&mut bytes).map_err(frame_error)?;
    }
    Ok(PyBytes::new(py, &bytes))
}

/// The records that stand in `data` one after the other, as a pull is answered with.
#[pyfunction]
pub fn decode_records(data: &Bound<'_, PyAny>) -> PyResult<Vec<Record>> {
    let received = bytes_of(data)?;
    let (mut records, mut at) = (Vec::new(), 0);
    while at < received.len() {
        let record = Record::received(received.clone_ref(data.py()), at).map_err(record_error)?;
        at += record.view().size() as usize;
        records.push(record);
    }
    Ok(records)
}
