"""The broker apart from what is hot: topics, groups, clients, locks, registration. Sends and pulls are Rust's.

    _core.BrokerServer ── next_batch ──▶ app ──▶ processors ──▶ handlers ──▶ topics, subscriptions,
            ▲                             │                              client_registry, locks
            └── snapshots, answers ◀──────┘ ──▶ registration ──▶ name servers

State lives in plain objects with the clock passed in; only `app` knows threads, files and the native server.
"""
