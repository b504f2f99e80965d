"""The `cluster` block of a test file: what is on the cluster before the first run."""

from dataclasses import dataclass, replace

from kplan.config.connections import connections
from kplan.config.declared import Known, declared
from kplan.config.evaluation.evaluate import evaluate
from kplan.config.evaluation.scope import Scope
from kplan.config.ledger import Ledger
from kplan.config.load import declared_twice, resources_of
from kplan.config.module import Module, Place
from kplan.config.names import NoNames
from kplan.config.opening import Root
from kplan.config.problem import Failure, error
from kplan.config.room import room_to_work
from kplan.config.syntax import tree as ast
from kplan.config.testing.script import Fixture
from kplan.model.diagnostic import Diagnostic
from kplan.model.resource import Resource

DEFAULT_BROKERS = 3
MAX_BROKERS = 100


@dataclass(frozen=True, slots=True)
class Seeds:
    """The objects of a test cluster, the number of its brokers, and what is wrong with either."""

    resources: tuple[Resource, ...] = ()
    brokers: int = DEFAULT_BROKERS
    diagnostics: tuple[Diagnostic, ...] = ()


def seeds(root: Root, fixture: Fixture | None) -> Seeds:
    """Work out a fixture. Its resources see nothing of the configuration, only each other."""
    if fixture is None:
        return Seeds()
    kinds = root.run.kinds
    items = [ast.Item(fixture.origin, each) for each in fixture.resources]
    found = declared(items, Known(tuple(kinds)), has_lost=False)
    ledger = Ledger(list(found.diagnostics))
    with room_to_work():
        blocks = ledger.attempt(root.anew().module.provider_blocks) or ()
        place = Place(connections=connections(blocks))
        module = Module(replace(root.run, ledger=ledger), found, place, {})
        brokers = ledger.attempt(lambda: _brokers(root, fixture))
        module.work_out()
        resources = tuple(resources_of(module))
    ledger.report(declared_twice(resources, list(kinds.values())))
    return Seeds(resources, brokers or DEFAULT_BROKERS, tuple(ledger.diagnostics))


def _brokers(root: Root, fixture: Fixture) -> int:
    """Read how many brokers there are; raises `Failure` where that is no such number."""
    if fixture.brokers is None:
        return DEFAULT_BROKERS
    node, origin = fixture.brokers.value, fixture.origin
    found = evaluate(node, Scope(NoNames(), origin, root.run.functions, root.run.host, {}))
    if isinstance(found, int) and not isinstance(found, bool) and 1 <= found <= MAX_BROKERS:
        return found
    told = f"A cluster has a whole number of brokers from 1 to {MAX_BROKERS}."
    raise Failure([error("KP705", origin.range(node.start, node.end), told)])
