"""Logging of programs that run for long: a server and its training process.

The library logs to loggers below `bagwise`, named as its modules are, and shows nothing by itself; a program that wants
to see it calls `configure_logging`.
"""

import logging
from enum import StrEnum

FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
SHOWN = ("bagwise", "uvicorn")


class LogLevel(StrEnum):
    """The least severe messages that are shown."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


def configure_logging(level: LogLevel = LogLevel.WARNING) -> None:
    """Show messages of Bagwise and of its web server on stderr.

    Parameters
    ----------
    level : LogLevel
        The least severe messages that are shown. Other libraries show warnings and errors.
    """
    logging.basicConfig(format=FORMAT)
    for name in SHOWN:
        logging.getLogger(name).setLevel(level.upper())


def current_level() -> LogLevel:
    """Return the level that `configure_logging` set, for a child process that should log as this one does."""
    return LogLevel(logging.getLevelName(logging.getLogger(SHOWN[0]).getEffectiveLevel()).lower())
