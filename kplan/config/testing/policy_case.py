"""Policy test files (`*.policytest.hcl`): operations and the expected decisions."""

from collections.abc import Iterator, Mapping
from dataclasses import field
from datetime import date
from functools import partial
from pathlib import Path

from kplan.config.declarations.body_schema import BodySchema, body_problems, label_problems
from kplan.config.declarations.declaration import ModuleDeclarations
from kplan.config.declarations.file import read_text
from kplan.config.declarations.reference import reference_problems
from kplan.config.diagnostic import EvaluationError, error, suggestion
from kplan.config.evaluation.evaluate import deep_recursion, evaluate
from kplan.config.evaluation.type_constraint import parse_type_name
from kplan.config.modules.module import Module
from kplan.config.modules.result_cache import ResultCache
from kplan.config.syntax import tree as ast
from kplan.config.syntax.parse import parse_file
from kplan.config.syntax.source import Origin, Source
from kplan.config.testing.file import ClusterBlock
from kplan.config.values.conversion import ConversionError, convert
from kplan.config.values.sensitive import bare
from kplan.config.values.value import is_null
from kplan.config.values.value_text import Json, to_json_value
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Diagnostic, SourceRange
from kplan.model.policy import Operation

POLICY_TEST_SUFFIX = ".policytest.hcl"
EXPECTATIONS = ("pass", "deny", "warn", "advise", "advisory", "waived")
"""What a case may expect: that nothing is said, or what is said; `advisory` would have denied."""

_CASE_SCHEMA = BodySchema(
    (
        "on", "kind", "requested", "current", "topic", "offsets", "principal", "ci", "today",
        "policy", "expect", "message",
    ),
    ("on", "expect"),
    label_count=1,
)  # fmt: skip
_SCHEMAS: Mapping[str, BodySchema] = {
    "cluster": BodySchema(("brokers", "platform"), (), ("resource",)),
    "case": _CASE_SCHEMA,
}
_OBJECT_ARGUMENTS = frozenset({"requested", "current"})
_STRING_ARGUMENTS = frozenset(
    {"on", "kind", "topic", "principal", "today", "policy", "expect", "message"}
)
_MAP_ARGUMENTS = {"ci": "map(string)", "offsets": "map(number)"}


@dataclass(frozen=True, slots=True)
class PolicyCase:
    """One row: an operation, its principal, and the expected decision.

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
class PolicyTestFile:
    """A file of cases, and the cluster that they are asked on."""

    name: str
    text: str = field(default="", repr=False)
    cluster: ClusterBlock | None = None
    cases: list[PolicyCase] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)


def read_policy_test_file(path: Path, name: str, module: Module) -> PolicyTestFile:
    """Read a file; its expressions see the variables and locals of the module."""
    text = read_text(path, name)
    if isinstance(text, Diagnostic):
        return PolicyTestFile(name, diagnostics=[text])
    found = PolicyTestFile(name, text)
    results = ResultCache(found.diagnostics)
    with deep_recursion():
        parsed = parse_file(Source(name, text))
        results.report(parsed.diagnostics)
        for item in parsed.items:
            if not item.is_broken:
                _add_item(found, item, module, results)
    return found


def _add_item(file: PolicyTestFile, item: ast.Item, module: Module, results: ResultCache) -> None:
    content, origin = item.content, item.origin
    if isinstance(content, ast.Attribute) or content.type not in _SCHEMAS:
        detail = f"A file of policy tests holds {' and '.join(_SCHEMAS)} blocks."
        name = content.name if isinstance(content, ast.Attribute) else content.type
        subject = origin.range(content.start, content.start + len(name))
        results.report([error("KP120", subject, detail, hint=suggestion(name, _SCHEMAS))])
        return
    shape = _SCHEMAS[content.type]
    problems = [*label_problems(content, origin, shape), *body_problems(content, origin, shape)]
    results.report(problems)
    if problems:
        return
    if content.type == "cluster":
        given = {each.name: each for each in content.attributes}
        blocks = tuple(content.blocks)
        file.cluster = ClusterBlock(origin, given.get("brokers"), blocks, given.get("platform"))
        return
    made = results.attempt(partial(_evaluate_case, content, origin, module))
    file.cases += [] if made is None else [made]


def _evaluate_case(block: ast.Block, origin: Origin, module: Module) -> PolicyCase:
    """Evaluate a case; raises `EvaluationError`."""
    problems = list(_undeclared_references(block, origin, module.declarations))
    if problems:
        raise EvaluationError(problems)
    given = {each.name: _evaluate_argument(each, origin, module) for each in block.attributes}
    place = origin.range(block.start, block.header_end)
    operation, expect = str(given.pop("on")), str(given.pop("expect"))
    for word, known in ((operation, [each.value for each in Operation]), (expect, EXPECTATIONS)):
        if word not in known:
            detail = f'"{word}" is not one of {", ".join(known)}.'
            raise EvaluationError([error("KP137", place, detail, hint=suggestion(word, known))])
    if "today" in given:
        given["today"] = _parse_date(str(given["today"]), place)
    if isinstance(offsets := given.get("offsets"), Mapping):
        given["offsets"] = _parse_offsets(offsets, place)
    more = {name: value for name, value in given.items() if value is not None}
    return PolicyCase(block.labels[0].text, place, Operation(operation), expect, **more)  # type: ignore[arg-type] # checked above


def _parse_offsets(given: Mapping[str, int], place: SourceRange) -> Mapping[int, int]:
    if all(each.isdecimal() for each in given):
        return {int(partition): at for partition, at in given.items()}
    detail = 'Offsets are by partition, as in offsets = { "0" = 100 }.'
    raise EvaluationError([error("KP137", place, detail)])


def _undeclared_references(
    block: ast.Block, origin: Origin, declared: ModuleDeclarations
) -> Iterator[Diagnostic]:
    for attribute in block.attributes:
        yield from reference_problems(attribute.references, origin, declared)


def _evaluate_argument(attribute: ast.Attribute, origin: Origin, module: Module) -> object:
    node = attribute.value
    value = bare(evaluate(node, module.scope(origin)))
    wanted = (
        "string" if attribute.name in _STRING_ARGUMENTS else _MAP_ARGUMENTS.get(attribute.name, "")
    )
    subject = origin.range(node.start, node.end)
    if is_null(value):
        return None
    if attribute.name in _OBJECT_ARGUMENTS and not isinstance(value, dict):
        raise EvaluationError(
            [error("KP137", subject, f'"{attribute.name}" holds the attributes.')]
        )
    try:
        return to_json_value(convert(value, parse_type_name(wanted)) if wanted else value)
    except ConversionError as fault:
        detail = f'"{attribute.name}" is a {wanted}: {fault}.'
        raise EvaluationError([error("KP137", subject, detail)]) from None


def _parse_date(text: str, place: SourceRange) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        detail = f'"{text}" is not a date. Write it as today = "2027-01-31".'
        raise EvaluationError([error("KP137", place, detail)]) from None
