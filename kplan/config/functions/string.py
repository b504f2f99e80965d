"""String functions, without formatting and regular expressions."""

from typing import Final

from kplan.config.functions.function import Function, Parameter, Refusal, check_text
from kplan.config.functions.numeric import whole_number
from kplan.config.values.value import NUMBER, STRING, ListType, Number, TList, Value

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


def chomp(text: str) -> str:
    """Text without the line ends at its end."""
    return text.rstrip("\r\n")


def endswith(text: str, suffix: str) -> bool:
    """Whether the text ends with the suffix."""
    return text.endswith(suffix)


def startswith(text: str, prefix: str) -> bool:
    """Whether the text starts with the prefix."""
    return text.startswith(prefix)


def strcontains(text: str, part: str) -> bool:
    """Whether the text contains the part."""
    return part in text


def indent(spaces: Number, text: str) -> str:
    """Text with spaces before every line but the first."""
    count = whole_number(spaces)
    if count < 0:
        raise Refusal("the number of spaces must not be negative", argument=0)
    check_text(max(count, len(text) + count * text.count("\n")))
    return text.replace("\n", "\n" + " " * count)


def join(separator: str, *lists: TList) -> str:
    """Elements of all the lists, with the separator between them."""
    if not lists:
        raise Refusal("at least one list is required")
    items: list[str] = []
    for place, each in enumerate(lists, 1):
        items.extend(_item_text(item, index, place) for index, item in enumerate(each))
    check_text(sum(map(len, items)) + len(separator) * len(items))
    return separator.join(items)


def _item_text(item: Value, index: int, argument: int) -> str:
    if not isinstance(item, str):
        reason = f"element {index} is null; cannot concatenate null values"
        raise Refusal(reason, argument=argument)
    return item


def split(separator: str, text: str) -> Value:
    """Parts of the text between the separators; its characters for an empty separator."""
    return TList(text.split(separator) if separator else tuple(text), STRING)


def strrev(text: str) -> str:
    """Text from its end to its start."""
    return "".join(reversed(graphemes(text)))


def substr(text: str, offset: Number, length: Number) -> str:
    """Part of a text, counted in grapheme clusters; a negative length takes all that follows.

    So does a length of 0 behind an offset from the end, in Terraform as here.
    """
    parts = graphemes(text)
    start, count = whole_number(offset), whole_number(length)
    if start < 0:
        start, count = max(0, start + len(parts)), count or -1
    return "".join(parts[start:] if count < 0 else parts[start : start + count])


def trim(text: str, characters: str) -> str:
    """Text without any of the characters at either end."""
    return text.strip(characters) if characters else text


def trimprefix(text: str, prefix: str) -> str:
    """Text without the prefix, if it has it."""
    return text.removeprefix(prefix)


def trimsuffix(text: str, suffix: str) -> str:
    """Text without the suffix, if it has it."""
    return text.removesuffix(suffix)


def trimspace(text: str) -> str:
    """Text without white space at either end."""
    return text.strip(WHITE_SPACE)


_STR: Final = Parameter("str", STRING)

STRINGS: Final = (
    Function("chomp", (_STR,), chomp),
    Function("endswith", (_STR, Parameter("suffix", STRING)), endswith),
    Function("indent", (Parameter("spaces", NUMBER), _STR), indent),
    Function("join", (Parameter("separator", STRING),), join, Parameter("lists", ListType(STRING))),
    Function("lower", (_STR,), lower),
    Function("split", (Parameter("separator", STRING), _STR), split),
    Function("startswith", (_STR, Parameter("prefix", STRING)), startswith),
    Function("strcontains", (_STR, Parameter("substr", STRING)), strcontains),
    Function("strrev", (_STR,), strrev),
    Function("substr", (_STR, Parameter("offset", NUMBER), Parameter("length", NUMBER)), substr),
    Function("title", (_STR,), title),
    Function("trim", (_STR, Parameter("cutset", STRING)), trim),
    Function("trimprefix", (_STR, Parameter("prefix", STRING)), trimprefix),
    Function("trimspace", (_STR,), trimspace),
    Function("trimsuffix", (_STR, Parameter("suffix", STRING)), trimsuffix),
    Function("upper", (_STR,), upper),
)
