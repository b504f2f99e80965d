"""The last resort: an exception nobody foresaw is told without a traceback."""

import os
import tempfile
import traceback

from kplan.model.version import VERSION


def write_crash_report(error: BaseException) -> str:
    """Write the traceback to a file only its owner may read, and say where it is."""
    try:
        place = f"The traceback is in {_write_traceback(error)}"
    except OSError as failure:
        place = f"The traceback could not be written ({failure.strerror})"
    return (
        "Error: This is a defect in kplan\n\n"
        f"{type(error).__name__} came where nothing of the sort may come (kplan {VERSION}). "
        "What was sent to the cluster before it stands; `kplan plan` tells what is left to do.\n\n"
        f"{place}; please attach it to a report.\n"
    )


def _write_traceback(error: BaseException) -> str:
    descriptor, path = tempfile.mkstemp(prefix="kplan-crash-", suffix=".txt")
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.writelines(traceback.format_exception(error))
    return path
