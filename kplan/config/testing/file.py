"""Test files (`*.kptest.hcl`): read and check their blocks."""

from collections.abc import Iterator, Mapping
from dataclasses import field
from pathlib import Path

from kplan.config.declarations.body_schema import (
    CONDITION_SCHEMA,
    BodySchema,
    body_problems,
    label_problems,
)
from kplan.config.declarations.declaration import ModuleDeclarations
from kplan.config.declarations.file import read_text
from kplan.config.diagnostic import error, suggestion, warning
from kplan.config.syntax import tree as ast
from kplan.config.syntax.parse import parse_file
from kplan.config.syntax.source import Origin, Source
from kplan.config.testing.reference import (
    ExpectedFailure,
    assertion_problems,
    parse_expected_failures,
    reference_name,
    variable_problems,
)
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Diagnostic, SourceRange, sort_diagnostics

TEST_FILE_SUFFIX = ".kptest.hcl"

_VARIABLES = BodySchema(is_open=True)
_SCHEMAS: Mapping[str, BodySchema] = {
    "variables": _VARIABLES,
    "cluster": BodySchema(("brokers",), (), ("resource",)),
    "run": BodySchema(
        ("command", "expect_failures"), (), ("variables", "assert", "plan_options"), label_count=1
    ),
}
_NESTED_SCHEMAS: Mapping[str, BodySchema] = {
    "variables": _VARIABLES,
    "assert": CONDITION_SCHEMA,
    "plan_options": BodySchema(("target",)),
}
_IGNORED_BLOCKS = frozenset({"provider", "mock_provider"})
"""Blocks of Terraform's test files that have nothing to do here, as no cluster is reached."""

_COMMANDS = {"apply": True, "plan": False}


@dataclass(frozen=True, slots=True)
class RunBlock:
    """One `run` block. `targets` narrow the plan; `is_apply` carries it out."""

    name: str
    origin: Origin
    block: ast.Block
    variables: tuple[ast.Attribute, ...] = ()
    expected_failures: tuple[ExpectedFailure, ...] = ()
    targets: tuple[str, ...] = ()
    is_apply: bool = True

    @property
    def declared_at(self) -> SourceRange:
        """The header of the block."""
        return self.origin.range(self.block.start, self.block.header_end)


@dataclass(frozen=True, slots=True)
class ClusterBlock:
    """The `cluster` block: the content of the cluster before the first run."""

    origin: Origin
    brokers: ast.Attribute | None = None
    resources: tuple[ast.Block, ...] = ()
    platform: ast.Attribute | None = None


@dataclass(slots=True)
class HclTestFile:
    """A test file. Runs follow each other on one cluster and one state."""

    name: str
    text: str = field(default="", repr=False)
    origin: Origin | None = None
    variables: dict[str, tuple[ast.Attribute, Origin]] = field(default_factory=dict)
    cluster: ClusterBlock | None = None
    runs: list[RunBlock] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)


def read_test_file(path: Path, name: str, declared: ModuleDeclarations) -> HclTestFile:
    """Read a test file; `declared` is the configuration that it tests."""
    text = read_text(path, name)
    if isinstance(text, Diagnostic):
        return HclTestFile(name, diagnostics=[text])
    script = HclTestFile(name, text)
    parsed = parse_file(Source(name, text))
    script.diagnostics.extend(parsed.diagnostics)
    for item in parsed.items:
        _add_item(script, item, declared)
    script.diagnostics = list(sort_diagnostics(script.diagnostics))
    return script


def _add_item(script: HclTestFile, item: ast.Item, declared: ModuleDeclarations) -> None:
    """Assign one item of the file to its block type, with diagnostics."""
    content, origin = item.content, item.origin
    if isinstance(content, ast.Attribute):
        subject = origin.range(content.start, content.name_end)
        detail = f'An argument named "{content.name}" is not expected outside of any block.'
        script.diagnostics.append(error("KP121", subject, detail))
        return
    subject = origin.range(content.start, content.start + len(content.type))
    if content.type in _IGNORED_BLOCKS:
        detail = f'The block "{content.type}" is left aside: tests reach no cluster.'
        script.diagnostics.append(warning("KP195", subject, detail))
    elif content.type not in _SCHEMAS:
        detail = f'Blocks of type "{content.type}" are not expected here.'
        hint = suggestion(content.type, _SCHEMAS)
        script.diagnostics.append(error("KP120", subject, detail, hint=hint))
    elif not item.is_broken:
        problems = list(_problems(content, origin, _SCHEMAS[content.type]))
        script.diagnostics.extend(problems)
        _ADDERS[content.type](script, content, origin, declared)


def _problems(block: ast.Block, origin: Origin, shape: BodySchema) -> Iterator[Diagnostic]:
    yield from label_problems(block, origin, shape)
    yield from body_problems(block, origin, shape)
    for inner in block.blocks:
        if inner.type in shape.blocks and inner.type in _NESTED_SCHEMAS:
            yield from _problems(inner, origin, _NESTED_SCHEMAS[inner.type])


def _add_variables(
    script: HclTestFile, block: ast.Block, origin: Origin, declared: ModuleDeclarations
) -> None:
    for attribute in block.attributes:
        script.diagnostics.extend(variable_problems(attribute, origin, declared, None))
        script.variables[attribute.name] = (attribute, origin)


def _add_cluster(
    script: HclTestFile, block: ast.Block, origin: Origin, _: ModuleDeclarations
) -> None:
    if script.cluster is not None:
        subject = origin.range(block.start, block.header_end)
        script.diagnostics.append(error("KP128", subject, "A test file has one cluster only."))
        return
    brokers = next((each for each in block.attributes if each.name == "brokers"), None)
    resources = tuple(each for each in block.blocks if each.type == "resource")
    script.cluster = ClusterBlock(origin, brokers, resources)


def _add_run(
    script: HclTestFile, block: ast.Block, origin: Origin, declared: ModuleDeclarations
) -> None:
    if len(block.labels) != 1:
        return
    earlier = [each.name for each in script.runs]
    run = _parse_run(script, block, origin, declared)
    for inner in block.blocks:
        for attribute in inner.attributes:
            if inner.type == "assert":
                found = assertion_problems(attribute, origin, declared, earlier)
                script.diagnostics.extend(found)
            elif inner.type == "variables":
                found = variable_problems(attribute, origin, declared, earlier)
                script.diagnostics.extend(found)
    if run.name in earlier:
        detail = f'The file has a run "{run.name}" already.'
        script.diagnostics.append(error("KP123", run.declared_at, detail))
    script.runs.append(run)


def _parse_run(
    script: HclTestFile, block: ast.Block, origin: Origin, declared: ModuleDeclarations
) -> RunBlock:
    arguments = {each.name: each for each in block.attributes}
    wanted: tuple[ExpectedFailure, ...] = ()
    if "expect_failures" in arguments:
        wanted, problems = parse_expected_failures(arguments["expect_failures"], origin, declared)
        script.diagnostics.extend(problems)
    return RunBlock(
        block.labels[0].text,
        origin,
        block,
        tuple(_nested_attributes(block, "variables")),
        wanted,
        tuple(_parse_targets(script, block, origin)),
        is_apply=_is_apply(script, arguments.get("command"), origin),
    )


def _nested_attributes(block: ast.Block, of: str) -> Iterator[ast.Attribute]:
    for inner in block.blocks:
        if inner.type == of:
            yield from inner.attributes


def _is_apply(script: HclTestFile, command: ast.Attribute | None, origin: Origin) -> bool:
    if command is None:
        return True
    node = command.value
    if isinstance(node, ast.Name) and node.name in _COMMANDS:
        return _COMMANDS[node.name]
    subject = origin.range(node.start, node.end)
    detail = "The command of a run is one of the words plan and apply, without quotes."
    script.diagnostics.append(error("KP703", subject, detail))
    return False


def _parse_targets(script: HclTestFile, block: ast.Block, origin: Origin) -> Iterator[str]:
    for attribute in _nested_attributes(block, "plan_options"):
        value = attribute.value
        for node in value.items if isinstance(value, ast.Tuple) else (value,):
            if name := reference_name(node):
                yield name
            else:
                detail = "A target is the address of a resource or module, without quotes."
                subject = origin.range(node.start, node.end)
                script.diagnostics.append(error("KP132", subject, detail))


_ADDERS = {"variables": _add_variables, "cluster": _add_cluster, "run": _add_run}
