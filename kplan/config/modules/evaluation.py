"""What the modules of one load share, and the place of each among them."""

from collections.abc import Callable, Mapping
from typing import Protocol

from kplan.config.declarations.file import ModuleFolders
from kplan.config.evaluation.scope import IterationLimit, NoNames, Scope
from kplan.config.foreign_values import NO_FOREIGN_VALUES, ForeignValues
from kplan.config.functions.function import Function, Host
from kplan.config.modules.connection import Connections
from kplan.config.modules.data_source import DataSourceReader
from kplan.config.modules.deferral import Deferral
from kplan.config.modules.result_cache import ResultCache, ResultName, SizeCounter
from kplan.config.packages.installed import InstalledModules
from kplan.config.syntax.source import Origin
from kplan.kinds.base import ResourceKind
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import SourceRange


@dataclass(frozen=True, slots=True)
class EvaluationContext:
    """What all modules of one load share.

    With a `deferral` data sources that depend on resources are not read, and are noted in it.
    """

    kinds: Mapping[str, ResourceKind]
    functions: Mapping[str, Function]
    host: Host
    results: ResultCache
    folders: ModuleFolders
    sizes: SizeCounter
    iterations: IterationLimit
    installed: InstalledModules
    cwd: str
    workspace: str
    reader: DataSourceReader | None = None
    foreign: ForeignValues = NO_FOREIGN_VALUES
    deferral: Deferral | None = None

    def constant_scope(self, origin: Origin) -> Scope:
        """Make the scope of an expression that may refer to nothing."""
        return Scope(NoNames(), origin, self.functions, self.host, {}, self.iterations)


@dataclass(frozen=True, slots=True)
class ModulePlace:
    """The position of a module: its path from the root module, and its folder.

    `callers` are the folders of the modules that lead here. `connections` are those that were
    handed on by the module that calls; the root module declares its own. `called_at` is the block
    of the call. `waits_for` are the addresses that calls around it depend on.
    """

    path: tuple[str, ...] = ()
    folder: str = "."
    callers: tuple[str, ...] = ()
    connections: Connections | None = None
    called_at: SourceRange | None = None
    waits_for: tuple[str, ...] = ()


class HasDeclaredAt(Protocol):
    """Something declared somewhere."""

    @property
    def declared_at(self) -> SourceRange:
        """Where."""
        ...


def result_name(label: Callable[[str], str], name: str, at: HasDeclaredAt) -> ResultName:
    """Return the name of a cached result and where it is declared."""
    return ResultName(label(name), at.declared_at)
