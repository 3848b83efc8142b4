//! How many messages wait for each topic, as `config/timermetrics` and monitors have it. Compat: after a kill the
//! numbers are a little off, as Apache's are; nothing but people depends on them.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::config_file::ConfigFile;
use crate::error::Result;

/// Messages that wait, by topic.
#[derive(Debug)]
pub(super) struct TimerMetrics {
    file: ConfigFile,
    counts: BTreeMap<String, Waiting>,
    version: Value,
    is_changed: bool,
}

#[derive(Debug, Clone, Copy, Default)]
struct Waiting {
    count: i64,
    changed_ms: i64,
}

impl TimerMetrics {
    /// Reads what was written down; what can't be read counts for nothing.
    pub fn load(file: ConfigFile) -> Self {
        let text = file.load().ok().flatten().unwrap_or_default();
        let found: Value = serde_json::from_str(&text).unwrap_or_default();
        let counts = found["timingCount"].as_object().into_iter().flatten().map(|(topic, value)| {
            let number = |name: &str| value[name].as_i64().unwrap_or(0);
            (topic.clone(), Waiting { count: number("count"), changed_ms: number("timeStamp") })
        });
        Self { counts: counts.collect(), version: found["dataVersion"].clone(), file, is_changed: false }
    }

    /// Counts messages that begin or, below 0, end their wait.
    pub fn add(&mut self, topic: &str, by: i64, now_ms: i64) {
        match self.counts.get_mut(topic) {
            Some(waiting) => *waiting = Waiting { count: waiting.count + by, changed_ms: now_ms },
            None => {
                self.counts.insert(topic.to_string(), Waiting { count: by, changed_ms: now_ms });
            }
        }
        self.is_changed = true;
    }

    /// Forgets all counts: everything that waits will be counted again.
    pub fn clear(&mut self) {
        self.counts.clear();
        self.is_changed = true;
    }

    /// The text of the file.
    pub fn text(&self) -> String {
        let counts: serde_json::Map<String, Value> = self
            .counts
            .iter()
            .map(|(topic, waiting)| {
                (topic.clone(), json!({"count": waiting.count, "timeStamp": waiting.changed_ms}))
            })
            .collect();
        json!({"dataVersion": self.version, "timingCount": counts}).to_string()
    }

    /// Writes the counts down where they changed.
    pub fn save(&mut self, now_ms: i64) -> Result<()> {
        if !self.is_changed {
            return Ok(());
        }
        let counter = self.version["counter"].as_i64().unwrap_or(0) + 1;
        self.version = json!({"counter": counter, "stateVersion": 0, "timestamp": now_ms});
        self.file.save(&self.text())?;
        self.is_changed = false;
        Ok(())
    }
}
