"""`provider "kafka"` blocks: connections, as they are written."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from kplan.config.declared import Declaration
from kplan.config.evaluation.evaluate import evaluate
from kplan.config.evaluation.misuse import meant
from kplan.config.ledger import Ledger
from kplan.config.module import Module
from kplan.config.problem import Failure, error
from kplan.config.syntax import tree as ast
from kplan.config.values.jsonvalue import to_json_value
from kplan.config.values.sensitive import bare, has_sensitive
from kplan.model.diagnostic import Diagnostic
from kplan.model.source import SourceRange


@dataclass(frozen=True, slots=True)
class Provider:
    """One `provider "kafka"` block, evaluated. `sensitive` names arguments never to be shown."""

    alias: str | None
    arguments: Mapping[str, object] = field(repr=False)
    ranges: Mapping[str, SourceRange]
    sensitive: frozenset[str]


def providers(module: Module, ledger: Ledger, kinds: Collection[str]) -> tuple[Provider, ...]:
    """Evaluate the provider blocks of the root module; an argument that fails is left out.

    Resources of the kinds are held against them, those of others are told elsewhere.
    """
    found = [_provider(each, module, ledger) for each in module.declared.providers]
    ledger.report(_declared_twice(module.declared.providers, found))
    choosing = [
        each
        for (kind, _), each in module.declared.resources.items()
        if kind in kinds and "provider" in each.arguments
    ]
    ledger.report(_unknown_choices(choosing, {each.alias for each in found}))
    return tuple(found)


def _provider(found: Declaration, module: Module, ledger: Ledger) -> Provider:
    arguments: dict[str, object] = {}
    sensitive: set[str] = set()
    scope = module.scope(found.origin)
    for name, attribute in found.arguments.items():
        try:
            value = evaluate(attribute.value, scope)
        except Failure as failure:
            ledger.report(failure.diagnostics)
            continue
        if has_sensitive(value):
            sensitive.add(name)
        arguments[name] = to_json_value(bare(value))
    alias = arguments.pop("alias", None)
    return Provider(
        None if alias is None else str(alias),
        arguments,
        {name: found.value_range(name) for name in arguments},
        frozenset(sensitive),
    )


def _declared_twice(blocks: list[Declaration], found: list[Provider]) -> Iterator[Diagnostic]:
    first: dict[str | None, SourceRange] = {}
    for block, provider in zip(blocks, found, strict=True):
        other = first.setdefault(provider.alias, block.place)
        if other != block.place:
            what = f'alias "{provider.alias}"' if provider.alias else "no alias"
            told = f'There is another provider "kafka" with {what}, at {other}.'
            hint = "Tell the connections apart with alias = ...; one may have none."
            related = (("declared first", other),)
            yield error("KP128", block.place, told, hint=hint, related=related)


def _unknown_choices(choosing: list[Declaration], aliases: set[str | None]) -> Iterator[Diagnostic]:
    """Find resources whose `provider` argument names no connection that is declared."""
    for found in choosing:
        match found.arguments["provider"].value:
            case ast.GetAttr(target=ast.Name(_, _, "kafka"), name=alias) if alias in aliases:
                continue
            case ast.Name(_, _, "kafka"):
                continue
            case node:
                subject = found.origin.range(node.start, node.end)
                told = "This names no connection that is declared."
                known = [f"kafka.{each}" for each in aliases if each]
                hint = meant(found.origin.text(node.start, node.end), known)
                yield error("KP192", subject, told, hint=hint)
