"""JSON, whole or one value a line: the same data gives the same bytes, all of them ASCII."""

import json
from collections.abc import Iterable
from itertools import islice

from kplan.report.data import Data

_PIECES = 50_000
"""Tokens joined at a time; `json.dumps` holds all of them, 150 MB for 15,000 changes."""


def json_text(data: Data) -> str:
    """Write one indented document."""
    tokens = json.JSONEncoder(indent=2).iterencode(data)
    pieces = list(iter(lambda: "".join(islice(tokens, _PIECES)), ""))
    return "".join((*pieces, "\n"))


def json_line(data: Data) -> str:
    """Write one compact value on a line of its own."""
    return json.dumps(data, separators=(",", ":")) + "\n"


def ndjson_text(lines: Iterable[Data]) -> str:
    """Write one compact value a line."""
    return "".join(json_line(each) for each in lines)
