"""`regex`, `regexall` and `replace`."""

import re
from typing import Final

from kplan.config.functions.engine import TIMEOUT_S
from kplan.config.functions.function import Function, Parameter, Refusal
from kplan.config.functions.limits import check_elements, check_text
from kplan.config.functions.re2 import Match, Pattern, compile_pattern
from kplan.config.functions.re2class import PatternError
from kplan.config.values.value import (
    STRING,
    Null,
    ObjectType,
    TList,
    TupleType,
    Type,
    Value,
)

_REFERENCE: Final = re.compile(r"\$(?:(\$)|(\w+)|\{(\w+)\})")
_TOO_LONG: Final = f"the pattern takes more than {TIMEOUT_S:g} seconds on this text"


def regex_first(pattern: str, text: str) -> Value:
    """First match: its text, or its groups as a tuple, or as an object if they have names."""
    compiled = _compiled(pattern)
    try:
        match = compiled.first(text)
    except TimeoutError:
        raise Refusal(_TOO_LONG) from None
    if match is None:
        raise Refusal("pattern did not match any part of the given string")
    return _result(compiled, match)


def regex_all(pattern: str, text: str) -> Value:
    """All matches, each as `regex` gives it."""
    compiled = _compiled(pattern)
    results: list[Value] = []
    try:
        for match in compiled.matches(text):
            results.append(_result(compiled, match))
            check_elements(len(results))
    except TimeoutError:
        raise Refusal(_TOO_LONG) from None
    return TList(results, _result_type(compiled))


def replace(text: str, part: str, replacement: str) -> str:
    """Text with every occurrence replaced; a part between slashes is a pattern."""
    if len(part) > 1 and part.startswith("/") and part.endswith("/"):
        return _replace_pattern(text, part[1:-1], replacement)
    check_text(len(text) + text.count(part) * len(replacement))
    return text.replace(part, replacement)


def _replace_pattern(text: str, pattern: str, replacement: str) -> str:
    try:
        compiled = compile_pattern(pattern)
    except PatternError as error:
        reason = "error parsing regexp: {}: `{}`" if error.fragment else "error parsing regexp: {}"
        raise Refusal(reason, error.problem, error.fragment) from None
    parts: list[str] = []
    length = position = 0
    try:
        for match in compiled.matches(text):
            parts += [text[position : match.start], _expanded(replacement, compiled, match)]
            position = match.end
            length += len(parts[-1])
            check_text(length)
    except TimeoutError:
        raise Refusal(_TOO_LONG) from None
    return "".join([*parts, text[position:]])


def _expanded(replacement: str, pattern: Pattern, match: Match) -> str:
    """Fill `$1`, `$name` and `${name}` in a replacement; `$$` is a dollar sign."""

    def group(reference: re.Match[str]) -> str:
        if reference[1]:
            return "$"
        name = reference[2] or reference[3]
        if name.isdecimal():
            place = int(name[:9])
            found = (match.text, *match.groups)
            return (found[place] or "") if place < len(found) else ""
        return match.groups[pattern.names.index(name)] or "" if name in pattern.names else ""

    return _REFERENCE.sub(group, replacement) if "$" in replacement else replacement


def _compiled(pattern: str) -> Pattern:
    try:
        compiled = compile_pattern(pattern)
    except PatternError as error:
        reason = "invalid regexp pattern: {} in {}"
        raise Refusal(reason, error.problem, error.fragment, argument=0) from None
    if any(compiled.names) and not all(compiled.names):
        reason = "invalid regexp pattern: cannot mix both named and unnamed capture groups"
        raise Refusal(reason, argument=0)
    return compiled


def _result(pattern: Pattern, match: Match) -> Value:
    if not pattern.names:
        return match.text
    groups = tuple(Null(STRING) if each is None else each for each in match.groups)
    if not pattern.names[0]:
        return groups
    pairs = zip(pattern.names, groups, strict=True)
    return {name: group for name, group in sorted(pairs, key=lambda pair: pair[0] or "") if name}


def _result_type(pattern: Pattern) -> Type:
    if not pattern.names:
        return STRING
    if not pattern.names[0]:
        return TupleType((STRING,) * len(pattern.names))
    return ObjectType({name: STRING for name in pattern.names if name})


_PATTERN: Final = Parameter("pattern", STRING)
_STRING: Final = Parameter("string", STRING)

REGEXES: Final = (
    Function("regex", (_PATTERN, _STRING), regex_first),
    Function("regexall", (_PATTERN, _STRING), regex_all),
    Function(
        "replace",
        (Parameter("str", STRING), Parameter("substr", STRING), Parameter("replace", STRING)),
        replace,
    ),
)
