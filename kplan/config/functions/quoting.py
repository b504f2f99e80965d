"""How error texts quote a value."""

from typing import Final

_SHORT: Final = {
    "\a": "\\a",
    "\b": "\\b",
    "\t": "\\t",
    "\n": "\\n",
    "\v": "\\v",
    "\f": "\\f",
    "\r": "\\r",
    '"': '\\"',
    "\\": "\\\\",
}
_LAST_BYTE: Final = 0x7F
_LAST_SHORT: Final = 0xFFFF


def quoted(text: str) -> str:
    """Put a text in double quotes, with escapes for what does not print."""
    return f'"{"".join(_SHORT.get(each) or _shown(each) for each in text)}"'


def _shown(character: str) -> str:
    if character.isprintable():
        return character
    code = ord(character)
    if code <= _LAST_BYTE:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= _LAST_SHORT else f"\\U{code:08x}"
