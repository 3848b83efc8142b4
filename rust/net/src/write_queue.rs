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
    /// Bytes that ever were queued.
    pushed_size: u64,
    /// How many of them have to be written, and the number that is told then.
    marks: VecDeque<(u64, i32)>,
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
        self.pushed_size += chunk.len() as u64;
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

    /// Has a number told when all that is queued now is written.
    pub fn mark(&mut self, number: i32) {
        self.marks.push_back((self.pushed_size, number));
    }

    /// The next number to be told.
    pub fn take_reached(&mut self) -> Option<i32> {
        let written_size = self.pushed_size - self.size as u64;
        self.marks.front().filter(|(size, _)| *size <= written_size)?;
        self.marks.pop_front().map(|(_, number)| number)
    }

    /// Whether a number is to be told some time.
    pub fn is_marked(&self) -> bool {
        !self.marks.is_empty()
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
                queue.mark(i32::try_from(queue.size())?);
            }
            let mut socket = Socket { takes, calls: 0, taken: Vec::new() };
            prop_assert_eq!(queue.size(), chunks.concat().len());
            let (mut is_written, mut told) = (false, 0);
            while !is_written {
                is_written = queue.write_to(&mut socket)? == Written::All;
                while let Some(end) = queue.take_reached() {
                    prop_assert!(usize::try_from(end)? <= socket.taken.len(), "told before it is taken");
                    told += 1;
                }
                let is_next_taken = queue.marks.front().is_some_and(|(end, _)| *end <= socket.taken.len() as u64);
                prop_assert!(!is_next_taken, "taken and not told");
            }
            prop_assert_eq!(told, chunks.len());
            prop_assert_eq!(socket.taken, chunks.concat());
            prop_assert_eq!(queue.size(), 0);
            prop_assert!(queue.is_empty());
        }
    }
}
