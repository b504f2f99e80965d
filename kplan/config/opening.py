"""Reading a folder and its inputs, up to where evaluation begins."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from kplan.config.data import Reader
from kplan.config.declared import Known
from kplan.config.evaluation.scope import Rounds
from kplan.config.functions.access import OWN_FOLDERS, FileAccess
from kplan.config.functions.registry import FUNCTIONS
from kplan.config.given import given_values
from kplan.config.inputs import Inputs
from kplan.config.ledger import Ledger
from kplan.config.library import Library
from kplan.config.module import Module, Place, Run
from kplan.config.size import Sizes
from kplan.config.templating import TemplateHost
from kplan.config.variables import Given
from kplan.kinds.base import ResourceKind
from kplan.model.diagnostic import Diagnostic


@dataclass(frozen=True, slots=True)
class Root:
    """The root module with what was read for it.

    `given` are the values of its variables. `problems` are those of reading; they are in the run's
    ledger too, where those of evaluation join them.
    """

    module: Module
    run: Run
    given: Mapping[str, Given] = field(repr=False)
    problems: tuple[Diagnostic, ...]
    _variable_files: Mapping[str, str] = field(repr=False)

    @property
    def sources(self) -> Mapping[str, str]:
        """Text of every file read so far, by the name it is shown under."""
        return {**self.run.library.sources, **self._variable_files}

    def reading(self, reader: Reader) -> "Root":
        """Give the same, with clusters to read data sources from."""
        return replace(self, run=replace(self.run, reader=reader)).anew()

    def anew(self, given: Mapping[str, Given] | None = None) -> "Root":
        """Give the same with nothing worked out yet; `given` replaces values of the same name."""
        run = replace(self.run, ledger=Ledger(list(self.problems)))
        values = {**self.given, **(given or {})}
        module = Module(run, self.module.declared, Place(), values)
        return Root(module, run, values, self.problems, self._variable_files)


def open_folder(
    folder: Path, inputs: Inputs, kinds: Sequence[ResourceKind], shown: str = ""
) -> Root:
    """Read and parse the files of a folder, and gather the values given to its variables.

    `shown` stands before the names of its files in messages, where it is not the folder at work.
    """
    known = Known(tuple(kind.name for kind in kinds), inputs.skips_foreign)
    library = Library(folder, known, shown)
    return open_library(library, inputs, kinds)


def open_library(library: Library, inputs: Inputs, kinds: Sequence[ResourceKind]) -> Root:
    """Begin with the root folder of a library."""
    folder, found = library.root, library.folder(".")
    ledger = Ledger(list(found.diagnostics))
    rounds = Rounds()
    host = TemplateHost(FileAccess(folder, own_folders()), FUNCTIONS, rounds=rounds)
    given, files = given_values(folder, inputs, found.variables, host)
    ledger.report(files.diagnostics)
    run = Run(
        kinds={kind.name: kind for kind in kinds},
        functions=FUNCTIONS,
        host=host,
        ledger=ledger,
        library=library,
        sizes=Sizes(),
        rounds=rounds,
        cwd=str(Path.cwd()),
        workspace=inputs.workspace,
    )
    module = Module(run, found, Place(), given)
    return Root(module, run, given, tuple(ledger.diagnostics), files.sources)


def own_folders() -> tuple[Path, ...]:
    """List the folders of kplan itself where it was started, if not in the configuration."""
    return tuple(Path.cwd() / name for name in OWN_FOLDERS)
