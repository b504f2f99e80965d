"""`provider "kafka"` blocks of the root module, evaluated."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path

from kplan.config.diagnostic import EvaluationError, error
from kplan.config.evaluation.evaluate import evaluate
from kplan.config.evaluation.scope import Scope
from kplan.config.modules.connection import ProviderBlock
from kplan.config.modules.foreign import left_out_argument
from kplan.config.modules.module import Module
from kplan.config.modules.result_cache import ResultCache
from kplan.config.values.sensitive import bare, has_sensitive
from kplan.config.values.value_text import to_json_value
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Diagnostic, SourceRange, has_errors

_META_ARGUMENTS = frozenset({"alias", "for_each"})


@dataclass(frozen=True, slots=True)
class Provider:
    """One connection: a `provider "kafka"` block, or an instance of one with for_each, evaluated.

    `key` is what resources name it by, "" for the block without alias; `sensitive` names arguments
    never to be shown. Relative paths of a trusted one start in its own `folder`.
    """

    key: str
    arguments: Mapping[str, object] = field(repr=False)
    ranges: Mapping[str, SourceRange]
    sensitive: frozenset[str]
    declared_at: SourceRange
    folder: Path | None = None


def evaluate_providers(module: Module, results: ResultCache) -> tuple[Provider, ...]:
    """Evaluate the provider blocks of the root module; an argument that fails is left out."""
    blocks = module.provider_blocks()
    results.report(_duplicate_aliases(blocks))
    return tuple(
        _evaluate_provider(
            block,
            block.key(instance),
            module.scope(block.declaration.origin, each),
            results,
        )
        for block in blocks
        for instance, each in (block.instances or {}).items()
    )


def _evaluate_provider(
    block: ProviderBlock, key: str, scope: Scope, results: ResultCache
) -> Provider:
    arguments: dict[str, object] = {}
    sensitive: set[str] = set()
    for name, attribute in block.declaration.arguments.items():
        if name in _META_ARGUMENTS:
            continue
        try:
            value = evaluate(attribute.value, scope)
        except EvaluationError as failure:
            if failure.is_unknown:
                results.report(
                    [left_out_argument(block.declaration, name, failure.diagnostics[0].hint)]
                )
                continue
            results.report(failure.diagnostics or _data_source_error(block, name, results))
            continue
        if has_sensitive(value):
            sensitive.add(name)
        arguments[name] = to_json_value(bare(value))
    return Provider(
        key,
        arguments,
        {name: block.declaration.value_range(name) for name in arguments},
        frozenset(sensitive),
        block.declaration.declared_at,
    )


def _data_source_error(
    block: ProviderBlock, name: str, results: ResultCache
) -> Iterator[Diagnostic]:
    """Say that an argument waits for a cluster that nothing can be asked before it is known."""
    if not has_errors(results.diagnostics):
        detail = f'"{name}" depends on a data source, which is read over a connection itself.'
        yield error("KP167", block.declaration.value_range(name), detail, hint="Use a variable.")


def _duplicate_aliases(blocks: Sequence[ProviderBlock]) -> Iterator[Diagnostic]:
    first: dict[str, SourceRange] = {}
    for each in blocks:
        place = each.declaration.declared_at
        other = first.setdefault(each.alias, place)
        if other != place:
            what = f'alias "{each.alias}"' if each.alias else "no alias"
            detail = f'There is another provider "kafka" with {what}, at {other}.'
            hint = "Give each connection an alias = ...; one can be without."
            related = (("declared first", other),)
            yield error("KP128", place, detail, hint=hint, related=related)
