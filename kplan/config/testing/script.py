"""Reading of test files."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kplan.config.declared import CONDITION, Declared
from kplan.config.evaluation.misuse import meant
from kplan.config.files import read_text
from kplan.config.problem import error, warning
from kplan.config.shape import Shape, body_problems, label_problems
from kplan.config.syntax import tree as ast
from kplan.config.syntax.parse import parse_file
from kplan.config.syntax.source import Origin, Source
from kplan.config.testing.expected import Expected, expected, reference_name
from kplan.config.testing.references import assertion_problems, value_problems
from kplan.model.diagnostic import Diagnostic, in_order
from kplan.model.source import SourceRange

SUFFIX = ".kptest.hcl"

_VARIABLES = Shape(is_open=True)
_SHAPES: Mapping[str, Shape] = {
    "variables": _VARIABLES,
    "cluster": Shape(("brokers",), (), ("resource",)),
    "run": Shape(
        ("command", "expect_failures"), (), ("variables", "assert", "plan_options"), labels=1
    ),
}
_INNER: Mapping[str, Shape] = {
    "variables": _VARIABLES,
    "assert": CONDITION,
    "plan_options": Shape(("target",)),
}
_IDLE = frozenset({"provider", "mock_provider"})
"""Blocks of Terraform's test files that have nothing to do here, as no cluster is reached."""

_COMMANDS = {"apply": True, "plan": False}


@dataclass(frozen=True, slots=True)
class Run:
    """One `run` block. `targets` narrow the plan; `is_apply` carries it out."""

    name: str
    origin: Origin
    block: ast.Block
    variables: tuple[ast.Attribute, ...] = ()
    expected: tuple[Expected, ...] = ()
    targets: tuple[str, ...] = ()
    is_apply: bool = True

    @property
    def place(self) -> SourceRange:
        """The header of the block."""
        return self.origin.range(self.block.start, self.block.header_end)


@dataclass(frozen=True, slots=True)
class Fixture:
    """The `cluster` block: what is on the cluster before the first run."""

    origin: Origin
    brokers: ast.Attribute | None = None
    resources: tuple[ast.Block, ...] = ()


@dataclass(slots=True)
class Script:
    """A test file. Runs follow each other on one cluster and one state."""

    name: str
    text: str = field(default="", repr=False)
    origin: Origin | None = None
    variables: dict[str, tuple[ast.Attribute, Origin]] = field(default_factory=dict)
    cluster: Fixture | None = None
    runs: list[Run] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)


def read_script(path: Path, name: str, declared: Declared) -> Script:
    """Read a test file; `declared` is the configuration that it tests."""
    text = read_text(path, name)
    if isinstance(text, Diagnostic):
        return Script(name, diagnostics=[text])
    script = Script(name, text)
    parsed = parse_file(Source(name, text))
    script.diagnostics.extend(parsed.diagnostics)
    for item in parsed.items:
        _take(script, item, declared)
    script.diagnostics = list(in_order(script.diagnostics))
    return script


def _take(script: Script, item: ast.Item, declared: Declared) -> None:
    """Put one item of the file where it belongs, with what is wrong with it."""
    content, origin = item.content, item.origin
    if isinstance(content, ast.Attribute):
        subject = origin.range(content.start, content.name_end)
        told = f'An argument named "{content.name}" is not expected outside of any block.'
        script.diagnostics.append(error("KP121", subject, told))
        return
    subject = origin.range(content.start, content.start + len(content.type))
    if content.type in _IDLE:
        told = f'The block "{content.type}" is left aside: tests reach no cluster.'
        script.diagnostics.append(warning("KP195", subject, told))
    elif content.type not in _SHAPES:
        told = f'Blocks of type "{content.type}" are not expected here.'
        hint = meant(content.type, _SHAPES)
        script.diagnostics.append(error("KP120", subject, told, hint=hint))
    elif not item.is_broken:
        problems = list(_problems(content, origin, _SHAPES[content.type]))
        script.diagnostics.extend(problems)
        _TAKE[content.type](script, content, origin, declared)


def _problems(block: ast.Block, origin: Origin, shape: Shape) -> Iterator[Diagnostic]:
    yield from label_problems(block, origin, shape)
    yield from body_problems(block, origin, shape)
    for inner in block.blocks:
        if inner.type in shape.blocks and inner.type in _INNER:
            yield from _problems(inner, origin, _INNER[inner.type])


def _take_variables(script: Script, block: ast.Block, origin: Origin, declared: Declared) -> None:
    for attribute in block.attributes:
        script.diagnostics.extend(value_problems(attribute, origin, declared, None))
        script.variables[attribute.name] = (attribute, origin)


def _take_cluster(script: Script, block: ast.Block, origin: Origin, _: Declared) -> None:
    if script.cluster is not None:
        subject = origin.range(block.start, block.header_end)
        script.diagnostics.append(error("KP128", subject, "A test file has one cluster only."))
        return
    brokers = next((each for each in block.attributes if each.name == "brokers"), None)
    resources = tuple(each for each in block.blocks if each.type == "resource")
    script.cluster = Fixture(origin, brokers, resources)


def _take_run(script: Script, block: ast.Block, origin: Origin, declared: Declared) -> None:
    if len(block.labels) != 1:
        return
    earlier = [each.name for each in script.runs]
    run = _run(script, block, origin, declared)
    for inner in block.blocks:
        for attribute in inner.attributes:
            if inner.type == "assert":
                found = assertion_problems(attribute, origin, declared, earlier)
                script.diagnostics.extend(found)
            elif inner.type == "variables":
                found = value_problems(attribute, origin, declared, earlier)
                script.diagnostics.extend(found)
    if run.name in earlier:
        told = f'The file has a run "{run.name}" already.'
        script.diagnostics.append(error("KP123", run.place, told))
    script.runs.append(run)


def _run(script: Script, block: ast.Block, origin: Origin, declared: Declared) -> Run:
    arguments = {each.name: each for each in block.attributes}
    wanted: tuple[Expected, ...] = ()
    if "expect_failures" in arguments:
        wanted, problems = expected(arguments["expect_failures"], origin, declared)
        script.diagnostics.extend(problems)
    return Run(
        block.labels[0].text,
        origin,
        block,
        tuple(_inner_attributes(block, "variables")),
        wanted,
        tuple(_targets(script, block, origin)),
        is_apply=_is_apply(script, arguments.get("command"), origin),
    )


def _inner_attributes(block: ast.Block, of: str) -> Iterator[ast.Attribute]:
    for inner in block.blocks:
        if inner.type == of:
            yield from inner.attributes


def _is_apply(script: Script, command: ast.Attribute | None, origin: Origin) -> bool:
    if command is None:
        return True
    node = command.value
    if isinstance(node, ast.Name) and node.name in _COMMANDS:
        return _COMMANDS[node.name]
    subject = origin.range(node.start, node.end)
    told = "The command of a run is one of the words plan and apply, without quotes."
    script.diagnostics.append(error("KP703", subject, told))
    return False


def _targets(script: Script, block: ast.Block, origin: Origin) -> Iterator[str]:
    for attribute in _inner_attributes(block, "plan_options"):
        value = attribute.value
        for node in value.items if isinstance(value, ast.Tuple) else (value,):
            if name := reference_name(node):
                yield name
            else:
                told = "A target is the address of a resource or module, without quotes."
                subject = origin.range(node.start, node.end)
                script.diagnostics.append(error("KP132", subject, told))


_TAKE = {"variables": _take_variables, "cluster": _take_cluster, "run": _take_run}
