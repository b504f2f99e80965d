"""`KPLAN_LOG` and `KPLAN_LOG_PATH`: log records of kplan and its libraries, to stderr or a file."""

import logging
import sys
from collections.abc import Mapping
from contextlib import suppress

from kplan.model.errors import UsageError

_LEVELS: Mapping[str, int] = {
    "trace": 1,
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warn": logging.WARNING,
    "warning": logging.WARNING,
    "error": logging.ERROR,
    "off": logging.CRITICAL + 1,
}


class _LogFile(logging.FileHandler):
    """A file that tells once that it takes no more, in place of a traceback for each record."""

    _is_told = False

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - as logging has it
        """Write to stderr why a record is lost."""
        failure = sys.exception()
        if not isinstance(failure, OSError):
            super().handleError(record)
        elif not self._is_told:
            self._is_told = True
            sys.stderr.write(
                f"Warning: The log {self.baseFilename} cannot be written: {failure.strerror}. "
                "Records are lost.\n"
            )

    def close(self) -> None:
        """Close the file; records that it did not take are lost."""
        with suppress(OSError):
            super().close()


def configure_logging(environ: Mapping[str, str]) -> None:
    """Configure logging from the environment; without KPLAN_LOG nothing is logged.

    Raises:
        UsageError: an unknown level, or a log file that cannot be written.

    """
    asked = environ.get("KPLAN_LOG", "").lower()
    level = _LEVELS.get(asked or "off")
    if level is None:
        known = ", ".join(_LEVELS)
        raise UsageError(f"KPLAN_LOG={asked} is not a log level.", hint=f"Use one of {known}.")
    logging.basicConfig(level=level, handlers=[_log_handler(environ, is_off=not asked)], force=True)


def _log_handler(environ: Mapping[str, str], *, is_off: bool) -> logging.Handler:
    if is_off:
        return logging.NullHandler()
    path = environ.get("KPLAN_LOG_PATH", "")
    try:
        handler = _LogFile(path, encoding="utf-8") if path else logging.StreamHandler(sys.stderr)
    except OSError as error:
        raise UsageError(f"KPLAN_LOG_PATH={path} cannot be written: {error.strerror}.") from None
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
    return handler
