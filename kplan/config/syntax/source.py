"""Text of a file, and how offsets in it become lines and columns."""

from bisect import bisect_right
from dataclasses import field
from functools import cached_property
from typing import NamedTuple

from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import SourceRange


class Source:
    """One file: its name as shown to people, and its text.

    `is_file` is false for text from elsewhere, such as the command line.
    """

    def __init__(self, name: str, text: str, *, is_file: bool = True) -> None:
        self.name = name
        self.text = text
        self.is_file = is_file

    @cached_property
    def _lines(self) -> list[int]:
        starts, at = [0], self.text.find("\n")
        while at >= 0:
            starts.append(at + 1)
            at = self.text.find("\n", at + 1)
        return starts

    def range(self, start: int, end: int) -> SourceRange:
        """Turn two offsets into lines and columns."""
        line, end_line = bisect_right(self._lines, start), bisect_right(self._lines, end)
        return SourceRange(
            self.name,
            line,
            start - self._lines[line - 1] + 1,
            end_line,
            end - self._lines[end_line - 1] + 1,
        )


class JoinedSource(Source):
    """Two files for one piece of syntax tree: offsets from `border` on are those of the second."""

    def __init__(self, first: Source, second: Source) -> None:
        super().__init__(first.name, f"{first.text}\n{second.text}")
        self.border = len(first.text) + 1
        self._parts = first, second

    def range(self, start: int, end: int) -> SourceRange:
        """Turn two offsets into lines and columns of the file that they are in."""
        first, second = self._parts
        if start < self.border:
            return first.range(start, end)
        return second.range(start - self.border, end - self.border)


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a piece of syntax tree comes from: a file, and the offset its nodes count from."""

    source: Source = field(repr=False)
    base: int = 0

    def range(self, start: int, end: int) -> SourceRange:
        """Turn two offsets of nodes into lines and columns of the file."""
        return self.source.range(self.base + start, self.base + end)

    def text(self, start: int, end: int) -> str:
        """Return what is written there."""
        return self.source.text[self.base + start : self.base + end]


class Spot(NamedTuple):
    """A span of text not yet turned into lines and columns, which only problems need."""

    origin: Origin
    start: int
    end: int

    def range(self) -> SourceRange:
        """Turn it into lines and columns of the file."""
        return self.origin.range(self.start, self.end)
