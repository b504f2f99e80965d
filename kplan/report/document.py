"""Blocks: the closed set of which every document is made, and which of them need attention."""

from enum import StrEnum

from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import SourceRange


class Tone(StrEnum):
    """The meaning of a span of text; never conveyed by colour alone."""

    PLAIN = "plain"
    STRONG = "strong"
    FAINT = "faint"
    MARKED = "marked"
    ADD = "add"
    CHANGE = "change"
    REMOVE = "remove"
    DANGER = "danger"
    ERROR = "error"
    WARNING = "warning"


class Mark(StrEnum):
    """What happens to the line it is before."""

    NONE = ""
    ADD = "+"
    CHANGE = "~"
    REMOVE = "-"
    REPLACE = "-/+"
    SWAP = "+/-"
    FORGET = "."
    ALARM = "!"


@dataclass(frozen=True, slots=True)
class Span:
    """A span of text with one meaning; empty spans are dropped."""

    text: str
    tone: Tone = Tone.PLAIN

    def __bool__(self) -> bool:
        """Whether there is any text."""
        return bool(self.text)


Line = tuple[Span, ...]


def line(*parts: str | Span) -> Line:
    """Make a line of strings and spans; empty parts are left out."""
    return tuple([Span(part) if isinstance(part, str) else part for part in parts if part])


def strong_span(text: str) -> Span:
    """Make a span that is out."""
    return Span(text, Tone.STRONG)


def faint_span(text: str) -> Span:
    """Make a span that steps back."""
    return Span(text, Tone.FAINT)


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a resource body, a diff or a legend: it starts at `column`, its mark before it."""

    text: Line
    mark: Mark = Mark.NONE
    column: int = 4


@dataclass(frozen=True, slots=True)
class Heading:
    """A line that opens a part."""

    text: Line


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Prose, wrapped to the width of the reader."""

    text: str
    tone: Tone = Tone.PLAIN


@dataclass(frozen=True, slots=True)
class Rows:
    """Lines that keep their shape: bodies, diffs, legends.

    With `is_legend` they explain marks, and a format that writes other ones leaves them out.
    """

    rows: tuple[Row, ...]
    title: Line = ()
    is_legend: bool = False


@dataclass(frozen=True, slots=True)
class Item:
    """One change, or `count` equal ones: comment lines, body, and notes of risk.

    `address` is that of the resource, `mark` what happens to it as a whole, and `declared_at`
    where it is declared, for formats with links.
    """

    address: str
    comments: tuple[Line, ...]
    rows: tuple[Row, ...] = ()
    remarks: tuple[Row, ...] = ()
    mark: Mark = Mark.NONE
    declared_at: SourceRange | None = None
    count: int = 1


@dataclass(frozen=True, slots=True)
class TableRow:
    """One row of a table; every cell is one line."""

    cells: tuple[Line, ...]
    mark: Mark = Mark.NONE


@dataclass(frozen=True, slots=True)
class Table:
    """Aligned cells, starting at `column`; without `columns` there is no head.

    `title` and `footer` are above and below, outside the grid. `numbers` are the places of columns
    of numbers.
    """

    rows: tuple[TableRow, ...]
    columns: tuple[str, ...] = ()
    title: tuple[Row, ...] = ()
    footer: tuple[Row, ...] = ()
    column: int = 4
    numbers: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Snippet:
    """A line of a source with a span to point at: `start` and `end` count characters from 0.

    `has_more` shows that the span goes on below the line.
    """

    number: int
    code: str
    start: int
    end: int
    has_more: bool = False


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A place in a source: a label, where it is, and the line itself where the text is at hand."""

    place: str
    snippet: Snippet | None = None
    label: str = ""
    source_range: SourceRange | None = None


@dataclass(frozen=True, slots=True)
class Problem:
    """A diagnostic with its place, the values in the expression, and the hint."""

    tone: Tone
    severity: str
    summary: str
    code: str
    address: str = ""
    excerpts: tuple[Excerpt, ...] = ()
    values: tuple[str, ...] = ()
    detail: str = ""
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Totals:
    """The lines that sum up; other tools read them, so they are never wrapped."""

    lines: tuple[Line, ...]


Block = Heading | Paragraph | Rows | Item | Table | Problem | Totals


@dataclass(frozen=True, slots=True)
class Tally:
    """Numbers for a chart or a small table: each bar has a name and a number per column.

    `columns` say what is counted; their tones show how good or bad that is. `noun` names what the
    bars mean; `title` says what it is about, where that is not changes.
    """

    noun: str
    columns: tuple[Span, ...]
    bars: tuple[tuple[str, tuple[int, ...]], ...]
    title: str = ""


@dataclass(frozen=True, slots=True)
class Document:
    """What is said, before it is written in a format.

    `title` and `tallies` are for formats that are alone, as a page or a comment; among the
    lines of a terminal they would only repeat what the blocks say.
    """

    blocks: tuple[Block, ...]
    title: str = ""
    tallies: tuple[Tally, ...] = ()


_DELETION_MARKS = frozenset({Mark.REMOVE, Mark.REPLACE, Mark.SWAP})
_ALARM_TONES = frozenset({Tone.DANGER, Tone.ERROR})


def needs_attention(block: Block) -> bool:
    """Whether it deletes, may lose data, or is an error.

    An `Item` is judged by what happens to it as a whole: an attribute that is removed is no reason
    for alarm by itself.
    """
    match block:
        case Problem():
            return block.tone in _ALARM_TONES
        case Item():
            return is_deletion(block.mark) or any(_is_alarming(each) for each in block.remarks)
        case Table():
            return any(is_deletion(each.mark) for each in block.rows)
        case Rows():
            return any(_is_alarming(each) for each in block.rows)
        case _:
            return False


def is_deletion(mark: Mark) -> bool:
    """Whether the old object is deleted, even if another one replaces it."""
    return mark in _DELETION_MARKS


def _is_alarming(row: Row) -> bool:
    return row.mark is Mark.ALARM and any(each.tone in _ALARM_TONES for each in row.text)


def plain_text(text: Line) -> str:
    """Return the words of a line."""
    return "".join([each.text for each in text])
