"""A line as a shell has it up to the cursor: its words, and how the last one is quoted."""

import re

from kplan.model.dataclass import dataclass

_BREAKS = frozenset("=:")
"""Where readline begins a new word by default (COMP_WORDBREAKS), of what options and names have."""
_ENDS = frozenset("|;&\n")
_SPECIAL = re.compile(r"""([^\w@%+=:,./*-])""")
_IN_DOUBLE_QUOTES = re.compile(r'(["$`\\])')


@dataclass(frozen=True, slots=True)
class ShellLine:
    """The words of a line without quotes; `last` is the one to complete.

    `quote` is the quotation mark that is open in it, "" for none. `start` is where in `last` the
    part begins that bash replaces.
    """

    words: tuple[str, ...]
    last: str
    quote: str = ""
    start: int = 0


class _Lexer:
    def __init__(self) -> None:
        self.words: list[str] = []
        self.word = ""
        self.is_open = False
        self.quote = ""
        self.start = 0

    def end_word(self) -> None:
        if self.is_open:
            self.words.append(self.word)
        self.word, self.is_open, self.start = "", False, 0

    def add(self, character: str) -> None:
        self.word += character
        self.is_open = True

    def read_quoted(self, character: str) -> None:
        if character == self.quote:
            self.quote = ""
        else:
            self.add(character)

    def read_plain(self, character: str) -> None:
        if character in _ENDS:
            self.end_word()
            self.words.clear()
        elif character.isspace():
            self.end_word()
        elif character in "'\"":
            self.quote, self.is_open, self.start = character, True, len(self.word)
        else:
            self.add(character)
            if character in _BREAKS:
                self.start = len(self.word)


def read_line(text: str) -> ShellLine:
    """Read the text of a line up to the cursor, as POSIX shells and fish quote words."""
    lexer = _Lexer()
    characters = iter(text)
    for each in characters:
        if each == "\\" and lexer.quote != "'":
            lexer.add(next(characters, ""))
        elif lexer.quote:
            lexer.read_quoted(each)
        else:
            lexer.read_plain(each)
    return ShellLine(tuple(lexer.words), lexer.word, lexer.quote, lexer.start)


def bash_reply(line: ShellLine, value: str) -> str:
    """Return the part of a value that bash inserts, quoted as the line is."""
    part = value[line.start :]
    match line.quote:
        case "'":
            return part.replace("'", "'\\''")
        case '"':
            return _IN_DOUBLE_QUOTES.sub(r"\\\1", part)
        case _:
            return _SPECIAL.sub(r"\\\1", part)
