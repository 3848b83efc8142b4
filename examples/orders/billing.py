"""Billing: an invoice for each message about an order.

python -m examples.orders.billing NAME-SERVER DATABASE-URL
"""

import signal
import sys
import threading

from msgspec.json import decode
from sqlalchemy import Engine
from sqlalchemy.orm import Session

from escrowmq.client.consumer.push_consumer import PushConsumer
from escrowmq.client.consumer.received import ReceivedMessage
from examples.orders.service import TOPIC
from examples.orders.tables import BillingTables, Invoice, open_database

GROUP = "billing"


def bill(engine: Engine, message: ReceivedMessage) -> None:
    """Writes an invoice, unless that is done."""
    order = decode(message.body)
    with Session(engine) as session, session.begin():
        session.merge(Invoice(order_number=order["number"], amount=order["amount"]))


def main(name_server: str, database_url: str) -> None:
    """Bills until it is stopped, or killed."""
    engine = open_database(database_url, BillingTables)
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    with PushConsumer(name_server, GROUP, on_message=lambda message: bill(engine, message)) as consumer:
        consumer.subscribe(TOPIC)
        stop.wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
