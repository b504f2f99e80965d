"""A snapshot of one cluster as a file: JSON lines, gzip where the name ends in `.gz`.

The first line tells format, kplan's version and how many rows follow; the last one says that the
file is whole. One that is cut, foreign or newer is refused, and never taken for an empty cluster.
"""

import gzip
import json
import os
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, cast

from kplan.fleet.rows import FORMAT, Row
from kplan.model.errors import FleetError
from kplan.model.version import VERSION

KIND = "kplan snapshot"


def write_file(path: Path, rows: Sequence[Row]) -> None:
    """Write rows, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        with _opened(fresh, "wt", is_packed=path.suffix == ".gz") as file:
            head = {"kind": KIND, "format": FORMAT, "kplan_version": VERSION, "rows": len(rows)}
            file.write(json.dumps(head) + "\n")
            for row in rows:
                file.write(json.dumps(row, sort_keys=True) + "\n")
            file.write(json.dumps({"end": len(rows)}) + "\n")
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)


def read_file(path: Path) -> Iterator[Row]:
    """Read what `write_file` wrote.

    Raises:
        FleetError: it is not there, cut, damaged, newer, or something else.

    """
    try:
        with _opened(path, "rt", is_packed=path.suffix == ".gz") as file:
            yield from _rows(path, file)
    except FleetError:
        raise
    except OSError as failure:
        raise FleetError(f"{path}: {failure.strerror or failure}.") from failure
    except (EOFError, zlib.error, ValueError, TypeError, KeyError) as failure:
        raise FleetError(f"{path} is cut or damaged.", _AGAIN) from failure


_AGAIN = "Take it anew: kplan fleet snapshot -save=DIR"


def _rows(path: Path, file: IO[str]) -> Iterator[Row]:
    head = json.loads(file.readline() or "null")
    if not isinstance(head, dict) or head.get("kind") != KIND:
        raise FleetError(f"{path} is no snapshot of kplan.", _AGAIN)
    if head["format"] > FORMAT:
        raise FleetError(
            f"{path} has format {head['format']}; this version of kplan reads up to {FORMAT}.",
            f"Use kplan {head.get('kplan_version', '')} or later.",
        )
    for _ in range(head["rows"]):
        yield Row(*json.loads(file.readline()))
    if json.loads(file.readline()) != {"end": head["rows"]}:
        raise FleetError(f"{path} is cut or damaged.", _AGAIN)


def _opened(path: Path, mode: str, *, is_packed: bool) -> IO[str]:
    if not is_packed:
        return path.open(mode, encoding="utf-8")
    return cast("IO[str]", gzip.open(path, mode, encoding="utf-8"))
