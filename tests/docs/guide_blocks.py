"""Blocks of code in the topics of `kplan help`, with the notes before them."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kplan.cli.manual.layout import second_column

HELP = Path(__file__).parents[2] / "kplan" / "cli" / "help"
NOTE = re.compile(r"<!-- (?P<name>file|without|given|exits|not run): (?P<text>.+?) -->")


@dataclass(frozen=True, slots=True)
class Block:
    """A block of code. `notes` are by name; `line` counts from 1."""

    page: str
    line: int
    language: str
    text: str
    notes: dict[str, str] = field(default_factory=dict)


def guide_blocks(page: Path) -> Iterator[Block]:
    """Give the blocks of a page in their order; indented ones in two columns are tables."""
    lines = page.read_text(encoding="utf-8").split("\n")
    notes: dict[str, str] = {}
    at = 0
    while at < len(lines):
        line = lines[at]
        if found := NOTE.fullmatch(line):
            notes[found["name"]] = found["text"]
        elif line.startswith("```"):
            end = lines.index("```", at + 1)
            text = "\n".join(lines[at + 1 : end]) + "\n"
            yield Block(page.stem, at + 1, line[3:], text, notes)
            notes, at = {}, end
        elif line.startswith("    "):
            end = _end_of_indent(lines, at)
            if not second_column(lines[at:end]):
                yield Block(page.stem, at + 1, "indented", "\n".join(lines[at:end]), notes)
            notes, at = {}, end
        at += 1


def _end_of_indent(lines: Sequence[str], at: int) -> int:
    return next((n for n in range(at, len(lines)) if not lines[n].startswith("    ")), len(lines))


def all_blocks() -> list[Block]:
    """Give the blocks of all pages."""
    return [each for page in sorted(HELP.glob("*.md")) for each in guide_blocks(page)]
