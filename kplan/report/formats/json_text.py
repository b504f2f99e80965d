"""JSON, whole or one value a line: the same data gives the same bytes, all of them ASCII."""

import json
from collections.abc import Iterable

from kplan.report.data import Data


def json_text(data: Data) -> str:
    """Write one indented document."""
    return json.dumps(data, indent=2) + "\n"


def json_line(data: Data) -> str:
    """Write one compact value on a line of its own."""
    return json.dumps(data, separators=(",", ":")) + "\n"


def ndjson_text(lines: Iterable[Data]) -> str:
    """Write one compact value a line."""
    return "".join(json_line(each) for each in lines)
