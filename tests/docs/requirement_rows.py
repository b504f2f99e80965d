"""Which requirement rows the tests cite; `python -m tests.docs.requirement_rows` prints a table.

A test cites a row in its docstring, or in that of its module: `K919-07`, and several of one table
as `K919-01, 06, 12..14` or `K4o-08 to K4o-13`.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

TESTS = Path(__file__).parents[1]

ROWS = tuple(
    f"{table}{number:02}"
    for table, numbers in (
        ("S", (1, 2, 3, 4, 9, 10, 11, 24, 25, 26, 27, 28)),
        ("K4o-", range(1, 17)),
        ("K117-", range(1, 27)),
        ("K919-", range(1, 33)),
    )
    for number in numbers
)
"""The systems of administration beside topics and ACLs, and the rows they are made of."""

OUT_OF_SCOPE: Mapping[str, str] = {
    "K919-27": "between brokers and controllers; no client takes part",
    "K919-29": "ZooKeeper is gone",
    "K919-30": "the metadata shell is Kafka's own tool",
}
"""Rows that no test shows, and why."""

OTHERWISE: Mapping[str, str] = {
    "K919-17": "refused at plan: controllers do not tell what came of it (decision 0035)",
    "K919-18": "refused at plan: controllers of Kafka 4.3 offer the API and answer -1",
    "K919-23": "refused at plan: the topic could not be read back (decision 0035)",
}
"""Rows of which tests show something else than the row has, and why."""

_CITED = re.compile(r"\b(K\w+-|S)(\d\d)((?:(?:, (?:and )?|\.\.| to )(?:K\w+-|S)?\d\d)*)\b")
_MORE = re.compile(r"(, (?:and )?|\.\.| to )(K\w+-|S)?(\d\d)")


def cited(text: str) -> Iterator[str]:
    """List the rows that a text cites."""
    for begins in _CITED.finditer(text):
        table, last = begins[1], int(begins[2])
        yield f"{table}{last:02}"
        for how, other, digits in _MORE.findall(begins[3]):
            number = int(digits)
            first = last + 1 if how in {"..", " to "} else number
            table = other or table
            yield from (f"{table}{each:02}" for each in range(first, number + 1))
            last = number


def shown_by() -> Mapping[str, tuple[str, ...]]:
    """List, for each row, the tests that cite it: file and name, the file alone for a module."""
    found: dict[str, set[str]] = defaultdict(set)
    for file in sorted(TESTS.rglob("test_*.py")):
        name = str(file.relative_to(TESTS.parent))
        for text, test in _docstrings(ast.parse(file.read_text(encoding="utf-8"))):
            for row in cited(text):
                found[row].add(f"{name}::{test}" if test else name)
    return {row: tuple(sorted(tests)) for row, tests in found.items()}


def _docstrings(module: ast.Module) -> Iterator[tuple[str, str]]:
    yield ast.get_docstring(module) or "", ""
    for each in ast.walk(module):
        if isinstance(each, ast.FunctionDef) and each.name.startswith("test_"):
            yield ast.get_docstring(each) or "", each.name


def table() -> str:
    """Write the table of rows and tests."""
    found = shown_by()
    lines = ["| row | shown by |", "|---|---|"]
    for row in ROWS:
        files = dict.fromkeys(each.partition("::")[0] for each in found.get(row, ()))
        told = ", ".join(files) or f"out of scope: {OUT_OF_SCOPE.get(row, 'NOTHING')}"
        told += f" ({OTHERWISE[row]})" if row in OTHERWISE else ""
        lines.append(f"| {row} | {told} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(table(), end="")  # noqa: T201 - a table to look at
