//! The answers that a connection gets, as many as one read brings.

use std::io::Read;
use std::net::TcpStream;

use escrowmq_wire::{FRAME_SIZE_MAX_DEFAULT, FrameStep, FrameView, HeaderKind, cut_frame};

use crate::Failure;

const READ_SIZE: usize = 256 * 1024;

#[derive(Debug)]
pub struct Answers {
    stream: TcpStream,
    buffer: Vec<u8>,
    filled: usize,
}

impl Answers {
    pub fn new(stream: TcpStream) -> Self {
        Self { stream, buffer: vec![0; READ_SIZE], filled: 0 }
    }

    /// Waits for answers, and hands over those that have come, each with `take`.
    pub fn read(
        &mut self,
        mut take: impl FnMut(FrameView<'_>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut taken = 0;
        while taken == 0 {
            let size = self.stream.read(&mut self.buffer[self.filled..])?;
            if size == 0 {
                return Err("the broker closed a connection".into());
            }
            self.filled += size;
            while let FrameStep::Frame(frame) =
                cut_frame(&self.buffer[taken..self.filled], FRAME_SIZE_MAX_DEFAULT)?
            {
                taken += frame.size();
                take(frame)?;
            }
            if taken == 0 && self.filled == self.buffer.len() {
                self.buffer.resize(self.buffer.len() * 2, 0);
            }
        }
        self.buffer.copy_within(taken..self.filled, 0);
        self.filled -= taken;
        Ok(())
    }
}

/// Fails where an answer is a refusal. Looks at the code alone where that is enough.
pub fn require_success(answer: FrameView<'_>) -> Result<(), Failure> {
    let is_success = match answer.kind {
        HeaderKind::Binary => answer.header.starts_with(&[0, 0]),
        HeaderKind::Json => answer.header.starts_with(b"{\"code\":0,"),
    };
    if is_success {
        return Ok(());
    }
    let header = answer.decode_header()?;
    let remark = header.remark.as_deref().unwrap_or("no remark");
    Err(format!("the broker answered {}: {remark}", header.code).into())
}
