"""What a configuration says of objects that were there before it: moved, let go of, taken over."""

from dataclasses import dataclass

from kplan.model.address import Address
from kplan.model.resource import Identity
from kplan.model.source import SourceRange


@dataclass(frozen=True, slots=True)
class Import:
    """A live object, by its name on the cluster, to be owned at an address."""

    address: Address
    identity: Identity
    declared_at: SourceRange


@dataclass(frozen=True, slots=True)
class Refactorings:
    """All `moved`, `removed` and `import` blocks.

    `moved` holds pairs of old and new address: of a resource block, one of its instances, or a
    module. `removed` holds such addresses whose objects are let go of and stay on the cluster.
    """

    moved: tuple[tuple[str, str], ...] = ()
    removed: tuple[str, ...] = ()
    imports: tuple[Import, ...] = ()
