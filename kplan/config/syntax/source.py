"""Text of a file, its lines and columns, and the tokens of HCL."""

import re
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
    """The origin of a part of the syntax tree: a file, and the offset its nodes count from."""

    source: Source = field(repr=False)
    base: int = 0

    def range(self, start: int, end: int) -> SourceRange:
        """Turn two offsets of nodes into lines and columns of the file."""
        return self.source.range(self.base + start, self.base + end)

    def step_range(self, start: int, end: int) -> SourceRange:
        """Return the place of a step of a reference, without the blanks before it."""
        text = self.text(start, end)
        return self.range(start + len(text) - len(text.lstrip()), end)

    def text(self, start: int, end: int) -> str:
        """Return the source text."""
        return self.source.text[self.base + start : self.base + end]


class Spot(NamedTuple):
    """A span of text not yet turned into lines and columns, which only problems need.

    `step` is where its last step begins: behind `a.b` in `a.b["c"]`.
    """

    origin: Origin
    start: int
    end: int
    step: int = -1

    def range(self) -> SourceRange:
        """Turn it into lines and columns of the file."""
        return self.origin.range(self.start, self.end)

    def step_range(self) -> SourceRange:
        """Return the place of the last step alone."""
        return self.origin.step_range(max(self.step, self.start), self.end)


TOKEN = re.compile(
    r"""[ \t\r]*+(?:
      (?P<chain>(?!(?:null|true|false)\.)[A-Za-z_][A-Za-z0-9_-]*+(?:\.[A-Za-z_][A-Za-z0-9_-]*+)++(?!\w))
    | (?P<core>core::(?=[A-Za-z_]))
    | (?P<word>[A-Za-z_][A-Za-z0-9_-]*+(?!\w))
    | (?P<foreign>[^\W\d][\w-]*+)
    | (?P<newline>\n)
    | (?P<text>"(?:[^"\\\n$%]++|\\[^\n]|[$%](?!\{))*+")
    | (?P<number>\d++(?:\.\d++)?+(?:[eE][+-]?\d++)?+)
    | (?P<comma>,)
    | (?P<splat>\[[ \t\r\n]*+\*[ \t\r\n]*+\])
    | (?P<open>[(\[{])
    | (?P<close>[)\]}])
    | (?P<quote>")
    | (?P<heredoc><<-?[^\W\d][\w-]*+\r?\n)
    | (?P<shift><<)
    | (?P<line>(?:\#|//)[^\n]*+)
    | (?P<comment>/\*.*?(?:\*/|\Z))
    | (?P<legacy>\.\d++)
    | (?P<equals>=(?![=>]))
    | (?P<dots>\.\.\.)
    | (?P<dotsplat>\.[ \t]*+\*)
    | (?P<operator>==|!=|<=|>=|=>|&&|\|\||::|[+*/%<>?:.])
    | (?P<sign>[-!])
    | (?P<strip>~(?=\}))
    | (?P<end>\Z)
    | (?P<stray>.)
    )""",
    re.VERBOSE | re.DOTALL,
).match

HEREDOC = re.compile(r"<<(-?)([^\W\d][\w-]*+)\r?\n").match

# Where the next top-level block begins, judged by its header at the left margin. It is asked only
# after an error, to find out how far the damage reaches.
HEADER = re.compile(
    r'^[^\W\d][\w-]*+(?:[ \t]++(?:"[^"\n]*+"|[^\W\d][\w-]*+))*+[ \t]*+\{', re.MULTILINE
).search
HEADER_OR_ARGUMENT = re.compile(
    r'^[^\W\d][\w-]*+(?:(?:[ \t]++(?:"[^"\n]*+"|[^\W\d][\w-]*+))*+[ \t]*+\{|[ \t]*+=(?!=))',
    re.MULTILINE,
).search

# What can end an operand: after it a `-` subtracts, before it a `-` negates.
OPERAND_ENDS = frozenset(
    {"word", "chain", "foreign", "text", "quote", "number", "close", "splat", "legacy"}
)

OPERAND_STARTS = frozenset({"word", "chain", "foreign", "text", "number", "quote", "heredoc"})

# What the parser reads rightly as it is, inside expressions.
PLAIN = frozenset({"word", "number", "comma", "equals", "operator", "dots"})

CLOSERS = {"(": ")", "[": "]", "{": "}"}
MAX_DEPTH = 100
