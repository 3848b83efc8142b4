"""Messages of Django's `atomic()`, with a real broker."""

from collections.abc import Iterator

import django
import pytest
from django.conf import settings
from django.db import connection, connections, transaction
from sqlalchemy import Engine
from tests.sql import chaos
from tests.sql.conftest import GROUP

from escrowmq.errors import OutsideTransaction
from escrowmq.testing import LocalBroker
from escrowmq.testing.plugin import BrokerFactory

if not settings.configured:
    settings.configure(DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ""}}, USE_TZ=True)
    django.setup()

from escrowmq.sql.django import Escrow

pytestmark = pytest.mark.parametrize("url", ["sqlite", "postgresql"], indirect=True)


@pytest.fixture
def broker(escrowmq_broker_factory: BrokerFactory) -> LocalBroker:
    return escrowmq_broker_factory(settings=chaos.SHORT_CHECKS)


@pytest.fixture
def escrow(broker: LocalBroker, engine: Engine) -> Iterator[Escrow]:
    connections["default"].close()
    place = engine.url
    told = {"ENGINE": "django.db.backends.sqlite3", "NAME": str(place.database)}
    if engine.dialect.name == "postgresql":
        told = {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": str(place.database),
            "USER": str(place.username),
            "HOST": str(place.query["host"]),
            "PORT": str(place.query["port"]),
        }
    del connections["default"]
    connections.settings = connections.configure_settings({"default": told})
    with Escrow(broker.name_server, group=GROUP, timeout_s=2.0) as escrow:
        yield escrow
    connections["default"].close()


def order(escrow: Escrow, number: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO orders (id, amount) VALUES (%s, 10)", [number])
    escrow.send("orders", str(number), key=str(number))


def test_what_an_atomic_block_commits_is_sent_and_the_rest_is_not(
    escrow: Escrow, broker: LocalBroker, engine: Engine
) -> None:
    escrow.verify()
    with transaction.atomic():
        order(escrow, 1)
        with pytest.raises(ZeroDivisionError), transaction.atomic():
            order(escrow, 2)
            raise ZeroDivisionError
        with transaction.atomic():
            order(escrow, 3)
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        order(escrow, 4)
        raise ZeroDivisionError
    chaos.settle(broker, str(engine.url))
    chaos.agree(broker, str(engine.url), [1, 3])
    assert chaos.messages(broker) == {"1": 1, "3": 1}


def test_outside_of_an_atomic_block_nothing_is_sent(escrow: Escrow) -> None:
    with pytest.raises(OutsideTransaction):
        escrow.send("orders", "1")
