//! A producer that does nothing but answer what it is asked: its group is alive, and the broker checks back with it.

use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::Failure;
use crate::answers::{Answers, require_success};
use crate::options::Options;
use crate::transaction_request::{self as request, Decision, End, Half};

const CHECK_TRANSACTION_STATE: i32 = 39;
/// How long it waits for a question before it looks at the clock.
const READ_TIME_MAX: Duration = Duration::from_millis(200);

pub fn run(options: &mut Options) -> Result<Value, Failure> {
    let target = options.target()?;
    let group: String = options.take("group", "load_producer".to_owned())?;
    let decision = options.take("decision", Decision::Unknown)?;
    options.finish()?;
    let mut stream = TcpStream::connect(target.address)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(READ_TIME_MAX))?;
    let mut answers = Answers::new(stream.try_clone()?);
    let mut bytes = Vec::new();
    request::heartbeat(target.kind, &group, &mut bytes)?;
    stream.write_all(&bytes)?;
    let end = End { kind: target.kind, group: &group, topic: &target.topic, decision, is_from_check: true };
    let (begin, mut questions) = (Instant::now(), 0_u64);
    while begin.elapsed() < target.time {
        bytes.clear();
        let read = answers.read(|frame| {
            let header = frame.decode_header()?;
            if header.code != CHECK_TRANSACTION_STATE || header.is_response() {
                return require_success(frame);
            }
            questions += 1;
            request::end(end, &Half::of_question(&header)?, 0, &mut bytes)
        });
        match read {
            Err(failure) if is_silence(&failure) => {}
            read => read?,
        }
        stream.write_all(&bytes)?;
    }
    let seconds = begin.elapsed().as_secs_f64();
    Ok(json!({"mode": "answer-checks", "questions": questions, "seconds": seconds}))
}

fn is_silence(failure: &Failure) -> bool {
    use std::io::ErrorKind::{TimedOut, WouldBlock};
    failure
        .downcast_ref::<std::io::Error>()
        .is_some_and(|error| matches!(error.kind(), TimedOut | WouldBlock))
}
