"""`regex`, `regexall` and `replace`, with the patterns of RE2 as Terraform has them."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

from kplan.config.functions.function import Function, Parameter, Refusal, check_elements, check_text
from kplan.config.values.value import STRING, Null, ObjectType, TList, TupleType, Type, Value
from kplan.model.dataclass import dataclass

_REFERENCE: Final = re.compile(r"\$(?:(\$)|(\w+)|\{(\w+)\})")

MAX_PATTERN: Final = 10_000
"""Characters of a pattern."""

_CACHED: Final = 256
_PIECE: Final = re.compile(
    r"\\Q.*?(?:\\E|\Z)|\\.|\[\^?\]?(?:\\.|[^\]])*\]|\((?!\?)|\(\?P?<(\w+)>", re.DOTALL
)
"""Groups in their order, quotes, escapes and classes; the library names a name given twice once."""
_GO_MESSAGES: Final = {
    "missing )": "missing closing )",
    "missing ]": "missing closing ]",
    "trailing \\": "trailing backslash at end of expression",
    "no argument for repetition operator": "missing argument to repetition operator",
    "invalid repetition size": "invalid repeat count",
    "bad repetition operator": "invalid nested repetition operator",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid named capture group": "invalid named capture",
}
"""What Go, and so Terraform, calls the errors of RE2's own library."""


class PatternError(Exception):
    """A pattern that RE2 refuses, with the part of it that is wrong."""

    def __init__(self, problem: str, fragment: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.fragment = fragment


@dataclass(frozen=True, slots=True)
class Match:
    """One match: its span, the whole text of it and the text of each group, None if unused."""

    start: int
    end: int
    text: str
    groups: tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Pattern:
    """A compiled pattern; `names` has one entry per group, None for one without."""

    compiled: Any
    names: tuple[str | None, ...]

    def matches(self, text: str) -> Iterator[Match]:
        """Find all matches from left to right; an empty one not directly after another."""
        previous_end = -1
        for found in self.compiled.finditer(text):
            start, end = found.span()
            if end > start or start != previous_end:
                yield Match(start, end, found.group(), found.groups())
            previous_end = end


@lru_cache(maxsize=_CACHED)
def compile_pattern(source: str) -> Pattern:
    """Compile an RE2 pattern; matching takes time linear in the text.

    Raises:
        PatternError: it is not one.

    """
    import re2

    if len(source) > MAX_PATTERN:
        raise PatternError("expression too large", "")
    options = re2.Options()
    options.log_errors = False
    try:
        compiled = re2.compile(source, options)
    except re2.error as error:
        problem, _, fragment = error.args[0].decode().partition(": ")
        if fragment in {"(?<=", "(?<!"}:  # Go takes it for the name of a group
            raise PatternError("invalid named capture", source[source.index(fragment) :]) from None
        raise PatternError(_GO_MESSAGES.get(problem, problem), fragment) from None
    pieces = tuple(_PIECE.finditer(source))
    if any(each[0] == r"\C" for each in pieces):  # one byte, perhaps of half a character
        raise PatternError("invalid escape sequence", r"\C")
    groups = (each for each in pieces if each[0].startswith("("))
    return Pattern(compiled, tuple(each[1] for each in groups))


def regex_first(pattern: str, text: str) -> Value:
    """First match: its text, or its groups as a tuple, or as an object if they have names."""
    compiled = _compile_pattern(pattern)
    match = next(compiled.matches(text), None)
    if match is None:
        raise Refusal("pattern did not match any part of the given string")
    return _result(compiled, match)


def regex_all(pattern: str, text: str) -> Value:
    """All matches, each as `regex` gives it."""
    compiled = _compile_pattern(pattern)
    results: list[Value] = []
    for match in compiled.matches(text):
        results.append(_result(compiled, match))
        check_elements(len(results))
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
    for match in compiled.matches(text):
        parts += [text[position : match.start], _expand_replacement(replacement, compiled, match)]
        position = match.end
        length += len(parts[-1])
        check_text(length)
    return "".join([*parts, text[position:]])


def _expand_replacement(replacement: str, pattern: Pattern, match: Match) -> str:
    """Expand `$1`, `$name` and `${name}` in a replacement; `$$` is a dollar sign."""

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


def _compile_pattern(pattern: str) -> Pattern:
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
