//! Chunks that a connection has to write, in order. Large ones are not copied; small ones are, together: many answers of
//! a few hundred bytes cost less as one piece of memory than as so many.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, IoSlice, Write};

use bytes::{Buf, Bytes};

/// Most chunks of one system call; small enough to lie on the stack, large enough that a call is worth it.
const SLICES_MAX: usize = 64;
/// Chunks up to this size are copied together.
const SMALL_SIZE: usize = 1024;
/// How much is copied together at most.
const JOINED_SIZE_MAX: usize = 32 * 1024;
/// Most system calls in a row, so that one fast reader does not hold up the others.
const WRITES_MAX: usize = 16;

/// What writing came to.
#[derive(Debug, PartialEq, Eq)]
pub enum Written {
    /// Nothing is left.
    All,
    /// The socket takes no more for now.
    Blocked,
    /// It would, but others have their turn.
    More,
}

#[derive(Debug, Default)]
pub struct WriteQueue {
    chunks: VecDeque<Bytes>,
    /// Small chunks that follow.
    joined: Vec<u8>,
    size: usize,
}

impl WriteQueue {
    /// Bytes that wait.
    pub fn size(&self) -> usize {
        self.size
    }

    pub fn is_empty(&self) -> bool {
        self.size == 0
    }

    pub fn push(&mut self, chunk: Bytes) {
        self.size += chunk.len();
        if chunk.len() > SMALL_SIZE {
            self.end_joined();
            self.chunks.push_back(chunk);
            return;
        }
        if self.joined.len() + chunk.len() > JOINED_SIZE_MAX {
            self.end_joined();
        }
        self.joined.extend_from_slice(&chunk);
    }

    fn end_joined(&mut self) {
        if !self.joined.is_empty() {
            self.chunks.push_back(std::mem::take(&mut self.joined).into());
        }
    }

    /// Writes what the socket takes.
    pub fn write_to(&mut self, socket: &mut impl Write) -> io::Result<Written> {
        self.end_joined();
        for _ in 0..WRITES_MAX {
            if self.chunks.is_empty() {
                break;
            }
            let mut slices = [IoSlice::new(&[]); SLICES_MAX];
            let (mut count, mut offered) = (0, 0);
            for (slice, chunk) in slices.iter_mut().zip(&self.chunks) {
                *slice = IoSlice::new(chunk);
                offered += chunk.len();
                count += 1;
            }
            match socket.write_vectored(&slices[..count]) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(size) => {
                    self.advance(size);
                    if size < offered {
                        return Ok(Written::Blocked);
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(Written::Blocked),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        if self.chunks.is_empty() {
            // A burst must not leave its room behind in every connection.
            self.chunks.shrink_to(SLICES_MAX);
            return Ok(Written::All);
        }
        Ok(Written::More)
    }

    fn advance(&mut self, mut size: usize) {
        self.size -= size;
        while let Some(first) = self.chunks.front_mut() {
            if size < first.len() {
                first.advance(size);
                return;
            }
            size -= first.len();
            self.chunks.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Takes so many bytes per call, in turn; 0 means it would block.
    struct Socket {
        takes: Vec<usize>,
        calls: usize,
        taken: Vec<u8>,
    }

    impl Write for Socket {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.write_vectored(&[IoSlice::new(bytes)])
        }

        fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
            assert!(slices.len() <= SLICES_MAX);
            let take = self.takes[self.calls % self.takes.len()];
            self.calls += 1;
            if take == 0 {
                return Err(ErrorKind::WouldBlock.into());
            }
            let before = self.taken.len();
            self.taken.extend(slices.iter().flat_map(|slice| slice.iter().copied()).take(take));
            Ok(self.taken.len() - before)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    proptest! {
        #[test]
        fn whatever_a_socket_takes_the_bytes_are_the_same(
            chunks in proptest::collection::vec((any::<u8>(), prop_oneof![0..40_usize, 0..3000_usize]), 0..200),
            takes in proptest::collection::vec(0_usize..9000, 1..8),
        ) {
            let chunks: Vec<Vec<u8>> = chunks.into_iter().map(|(byte, size)| vec![byte; size]).collect();
            prop_assume!(takes.iter().any(|&take| take > 0));
            let mut queue = WriteQueue::default();
            for chunk in &chunks {
                queue.push(Bytes::from(chunk.clone()));
            }
            let mut socket = Socket { takes, calls: 0, taken: Vec::new() };
            prop_assert_eq!(queue.size(), chunks.concat().len());
            while queue.write_to(&mut socket)? != Written::All {}
            prop_assert_eq!(socket.taken, chunks.concat());
            prop_assert_eq!(queue.size(), 0);
            prop_assert!(queue.is_empty());
        }
    }
}
