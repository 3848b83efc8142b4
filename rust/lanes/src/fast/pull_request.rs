//! The fields of a pull, cut loose from the request: most pulls wait for longer than their buffer should be held.

use escrowmq_wire::RemotingHeader;

use super::fields::{BadField, needed, number};

/// What a consumer asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullRequest {
    pub group: Box<str>,
    pub topic: Box<str>,
    pub queue_id: i32,
    pub queue_offset: i64,
    pub count_max: i32,
    sys_flag: i32,
    pub commit_offset: i64,
    pub suspend_timeout_ms: u64,
    pub subscription: Option<Box<str>>,
    pub subscription_version: i64,
    pub expression_type: Option<Box<str>>,
}

impl PullRequest {
    /// Reads the fields.
    pub fn parse(header: &RemotingHeader<'_>) -> Result<Self, BadField> {
        let fields = &header.ext_fields;
        let text = |name| needed(name, fields.get(name));
        let integer = |name| number::<i64>(name, needed(name, fields.get(name))?);
        let small = |name| number::<i32>(name, needed(name, fields.get(name))?);
        Ok(Self {
            group: text("consumerGroup")?.into(),
            topic: text("topic")?.into(),
            queue_id: small("queueId")?,
            queue_offset: integer("queueOffset")?,
            count_max: small("maxMsgNums")?,
            sys_flag: small("sysFlag")?,
            commit_offset: integer("commitOffset")?,
            suspend_timeout_ms: integer("suspendTimeoutMillis")?.max(0).unsigned_abs(),
            subscription: fields.get("subscription").map(Into::into),
            subscription_version: integer("subVersion")?,
            expression_type: fields.get("expressionType").map(Into::into),
        })
    }

    /// Whether `commit_offset` means something.
    pub fn has_commit_offset(&self) -> bool {
        self.sys_flag & 1 != 0
    }

    /// Whether it waits where there is nothing.
    pub fn may_wait(&self) -> bool {
        self.sys_flag & 2 != 0
    }

    /// Whether what it wants stands in the request.
    pub fn has_subscription(&self) -> bool {
        self.sys_flag & 4 != 0
    }
}
