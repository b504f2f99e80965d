"""What the scanner keeps in mind while it goes through an item."""

from enum import Enum

from kplan.config.syntax.tree import Label


class Mode(Enum):
    """What a line break means, and what ends the expression."""

    ARGUMENT = "ends it"
    LIST = "nothing"
    OBJECT = "separates"
    TEMPLATE = "nothing, and } or ~} ends it"


class Level:
    """Where one bracket, template or argument stands while it is scanned."""

    __slots__ = ("closer", "is_for", "last", "mode", "signed", "start", "strips")

    def __init__(self, mode: Mode, closer: str, start: int, *, is_for: bool = False) -> None:
        self.mode = mode
        self.closer = closer
        self.start = start  # offset behind the opening bracket
        self.is_for = is_for  # whether words stand beside each other: for x in y : z if w
        self.last = "open"  # kind of the last token that means something
        self.signed = -1  # offset of the last sign that negates
        self.strips = False  # whether ~ stands before the closer


class Header:
    """The first line of a top-level item, known even where the rest is broken."""

    __slots__ = ("end", "labels", "start", "type", "type_end")

    def __init__(self, start: int, word: str) -> None:
        self.start = start
        self.type = word
        self.type_end = start + len(word)
        self.labels: tuple[Label, ...] = ()
        self.end = self.type_end
