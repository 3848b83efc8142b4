"""A request of ours, before anybody is asked, and what an answer that is no success means."""

from msgspec import Struct

from escrowmq._core import Response
from escrowmq.errors import Refused
from escrowmq.protocol.request_codes import RequestCode
from escrowmq.protocol.response_codes import ResponseCode


class Question(Struct, frozen=True):
    """A request, before anybody is asked."""

    code: int
    header: Struct | None = None
    body: bytes | None = None
    remark: str | None = None


def refusal(address: str, question: Question, answer: Response) -> Refused:
    """An answer that is no success, as an error."""
    # What follows the first line is Apache's advice to its own users.
    remark = (answer.remark or "").partition("\n")[0].strip().rstrip(".")
    return Refused(
        f"{address} refuses {_name(RequestCode, question.code)}: {remark or 'it does not say why'} "
        f"({_name(ResponseCode, answer.code)}, {answer.code})",
        address=address,
        code=answer.code,
        remark=remark,
    )


def _name(codes: type[RequestCode] | type[ResponseCode], code: int) -> str:
    return codes(code).name if code in set(codes) else f"code {code}"
