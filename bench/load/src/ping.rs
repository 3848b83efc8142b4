//! Pings: a cheap request at a fixed rate, whether or not the ones before are answered, so that a stall of the broker
//! meets every ping that falls into it. Times are taken twice: from the moment a ping is due, and from the moment it is
//! written, which is later where the machine has no processor for who writes it.

use std::io::Write;
use std::net::TcpStream;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::Failure;
use crate::answers::{Answers, require_success};
use crate::histogram::Histogram;
use crate::options::{Options, Target};
use crate::processor_time::ProcessorTime;
use crate::request;
use crate::transaction_request;

/// Times above this are counted by themselves: the bar of the stall bench.
const STALL: Duration = Duration::from_millis(5);

/// What is asked.
#[derive(Debug, Clone, Copy)]
enum Ping {
    /// The end of a queue, which the epoll thread knows.
    Offset,
    /// A producer's heartbeat, which goes through Python.
    Heartbeat,
}

impl std::str::FromStr for Ping {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "offset" => Ok(Self::Offset),
            "heartbeat" => Ok(Self::Heartbeat),
            _ => Err("it is offset or heartbeat".to_owned()),
        }
    }
}

pub fn run(options: &mut Options) -> Result<Value, Failure> {
    let target = options.target()?;
    let rate = options.count("rate", 1000)?;
    let request: Ping = options.take("request", Ping::Offset)?;
    options.finish()?;
    let count = (target.time.as_secs_f64() * f64::from(rate)).ceil();
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count of pings")]
    let count = (count as usize).max(1);
    let mut stream = TcpStream::connect(target.address)?;
    stream.set_nodelay(true)?;
    let mut answers = Answers::new(stream.try_clone()?);
    let sent_at = Mutex::new(Vec::with_capacity(count));
    let answered = AtomicUsize::new(0);
    let before = ProcessorTime::of(target.broker_pid)?;
    let begin = Instant::now();
    let (lateness, times, times_from_due, stalls) = thread::scope(|scope| {
        let sender = scope.spawn(|| send(&target, request, rate, count, &mut stream, &sent_at));
        let (mut times, mut times_from_due) = (Histogram::default(), Histogram::default());
        let mut stalls = Vec::new();
        while answered.load(Ordering::Relaxed) < count {
            answers.read(|answer| {
                require_success(answer)?;
                let number = answered.fetch_add(1, Ordering::Relaxed);
                let now = Instant::now();
                let (due, sent): (Instant, Instant) = *sent_at
                    .lock()
                    .map_err(|_| "the sender panicked")?
                    .get(number)
                    .ok_or("too many answers")?;
                times.add(now - sent);
                times_from_due.add(now - due);
                if now - sent > STALL {
                    stalls.push(((sent - begin).as_secs_f64(), (now - sent).as_secs_f64() * 1e3));
                }
                Ok(())
            })?;
        }
        let lateness = sender.join().map_err(|_| "the sender panicked")??;
        Ok::<_, Failure>((lateness, times, times_from_due, stalls))
    })?;
    let time = begin.elapsed();
    let mut report = json!({
        "mode": "ping",
        "rate": rate,
        "count": times.count(),
        "latency": times.report(),
        "latency_from_due": times_from_due.report(),
        "over_5_ms": stalls.len(),
        "sender_late": lateness.report(),
    });
    if let Some(&(at_s, ms)) = stalls.iter().max_by(|a, b| a.1.total_cmp(&b.1)) {
        report["worst"] = json!({"at_s": at_s, "ms": ms});
    }
    if target.broker_pid.is_some() {
        report["broker"] = ProcessorTime::of(target.broker_pid)?.report(&before, times.count(), time);
    }
    Ok(report)
}

/// Writes pings on time, and says how late it was itself.
fn send(
    target: &Target,
    request: Ping,
    rate: u32,
    count: usize,
    stream: &mut TcpStream,
    sent_at: &Mutex<Vec<(Instant, Instant)>>,
) -> Result<Histogram, Failure> {
    let mut bytes = Vec::new();
    match request {
        Ping::Offset => request::max_offset(target.kind, &target.topic, 0, &mut bytes)?,
        Ping::Heartbeat => transaction_request::heartbeat(target.kind, "load_ping", &mut bytes)?,
    }
    let (begin, mut lateness) = (Instant::now(), Histogram::default());
    for number in 0..u32::try_from(count)? {
        let due = begin + Duration::from_secs(1) * number / rate;
        thread::sleep(due.saturating_duration_since(Instant::now()));
        let now = Instant::now();
        lateness.add(now - due);
        // Before it is written: its answer must find it.
        sent_at.lock().map_err(|_| "the reader panicked")?.push((due, now));
        stream.write_all(&bytes)?;
    }
    Ok(lateness)
}
