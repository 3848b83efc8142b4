"""Transactions: held until the user's database decides, decided once.

    prepare ──▶ half topic ──▶ end ──▶ final record, op record       one append, durable before the answer
                   │  ▲         ▲
                   ▼  │ copy    │ the producer's answer
                 check back ────┘ asked again and again, discarded at last

The room knows no sockets. What a request or a half message comes to is said by pure functions over values
(`preparing`, `ruling`); `ending` and `checking` read, ask them and act.
"""
