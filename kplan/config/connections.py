"""Which connection a block uses: `provider = kafka.west`, handed on by module calls.

A connection has a key: "" for the provider block without alias, `west` for `alias = "west"`, and
`by_region["eu"]` for an instance of a provider block with for_each (OpenTofu's form).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from kplan.config.declared import Declaration
from kplan.config.evaluation.evaluate import evaluate
from kplan.config.evaluation.misuse import Misuse, meant
from kplan.config.evaluation.scope import Scope
from kplan.config.ledger import Ledger
from kplan.config.names import NO_REPETITION
from kplan.config.problem import Failure, error
from kplan.config.repetition import Instances, Key, chosen, instances
from kplan.config.syntax import tree as ast
from kplan.config.values.sensitive import has_sensitive
from kplan.config.values.value import Value, is_null
from kplan.model.address import instance_key
from kplan.model.diagnostic import Diagnostic

PROVIDER = "kafka"
_ALONE: Instances = {None: NO_REPETITION}
_NAME = re.compile(r"[^\W\d][\w-]*").fullmatch


@dataclass(frozen=True, slots=True)
class Connections:
    """The connections that a module can name: for each alias, "" for none, keys by instance.

    None stands for instances that could not be worked out, which has been told.
    """

    by_alias: Mapping[str, Mapping[Key, str] | None]

    @property
    def default(self) -> str:
        """Key of the connection of blocks that choose none."""
        return (self.by_alias.get("") or {None: ""})[None]

    def chosen(self, node: ast.Node, scope: Scope) -> str:
        """Give the key of the connection that is named.

        Raises:
            Failure: there is no such connection.

        """
        alias, index = _named(node, scope)
        if alias not in self.by_alias:
            raise _refusal(node, scope, "This names no connection that is declared.", self._names())
        found = self.by_alias[alias]
        if found is None:
            raise Failure
        if index is None:
            if None in found:
                return found[None]
            told = f"{PROVIDER}.{alias} has for_each, so one of its instances must be chosen."
            raise _refusal(node, scope, told, (), f"For example {PROVIDER}.{alias}[each.key]")
        try:
            return found[_instance(found, evaluate(index, scope))]
        except Misuse as fault:
            raise _refusal(
                node, scope, f"{PROVIDER}.{alias}: {fault.detail}", (), fault.hint
            ) from None

    @property
    def without_aliases(self) -> "Connections":
        """What a called module can name without a word: the connection without alias."""
        return Connections({"": {None: self.default}})

    def _names(self) -> list[str]:
        return [f"{PROVIDER}.{alias}" if alias else PROVIDER for alias in self.by_alias]

    def handed_on(self, found: Declaration, scope: Scope) -> "Connections":
        """Give what a called module can name: the connection without alias, and `providers`.

        Raises:
            Failure: `providers` names something else.

        """
        by_alias = {**self.without_aliases.by_alias}
        for inner, outer in _pairs(found, scope):
            alias, index = _named(inner, scope)
            if index is not None:
                told = "A module is handed single connections, under names without a key."
                raise _refusal(inner, scope, told, ())
            by_alias[alias] = {None: self.chosen(outer, scope)}
        return Connections(by_alias)


INHERITED = Connections({"": {None: ""}})
"""What blocks of the root module use that choose no connection."""


def _instance(found: Mapping[Key, str], key: Value) -> Key:
    if has_sensitive(key):
        raise Misuse("KP192", "The key is sensitive, and connections are shown everywhere.")
    if None in found:
        raise Misuse("KP192", "It has no for_each, so it has no instances.")
    return chosen(dict.fromkeys(found, NO_REPETITION), key)


def _pairs(found: Declaration, scope: Scope) -> Sequence[tuple[ast.Node, ast.Node]]:
    node = found.arguments["providers"].value
    if isinstance(node, ast.Object):
        return node.items
    raise _refusal(
        node, scope, "A map of connections is needed.", (), "As in { kafka = kafka.west }"
    )


def _named(node: ast.Node, scope: Scope) -> tuple[str, ast.Node | None]:
    """Read `kafka`, `kafka.ALIAS` or `kafka.ALIAS[KEY]`, bare or as text: alias and key."""
    match node:
        case ast.Name(name=name) if name == PROVIDER:
            return "", None
        case ast.GetAttr(target=ast.Name(name=name), name=alias) if name == PROVIDER:
            return alias, None
        case ast.Index(target=ast.GetAttr() as target, key=key):
            return _named(target, scope)[0], key
        case ast.Group(inner=inner):
            return _named(inner, scope)
        case ast.Literal(value=str() as text):
            name, _, alias = text.partition(".")
            if name == PROVIDER and "[" not in alias:
                return alias, None
        case _:
            pass
    told = "This names no connection."
    hint = f"Write {PROVIDER}, {PROVIDER}.ALIAS or {PROVIDER}.ALIAS[KEY]."
    raise _refusal(node, scope, told, (), hint)


def _refusal(
    node: ast.Node, scope: Scope, told: str, known: Sequence[str], hint: str = ""
) -> Failure:
    written = scope.origin.text(node.start, node.end).strip('"')
    subject = scope.origin.range(node.start, node.end)
    return Failure([error("KP192", subject, told, hint=hint or meant(written, known))])


# ---- provider blocks


@dataclass(frozen=True, slots=True)
class ProviderBlock:
    """A provider block with its alias, "" for none, and its instances, None where they failed."""

    found: Declaration
    alias: str
    instances: Instances | None

    def key(self, instance: Key) -> str:
        """Give the key of the connection of an instance."""
        return f"{self.alias}{instance_key(instance)}"


def provider_block(found: Declaration, scope: Scope, ledger: Ledger) -> ProviderBlock:
    """Work out alias and instances of a provider block; what is wrong ends up in the ledger."""
    alias = ledger.attempt(partial(_alias, found, scope)) or ""
    return ProviderBlock(found, alias, ledger.attempt(partial(_instances, found, alias, scope)))


def _alias(found: Declaration, scope: Scope) -> str:
    if "alias" not in found.arguments:
        return ""
    value = evaluate(found.arguments["alias"].value, scope)
    if is_null(value):
        return ""
    if isinstance(value, str) and _NAME(value):
        return value
    told = "An alias is a name: of letters, digits, underscores and dashes, a letter first."
    raise Failure([error("KP124", found.value_range("alias"), told)])


def _instances(found: Declaration, alias: str, scope: Scope) -> Instances:
    if "for_each" not in found.arguments:
        return _ALONE
    if not alias:
        told = "Connections of for_each are chosen by alias and key, and this block has no alias."
        raise Failure([error("KP122", found.value_range("for_each"), told, hint="Add alias = ...")])
    return instances(found, scope)


def connections(blocks: Sequence[ProviderBlock]) -> Connections:
    """Give the connections that the root module can name; the one without alias is always there."""
    by_alias: dict[str, Mapping[Key, str] | None] = {"": {None: ""}}
    for each in blocks:
        if each.alias and each.alias not in by_alias:
            keys = each.instances
            by_alias[each.alias] = None if keys is None else {key: each.key(key) for key in keys}
    return Connections(by_alias)


def misplaced(blocks: Sequence[Declaration]) -> Iterator[Diagnostic]:
    """Find provider blocks in called modules that say more than under which name."""
    for each in blocks:
        if each.arguments.keys() - {"alias", "version"}:
            told = "Connections are declared in the root module, where all of them can be seen."
            hint = "Declare it there, and hand it on: providers = { kafka = kafka.ALIAS }"
            yield error("KP120", each.place, told, hint=hint)
