//! Counts the messages of a topic: the sum of the ends of its queues.

use std::io::Write;
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::Failure;
use crate::answers::{Answers, require_success};
use crate::options::Options;
use crate::request;

pub fn run(options: &mut Options) -> Result<Value, Failure> {
    let target = options.target()?;
    options.finish()?;
    let mut stream = TcpStream::connect(target.address)?;
    let mut answers = Answers::new(stream.try_clone()?);
    let mut requests = Vec::new();
    for queue in 0..target.queue_count {
        request::max_offset(target.kind, &target.topic, queue, &mut requests)?;
    }
    stream.write_all(&requests)?;
    let (mut messages, mut answered) = (0_u64, 0);
    while answered < target.queue_count {
        answers.read(|answer| {
            require_success(answer)?;
            answered += 1;
            let header = answer.decode_header()?;
            messages += header.ext_fields.get("offset").ok_or("an answer has no offset")?.parse::<u64>()?;
            Ok(())
        })?;
    }
    Ok(json!({"mode": "count", "messages": messages}))
}
