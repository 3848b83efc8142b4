//! Sends: on each connection bursts are written as long as the window has room, and answers are read when it has none.

use std::io::Write;
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::Failure;
use crate::answers::{Answers, require_success};
use crate::burst::Burst;
use crate::options::{Options, Target};
use crate::processor_time::ProcessorTime;
use crate::request::Shape;

#[derive(Debug)]
struct Plan {
    target: Target,
    connections: u32,
    window: u32,
    burst: u32,
    body: Vec<u8>,
    batch: u32,
    properties: String,
    warm_up: Duration,
    count: Option<u64>,
}

/// What the connections share.
#[derive(Debug, Default)]
struct Progress {
    /// Requests that were begun, in bursts.
    begun: AtomicU64,
    answered: AtomicU64,
    is_over: AtomicBool,
}

/// A moment of the measurement.
struct Sample {
    at: Instant,
    messages: u64,
    broker: ProcessorTime,
    own: ProcessorTime,
    machine: Duration,
}

pub fn run(options: &mut Options) -> Result<Value, Failure> {
    let body_size = usize::try_from(options.count("body", 1024)?)?;
    let plan = Plan {
        target: options.target()?,
        connections: options.count("connections", 4)?,
        window: options.count("window", 512)?,
        burst: options.count("burst", 64)?,
        body: (b'a'..=b'z').cycle().take(body_size).collect(),
        batch: options.count("batch", 1)?,
        properties: properties(&options.take("properties", String::new())?),
        warm_up: options.seconds("warm-up", 2.0)?,
        count: options.maybe("count")?,
    };
    options.finish()?;
    if plan.window < plan.burst {
        return Err("--window is smaller than --burst".into());
    }
    make_topic(&plan)?;
    let progress = Progress::default();
    thread::scope(|scope| {
        let senders: Vec<_> = (0..plan.connections).map(|_| scope.spawn(|| send(&plan, &progress))).collect();
        let measured = if plan.count.is_some() { None } else { Some(measure(&plan, &progress)) };
        let (first, last) = match measured {
            Some(samples) => samples?,
            None => (sample(&plan, &progress)?, None),
        };
        for sender in senders {
            sender.join().map_err(|_| "a sender panicked")??;
        }
        let last = last.map_or_else(|| sample(&plan, &progress), Ok)?;
        Ok(report(&plan, &first, &last))
    })
}

/// Sends one message and waits: the others then find the topic.
fn make_topic(plan: &Plan) -> Result<(), Failure> {
    let mut stream = TcpStream::connect(plan.target.address)?;
    stream.write_all(Burst::new(Shape { batch: 1, ..shape(plan) }, 1)?.stamped(0))?;
    Answers::new(stream).read(require_success)
}

fn shape(plan: &Plan) -> Shape<'_> {
    Shape {
        kind: plan.target.kind,
        topic: &plan.target.topic,
        queue_count: plan.target.queue_count,
        body: &plan.body,
        batch: plan.batch,
        properties: &plan.properties,
    }
}

/// `name=value;name=value` as messages carry it.
fn properties(text: &str) -> String {
    if text.is_empty() {
        String::new()
    } else {
        format!("{text};").replace('=', "\u{1}").replace(';', "\u{2}")
    }
}

fn measure(plan: &Plan, progress: &Progress) -> Result<(Sample, Option<Sample>), Failure> {
    thread::sleep(plan.warm_up);
    let first = sample(plan, progress);
    thread::sleep(plan.target.time);
    let last = sample(plan, progress);
    progress.is_over.store(true, Ordering::Relaxed);
    Ok((first?, Some(last?)))
}

fn send(plan: &Plan, progress: &Progress) -> Result<(), Failure> {
    let mut stream = TcpStream::connect(plan.target.address)?;
    stream.set_nodelay(true)?;
    let mut answers = Answers::new(stream.try_clone()?);
    let mut burst = Burst::new(shape(plan), plan.burst)?;
    let burst_messages = u64::from(plan.burst) * u64::from(plan.batch);
    let requests_max = plan.count.map_or(u64::MAX, |count| count.div_ceil(u64::from(plan.batch)));
    let mut waiting = 0;
    loop {
        let is_over = progress.is_over.load(Ordering::Relaxed)
            || progress.begun.load(Ordering::Relaxed) >= requests_max;
        if is_over && waiting == 0 {
            return Ok(());
        }
        if !is_over && waiting + plan.burst <= plan.window {
            let begun = progress.begun.fetch_add(u64::from(plan.burst), Ordering::Relaxed);
            let round = begun / u64::from(plan.burst);
            stream.write_all(burst.stamped(round * burst_messages))?;
            waiting += plan.burst;
            continue;
        }
        let mut count = 0;
        answers.read(|answer| {
            count += 1;
            require_success(answer)
        })?;
        waiting -= count;
        progress.answered.fetch_add(u64::from(count), Ordering::Relaxed);
    }
}

fn sample(plan: &Plan, progress: &Progress) -> Result<Sample, Failure> {
    Ok(Sample {
        at: Instant::now(),
        messages: progress.answered.load(Ordering::Relaxed) * u64::from(plan.batch),
        broker: ProcessorTime::of(plan.target.broker_pid)?,
        own: ProcessorTime::of(Some(std::process::id()))?,
        machine: ProcessorTime::of_machine()?,
    })
}

#[allow(clippy::cast_precision_loss, reason = "for people")]
fn report(plan: &Plan, first: &Sample, last: &Sample) -> Value {
    let (messages, time) = (last.messages - first.messages, last.at - first.at);
    let mut report = json!({
        "mode": "send",
        "header": format!("{:?}", plan.target.kind).to_lowercase(),
        "connections": plan.connections,
        "window": plan.window,
        "burst": plan.burst,
        "batch": plan.batch,
        "body_bytes": plan.body.len(),
        "messages": messages,
        "seconds": time.as_secs_f64(),
        "messages_per_second": (messages as f64 / time.as_secs_f64()).round(),
        "generator": last.own.report(&first.own, messages, time),
    });
    if plan.target.broker_pid.is_some() {
        report["broker"] = last.broker.report(&first.broker, messages, time);
        let ours = last.broker.since(&first.broker) + last.own.since(&first.own);
        let others = last.machine.saturating_sub(first.machine).saturating_sub(ours);
        report["other_cores"] = json!(others.as_secs_f64() / time.as_secs_f64());
    }
    report
}
