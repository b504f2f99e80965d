"""Text as a reader counts it: in grapheme clusters, with case mapped letter by letter."""

from typing import Final

WHITE_SPACE: Final = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006"
    "\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)
"""What counts as white space, by Unicode."""


def graphemes(text: str) -> list[str]:
    """Split a text into grapheme clusters: one for `é` and for a family of emoji alike."""
    if text.isascii() and "\r" not in text:
        return list(text)
    import regex

    found: list[str] = regex.findall(r"\X", text)
    return found


def lower(text: str) -> str:
    """Lower case, one letter for one."""
    return text.lower() if text.isascii() else "".join(map(_lower, text))


def upper(text: str) -> str:
    """Upper case, one letter for one: letters without a single capital stay."""
    return text.upper() if text.isascii() else "".join(map(_upper, text))


def title(text: str) -> str:
    """Text with a capital at the start of each word."""
    previous = " "
    result = []
    for each in text:
        result.append(_title(each) if _is_separator(previous) else each)
        previous = each
    return "".join(result)


def _lower(letter: str) -> str:
    return letter.lower()[0]


def _upper(letter: str) -> str:
    raised = letter.upper()
    return raised if len(raised) == 1 else _title(letter)


def _title(letter: str) -> str:
    raised = letter.title()
    return raised if len(raised) == 1 else letter


def _is_separator(character: str) -> bool:
    if character.isascii():
        return not (character.isalnum() or character == "_")
    return character in WHITE_SPACE
