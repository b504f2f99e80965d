"""Files that test policies: a table of operations, and what shall be said of each."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import partial
from pathlib import Path

from kplan.config.checks import reference_problems
from kplan.config.declared import Declared
from kplan.config.evaluation.evaluate import evaluate
from kplan.config.evaluation.misuse import meant
from kplan.config.files import read_text
from kplan.config.ledger import Ledger
from kplan.config.module import Module
from kplan.config.problem import Failure, error
from kplan.config.room import room_to_work
from kplan.config.shape import Shape, body_problems, label_problems
from kplan.config.syntax import tree as ast
from kplan.config.syntax.parse import parse_file
from kplan.config.syntax.source import Origin, Source
from kplan.config.testing.script import Fixture
from kplan.config.types import type_named
from kplan.config.values.convert import ConversionError, convert
from kplan.config.values.jsonvalue import Json, to_json_value
from kplan.config.values.sensitive import bare
from kplan.config.values.value import is_null
from kplan.model.diagnostic import Diagnostic
from kplan.model.policy import Operation
from kplan.model.source import SourceRange

SUFFIX = ".policytest.hcl"
EXPECTED = ("pass", "deny", "warn", "advise", "advisory", "waived")
"""What a case may expect: that nothing is said, or what is said; `advisory` would have denied."""

_CASE = Shape(
    (
        "on", "kind", "requested", "current", "topic", "offsets", "principal", "ci", "today",
        "policy", "expect", "message",
    ),
    ("on", "expect"),
    labels=1,
)  # fmt: skip
_SHAPES: Mapping[str, Shape] = {
    "cluster": Shape(("brokers",), (), ("resource",)),
    "case": _CASE,
}
_OBJECT = frozenset({"requested", "current"})
_STRINGS = frozenset({"on", "kind", "topic", "principal", "today", "policy", "expect", "message"})
_MAPS = {"ci": "map(string)", "offsets": "map(number)"}


@dataclass(frozen=True, slots=True)
class Case:
    """One row: an operation, who asks, and what is expected.

    `requested` and `current` are attributes as written; `policy` is "" for any of them.
    """

    name: str
    place: SourceRange
    operation: Operation
    expect: str
    kind: str = "kafka_topic"
    requested: Mapping[str, Json] | None = None
    current: Mapping[str, Json] | None = None
    topic: str = ""
    offsets: Mapping[int, int] = field(default_factory=dict)
    principal: str = ""
    ci: Mapping[str, str] = field(default_factory=dict)
    today: date | None = None
    policy: str = ""
    message: str = ""


@dataclass(slots=True)
class CaseFile:
    """A file of cases, and the cluster that they are asked on."""

    name: str
    text: str = field(default="", repr=False)
    cluster: Fixture | None = None
    cases: list[Case] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)


def read_cases(path: Path, name: str, module: Module) -> CaseFile:
    """Read a file; its expressions see the variables and locals of the module."""
    text = read_text(path, name)
    if isinstance(text, Diagnostic):
        return CaseFile(name, diagnostics=[text])
    found = CaseFile(name, text)
    ledger = Ledger(found.diagnostics)
    with room_to_work():
        parsed = parse_file(Source(name, text))
        ledger.report(parsed.diagnostics)
        for item in parsed.items:
            if not item.is_broken:
                _take(found, item, module, ledger)
    return found


def _take(found: CaseFile, item: ast.Item, module: Module, ledger: Ledger) -> None:
    content, origin = item.content, item.origin
    if isinstance(content, ast.Attribute) or content.type not in _SHAPES:
        told = f"A file of policy tests holds {' and '.join(_SHAPES)} blocks."
        name = content.name if isinstance(content, ast.Attribute) else content.type
        subject = origin.range(content.start, content.start + len(name))
        ledger.report([error("KP120", subject, told, hint=meant(name, _SHAPES))])
        return
    shape = _SHAPES[content.type]
    problems = [*label_problems(content, origin, shape), *body_problems(content, origin, shape)]
    ledger.report(problems)
    if problems:
        return
    if content.type == "cluster":
        brokers = next((each for each in content.attributes if each.name == "brokers"), None)
        found.cluster = Fixture(origin, brokers, tuple(content.blocks))
        return
    made = ledger.attempt(partial(_case, content, origin, module))
    found.cases += [] if made is None else [made]


def _case(block: ast.Block, origin: Origin, module: Module) -> Case:
    """Evaluate a case; raises `Failure`."""
    problems = list(_references(block, origin, module.declared))
    if problems:
        raise Failure(problems)
    given = {each.name: _value(each, origin, module) for each in block.attributes}
    place = origin.range(block.start, block.header_end)
    operation, expect = str(given.pop("on")), str(given.pop("expect"))
    for word, known in ((operation, [each.value for each in Operation]), (expect, EXPECTED)):
        if word not in known:
            told = f'"{word}" is none of {", ".join(known)}.'
            raise Failure([error("KP137", place, told, hint=meant(word, known))])
    if "today" in given:
        given["today"] = _day(str(given["today"]), place)
    if isinstance(offsets := given.get("offsets"), Mapping):
        given["offsets"] = _offsets(offsets, place)
    more = {name: value for name, value in given.items() if value is not None}
    return Case(block.labels[0].text, place, Operation(operation), expect, **more)  # type: ignore[arg-type] # checked above


def _offsets(given: Mapping[str, int], place: SourceRange) -> Mapping[int, int]:
    if all(each.isdecimal() for each in given):
        return {int(partition): at for partition, at in given.items()}
    told = 'Offsets are by partition, as in offsets = { "0" = 100 }.'
    raise Failure([error("KP137", place, told)])


def _references(block: ast.Block, origin: Origin, declared: Declared) -> Iterator[Diagnostic]:
    for attribute in block.attributes:
        yield from reference_problems(attribute.references, origin, declared)


def _value(attribute: ast.Attribute, origin: Origin, module: Module) -> object:
    node = attribute.value
    value = bare(evaluate(node, module.scope(origin)))
    wanted = "string" if attribute.name in _STRINGS else _MAPS.get(attribute.name, "")
    subject = origin.range(node.start, node.end)
    if is_null(value):
        return None
    if attribute.name in _OBJECT and not isinstance(value, dict):
        raise Failure([error("KP137", subject, f'"{attribute.name}" holds the attributes.')])
    try:
        return to_json_value(convert(value, type_named(wanted)) if wanted else value)
    except ConversionError as fault:
        told = f'"{attribute.name}" is a {wanted}: {fault}.'
        raise Failure([error("KP137", subject, told)]) from None


def _day(text: str, place: SourceRange) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        told = f'"{text}" is no day. Write it as in today = "2027-01-31".'
        raise Failure([error("KP137", place, told)]) from None
