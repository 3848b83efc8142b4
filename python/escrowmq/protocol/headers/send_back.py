"""CONSUMER_SEND_MSG_BACK (36)."""

from typing import Annotated

from msgspec import Meta, Struct, field


class SendBack(Struct, frozen=True):
    """Fields of the request."""

    log_offset: Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)] = field(name="offset")
    group: str
    delay_level: Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)] = field(name="delayLevel")
    is_unit_mode: bool = field(default=False, name="unitMode")
    retries_max: int | None = field(default=None, name="maxReconsumeTimes")
