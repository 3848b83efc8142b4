//! Names of the message properties that clients and brokers give a meaning to. Values are text, always.

/// Business keys of the message, separated by spaces; each is indexed.
pub const KEYS: &str = "KEYS";
/// Tag of the message, what subscriptions filter by.
pub const TAGS: &str = "TAGS";
/// Whether the producer waits until the message is stored.
pub const WAIT: &str = "WAIT";
/// Delay level, 1 to 18.
pub const DELAY: &str = "DELAY";
/// Topic that a retried message first had.
pub const RETRY_TOPIC: &str = "RETRY_TOPIC";
/// Topic of a message that waits in a system topic.
pub const REAL_TOPIC: &str = "REAL_TOPIC";
/// Queue of a message that waits in a system topic.
pub const REAL_QID: &str = "REAL_QID";
/// `true`: the send is a prepare; stays on the committed message.
pub const TRAN_MSG: &str = "TRAN_MSG";
/// Producer group that may end the transaction and is asked about it.
pub const PGROUP: &str = "PGROUP";
/// First offset of the queue when the message was pulled; set by the client.
pub const MIN_OFFSET: &str = "MIN_OFFSET";
/// End offset of the queue when the message was pulled; set by the client.
pub const MAX_OFFSET: &str = "MAX_OFFSET";
/// Id that the message had before it was sent back.
pub const ORIGIN_MESSAGE_ID: &str = "ORIGIN_MESSAGE_ID";
/// Times that the message was consumed again.
pub const RECONSUME_TIME: &str = "RECONSUME_TIME";
/// Limit of [`RECONSUME_TIME`].
pub const MAX_RECONSUME_TIMES: &str = "MAX_RECONSUME_TIMES";
/// Region of the broker.
pub const MSG_REGION: &str = "MSG_REGION";
/// Whether clients trace the message.
pub const TRACE_ON: &str = "TRACE_ON";
/// Id that the producer gave the message; also the transaction id.
pub const UNIQ_KEY: &str = "UNIQ_KEY";
/// Cluster of the broker.
pub const CLUSTER: &str = "CLUSTER";
/// Key that keeps related messages in one queue.
pub const SHARDING_KEY: &str = "__SHARDINGKEY";
/// Seconds after which the first check of this transaction may come.
pub const CHECK_IMMUNITY_TIME_IN_SECONDS: &str = "CHECK_IMMUNITY_TIME_IN_SECONDS";
/// Half-queue offset of the first copy, carried by copies made during immunity.
pub const TRAN_PREPARED_QUEUE_OFFSET: &str = "TRAN_PREPARED_QUEUE_OFFSET";
/// Copy of [`UNIQ_KEY`] on a half message and its final message.
pub const TRANSACTION_ID: &str = "__transactionId__";
/// How often the producer was asked.
pub const TRANSACTION_CHECK_TIMES: &str = "TRANSACTION_CHECK_TIMES";
/// Log offset of the half message, set by brokers in `RocksDB` mode.
pub const TRANS_OFFSET: &str = "TRANS_OFFSET";
/// Correlates a request message with its reply.
pub const CORRELATION_ID: &str = "CORRELATION_ID";
/// Client that waits for a reply.
pub const REPLY_TO_CLIENT: &str = "REPLY_TO_CLIENT";
/// Milliseconds that a request message waits for its reply.
pub const TTL: &str = "TTL";
/// Kind of a request-reply message.
pub const MSG_TYPE: &str = "MSG_TYPE";
/// Seconds to wait before delivery.
pub const TIMER_DELAY_SEC: &str = "TIMER_DELAY_SEC";
/// Milliseconds to wait before delivery.
pub const TIMER_DELAY_MS: &str = "TIMER_DELAY_MS";
/// Time of delivery.
pub const TIMER_DELIVER_MS: &str = "TIMER_DELIVER_MS";
/// Time of delivery of a message in the timer topic.
pub const TIMER_OUT_MS: &str = "TIMER_OUT_MS";
/// When a message of the timer topic was taken in, in whole ticks.
pub const TIMER_ENQUEUE_MS: &str = "TIMER_ENQUEUE_MS";
/// When it was given out.
pub const TIMER_DEQUEUE_MS: &str = "TIMER_DEQUEUE_MS";
/// How often it was put back to wait longer.
pub const TIMER_ROLL_TIMES: &str = "TIMER_ROLL_TIMES";
/// Unique id of the message that this one takes back.
pub const TIMER_DEL_UNIQKEY: &str = "TIMER_DEL_UNIQKEY";
/// Number of messages in an inner batch.
pub const INNER_NUM: &str = "INNER_NUM";
/// First queue offset of an inner batch.
pub const INNER_BASE: &str = "INNER_BASE";
/// Topic of a message before it became a dead letter.
pub const DLQ_ORIGIN_TOPIC: &str = "DLQ_ORIGIN_TOPIC";
/// Id of a message before it became a dead letter.
pub const DLQ_ORIGIN_MESSAGE_ID: &str = "DLQ_ORIGIN_MESSAGE_ID";
/// Address of the producer, where a proxy stands between.
pub const BORN_HOST: &str = "__BORNHOST";
/// Ours: log offset and store time of the half message that a copy of it, or its discard, comes from.
pub const ESCROWMQ_ROOT: &str = "ESCROWMQ_ROOT";
/// Ours: what an op record decides, for which half offsets, and who did.
pub const ESCROWMQ_DECIDED: &str = "ESCROWMQ_DECIDED";
/// Checksum over the whole record, in the record's own tail.
pub const CRC32: &str = "__CRC32#";
/// What separates the words of [`KEYS`].
pub const KEY_SEPARATOR: char = ' ';
