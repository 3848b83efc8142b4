"""Structured logs: an event, a time, a level, and fields. One line each, to stderr, for people or as JSON."""

import logging
import sys
from typing import Literal

import structlog

LogForm = Literal["text", "json"]
LogLevel = Literal["debug", "info", "warning", "error"]


def configure_logging(*, level: LogLevel = "info", form: LogForm = "text") -> None:
    """Sets up logging for this process; called once, by the command."""
    renderer: structlog.typing.Processor
    if form == "json":
        renderer = structlog.processors.JSONRenderer()
    else:
        renderer = structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), sort_keys=False)
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
