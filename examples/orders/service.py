"""The order service: an order is a row and a message, both or neither.

python -m examples.orders.service NAME-SERVER DATABASE-URL PORT
"""

import sys

import uvicorn
from fastapi import FastAPI
from msgspec.json import encode
from pydantic import BaseModel
from sqlalchemy import Engine
from sqlalchemy.orm import Session

from escrowmq.sql import Escrow
from escrowmq.sql.database import create_barrier
from escrowmq.sql.sources import source_of
from examples.orders.tables import Order, OrderTables, open_database

GROUP = "order-service"
TOPIC = "orders"


class CreateOrder(BaseModel):
    """What a customer asks for."""

    number: int
    amount: int


class CreateOrderService:
    """Creates orders. Nobody has written a checker: what brokers ask, the escrow answers."""

    def __init__(self, engine: Engine, escrow: Escrow) -> None:
        self._engine = engine
        self._escrow = escrow

    def create_order(self, request: CreateOrder) -> str:
        """An order, and the message that tells of it; what became of them."""
        with Session(self._engine) as session, session.begin():
            session.add(Order(number=request.number, amount=request.amount))
            deposit = self._escrow.send(session, TOPIC, encode(request.model_dump()), key=str(request.number))
        return deposit.result.value


def application(service: CreateOrderService) -> FastAPI:
    """The service's one door."""
    app = FastAPI()

    @app.put("/orders")
    def create_order(request: CreateOrder) -> dict[str, str]:
        return {"result": service.create_order(request)}

    return app


def main(name_server: str, database_url: str, port: str) -> None:
    """Serves until it is stopped, or killed."""
    engine = open_database(database_url, OrderTables)
    create_barrier(source_of(database_url))
    with Escrow(name_server, group=GROUP, databases=engine, topics=[TOPIC]) as escrow:
        app = application(CreateOrderService(engine, escrow))
        uvicorn.run(app, host="127.0.0.1", port=int(port), log_level="error")


if __name__ == "__main__":
    main(*sys.argv[1:])
