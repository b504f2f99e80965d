"""Collect what the files of a folder declare, and part Kafka's resources from those of others."""

from collections.abc import Iterable, Iterator, Sequence

from kplan.config.declarations.body_schema import BLOCK_SCHEMAS, DATA_SCHEMAS, VALUE_TYPES
from kplan.config.declarations.declaration import (
    Declaration,
    KnownKinds,
    ModuleDeclarations,
    add_block,
    add_resource,
    kind_and_name,
)
from kplan.config.diagnostic import error, suggestion, warning
from kplan.config.syntax import tree as ast
from kplan.config.syntax.source import Origin
from kplan.model.diagnostic import Diagnostic

_OBJECT_TYPES = ("resource", "data", "ephemeral")
_BLOCK_TYPES = (*BLOCK_SCHEMAS, *_OBJECT_TYPES)


def collect_declarations(
    items: Iterable[ast.Item], known_kinds: KnownKinds, *, has_lost: bool
) -> ModuleDeclarations:
    """Sort the items of a folder, in the order of its files, by what they declare."""
    result = ModuleDeclarations(is_incomplete=has_lost)
    unknown: list[Declaration] = []
    foreign: list[Declaration] = []
    for item in items:
        if isinstance(item.content, ast.Attribute):
            result.diagnostics.append(_stray_argument_error(item.origin, item.content))
            continue
        block = item.content
        names = {each.name: each for each in block.attributes}
        name = block.labels[0].text if block.labels else ""
        found = Declaration(name, item.origin, block, names, item.is_broken)
        if block.type in _OBJECT_TYPES:
            add_resource(result, found, known_kinds.kinds, foreign)
        elif block.type == "check" and _has_foreign_data(block):
            detail = f"The check {name} reads data of another provider, and is left out."
            result.diagnostics.append(warning("KP126", found.declared_at, detail))
        elif block.type in BLOCK_SCHEMAS:
            add_block(result, found)
        else:
            unknown.append(found)
    if unknown:
        result.diagnostics.append(_unknown_types_error(unknown))
    _sort_foreign(result, foreign, known_kinds)
    return result


def _sort_foreign(
    result: ModuleDeclarations, foreign: list[Declaration], known_kinds: KnownKinds
) -> None:
    """Leave resources of other providers out; one that may be a misspelt kind is an error."""
    values = [each for each in foreign if kind_and_name(each)[0] in VALUE_TYPES]
    others = [each for each in foreign if kind_and_name(each)[0] not in VALUE_TYPES]
    for each in values:
        result.skipped.add(kind_and_name(each))
        if not known_kinds.skips_foreign:
            result.diagnostics.extend(_provisioner_problems(each))
    providers = _named_providers(result)
    left_out = [
        each
        for each in others
        if known_kinds.skips_foreign or _is_of_other_provider(each, providers, known_kinds.kinds)
    ]
    if left_out:
        result.skipped.update(kind_and_name(each) for each in left_out)
        result.diagnostics.append(_skipped_warning(left_out))
    for each in () if left_out else result.other_providers:
        detail = f'The provider "{each.name}" is left aside: kplan talks to Kafka only.'
        result.diagnostics.append(warning("KP195", each.declared_at, detail))
    if unknown := [each for each in others if each not in left_out]:
        result.diagnostics.append(_foreign_types_error(unknown, known_kinds.kinds))


def _has_foreign_data(block: ast.Block) -> bool:
    return any(
        inner.type == "data" and inner.labels and inner.labels[0].text not in DATA_SCHEMAS
        for inner in block.blocks
    )


def _named_providers(declared: ModuleDeclarations) -> set[str]:
    """Name the providers that the `terraform` blocks require."""
    return {each.name for each in declared.other_providers} | {
        attribute.name
        for found in declared.terraform_blocks
        for inner in found.block.blocks
        if inner.type == "required_providers"
        for attribute in inner.attributes
    }


def _is_of_other_provider(
    declaration: Declaration, providers: set[str], kinds: Sequence[str]
) -> bool:
    """Whether a type is of another provider for sure, and no misspelt kind of kplan."""
    kind = declaration.block.labels[0].text
    provider = kind.partition("_")[0]
    if kind in CONVERTIBLE_TYPES or provider == "kafka":
        return False
    if declaration.block.type == "ephemeral":
        return True
    known = [*DATA_SCHEMAS] if declaration.block.type == "data" else kinds
    return provider in providers | _OTHER_PROVIDERS or not suggestion(kind, known)


def _provisioner_problems(declaration: Declaration) -> Iterator[Diagnostic]:
    """Refuse a block of values that runs programs: kplan runs none."""
    for inner in declaration.block.blocks:
        if inner.type in {"provisioner", "connection"}:
            subject = declaration.origin.range(inner.start, inner.start + len(inner.type))
            detail = f'kplan does not run a "{inner.type}" block.'
            hint = "Apply this block with Terraform and add -skip-foreign, or run it in a script."
            yield error("KP344", subject, detail, hint=hint)


def _skipped_warning(found: list[Declaration]) -> Diagnostic:
    kinds = sorted({kind_and_name(each)[0] for each in found})
    count = "1 resource" if len(found) == 1 else f"{len(found)} resources"
    detail = f"{count} of other providers left out: {_join_names(kinds)}."
    return warning("KP126", found[0].declared_at, detail)


def _stray_argument_error(origin: Origin, attribute: ast.Attribute) -> Diagnostic:
    subject = origin.range(attribute.start, attribute.name_end)
    detail = f'An argument named "{attribute.name}" is not expected outside of any block.'
    return error("KP121", subject, detail, hint="Values that others use go into a locals block.")


def _unknown_types_error(found: list[Declaration]) -> Diagnostic:
    names = sorted({each.block.type for each in found})
    first = found[0]
    subject = first.origin.range(first.block.start, first.block.start + len(first.block.type))
    detail = f"kplan does not know blocks of type {_join_names(names)}."
    related = tuple((each.block.type, each.declared_at) for each in found[1:])
    return error(
        "KP120", subject, detail, hint=_first_suggestion(names, _BLOCK_TYPES), related=related
    )


def _first_suggestion(names: Sequence[str], known: Iterable[str]) -> str:
    """Suggest what one of the names may mean."""
    hints = ((name, suggestion(name, known)) for name in names)
    return next((f"{name}: {hint}" for name, hint in hints if hint), "")


def _foreign_types_error(found: list[Declaration], kinds: Sequence[str]) -> Diagnostic:
    labels = [each.block.labels for each in found]
    names = [".".join(kind_and_name(each)) for each in found]
    first = found[0]
    subject = first.origin.range(labels[0][0].start, labels[0][0].end)
    types = [kind.text for kind, _ in labels]
    hint = _first_suggestion(types, kinds) or _SKIP_HINT
    if any(each.block.type == "ephemeral" for each in found):
        hint = _NO_EPHEMERAL_HINT
    if _COMPOSITE_QUOTA in types:
        hint = _COMPOSITE_HINT
    if not CONVERTIBLE_TYPES.isdisjoint(types):
        hint = "kplan convert writes it as kafka_topic or kafka_acl: kplan convert -out=FILE *.tf"
    managed = _join_names(sorted(kinds)) if kinds else "no resource here"
    detail = f"kplan manages {managed}, but not {_join_names(names)}."
    related = tuple(
        (name, each.declared_at) for name, each in zip(names[1:], found[1:], strict=True)
    )
    return error("KP126", subject, detail, hint=hint, related=related)


CONVERTIBLE_TYPES = frozenset(
    (
        "aiven_kafka_acl",
        "aiven_kafka_native_acl",
        "aiven_kafka_topic",
        "confluent_kafka_acl",
        "confluent_kafka_topic",
    )
)
"""Resources of other providers that `kplan convert` reads."""

_OTHER_PROVIDERS = frozenset({"aiven", "aws", "azurerm", "confluent", "google", "kafka-connect"})
"""Providers with types that are named much like kinds of kplan, such as `aiven_kafka_connector`."""

_COMPOSITE_QUOTA = "kafka_quota_composite"
_COMPOSITE_HINT = (
    'kafka_quota sets the same limits: entity_type = "user", the user in entity_name (without it '
    'the default user) and the client id in client_id ("<default>" for the default one).'
)
_NO_EPHEMERAL_HINT = "kplan has no ephemeral resources. Variables may be ephemeral."
_SKIP_HINT = "To plan without resources of other providers, add -skip-foreign."


def _join_names(names: Sequence[str]) -> str:
    quoted = list(names)
    if len(quoted) == 1:
        return quoted[0]
    return f"{', '.join(quoted[:-1])} and {quoted[-1]}"
