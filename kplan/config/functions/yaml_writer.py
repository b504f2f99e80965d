"""YAML as Terraform writes it: keys and strings in double quotes, texts of several lines as blocks.

Layout follows libyaml: two columns a level, lists below a key not indented, quoted strings folded
at the first space beyond column 80.
"""

from dataclasses import field
from typing import Final

from kplan.config.values.number import number_text
from kplan.config.values.value import Value, is_null, is_number
from kplan.model.dataclass import dataclass

_STEP: Final = 2
_WIDTH: Final = 80
_LONGEST_SIMPLE_KEY: Final = 128
_BREAKS: Final = "\n\r\x85\u2028\u2029"
_SHORT: Final = {
    "\0": "0",
    "\a": "a",
    "\b": "b",
    "\t": "t",
    "\n": "n",
    "\v": "v",
    "\f": "f",
    "\r": "r",
    "\x1b": "e",
    '"': '"',
    "\\": "\\",
    "\x85": "N",
    "\u2028": "L",
    "\u2029": "P",
}


def write(value: Value) -> str:
    """Write a value without marks as one document."""
    writer = _Writer()
    writer.node(value, 0, is_inline=True)
    is_plain = not isinstance(value, str | dict | tuple)
    return f"{writer.text}\n{'...' if is_plain else ''}".removesuffix("\n") + "\n"


@dataclass(slots=True)
class _Writer:
    """Text written so far. A node that is inline starts where the text ends."""

    parts: list[str] = field(default_factory=list)
    column: int = 0

    @property
    def text(self) -> str:
        return "".join(self.parts)

    def put(self, text: str) -> None:
        self.parts.append(text)
        self.column += len(text)

    def line(self, indent: int) -> None:
        self.parts.append("\n" + " " * indent)
        self.column = indent

    def node(self, value: Value, indent: int, *, is_inline: bool) -> None:
        if isinstance(value, dict) and value:
            self._mapping(value, indent, is_inline=is_inline)
        elif isinstance(value, tuple) and value:
            self._sequence(value, indent, is_inline=is_inline)
        else:
            self._scalar(value, indent + _STEP)

    def _mapping(self, value: dict[str, Value], indent: int, *, is_inline: bool) -> None:
        for place, key in enumerate(sorted(value)):
            if place or not is_inline:
                self.line(indent)
            if "\n" not in key and len(key.encode()) <= _LONGEST_SIMPLE_KEY:
                self._quoted(key, None)
                self.put(":")
                self._below_key(value[key], indent)
            else:
                self.put("? ")
                self._scalar(key, indent + _STEP)
                self.line(indent)
                self.put(": ")
                self.node(value[key], indent + _STEP, is_inline=True)

    def _below_key(self, value: Value, indent: int) -> None:
        if isinstance(value, dict) and value:
            self.node(value, indent + _STEP, is_inline=False)
        elif isinstance(value, tuple) and value:
            self.node(value, indent, is_inline=False)
        else:
            self.put(" ")
            self._scalar(value, indent + _STEP)

    def _sequence(self, value: tuple[Value, ...], indent: int, *, is_inline: bool) -> None:
        for place, each in enumerate(value):
            if place or not is_inline:
                self.line(indent)
            self.put("- ")
            if isinstance(each, dict | tuple):
                self.node(each, indent + _STEP, is_inline=True)
            else:
                self._scalar(each, indent + _STEP)

    def _scalar(self, value: Value, indent: int) -> None:
        match value:
            case str() if "\n" in value and _fits_block(value):
                self._block(value, indent)
            case str():
                self._quoted(value, indent)
            case dict():
                self.put("{}")
            case tuple():
                self.put("[]")
            case _:
                self.put(_plain(value))

    def _block(self, text: str, indent: int) -> None:
        hint = str(_STEP) if text[0] in " \n" else ""
        chomp = "-" if text[-1] != "\n" else "+" if text[:-1] == "" or text[-2] == "\n" else ""
        self.put(f"|{hint}{chomp}")
        body = text.removesuffix("\n")
        for each in body.split("\n"):
            if each:
                self.line(indent)
                self.put(each)
            else:
                self.parts.append("\n")
                self.column = 0

    def _quoted(self, text: str, indent: int | None) -> None:
        """Write in double quotes; without an indent, as for keys, on one line."""
        self.put('"')
        after_space = False
        last = len(text) - 1
        for place, each in enumerate(text):
            if each != " ":
                self.put(_escaped(each))
            elif indent is None or after_space or self.column <= _WIDTH or not 0 < place < last:
                self.put(each)
            else:
                self.line(indent)
                if text[place + 1] == " ":
                    self.put("\\")
            after_space = each == " "
        self.put('"')


def _escaped(character: str) -> str:
    if character in _SHORT:
        return f"\\{_SHORT[character]}"
    if _is_printable(character):
        return character
    code = ord(character)
    if code <= 0xFF:  # noqa: PLR2004 - two digits
        return f"\\x{code:02X}"
    return f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}"  # noqa: PLR2004 - four digits


def _is_printable(character: str) -> bool:
    return " " <= character <= "~" or ("\xa0" <= character <= "\ufffd" and character != "\ufeff")


def _fits_block(text: str) -> bool:
    """Give whether a block keeps the text: no space at a line's end, nothing that needs escapes."""
    plain = all(each == "\n" or (_is_printable(each) and each not in _BREAKS) for each in text)
    return plain and not text.endswith(" ") and " \n" not in text


def _plain(value: Value) -> str:
    if is_number(value):
        return number_text(value)
    return "null" if is_null(value) else "true" if value else "false"
