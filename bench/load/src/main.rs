//! Load for a broker, and what it makes of it. Works against any broker that speaks the remoting protocol, ours and
//! Apache's, and prints one JSON object per measurement.
//!
//! ```text
//! escrowmq-load send --address HOST:PORT ...   sends, pipelined: a rate, and the broker's processor time for it
//! escrowmq-load pull --address HOST:PORT ...   a topic from its beginning to its end
//! escrowmq-load count --address HOST:PORT ...  how many messages a topic has
//! escrowmq-load ping --address HOST:PORT ...   cheap requests at a fixed rate: how late the answers are
//! escrowmq-load transact --address HOST:PORT ...  transactions at a fixed rate: how late prepares and decisions are answered
//! escrowmq-load answer-checks --address HOST:PORT ...  a producer that answers the broker's questions
//! ```

mod answer_checks;
mod answers;
mod burst;
mod count;
mod histogram;
mod options;
mod ping;
mod processor_time;
mod pull;
mod request;
mod send;
mod transact;
mod transaction_request;

use std::process::ExitCode;

use options::Options;

/// What can go wrong: the system, the broker's answer, or how it was called.
type Failure = Box<dyn std::error::Error + Send + Sync>;

const USAGE: &str = "usage: escrowmq-load send|pull|count|ping|transact|answer-checks --address HOST:PORT [--option value ...]

every mode
  --topic NAME        default LoadTest; a topic that is not there is made by the first send
  --queues N          queues of the topic that are used, default 8
  --header KIND       binary (default) or json
  --broker-pid PID    also say how much processor time this process takes
  --seconds S         how long is measured, default 10
send
  --connections N     default 4
  --window N          most requests that wait for their answer on a connection, default 512
  --burst N           requests that are written together, default 64
  --body N            bytes of a body, default 1024
  --batch N           messages of a request; more than 1 makes batches, default 1
  --properties P      further properties of each message, as name=value;name=value
  --warm-up S         how long is sent before it is measured, default 2
  --count N           instead of a time: so many messages, all of them measured
pull
  --connections N     default 1
  --group NAME        default load_group
  --filter EXPRESSION an SQL92 expression; without it, all messages are wanted
ping
  --rate N            pings a second, default 1000
  --request KIND      offset (default), which the epoll thread answers, or heartbeat, which Python does
transact
  --rate N            transactions a second, default 20000
  --connections N     default 4
  --group NAME        default load_producer
  --body N            bytes of a body, default 1024
  --decision D        commit (default), rollback or unknown
  --warm-up S         how long before it is measured, default 2
answer-checks
  --group NAME        default load_producer
  --decision D        commit, rollback or unknown (default)";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("escrowmq-load: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Result<(), Failure> {
    let Some((mode, rest)) = arguments.split_first() else { return Err(USAGE.into()) };
    let mut options = Options::parse(rest)?;
    let report = match mode.as_str() {
        "send" => send::run(&mut options)?,
        "pull" => pull::run(&mut options)?,
        "count" => count::run(&mut options)?,
        "ping" => ping::run(&mut options)?,
        "transact" => transact::run(&mut options)?,
        "answer-checks" => answer_checks::run(&mut options)?,
        _ => return Err(USAGE.into()),
    };
    println!("{report}");
    Ok(())
}
