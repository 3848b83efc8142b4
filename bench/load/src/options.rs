//! Options of the command line: `--name value`, each taken once by whoever knows it. One that nobody takes is refused.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::net::{SocketAddr, ToSocketAddrs};
use std::str::FromStr;
use std::time::Duration;

use escrowmq_wire::HeaderKind;

use crate::Failure;

#[derive(Debug)]
pub struct Options {
    given: BTreeMap<String, String>,
}

/// What every mode has to know.
#[derive(Debug, Clone)]
pub struct Target {
    pub address: SocketAddr,
    pub topic: String,
    pub queue_count: u32,
    pub kind: HeaderKind,
    pub broker_pid: Option<u32>,
    pub time: Duration,
}

impl Options {
    pub fn parse(arguments: &[String]) -> Result<Self, Failure> {
        let mut given = BTreeMap::new();
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let name = argument.strip_prefix("--").ok_or_else(|| format!("{argument:?} is no option"))?;
            let value = rest.next().ok_or_else(|| format!("--{name} wants a value"))?;
            given.insert(name.to_owned(), value.clone());
        }
        Ok(Self { given })
    }

    /// Takes an option that may be left out.
    pub fn maybe<T: FromStr<Err: Display>>(&mut self, name: &str) -> Result<Option<T>, Failure> {
        let Some(text) = self.given.remove(name) else { return Ok(None) };
        text.parse().map(Some).map_err(|error| format!("--{name} {text}: {error}").into())
    }

    /// Takes an option, or what stands for it.
    pub fn take<T: FromStr<Err: Display>>(&mut self, name: &str, default: T) -> Result<T, Failure> {
        Ok(self.maybe(name)?.unwrap_or(default))
    }

    /// Takes a count, which is not 0.
    pub fn count(&mut self, name: &str, default: u32) -> Result<u32, Failure> {
        let count = self.take(name, default)?;
        if count == 0 { Err(format!("--{name} can't be 0").into()) } else { Ok(count) }
    }

    /// Takes a time in seconds.
    pub fn seconds(&mut self, name: &str, default: f64) -> Result<Duration, Failure> {
        let seconds = self.take(name, default)?;
        Duration::try_from_secs_f64(seconds).map_err(|error| format!("--{name} {seconds}: {error}").into())
    }

    /// Takes what every mode has to know.
    pub fn target(&mut self) -> Result<Target, Failure> {
        let address: String = self.maybe("address")?.ok_or("--address is missing")?;
        let kind: String = self.take("header", "binary".to_owned())?;
        Ok(Target {
            address: address.to_socket_addrs()?.next().ok_or("--address leads nowhere")?,
            topic: self.take("topic", "LoadTest".to_owned())?,
            queue_count: self.count("queues", 8)?,
            kind: match kind.as_str() {
                "binary" => HeaderKind::Binary,
                "json" => HeaderKind::Json,
                other => return Err(format!("--header {other}: it is binary or json").into()),
            },
            broker_pid: self.maybe("broker-pid")?,
            time: self.seconds("seconds", 10.0)?,
        })
    }

    /// Refuses what nobody took.
    pub fn finish(&self) -> Result<(), Failure> {
        match self.given.keys().next() {
            Some(name) => Err(format!("--{name} means nothing here").into()),
            None => Ok(()),
        }
    }
}
