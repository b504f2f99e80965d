"""The last resort: an unexpected exception is reported without a traceback."""

import os
import tempfile
import traceback

from kplan.model.version import VERSION


def write_crash_report(error: BaseException) -> str:
    """Write the traceback to a file that only its owner can read, and return the message."""
    try:
        place = f"The traceback is in {_write_traceback(error)}"
    except OSError as failure:
        place = f"The traceback could not be written ({failure.strerror})"
    return (
        "Error: Internal error in kplan\n\n"
        f"{type(error).__name__} was raised unexpectedly in kplan {VERSION}. "
        "Requests sent before the error stay in effect; `kplan plan` shows the remaining "
        "changes.\n\n"
        f"{place}. Attach it to a bug report.\n"
    )


def _write_traceback(error: BaseException) -> str:
    descriptor, path = tempfile.mkstemp(prefix="kplan-crash-", suffix=".txt")
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.writelines(traceback.format_exception(error))
    return path
