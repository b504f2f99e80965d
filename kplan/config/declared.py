"""What the files of one folder declare, before anything is evaluated."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from kplan.config.data_shapes import DATA_SHAPES
from kplan.config.evaluation.misuse import meant
from kplan.config.problem import error, warning
from kplan.config.shape import Shape, body_problems, label_problems
from kplan.config.syntax import tree as ast
from kplan.config.syntax.source import Origin
from kplan.model.diagnostic import Diagnostic
from kplan.model.source import SourceRange

RESERVED_VARIABLES = frozenset(
    {"source", "version", "providers", "count", "for_each", "lifecycle", "depends_on", "locals"}
)
_NAME = re.compile(r"[^\W\d][\w-]*").fullmatch

_CHECKED = ("precondition", "postcondition")
_META = ("count", "for_each", "depends_on", "provider")

VARIABLE = Shape(
    ("type", "default", "description", "sensitive", "nullable", "ephemeral", "deprecated"),
    blocks=("validation",),
    labels=1,
)
CONDITION = Shape(("condition", "error_message"), ("condition", "error_message"))
CHECK = Shape(blocks=("assert",), labels=1)
LOCALS = Shape(is_open=True)
OUTPUT = Shape(
    ("value", "description", "sensitive", "ephemeral", "depends_on", "deprecated"),
    ("value",),
    ("precondition",),
    labels=1,
)
LIFECYCLE = Shape(
    ("prevent_destroy", "ignore_changes", "create_before_destroy", "replace_triggered_by"),
    blocks=_CHECKED,
)
MODULE = Shape(
    ("source", "version", "providers", "count", "for_each", "depends_on"),
    ("source",),
    labels=1,
    is_open=True,
)
PROVIDER = Shape(labels=1, is_open=True)
TERRAFORM = Shape(
    ("required_version", "experiments"),
    blocks=("required_providers", "backend", "cloud", "provider_meta"),
)
STATE = Shape(("backend", "topic", "key", "replication_factor"), ("backend",))
MOVED = Shape(("from", "to"), ("from", "to"))
REMOVED = Shape(("from",), ("from",), ("lifecycle",))
RULE = Shape(("condition", "message", "fix"), ("condition", "message"))
POLICY = Shape(
    ("description", "on", "kind", "when", "level", "order", "waivers"),
    ("on",),
    ("deny", "warn", "advise"),
    labels=1,
)
POLICIES = Shape(("paths", "mode", "settings"))
IMPORT = Shape(("to", "id", "for_each", "provider"), ("to", "id"))

SHAPES: Mapping[str, Shape] = {
    "variable": VARIABLE,
    "locals": LOCALS,
    "output": OUTPUT,
    "check": CHECK,
    "module": MODULE,
    "provider": PROVIDER,
    "terraform": TERRAFORM,
    "state": STATE,
    "moved": MOVED,
    "removed": REMOVED,
    "import": IMPORT,
    "policy": POLICY,
    "policies": POLICIES,
}
"""Every block that may stand at the top, but for `resource`."""

_OBJECTS = ("resource", "data")
_TOP_LEVEL = (*SHAPES, *_OBJECTS)
_NAMED = frozenset({"variable", "output", "module", "check", "policy"})
_CONDITIONS = frozenset({"validation", "precondition", "assert"})


@dataclass(frozen=True, slots=True)
class Declaration:
    """One block, with its arguments by name. A broken one is there, but what it says is lost."""

    name: str
    origin: Origin
    block: ast.Block
    arguments: Mapping[str, ast.Attribute]
    is_broken: bool = False

    @property
    def place(self) -> SourceRange:
        """The header of the block."""
        labels = self.block.labels
        end = labels[-1].end if labels else self.block.start + len(self.block.type)
        return self.origin.range(self.block.start, end)

    def value_range(self, name: str) -> SourceRange:
        """Give the place of the value of an argument that is there."""
        value = self.arguments[name].value
        return self.origin.range(value.start, value.end)


@dataclass(frozen=True, slots=True)
class Local:
    """One argument of a `locals` block."""

    origin: Origin
    attribute: ast.Attribute

    @property
    def place(self) -> SourceRange:
        """The name."""
        return self.origin.range(self.attribute.start, self.attribute.name_end)


@dataclass(slots=True)
class Declared:
    """Everything declared in a folder. `has_lost` says that a syntax error hides some of it."""

    variables: dict[str, Declaration] = field(default_factory=dict)
    locals: dict[str, Local] = field(default_factory=dict)
    outputs: dict[str, Declaration] = field(default_factory=dict)
    modules: dict[str, Declaration] = field(default_factory=dict)
    checks: dict[str, Declaration] = field(default_factory=dict)
    resources: dict[tuple[str, str], Declaration] = field(default_factory=dict)
    data: dict[tuple[str, str], Declaration] = field(default_factory=dict)
    providers: list[Declaration] = field(default_factory=list)
    settings: list[Declaration] = field(default_factory=list)
    states: list[Declaration] = field(default_factory=list)
    refactorings: list[Declaration] = field(default_factory=list)
    policies: dict[str, Declaration] = field(default_factory=dict)
    policy_settings: list[Declaration] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    left_out: set[tuple[str, str]] = field(default_factory=set)
    has_lost: bool = False


@dataclass(frozen=True, slots=True)
class Known:
    """What kplan manages: the kinds, and whether resources of other sorts are left out."""

    kinds: tuple[str, ...]
    skips_foreign: bool = False


def declared(items: Iterable[ast.Item], known: Known, *, has_lost: bool) -> Declared:
    """Sort the items of a folder, in the order of its files, by what they declare."""
    result = Declared(has_lost=has_lost)
    unknown: list[Declaration] = []
    foreign: list[Declaration] = []
    for item in items:
        if isinstance(item.content, ast.Attribute):
            result.diagnostics.append(_stray(item.origin, item.content))
            continue
        block = item.content
        names = {each.name: each for each in block.attributes}
        name = block.labels[0].text if block.labels else ""
        found = Declaration(name, item.origin, block, names, item.is_broken)
        if block.type in _OBJECTS:
            _resource(result, found, known.kinds, foreign)
        elif block.type in SHAPES:
            _block(result, found)
        else:
            unknown.append(found)
    if unknown:
        result.diagnostics.append(_unknown_types(unknown))
    if foreign and known.skips_foreign:
        result.left_out.update(_kind_and_name(each) for each in foreign)
        result.diagnostics.append(_left_out(foreign))
    elif foreign:
        result.diagnostics.append(_foreign_types(foreign, known.kinds))
    return result


def _kind_and_name(found: Declaration) -> tuple[str, str]:
    kind, name = found.block.labels
    return f"{'data.' * (found.block.type == 'data')}{kind.text}", name.text


def _left_out(found: list[Declaration]) -> Diagnostic:
    kinds = sorted({_kind_and_name(each)[0] for each in found})
    count = "1 resource" if len(found) == 1 else f"{len(found)} resources"
    told = f"{count} of other providers left out: {_listed(kinds)}."
    return warning("KP126", found[0].place, told)


def _stray(origin: Origin, attribute: ast.Attribute) -> Diagnostic:
    subject = origin.range(attribute.start, attribute.name_end)
    told = f'An argument named "{attribute.name}" is not expected outside of any block.'
    return error("KP121", subject, told, hint="Values that others use go into a locals block.")


def _block(result: Declared, found: Declaration) -> None:
    shape = SHAPES[found.block.type]
    problems = list(label_problems(found.block, found.origin, shape))
    if found.is_broken:
        problems = []  # what broke it has been told
    elif not problems:
        problems.extend(body_problems(found.block, found.origin, shape))
        problems.extend(_inner_problems(found))
    result.diagnostics.extend(problems)
    if len(found.block.labels) != shape.labels:
        result.has_lost = True
        return
    if found.block.type in _NAMED and (bad := list(_name_problems(found, found.block.labels[0]))):
        result.diagnostics.extend(bad)
        found = replace(found, is_broken=True)
    _KEEP[found.block.type](result, found)


def _inner_problems(found: Declaration) -> Iterable[Diagnostic]:
    for inner in found.block.blocks:
        if inner.type in _CONDITIONS:
            yield from body_problems(inner, found.origin, CONDITION)
        elif found.block.type == "policy" and inner.type in POLICY.blocks:
            yield from body_problems(inner, found.origin, RULE)


def _name_problems(found: Declaration, label: ast.Label) -> Iterable[Diagnostic]:
    subject = found.origin.range(label.start, label.end)
    if not _NAME(label.text):
        told = (
            f'"{label.text}" is no name: names are of letters, digits, underscores and dashes, '
            "and begin with a letter or underscore."
        )
        yield error("KP124", subject, told)
    elif found.block.type == "variable" and label.text in RESERVED_VARIABLES:
        told = f'"{label.text}" has a meaning of its own in module blocks; no variable may have it.'
        yield error("KP124", subject, told)


def _keep_variable(result: Declared, found: Declaration) -> None:
    _keep_once(result, result.variables, found)


def _keep_output(result: Declared, found: Declaration) -> None:
    _keep_once(result, result.outputs, found)


def _keep_check(result: Declared, found: Declaration) -> None:
    _keep_once(result, result.checks, found)


def _keep_module(result: Declared, found: Declaration) -> None:
    _keep_once(result, result.modules, found)


def _keep_once(result: Declared, into: dict[str, Declaration], found: Declaration) -> None:
    first = into.setdefault(found.name, found)
    if first is not found:
        word = found.block.type
        told = f'The {word} "{found.name}" has been declared already, at {first.place}.'
        related = (("declared first", first.place),)
        result.diagnostics.append(error("KP123", found.place, told, related=related))


def _keep_locals(result: Declared, found: Declaration) -> None:
    result.has_lost |= found.is_broken
    for attribute in found.block.attributes:
        local = Local(found.origin, attribute)
        first = result.locals.setdefault(attribute.name, local)
        if first is not local:
            told = f'The local value "{attribute.name}" has been defined already, at {first.place}.'
            related = (("defined first", first.place),)
            result.diagnostics.append(error("KP123", local.place, told, related=related))


def _keep_provider(result: Declared, found: Declaration) -> None:
    if found.name == "kafka":
        result.providers.append(found)
        return
    told = f'The provider "{found.name}" is left aside: kplan talks to Kafka only.'
    result.diagnostics.append(warning("KP195", found.place, told))


def _keep_settings(result: Declared, found: Declaration) -> None:
    result.settings.append(found)
    for inner in found.block.blocks:
        if inner.type in {"backend", "cloud"}:
            subject = found.origin.range(inner.start, inner.start + len(inner.type))
            told = f'The block "{inner.type}" is left aside: kplan keeps its state itself.'
            result.diagnostics.append(warning("KP195", subject, told))


def _keep_state(result: Declared, found: Declaration) -> None:
    if result.states:
        first = result.states[0].place
        told = f"There is another state block, at {first}; a configuration has one state."
        related = (("declared first", first),)
        result.diagnostics.append(error("KP128", found.place, told, related=related))
    result.states.append(found)


def _keep_policy(result: Declared, found: Declaration) -> None:
    _keep_once(result, result.policies, found)


def _keep_policy_settings(result: Declared, found: Declaration) -> None:
    if result.policy_settings:
        first = result.policy_settings[0].place
        told = f"There is another policies block, at {first}."
        related = (("declared first", first),)
        result.diagnostics.append(error("KP128", found.place, told, related=related))
    result.policy_settings.append(found)


def _keep_refactoring(result: Declared, found: Declaration) -> None:
    result.refactorings.append(found)


_KEEP: Mapping[str, Callable[[Declared, Declaration], None]] = {
    "variable": _keep_variable,
    "locals": _keep_locals,
    "output": _keep_output,
    "check": _keep_check,
    "module": _keep_module,
    "provider": _keep_provider,
    "terraform": _keep_settings,
    "state": _keep_state,
    "moved": _keep_refactoring,
    "removed": _keep_refactoring,
    "import": _keep_refactoring,
    "policy": _keep_policy,
    "policies": _keep_policy_settings,
}


def _resource(
    result: Declared, found: Declaration, kinds: Sequence[str], foreign: list[Declaration]
) -> None:
    is_data = found.block.type == "data"
    into, kinds = (result.data, [*DATA_SHAPES]) if is_data else (result.resources, kinds)
    problems = list(label_problems(found.block, found.origin, Shape(labels=2)))
    if problems:
        result.has_lost = True
        result.diagnostics.extend(() if found.is_broken else problems)
        return
    kind, label = found.block.labels[0].text, found.block.labels[1]
    result.diagnostics.extend(_name_problems(found, label))
    first = into.setdefault((kind, label.text), found)
    if first is not found:
        what = ".".join(_kind_and_name(found))
        told = f"The {found.block.type} {what} has been declared already, at {first.place}."
        related = (("declared first", first.place),)
        result.diagnostics.append(error("KP190", found.place, told, related=related))
    if kind not in kinds:
        foreign.append(found)


def _unknown_types(found: list[Declaration]) -> Diagnostic:
    names = sorted({each.block.type for each in found})
    first = found[0]
    subject = first.origin.range(first.block.start, first.block.start + len(first.block.type))
    told = f"kplan does not know blocks of type {_listed(names)}."
    related = tuple((each.block.type, each.place) for each in found[1:])
    return error("KP120", subject, told, hint=_first_meant(names, _TOP_LEVEL), related=related)


def _first_meant(names: Sequence[str], known: Iterable[str]) -> str:
    """Suggest what one of the names may mean."""
    hints = ((name, meant(name, known)) for name in names)
    return next((f"{name}: {hint}" for name, hint in hints if hint), "")


def _foreign_types(found: list[Declaration], kinds: Sequence[str]) -> Diagnostic:
    labels = [each.block.labels for each in found]
    names = [".".join(_kind_and_name(each)) for each in found]
    first = found[0]
    subject = first.origin.range(labels[0][0].start, labels[0][0].end)
    hint = _first_meant([kind.text for kind, _ in labels], kinds) or _LEFT_OUT
    told = f"kplan manages {_listed(sorted(kinds))}, but not {_listed(names)}."
    related = tuple((name, each.place) for name, each in zip(names[1:], found[1:], strict=True))
    return error("KP126", subject, told, hint=hint, related=related)


_LEFT_OUT = "To plan without resources of other providers, add -skip-foreign."


def _listed(names: Sequence[str]) -> str:
    quoted = list(names)
    if len(quoted) == 1:
        return quoted[0]
    return f"{', '.join(quoted[:-1])} and {quoted[-1]}"
