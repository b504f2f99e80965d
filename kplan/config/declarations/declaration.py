"""Blocks, locals and settings that the files of one folder declare."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace

from kplan.config.declarations.body_schema import (
    BLOCK_SCHEMAS,
    DATA_SCHEMAS,
    POLICY_RULE_SCHEMA,
    POLICY_SCHEMA,
    RESERVED_VARIABLES,
    BodySchema,
    body_problems,
    label_problems,
)
from kplan.config.declarations.rule import RULE_BLOCKS, assert_problems, rule_problems
from kplan.config.declarations.version_constraint import version_problems
from kplan.config.diagnostic import error, warning
from kplan.config.syntax import tree as ast
from kplan.config.syntax.source import Origin
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Diagnostic, SourceRange

_NAME = re.compile(r"[^\W\d][\w-]*").fullmatch

_META_ARGUMENTS = ("count", "for_each", "depends_on", "provider")

_KAFKA = "kafka"
_NAMED_BLOCKS = frozenset({"variable", "output", "module", "check", "policy"})


@dataclass(frozen=True, slots=True)
class Declaration:
    """One block with its arguments by name. A broken block is present without its contents."""

    name: str
    origin: Origin
    block: ast.Block
    arguments: Mapping[str, ast.Attribute]
    is_broken: bool = False

    @property
    def declared_at(self) -> SourceRange:
        """The header of the block."""
        labels = self.block.labels
        end = labels[-1].end if labels else self.block.start + len(self.block.type)
        return self.origin.range(self.block.start, end)

    def value_range(self, name: str) -> SourceRange:
        """Return the place of the value of an argument that exists."""
        value = self.arguments[name].value
        return self.origin.range(value.start, value.end)


@dataclass(frozen=True, slots=True)
class Local:
    """One argument of a `locals` block."""

    origin: Origin
    attribute: ast.Attribute

    @property
    def declared_at(self) -> SourceRange:
        """The name."""
        return self.origin.range(self.attribute.start, self.attribute.name_end)


@dataclass(slots=True)
class ModuleDeclarations:
    """Everything declared in a folder. `is_incomplete` says that an error hides some of it.

    `self_references` are resources that refer to themselves, once that has been reported.
    """

    variables: dict[str, Declaration] = field(default_factory=dict)
    locals: dict[str, Local] = field(default_factory=dict)
    outputs: dict[str, Declaration] = field(default_factory=dict)
    modules: dict[str, Declaration] = field(default_factory=dict)
    checks: dict[str, Declaration] = field(default_factory=dict)
    resources: dict[tuple[str, str], Declaration] = field(default_factory=dict)
    data: dict[tuple[str, str], Declaration] = field(default_factory=dict)
    ephemeral: dict[tuple[str, str], Declaration] = field(default_factory=dict)
    providers: list[Declaration] = field(default_factory=list)
    terraform_blocks: list[Declaration] = field(default_factory=list)
    state_blocks: list[Declaration] = field(default_factory=list)
    refactorings: list[Declaration] = field(default_factory=list)
    policies: dict[str, Declaration] = field(default_factory=dict)
    policy_settings: list[Declaration] = field(default_factory=list)
    plan_settings: list[Declaration] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    other_providers: list[Declaration] = field(default_factory=list)
    skipped: set[tuple[str, str]] = field(default_factory=set)
    self_references: set[tuple[str, str]] = field(default_factory=set)
    is_incomplete: bool = False


@dataclass(frozen=True, slots=True)
class KnownKinds:
    """What kplan manages: the kinds, and whether resources of other sorts are left out."""

    kinds: tuple[str, ...]
    skips_foreign: bool = False


def kind_and_name(declaration: Declaration) -> tuple[str, str]:
    """Return the labels of a block; the type of a data source is `data.TYPE`.

    That of an ephemeral resource is `ephemeral.TYPE`.
    """
    kind, name = declaration.block.labels
    root = declaration.block.type
    return kind.text if root == "resource" else f"{root}.{kind.text}", name.text


def add_block(result: ModuleDeclarations, declaration: Declaration) -> None:
    """Add a block that is no resource and no data source."""
    shape = BLOCK_SCHEMAS[declaration.block.type]
    problems = list(label_problems(declaration.block, declaration.origin, shape))
    if declaration.is_broken:
        problems = []  # what broke it has been reported
    elif not problems and not _is_other_provider(declaration):
        problems.extend(body_problems(declaration.block, declaration.origin, shape))
        problems.extend(_inner_problems(declaration))
    result.diagnostics.extend(problems)
    if len(declaration.block.labels) != shape.label_count:
        result.is_incomplete = True
        return
    if declaration.block.type in _NAMED_BLOCKS and (
        bad := list(_name_problems(declaration, declaration.block.labels[0]))
    ):
        result.diagnostics.extend(bad)
        declaration = replace(declaration, is_broken=True)
    _ADDERS[declaration.block.type](result, declaration)


def _inner_problems(declaration: Declaration) -> Iterable[Diagnostic]:
    if declaration.block.type == "check":
        yield from assert_problems(declaration.block, declaration.origin)
    for inner in declaration.block.blocks:
        if inner.type in RULE_BLOCKS:
            variable = declaration.name if inner.type == "validation" else ""
            yield from rule_problems(inner, declaration.origin, variable)
        elif declaration.block.type == "policy" and inner.type in POLICY_SCHEMA.blocks:
            yield from body_problems(inner, declaration.origin, POLICY_RULE_SCHEMA)


def _name_problems(declaration: Declaration, label: ast.Label) -> Iterable[Diagnostic]:
    subject = declaration.origin.range(label.start, label.end)
    summary = _NAME_SUMMARIES.get(declaration.block.type, "")
    if not _NAME(label.text):
        detail = (
            f'"{label.text}" is not a valid name. Names consist of letters, digits, underscores '
            "and dashes, and start with a letter or underscore."
        )
        yield error("KP124", subject, detail, summary=summary)
    elif declaration.block.type == "variable" and label.text in RESERVED_VARIABLES:
        detail = f'"{label.text}" is reserved in module blocks; a variable cannot have this name.'
        yield error("KP124", subject, detail, summary=summary)


_NAME_SUMMARIES: Mapping[str, str] = {
    "variable": "Invalid variable name",
    "output": "Invalid output name",
    "module": "Invalid module instance name",
    "check": "Invalid check block name",
    "resource": "Invalid resource name",
    "data": "Invalid data resource name",
}
_DUPLICATE_SUMMARIES: Mapping[str, str] = {
    "variable": "Duplicate variable declaration",
    "output": "Duplicate output definition",
    "module": "Duplicate module call",
}


def _add_variable(result: ModuleDeclarations, declaration: Declaration) -> None:
    _add_named(result, result.variables, declaration)


def _add_output(result: ModuleDeclarations, declaration: Declaration) -> None:
    _add_named(result, result.outputs, declaration)


def _add_check(result: ModuleDeclarations, declaration: Declaration) -> None:
    _add_named(result, result.checks, declaration)


def _add_module(result: ModuleDeclarations, declaration: Declaration) -> None:
    _add_named(result, result.modules, declaration)


def _add_named(
    result: ModuleDeclarations, into: dict[str, Declaration], declaration: Declaration
) -> None:
    first = into.setdefault(declaration.name, declaration)
    if first is not declaration:
        word = declaration.block.type
        detail = f'The {word} "{declaration.name}" is already declared at {first.declared_at}.'
        related = (("declared first", first.declared_at),)
        summary = _DUPLICATE_SUMMARIES.get(
            word, f'Duplicate {word} "{declaration.name}" configuration'
        )
        result.diagnostics.append(
            error("KP123", declaration.declared_at, detail, related=related, summary=summary)
        )


def _add_locals(result: ModuleDeclarations, declaration: Declaration) -> None:
    result.is_incomplete |= declaration.is_broken
    for attribute in declaration.block.attributes:
        local = Local(declaration.origin, attribute)
        first = result.locals.setdefault(attribute.name, local)
        if first is not local:
            detail = (
                f'The local value "{attribute.name}" has been defined already, '
                f"at {first.declared_at}."
            )
            related = (("defined first", first.declared_at),)
            summary = "Duplicate local value definition"
            result.diagnostics.append(
                error("KP123", local.declared_at, detail, related=related, summary=summary)
            )


def _is_other_provider(declaration: Declaration) -> bool:
    """Whether a block sets up the provider of something else, with blocks of its own."""
    return declaration.block.type == "provider" and declaration.name != _KAFKA


def _add_provider(result: ModuleDeclarations, declaration: Declaration) -> None:
    into = result.other_providers if _is_other_provider(declaration) else result.providers
    into.append(declaration)


def _add_terraform(result: ModuleDeclarations, declaration: Declaration) -> None:
    result.terraform_blocks.append(declaration)
    if "required_version" in declaration.arguments:
        attribute = declaration.arguments["required_version"]
        result.diagnostics.extend(version_problems(attribute, declaration.origin))
    for inner in declaration.block.blocks:
        if inner.type in {"backend", "cloud"}:
            subject = declaration.origin.range(inner.start, inner.start + len(inner.type))
            detail = f'The block "{inner.type}" is ignored: kplan manages its own state.'
            hint = _backend_hint(inner)
            result.diagnostics.append(warning("KP195", subject, detail, hint=hint))


_STATE_BACKENDS = {"s3": "s3", "gcs": "gcs", "azurerm": "azure"}
"""The backends of Terraform that a state of kplan can be in as well, with kplan's names."""


def _backend_hint(block: ast.Block) -> str:
    names = (_STATE_BACKENDS.get(each.text, "") for each in block.labels)
    name = next(names, "")
    return f'Store the state there with state {{ backend = "{name}" }}.' if name else ""


def _add_state(result: ModuleDeclarations, declaration: Declaration) -> None:
    if result.state_blocks:
        first = result.state_blocks[0].declared_at
        detail = f"There is another state block, at {first}; a configuration has one state."
        related = (("declared first", first),)
        result.diagnostics.append(error("KP128", declaration.declared_at, detail, related=related))
    result.state_blocks.append(declaration)


def _add_policy(result: ModuleDeclarations, declaration: Declaration) -> None:
    _add_named(result, result.policies, declaration)


def _add_policy_settings(result: ModuleDeclarations, declaration: Declaration) -> None:
    _add_only(result, result.policy_settings, declaration)


def _add_plan_settings(result: ModuleDeclarations, declaration: Declaration) -> None:
    _add_only(result, result.plan_settings, declaration)


def _add_only(
    result: ModuleDeclarations, found: list[Declaration], declaration: Declaration
) -> None:
    if found:
        first = found[0].declared_at
        detail = f"There is another {declaration.block.type} block, at {first}."
        related = (("declared first", first),)
        result.diagnostics.append(error("KP128", declaration.declared_at, detail, related=related))
    found.append(declaration)


def _add_refactoring(result: ModuleDeclarations, declaration: Declaration) -> None:
    result.refactorings.append(declaration)


_ADDERS: Mapping[str, Callable[[ModuleDeclarations, Declaration], None]] = {
    "variable": _add_variable,
    "locals": _add_locals,
    "output": _add_output,
    "check": _add_check,
    "module": _add_module,
    "provider": _add_provider,
    "terraform": _add_terraform,
    "state": _add_state,
    "moved": _add_refactoring,
    "removed": _add_refactoring,
    "import": _add_refactoring,
    "policy": _add_policy,
    "policies": _add_policy_settings,
    "plan": _add_plan_settings,
}


def add_resource(
    result: ModuleDeclarations,
    declaration: Declaration,
    kinds: Sequence[str],
    foreign: list[Declaration],
) -> None:
    """Add a resource, data source or ephemeral resource; `foreign` lists those of others too."""
    into, kinds = {
        "resource": (result.resources, kinds),
        "data": (result.data, (*DATA_SCHEMAS,)),
        "ephemeral": (result.ephemeral, ()),
    }[declaration.block.type]
    problems = list(
        label_problems(declaration.block, declaration.origin, BodySchema(label_count=2))
    )
    if problems:
        result.is_incomplete = True
        result.diagnostics.extend(() if declaration.is_broken else problems)
        return
    kind, label = declaration.block.labels[0].text, declaration.block.labels[1]
    result.diagnostics.extend(_name_problems(declaration, label))
    first = into.setdefault((kind, label.text), declaration)
    if first is not declaration:
        what = ".".join(kind_and_name(declaration))
        detail = f"The {declaration.block.type} {what} is already declared at {first.declared_at}."
        related = (("declared first", first.declared_at),)
        summary = f'Duplicate {declaration.block.type} "{kind}" configuration'
        result.diagnostics.append(
            error("KP190", declaration.declared_at, detail, related=related, summary=summary)
        )
    if kind not in kinds:
        foreign.append(declaration)
