//! What the benches share: the floor, and a store full of 1 KiB messages.

mod floor;

use std::path::Path;
use std::time::Duration;

use escrowmq_store::{FlushMode, NewMessage, Retention, Store, StoreOptions};
use escrowmq_wire::SysFlag;

pub use floor::Floor;

/// A body of 1 KiB.
pub const BODY: [u8; 1024] = [b'x'; 1024];
/// Bytes in a MiB.
pub const MIB: usize = 1 << 20;

/// Async flush, segments of 256 MiB, and no refusal however full the disk of the machine is.
#[must_use]
pub fn options() -> StoreOptions {
    let retention = Retention { refuse_ratio: 2.0, ..Retention::default() };
    StoreOptions {
        flush: FlushMode::ASYNC_DEFAULT,
        segment_size_bytes: 256 << 20,
        retention,
        ..StoreOptions::default()
    }
}

/// A message as a Java producer sends it.
///
/// # Panics
/// Never: the address is one.
#[must_use]
pub fn message() -> NewMessage<'static> {
    NewMessage {
        topic: "bench",
        queue_id: 0,
        flag: 0,
        sys_flag: SysFlag(0),
        born_timestamp_ms: 1_794_984_722_856,
        born_host: "127.0.0.1:4711".parse().expect("address"),
        store_host: None,
        is_stored: false,
        reconsume_times: 0,
        prepared_transaction_offset: 0,
        body: &BODY,
        properties:
            b"UNIQ_KEY\x01FD000000000000000000000000000002478630946E0959058FD00001\x02TAGS\x01paid\x02",
    }
}

/// Waits until the queues have caught up.
///
/// # Panics
/// If that takes a minute.
pub fn settle(store: &Store) {
    store.wait_visible(store.log_end(), Duration::from_secs(60)).expect("built");
}

/// A store of `messages`, rounded down to batches of 64.
///
/// # Panics
/// If it can't be made.
#[must_use]
pub fn filled(folder: &Path, messages: usize) -> Store {
    let store = Store::open(folder, options()).expect("open");
    let batch = vec![message(); 64];
    for _ in 0..messages / 64 {
        store.append(&batch).expect("append");
    }
    settle(&store);
    store
}
