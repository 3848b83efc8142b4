//! Transactions at a fixed rate, whether or not the ones before are answered: each is prepared when it is due, and decided
//! by an END that wants an answer as soon as its prepare has one. Times count from when something was due, not from when
//! it was written, so that a generator or a broker that falls behind can't hide it.

use std::io::Write;
use std::net::{Shutdown, TcpStream};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use escrowmq_wire::FrameView;
use serde_json::{Value, json};

use crate::Failure;
use crate::answers::{Answers, require_success};
use crate::histogram::Histogram;
use crate::options::{Options, Target};
use crate::processor_time::ProcessorTime;
use crate::transaction_request::{self as request, Decision, End, Half, Prepare};

/// Half messages that are due at about the same time are written together.
const TICK: Duration = Duration::from_micros(500);
/// How long answers are waited for when all is sent.
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Debug)]
struct Plan {
    target: Target,
    connections: u32,
    rate: u32,
    group: String,
    body: Vec<u8>,
    decision: Decision,
    /// Transactions that are not measured, and all of them.
    warm_up: u32,
    count: u32,
    /// Stands in every unique id, so that those of two runs differ.
    run: u64,
}

/// What one connection has seen.
#[derive(Debug, Default)]
struct Times {
    prepared: Histogram,
    decided: Histogram,
    whole: Histogram,
    late: Histogram,
    refused: u64,
}

/// The moments between which all connections are measured.
struct Sample {
    at: Instant,
    broker: ProcessorTime,
    own: ProcessorTime,
}

pub fn run(options: &mut Options) -> Result<Value, Failure> {
    let body_size = usize::try_from(options.count("body", 1024)?)?;
    let rate = options.count("rate", 20_000)?;
    let target = options.target()?;
    let in_time = |time: Duration| u32::try_from(time.as_millis() * u128::from(rate) / 1000);
    let warm_up = in_time(options.seconds("warm-up", 2.0)?)?;
    let plan = Plan {
        connections: options.count("connections", 4)?,
        rate,
        group: options.take("group", "load_producer".to_owned())?,
        body: (b'a'..=b'z').cycle().take(body_size).collect(),
        decision: options.take("decision", Decision::Commit)?,
        warm_up,
        count: warm_up + in_time(target.time)?.max(1),
        run: u64::try_from(now_ms()).unwrap_or(u64::MAX),
        target,
    };
    options.finish()?;
    if plan.count >= i32::MAX.cast_unsigned() / 2 {
        return Err("more transactions than requests have numbers".into());
    }
    make_topic(&plan)?;
    // Every connection is there before the first transaction is due.
    let streams = (0..plan.connections).map(|_| connect(&plan.target)).collect::<Result<Vec<_>, _>>()?;
    let begin = Instant::now() + TICK;
    thread::scope(|scope| {
        let plan = &plan;
        let flows: Vec<_> = (0..)
            .zip(streams)
            .map(|(number, stream)| scope.spawn(move || Flow { plan, number, begin }.run(&stream)))
            .collect();
        let first = sample(plan, begin + Duration::from_secs(1) * plan.warm_up / plan.rate)?;
        let last = sample(plan, begin + Duration::from_secs(1) * plan.count / plan.rate)?;
        let mut all = Times::default();
        for flow in flows {
            all.add(&flow.join().map_err(|_| "a connection's thread panicked")??);
        }
        Ok(report(plan, &all, &first, &last))
    })
}

/// Prepares one transaction and waits: the others then find the topic.
fn make_topic(plan: &Plan) -> Result<(), Failure> {
    let mut stream = connect(&plan.target)?;
    let mut bytes = Vec::new();
    let flow = Flow { plan, number: 0, begin: Instant::now() };
    request::prepare(flow.half(&format!("{:032X}", plan.run), 0), 0, &mut bytes)?;
    stream.write_all(&bytes)?;
    Answers::new(stream).read(require_success)
}

fn connect(target: &Target) -> Result<TcpStream, Failure> {
    let stream = TcpStream::connect(target.address)?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

fn sample(plan: &Plan, at: Instant) -> Result<Sample, Failure> {
    thread::sleep(at.saturating_duration_since(Instant::now()));
    Ok(Sample {
        at: Instant::now(),
        broker: ProcessorTime::of(plan.target.broker_pid)?,
        own: ProcessorTime::of(Some(std::process::id()))?,
    })
}

fn now_ms() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis()
}

/// The transactions of one connection: every so many-th of all.
#[derive(Clone, Copy)]
struct Flow<'a> {
    plan: &'a Plan,
    number: u32,
    begin: Instant,
}

impl Flow<'_> {
    fn run(self, stream: &TcpStream) -> Result<Times, Failure> {
        let writer = Mutex::new(stream.try_clone()?);
        thread::scope(|scope| {
            let sender = scope.spawn(|| {
                let sent = self.send(&writer);
                if sent.is_err() {
                    // Whoever reads would wait for answers that nobody has asked for.
                    let _ = stream.shutdown(Shutdown::Both);
                }
                sent
            });
            let times = self.read(stream, &writer);
            if times.is_err() {
                let _ = stream.shutdown(Shutdown::Both);
            }
            let late = sender.join().map_err(|_| "a sender panicked")?;
            Ok(Times { late: late?, ..times? })
        })
    }

    /// Writes half messages when they are due, and says how late it was itself.
    fn send(self, writer: &Mutex<TcpStream>) -> Result<Histogram, Failure> {
        let (mut late, mut bytes) = (Histogram::default(), Vec::new());
        let mut numbers = self.numbers().peekable();
        while let Some(&next) = numbers.peek() {
            thread::sleep(self.due(next).saturating_duration_since(Instant::now()));
            let now = Instant::now();
            bytes.clear();
            while let Some(number) = numbers.next_if(|&number| self.due(number) <= now + TICK / 2) {
                self.note(&mut late, number, self.due(number), now);
                let unique_id = format!("{:016X}{number:016X}", self.plan.run + 1);
                let queue_id = number % self.plan.target.queue_count;
                request::prepare(self.half(&unique_id, queue_id), opaque_of_prepare(number)?, &mut bytes)?;
            }
            writer.lock().unwrap_or_else(PoisonError::into_inner).write_all(&bytes)?;
        }
        Ok(late)
    }

    /// Reads answers until there are none to come, and decides what is prepared.
    fn read(self, stream: &TcpStream, writer: &Mutex<TcpStream>) -> Result<Times, Failure> {
        stream.set_read_timeout(Some(PATIENCE))?;
        let mut answers = Answers::new(stream.try_clone()?);
        let mut left = self.numbers().count();
        let mut prepared_at = vec![None; usize::try_from(self.plan.count / self.plan.connections + 1)?];
        let (mut times, mut ends) = (Times::default(), Vec::new());
        while left > 0 {
            answers.read(|answer| {
                let now = Instant::now();
                let opaque = answer.decode_header()?.opaque;
                let number = u32::try_from(opaque / 2)?;
                let place = usize::try_from(number / self.plan.connections)?;
                let is_prepared = opaque % 2 == 0;
                if require_success(answer).is_err() {
                    times.refused += 1;
                    left -= 1;
                } else if is_prepared {
                    self.note(&mut times.prepared, number, self.due(number), now);
                    prepared_at[place] = Some(now);
                    self.decide(answer, opaque + 1, &mut ends)?;
                } else {
                    let prepared = prepared_at[place].ok_or("an END was answered that nobody has sent")?;
                    self.note(&mut times.decided, number, prepared, now);
                    self.note(&mut times.whole, number, self.due(number), now);
                    left -= 1;
                }
                Ok(())
            })?;
            if !ends.is_empty() {
                writer.lock().unwrap_or_else(PoisonError::into_inner).write_all(&ends)?;
                ends.clear();
            }
        }
        Ok(times)
    }

    fn decide(self, answer: FrameView<'_>, opaque: i32, out: &mut Vec<u8>) -> Result<(), Failure> {
        let Plan { target, group, decision, .. } = self.plan;
        let (kind, topic) = (target.kind, target.topic.as_str());
        let end = End { kind, group, topic, decision: *decision, is_from_check: false };
        request::end(end, &Half::of_answer(answer)?, opaque, out)
    }

    fn note(self, times: &mut Histogram, number: u32, due: Instant, now: Instant) {
        if number >= self.plan.warm_up {
            times.add(now.saturating_duration_since(due));
        }
    }

    fn half<'a>(&'a self, unique_id: &'a str, queue_id: u32) -> Prepare<'a> {
        let Plan { target, group, body, .. } = self.plan;
        let (kind, topic) = (target.kind, target.topic.as_str());
        Prepare { kind, group, topic, queue_id, unique_id, born_ms: now_ms(), body }
    }

    fn numbers(self) -> impl Iterator<Item = u32> {
        (self.number..self.plan.count).step_by(self.plan.connections as usize)
    }

    fn due(self, number: u32) -> Instant {
        self.begin + Duration::from_secs(1) * number / self.plan.rate
    }
}

/// An END has the number behind that of its prepare.
fn opaque_of_prepare(number: u32) -> Result<i32, Failure> {
    Ok(i32::try_from(number)? * 2)
}

impl Times {
    fn add(&mut self, other: &Self) {
        self.prepared.merge(&other.prepared);
        self.decided.merge(&other.decided);
        self.whole.merge(&other.whole);
        self.late.merge(&other.late);
        self.refused += other.refused;
    }
}

fn report(plan: &Plan, times: &Times, first: &Sample, last: &Sample) -> Value {
    let (count, time) = (u64::from(plan.count - plan.warm_up), last.at - first.at);
    let mut report = json!({
        "mode": "transact",
        "rate": plan.rate,
        "connections": plan.connections,
        "body_bytes": plan.body.len(),
        "transactions": times.whole.count(),
        "refused": times.refused,
        "prepared": times.prepared.report(),
        "decided": times.decided.report(),
        "whole": times.whole.report(),
        "sender_late": times.late.report(),
        "generator": last.own.report(&first.own, count, time),
    });
    if plan.target.broker_pid.is_some() {
        report["broker"] = last.broker.report(&first.broker, count, time);
    }
    report
}
