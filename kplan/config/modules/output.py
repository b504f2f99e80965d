"""Outputs of the root module."""

from dataclasses import field

from kplan.config.diagnostic import EvaluationError, error
from kplan.config.modules.module import Module
from kplan.config.modules.result_cache import ResultCache
from kplan.config.values.json_value import Json, to_json_value
from kplan.config.values.sensitive import bare, has_sensitive
from kplan.config.values.types import type_of
from kplan.config.values.value import (
    AnyType,
    ListType,
    MapType,
    ObjectType,
    PrimitiveType,
    SetType,
    TupleType,
    Type,
)
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import SourceRange


@dataclass(frozen=True, slots=True)
class Output:
    """One output: its value as plain JSON-able data, and its type as Terraform's JSON writes it."""

    name: str
    value: Json = field(repr=False)
    type: Json
    sensitive: bool
    declared_at: SourceRange


def evaluate_outputs(module: Module, ledger: ResultCache) -> tuple[Output, ...]:
    """Return the outputs that have a value, by name; secrets in one not marked are a problem."""
    found: list[Output] = []
    for name in sorted(module.declarations.outputs):
        declaration = module.declarations.outputs[name]
        try:
            value = module.output(name)
            is_sensitive = module.is_sensitive_output(name)
        except EvaluationError:
            continue
        if has_sensitive(value) and not is_sensitive:
            if _is_reported(declaration.value_range("value"), ledger):
                continue
            told = f'The output "{name}" holds a sensitive value and is not marked sensitive.'
            hint = "Add sensitive = true, or use nonsensitive() if it is no secret."
            ledger.report([error("KP177", declaration.value_range("value"), told, hint=hint)])
            continue
        plain = bare(value)
        found.append(
            Output(
                name, to_json_value(plain), type_json(type_of(plain)), is_sensitive,
                declaration.declared_at,
            )
        )  # fmt: skip
    return tuple(found)


def _is_reported(place: SourceRange, ledger: ResultCache) -> bool:
    """Whether it was told already that an ephemeral value stands there."""
    return any(
        each.code == "KP148"
        and each.subject is not None
        and each.subject.file == place.file
        and place.line <= each.subject.line <= place.end_line
        for each in ledger.diagnostics
    )


def type_json(of: Type) -> Json:
    """Write a type as in Terraform's JSON: `"string"`, `["map", "number"]`, `["object", {...}]`."""
    match of:
        case PrimitiveType():
            return of.name
        case AnyType():
            return "dynamic"
        case ListType():
            return ["list", type_json(of.element)]
        case SetType():
            return ["set", type_json(of.element)]
        case MapType():
            return ["map", type_json(of.element)]
        case TupleType():
            return ["tuple", [type_json(each) for each in of.elements]]
        case ObjectType():
            return [
                "object",
                {name: type_json(of.attributes[name]) for name in sorted(of.attributes)},
            ]
