"""Connections that a block can use: `provider = kafka.west`, and `providers` of module calls."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from kplan.config.declarations.declaration import Declaration
from kplan.config.diagnostic import EvaluationError, OperandError, error, suggestion
from kplan.config.evaluation.evaluate import evaluate
from kplan.config.evaluation.scope import NO_REPETITION, Scope
from kplan.config.modules.instance import InstanceKey, Instances, evaluate_instances, find_instance
from kplan.config.modules.result_cache import ResultCache
from kplan.config.syntax import tree as ast
from kplan.config.values.sensitive import has_sensitive
from kplan.config.values.value import Value, is_null
from kplan.model.address import instance_key
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Diagnostic

PROVIDER = "kafka"
_SINGLE_INSTANCE: Instances = {None: NO_REPETITION}
_NAME = re.compile(r"[^\W\d][\w-]*").fullmatch


@dataclass(frozen=True, slots=True)
class Connections:
    """The connections that a module can name: for each alias, "" for none, keys by instance.

    None means instances that could not be computed, which has been reported.
    """

    by_alias: Mapping[str, Mapping[InstanceKey, str] | None]

    @property
    def default(self) -> str:
        """Key of the connection of blocks that choose none."""
        return (self.by_alias.get("") or {None: ""})[None]

    def connection_key(self, node: ast.Node, scope: Scope) -> str:
        """Return the key of the connection that is named.

        Raises:
            EvaluationError: there is no such connection.

        """
        alias, index = _parse_connection_name(node, scope)
        if alias not in self.by_alias:
            raise _connection_error(
                node, scope, "This names no connection that is declared.", self._names()
            )
        found = self.by_alias[alias]
        if found is None:
            raise EvaluationError
        if index is None:
            if None in found:
                return found[None]
            detail = f"{PROVIDER}.{alias} has for_each, so one of its instances must be chosen."
            raise _connection_error(
                node, scope, detail, (), f"For example {PROVIDER}.{alias}[each.key]"
            )
        try:
            return found[_find_key(found, evaluate(index, scope))]
        except OperandError as fault:
            raise _connection_error(
                node, scope, f"{PROVIDER}.{alias}: {fault.detail}", (), fault.hint
            ) from None

    @property
    def inheritable(self) -> "Connections":
        """What a called module can name without a word: the connection without alias."""
        return Connections({"": {None: self.default}})

    def _names(self) -> list[str]:
        return [f"{PROVIDER}.{alias}" if alias else PROVIDER for alias in self.by_alias]

    def for_module_call(self, declaration: Declaration, scope: Scope) -> "Connections":
        """Return the connections of a called module: the one without alias, and `providers`.

        Raises:
            EvaluationError: `providers` names something else.

        """
        by_alias = {**self.inheritable.by_alias}
        for inner, outer in _providers_argument(declaration, scope):
            alias, index = _parse_connection_name(inner, scope)
            if index is not None:
                detail = "A module is handed single connections, under names without a key."
                raise _connection_error(inner, scope, detail, ())
            by_alias[alias] = {None: self.connection_key(outer, scope)}
        return Connections(by_alias)


DEFAULT_CONNECTIONS = Connections({"": {None: ""}})
"""What blocks of the root module use that choose no connection."""


def _find_key(found: Mapping[InstanceKey, str], key: Value) -> InstanceKey:
    if has_sensitive(key):
        raise OperandError("KP192", "The key is sensitive, and connections are shown everywhere.")
    if None in found:
        raise OperandError("KP192", "It has no for_each, so it has no instances.")
    return find_instance(dict.fromkeys(found, NO_REPETITION), key)


def _providers_argument(
    declaration: Declaration, scope: Scope
) -> Sequence[tuple[ast.Node, ast.Node]]:
    node = declaration.arguments["providers"].value
    if isinstance(node, ast.Object):
        return node.items
    raise _connection_error(
        node, scope, "A map of connections is needed.", (), "As in { kafka = kafka.west }"
    )


def _parse_connection_name(node: ast.Node, scope: Scope) -> tuple[str, ast.Node | None]:
    """Read `kafka`, `kafka.ALIAS` or `kafka.ALIAS[KEY]`, bare or as text: alias and key."""
    match node:
        case ast.Name(name=name) if name == PROVIDER:
            return "", None
        case ast.GetAttr(target=ast.Name(name=name), name=alias) if name == PROVIDER:
            return alias, None
        case ast.Index(target=ast.GetAttr() as target, key=key):
            return _parse_connection_name(target, scope)[0], key
        case ast.Group(inner=inner):
            return _parse_connection_name(inner, scope)
        case ast.Literal(value=str() as text):
            name, _, alias = text.partition(".")
            if name == PROVIDER and "[" not in alias:
                return alias, None
        case _:
            pass
    detail = "This names no connection."
    hint = f"Write {PROVIDER}, {PROVIDER}.ALIAS or {PROVIDER}.ALIAS[KEY]."
    raise _connection_error(node, scope, detail, (), hint)


def _connection_error(
    node: ast.Node, scope: Scope, text: str, known: Sequence[str], hint: str = ""
) -> EvaluationError:
    written = scope.origin.text(node.start, node.end).strip('"')
    subject = scope.origin.range(node.start, node.end)
    return EvaluationError([error("KP192", subject, text, hint=hint or suggestion(written, known))])


# ---- provider blocks


@dataclass(frozen=True, slots=True)
class ProviderBlock:
    """A provider block with its alias, "" for none, and its instances, None where they failed."""

    declaration: Declaration
    alias: str
    instances: Instances | None

    def key(self, instance: InstanceKey) -> str:
        """Return the key of the connection of an instance."""
        return f"{self.alias}{instance_key(instance)}"


def evaluate_provider_block(
    declaration: Declaration, scope: Scope, results: ResultCache
) -> ProviderBlock:
    """Evaluate alias and instances of a provider block; problems go to the results."""
    alias = results.attempt(partial(_evaluate_alias, declaration, scope)) or ""
    return ProviderBlock(
        declaration,
        alias,
        results.attempt(partial(_evaluate_provider_instances, declaration, alias, scope)),
    )


def _evaluate_alias(declaration: Declaration, scope: Scope) -> str:
    if "alias" not in declaration.arguments:
        return ""
    value = evaluate(declaration.arguments["alias"].value, scope)
    if is_null(value):
        return ""
    if isinstance(value, str) and _NAME(value):
        return value
    detail = "An alias is a name: of letters, digits, underscores and dashes, a letter first."
    raise EvaluationError([error("KP124", declaration.value_range("alias"), detail)])


def _evaluate_provider_instances(declaration: Declaration, alias: str, scope: Scope) -> Instances:
    if "for_each" not in declaration.arguments:
        return _SINGLE_INSTANCE
    if not alias:
        detail = "Connections of for_each are chosen by alias and key, and this block has no alias."
        raise EvaluationError(
            [error("KP122", declaration.value_range("for_each"), detail, hint="Add alias = ...")]
        )
    return evaluate_instances(declaration, scope)


def root_connections(blocks: Sequence[ProviderBlock]) -> Connections:
    """Return the connections of the root module; the one without alias always exists."""
    by_alias: dict[str, Mapping[InstanceKey, str] | None] = {"": {None: ""}}
    for each in blocks:
        if each.alias and each.alias not in by_alias:
            keys = each.instances
            by_alias[each.alias] = None if keys is None else {key: each.key(key) for key in keys}
    return Connections(by_alias)


def misplaced_providers(blocks: Sequence[Declaration]) -> Iterator[Diagnostic]:
    """Find provider blocks in called modules that say more than under which name."""
    for each in blocks:
        if each.arguments.keys() - {"alias", "version"}:
            detail = "Connections are declared in the root module, where all of them can be seen."
            hint = "Declare it there, and hand it on: providers = { kafka = kafka.ALIAS }"
            yield error("KP120", each.declared_at, detail, hint=hint)
