"""Strings of a header to typed fields, with errors that name the field."""

from collections.abc import Mapping
from functools import cache
from typing import Annotated, TypeAlias, TypeVar

import msgspec
from msgspec import Meta, Struct

from escrowmq.errors import BadHeader

Int32: TypeAlias = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
"""A number that Java keeps in 32 bits."""
Long: TypeAlias = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
"""A number that Java keeps in 64 bits."""

Header = TypeVar("Header", bound=Struct)


def decode_header(kind: type[Header], ext_fields: Mapping[str, str]) -> Header:
    """Reads the fields of a request. Fields that the request does not have are skipped.

    Raises:
        BadHeader: A field is missing, or is not of its type.
    """
    for name in _needed(kind):
        if name not in ext_fields:
            raise BadHeader(f"the custom field <{name}> is null", field=name)
    try:
        return msgspec.convert(ext_fields, kind, strict=False)
    except msgspec.ValidationError as error:
        reason, _, path = str(error).partition(" - at `$.")
        name = path.removesuffix("`")
        raise BadHeader(f"the custom field <{name}> is {ext_fields.get(name)!r}: {reason}", field=name) from error


@cache
def _needed(kind: type[Struct]) -> tuple[str, ...]:
    """The fields that a request must have; to find them takes longer than to read them."""
    return tuple(field.encode_name for field in msgspec.structs.fields(kind) if field.required)
