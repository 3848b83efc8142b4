"""Why a request is not done, raised where that is found out."""

from escrowmq.protocol.response_codes import ResponseCode


class Refused(Exception):
    """A request that is answered with a code and a remark."""

    def __init__(self, code: ResponseCode, remark: str) -> None:
        super().__init__(remark)
        self.code = code
        self.remark = remark
