"""Where in a queue one begins."""

from typing import Literal, TypeAlias

Place: TypeAlias = int | Literal["earliest", "latest"]
"""At a time in milliseconds since 1970 UTC, at the first message, or behind the last."""
