//! Pulls: every queue of a topic from its beginning to its end, one pull of a queue after the other, as consumers do.

use std::io::Write;
use std::net::TcpStream;
use std::thread;
use std::time::Instant;

use escrowmq_wire::FrameView;
use serde_json::{Value, json};

use crate::Failure;
use crate::answers::Answers;
use crate::options::{Options, Target};
use crate::processor_time::ProcessorTime;
use crate::request::{self, Wanted};

const FOUND: i32 = 0;
const NOT_FOUND: i32 = 19;
const RETRY_IMMEDIATELY: i32 = 20;
const OFFSET_MOVED: i32 = 21;

/// What was pulled.
#[derive(Debug, Clone, Copy, Default)]
struct Pulled {
    pulls: u64,
    /// Those that were looked at, wanted or not.
    messages: u64,
    wanted: u64,
    bytes: u64,
}

pub fn run(options: &mut Options) -> Result<Value, Failure> {
    let target = options.target()?;
    let connections = options.count("connections", 1)?;
    let group: String = options.take("group", "load_group".to_owned())?;
    let filter: Option<String> = options.maybe("filter")?;
    options.finish()?;
    let wanted = Wanted { kind: target.kind, group: &group, topic: &target.topic, filter: filter.as_deref() };
    let (begin, before) = (Instant::now(), ProcessorTime::of(target.broker_pid)?);
    let pulled = thread::scope(|scope| {
        let queues =
            |first: u32| (first..target.queue_count).step_by(connections as usize).collect::<Vec<_>>();
        let pullers: Vec<_> = (0..connections.min(target.queue_count))
            .map(|first| {
                scope.spawn({
                    let target = &target;
                    move || pull(target, wanted, &queues(first))
                })
            })
            .collect();
        let mut sum = Pulled::default();
        for puller in pullers {
            let one = puller.join().map_err(|_| "a puller panicked")??;
            sum.pulls += one.pulls;
            sum.messages += one.messages;
            sum.wanted += one.wanted;
            sum.bytes += one.bytes;
        }
        Ok::<_, Failure>(sum)
    })?;
    let (time, after) = (begin.elapsed(), ProcessorTime::of(target.broker_pid)?);
    Ok(report(&target, pulled, time, &after.report(&before, pulled.messages, time)))
}

#[allow(clippy::cast_precision_loss, reason = "for people")]
fn report(target: &Target, pulled: Pulled, time: std::time::Duration, broker: &Value) -> Value {
    let mut report = json!({
        "mode": "pull",
        "pulls": pulled.pulls,
        "messages": pulled.messages,
        "wanted": pulled.wanted,
        "bytes": pulled.bytes,
        "seconds": time.as_secs_f64(),
        "messages_per_second": (pulled.messages as f64 / time.as_secs_f64()).round(),
        "megabytes_per_second": (pulled.bytes as f64 / time.as_secs_f64() / 1e6).round(),
    });
    if target.broker_pid.is_some() {
        report["broker"] = broker.clone();
    }
    report
}

fn pull(target: &Target, wanted: Wanted<'_>, queues: &[u32]) -> Result<Pulled, Failure> {
    let mut stream = TcpStream::connect(target.address)?;
    stream.set_nodelay(true)?;
    let mut answers = Answers::new(stream.try_clone()?);
    let mut offsets = vec![0; target.queue_count as usize];
    let mut pulled = Pulled::default();
    let mut requests = Vec::new();
    for &queue in queues {
        request::pull(wanted, queue, 0, &mut requests)?;
    }
    let mut open = queues.len();
    while open > 0 {
        stream.write_all(&requests)?;
        requests.clear();
        answers.read(|answer| {
            let (queue, next, is_moved) = next_offset(answer)?;
            pulled.pulls += 1;
            pulled.bytes += answer.body.len() as u64;
            pulled.wanted += records(answer.body);
            let offset = offsets.get_mut(queue as usize).ok_or("an answer to nobody's pull")?;
            match next {
                Some(next) => {
                    // What was moved over because it is not there any more was not read.
                    pulled.messages += if is_moved { 0 } else { next - *offset };
                    *offset = next;
                    request::pull(wanted, queue, next, &mut requests)?;
                }
                None => open -= 1,
            }
            Ok(())
        })?;
    }
    Ok(pulled)
}

/// How many records a body has; each begins with its size.
fn records(mut body: &[u8]) -> u64 {
    let mut count = 0;
    while let Some((size, _)) = body.split_first_chunk() {
        let size = usize::try_from(u32::from_be_bytes(*size)).unwrap_or(usize::MAX);
        body = body.get(size.max(1)..).unwrap_or_default();
        count += 1;
    }
    count
}

/// The queue that an answer is for, where its next pull begins (nowhere at its end), and whether that is because the
/// queue begins or ends elsewhere.
fn next_offset(answer: FrameView<'_>) -> Result<(u32, Option<u64>, bool), Failure> {
    let header = answer.decode_header()?;
    let queue = u32::try_from(header.opaque)?;
    match header.code {
        FOUND | RETRY_IMMEDIATELY | OFFSET_MOVED => {
            let next =
                header.ext_fields.get("nextBeginOffset").ok_or("a pull's answer has no next offset")?;
            Ok((queue, Some(next.parse()?), header.code == OFFSET_MOVED))
        }
        NOT_FOUND => Ok((queue, None, false)),
        code => Err(format!("a pull was answered {code}: {}", header.remark.unwrap_or_default()).into()),
    }
}
