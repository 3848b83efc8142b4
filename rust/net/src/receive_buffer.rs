//! What a connection received and nobody has taken yet.
//!
//! Bytes are read into a buffer that all connections share. If they are frames, the frames keep sharing memory: the
//! buffer itself where it is well filled, else a copy of the right size, so that a small frame never holds a large buffer.
//! The beginning of a frame is kept apart and grows as its bytes arrive. An idle connection holds nothing.

use std::io;
use std::mem;
use std::os::fd::AsFd;

use bytes::{Bytes, BytesMut};
use escrowmq_wire::{Frame, FrameDecoder, FrameStep, WireError, cut_frame};
use rustix::buffer::spare_capacity;
use rustix::io::Errno;

/// Room for one read.
const READ_SIZE: usize = 64 * 1024;

/// The beginning of a frame that is moved to where the next read goes, so that one read brings its rest and what follows.
/// A larger one grows where it is: copied for every few bytes that arrive, it would cost us more than its sender.
const MOVED_SIZE_MAX: usize = 4096;

/// Room for one read when memory is short.
const LITTLE: usize = 16 * 1024;

/// What a read gave.
#[derive(Debug, PartialEq, Eq)]
pub enum Filled {
    /// So many bytes; the socket may have more.
    Some(usize),
    /// So many bytes, and the socket has no more.
    Last(usize),
    /// Nothing, for now.
    Nothing,
    /// The peer will send no more.
    End,
}

#[derive(Debug, Default)]
pub struct ReceiveBuffer {
    /// Begins with a whole frame, or is empty.
    frames: BytesMut,
    /// The beginning of a frame; empty while `frames` is not.
    partial: Vec<u8>,
    /// What `partial` is known to lack.
    missing_size: usize,
}

impl ReceiveBuffer {
    /// Bytes that are kept.
    pub fn len(&self) -> usize {
        self.frames.len() + self.partial.len()
    }

    /// Whether a frame has begun and is not whole.
    pub fn has_partial(&self) -> bool {
        !self.partial.is_empty()
    }

    /// The first byte of a frame that is not whole.
    pub fn first_byte(&self) -> Option<u8> {
        self.partial.first().copied()
    }

    /// Reads once. To be called when [`Self::next_frame`] has no more.
    pub fn fill(&mut self, socket: impl AsFd, shared: &mut Vec<u8>) -> io::Result<Filled> {
        debug_assert!(self.frames.is_empty());
        let is_shared = self.partial.is_empty()
            || self.partial.len() <= MOVED_SIZE_MAX && self.partial.len() + self.missing_size <= READ_SIZE;
        let buffer = if is_shared {
            shared.clear();
            shared.reserve_exact(READ_SIZE);
            shared.extend_from_slice(&self.partial);
            &mut *shared
        } else {
            // At most as much again as has arrived: an announced size alone allocates nothing.
            let growth = self.missing_size.min(self.partial.len().max(READ_SIZE));
            self.partial.reserve_exact(growth);
            &mut self.partial
        };
        let room = buffer.capacity() - buffer.len();
        let read = filled(rustix::io::read(socket, spare_capacity(buffer)), room)?;
        if is_shared && matches!(read, Filled::Some(_) | Filled::Last(_)) {
            if shared.len() >= READ_SIZE / 2 {
                self.partial = mem::take(shared);
            } else {
                self.partial = shared.as_slice().to_vec();
            }
        }
        Ok(read)
    }

    /// Reads once, and no more than so many bytes. To be called when [`Self::next_frame`] has no more.
    pub fn fill_little(&mut self, socket: impl AsFd, size_max: usize) -> io::Result<Filled> {
        debug_assert!(self.frames.is_empty());
        let mut bytes = [0; LITTLE];
        let room = size_max.min(LITTLE);
        let read = filled(rustix::io::read(socket, &mut bytes[..room]), room)?;
        if let Filled::Some(size) | Filled::Last(size) = read {
            self.partial.extend_from_slice(&bytes[..size]);
        }
        Ok(read)
    }

    /// Takes the next frame, if it is whole.
    pub fn next_frame(&mut self, frame_size_max: usize) -> Result<Option<Frame>, WireError> {
        if self.frames.is_empty() {
            if self.partial.is_empty() {
                return Ok(None);
            }
            if let FrameStep::Partial { missing_size } = cut_frame(&self.partial, frame_size_max)? {
                self.missing_size = missing_size;
                return Ok(None);
            }
            self.frames = Bytes::from(mem::take(&mut self.partial)).into();
        }
        match FrameDecoder::new(frame_size_max).next_frame(&mut self.frames) {
            Ok(FrameStep::Frame(frame)) => Ok(Some(frame)),
            Ok(FrameStep::Partial { missing_size }) => {
                self.missing_size = missing_size;
                self.partial = mem::take(&mut self.frames).as_ref().to_vec();
                Ok(None)
            }
            Err(error) => {
                self.partial = mem::take(&mut self.frames).as_ref().to_vec();
                Err(error)
            }
        }
    }
}

/// What a read into so much room gave.
fn filled(read: Result<usize, Errno>, room: usize) -> io::Result<Filled> {
    match read {
        Ok(0) => Ok(Filled::End),
        Ok(size) if size == room => Ok(Filled::Some(size)),
        Ok(size) => Ok(Filled::Last(size)),
        Err(Errno::AGAIN) => Ok(Filled::Nothing),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use escrowmq_wire::{HeaderKind, RemotingHeader, encode_frame};
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    fn frame(body_size: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        encode_frame(HeaderKind::Json, &RemotingHeader::default(), &vec![7; body_size], &mut bytes)
            .expect("frame");
        bytes
    }

    #[test]
    fn an_announced_size_allocates_nothing() {
        let (mut sender, receiver) = UnixStream::pair().expect("pair");
        let (mut buffer, mut shared) = (ReceiveBuffer::default(), Vec::new());
        sender.write_all(&[0, 0xF0, 0, 0, 0, 0, 0, 4, b'{']).expect("send");
        assert_eq!(buffer.fill(&receiver, &mut shared).expect("read"), Filled::Last(9));
        assert_eq!(buffer.next_frame(1 << 24).expect("partial"), None);
        assert!(buffer.has_partial());
        assert!(buffer.partial.capacity() < 64);
        sender.write_all(b"}").expect("send");
        buffer.fill(&receiver, &mut shared).expect("read");
        assert!(buffer.partial.capacity() <= READ_SIZE + 64);
    }

    #[test]
    fn a_small_frame_holds_a_small_buffer_and_the_end_is_seen() {
        let (mut sender, receiver) = UnixStream::pair().expect("pair");
        let (mut buffer, mut shared) = (ReceiveBuffer::default(), Vec::new());
        let bytes = frame(10);
        sender.write_all(&bytes).expect("send");
        drop(sender);
        assert_eq!(buffer.fill(&receiver, &mut shared).expect("read"), Filled::Last(bytes.len()));
        assert!(shared.capacity() >= READ_SIZE, "the shared buffer stays");
        assert_eq!(buffer.next_frame(1 << 24).expect("frame").expect("whole").body.len(), 10);
        assert_eq!(buffer.next_frame(1 << 24).expect("nothing"), None);
        assert_eq!(buffer.len(), 0);
        assert_eq!(buffer.fill(&receiver, &mut shared).expect("read"), Filled::End);
    }

    #[test]
    fn a_little_at_a_time_makes_a_frame_too() {
        let (mut sender, receiver) = UnixStream::pair().expect("pair");
        let mut buffer = ReceiveBuffer::default();
        let bytes = frame(1_000);
        sender.write_all(&bytes).expect("send");
        let mut missing = bytes.len();
        while missing > 100 {
            assert_eq!(buffer.next_frame(1 << 24).expect("partial"), None);
            assert_eq!(buffer.fill_little(&receiver, 100).expect("read"), Filled::Some(100));
            missing -= 100;
        }
        assert_eq!(buffer.fill_little(&receiver, 1 << 20).expect("read"), Filled::Last(missing));
        assert_eq!(buffer.next_frame(1 << 24).expect("frame").expect("whole").body.len(), 1_000);
    }

    #[test]
    fn frames_of_any_size_come_out_of_one_stream() {
        let (mut sender, receiver) = UnixStream::pair().expect("pair");
        let sizes = [0, 100, 70_000, 3, 1_000_000, 65_536, 1];
        let writer =
            std::thread::spawn(move || sizes.map(|size| sender.write_all(&frame(size)).expect("send")));
        let (mut buffer, mut shared, mut found) = (ReceiveBuffer::default(), Vec::new(), Vec::new());
        while found.len() < sizes.len() {
            buffer.fill(&receiver, &mut shared).expect("read");
            while let Some(frame) = buffer.next_frame(1 << 24).expect("frames") {
                found.push(frame.body.len());
            }
        }
        writer.join().expect("writer");
        assert_eq!(found, sizes);
        assert_eq!(buffer.len(), 0);
    }
}
