"""What a scalar of a YAML document stands for: YAML 1.1 words, YAML 1.2 numbers."""

import re
from collections.abc import Callable, Mapping
from typing import Final

from kplan.config.functions.textcodes import decoded_base64
from kplan.config.functions.timestamps import TimestampError, calendar_text
from kplan.config.values.numbers import NumberError, parse_number
from kplan.config.values.value import Value

_NULLS: Final = frozenset({"", "~", "null", "Null", "NULL"})
_TRUE_WORDS: Final = ("y", "yes", "on", "true")
_FALSE_WORDS: Final = ("n", "no", "off", "false")
_BOOLS: Final[Mapping[str, bool]] = {
    spelt: meaning
    for words, meaning in ((_TRUE_WORDS, True), (_FALSE_WORDS, False))
    for word in words
    for spelt in (word, word.capitalize(), word.upper())
}
_NUMBER: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_BASED: Final = re.compile(r"0x(?P<hexadecimal>[0-9a-fA-F]+)|0o(?P<octal>[0-7]+)")
_INFINITE: Final = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_TIMESTAMP: Final = re.compile(
    r"(\d{4})-(\d{1,2})-(\d{1,2})"
    r"(?:([Tt ])(\d{1,2}):(\d{1,2}):(\d{1,2})(?:\.\d*)?(Z|[-+]\d{2}:\d{2})?)?"
)
_LONGEST: Final = 4000


class ScalarError(Exception):
    """A scalar that is not what its tag says, or that no value can hold."""


def scalar_value(text: str, tag: str | None, *, is_quoted: bool) -> Value:
    """Read a scalar: by its tag, or without one by its look. In quotes it stays a string.

    Raises:
        ScalarError: the tag is unknown or does not fit, or the number is infinite.

    """
    if tag is None:
        return text if is_quoted else _implicit(text)
    if tag not in _TAGGED:
        full = tag if tag.startswith(("!", "tag:")) else f"tag:yaml.org,2002:{tag}"
        raise ScalarError(f'unsupported tag "{full}"')
    return text if is_quoted and tag != "binary" else _TAGGED[tag](text)


def _implicit(text: str) -> Value:
    if text in _NULLS:
        return None
    if text in _BOOLS:
        return _BOOLS[text]
    number = _number(text)
    if number is not None:
        return number
    time = _time(text)
    return text if time is None else time


def _number(text: str) -> Value:
    if not text.isascii() or len(text) > _LONGEST:
        return None
    if _INFINITE.fullmatch(text):
        raise ScalarError("numbers that are not finite are not supported")
    if based := _BASED.fullmatch(text):
        digits, radix = (based[1], 16) if based[1] else (based[2], 8)
        return int(digits, radix)
    if _NUMBER.fullmatch(text):
        try:
            return parse_number(text)
        except NumberError as error:
            raise ScalarError(str(error)) from None
    return None


def _time(text: str) -> str | None:
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        return None
    year, month, day, introducer, *clock, zone = match.groups()
    if introducer is not None and (introducer == " ") is (zone is not None):
        return None
    hour, minute, second = (int(each or 0) for each in clock)
    try:
        return calendar_text((int(year), int(month), int(day), hour, minute, second), zone or "Z")
    except TimestampError:
        return None


def _tagged_number(name: str) -> Callable[[str], Value]:
    def read(text: str) -> Value:
        number = _number(text)
        if number is None:
            raise _unfit(text, name)
        return number

    return read


def _tagged_bool(text: str) -> Value:
    if text not in _BOOLS:
        raise _unfit(text, "bool")
    return _BOOLS[text]


def _tagged_time(text: str) -> Value:
    time = _time(text)
    if time is None:
        raise _unfit(text, "timestamp")
    return time


def _tagged_binary(text: str) -> Value:
    if decoded_base64(text) is None:
        raise ScalarError(f'cannot parse "{text}" as tag:yaml.org,2002:binary: not valid base64')
    return text


def _unfit(text: str, name: str) -> ScalarError:
    return ScalarError(f'cannot parse "{text}" as tag:yaml.org,2002:{name}')


_TAGGED: Final[Mapping[str, Callable[[str], Value]]] = {
    "binary": _tagged_binary,
    "bool": _tagged_bool,
    "float": _tagged_number("float"),
    "int": _tagged_number("int"),
    "null": lambda _: None,
    "str": lambda text: text,
    "timestamp": _tagged_time,
}
