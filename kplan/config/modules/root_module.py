"""The root module: open a folder with its inputs, ready for evaluation."""

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path

from kplan.config.declarations.declaration import KnownKinds
from kplan.config.declarations.module_folder import ModuleFolders
from kplan.config.evaluation.scope import IterationLimit
from kplan.config.evaluation.template_host import TemplateHost
from kplan.config.functions.file_access import OWN_FOLDERS, FileAccess
from kplan.config.functions.registry import FUNCTIONS
from kplan.config.inputs import Inputs
from kplan.config.modules.data_source import DataSourceReader
from kplan.config.modules.evaluation import EvaluationContext, ModulePlace
from kplan.config.modules.module import Module
from kplan.config.modules.result_cache import ResultCache, SizeCounter
from kplan.config.modules.variable import InputValue
from kplan.config.modules.variable_source import collect_input_values
from kplan.kinds.base import ResourceKind
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Diagnostic


@dataclass(frozen=True, slots=True)
class RootModule:
    """The root module with what was read for it.

    `given` are the values of its variables. `problems` are those of reading; they are in the run's
    ledger too, where those of evaluation join them.
    """

    module: Module
    context: EvaluationContext
    input_values: Mapping[str, InputValue] = field(repr=False)
    problems: tuple[Diagnostic, ...]
    _variable_files: Mapping[str, str] = field(repr=False)

    @property
    def sources(self) -> Mapping[str, str]:
        """Text of every file read so far, by the name it is shown under."""
        return {**self.context.folders.sources, **self._variable_files}

    def with_reader(self, reader: DataSourceReader) -> "RootModule":
        """Return the same, with clusters to read data sources from."""
        return replace(self, context=replace(self.context, reader=reader)).fresh_copy()

    def fresh_copy(self, given: Mapping[str, InputValue] | None = None) -> "RootModule":
        """Return the same with nothing worked out yet; `given` replaces values of the same name."""
        run = replace(self.context, results=ResultCache(list(self.problems)))
        values = {**self.input_values, **(given or {})}
        module = Module(run, self.module.declarations, ModulePlace(), values)
        return RootModule(module, run, values, self.problems, self._variable_files)


def open_folder(
    folder: Path, inputs: Inputs, kinds: Sequence[ResourceKind], shown: str = ""
) -> RootModule:
    """Read and parse the files of a folder, and gather the values given to its variables.

    `shown` stands before the names of its files in messages, where it is not the folder at work.
    """
    known = KnownKinds(tuple(kind.name for kind in kinds), inputs.skips_foreign)
    library = ModuleFolders(folder, known, shown)
    return open_root_module(library, inputs, kinds)


def open_root_module(
    library: ModuleFolders, inputs: Inputs, kinds: Sequence[ResourceKind]
) -> RootModule:
    """Begin with the root folder of a library."""
    folder, found = library.root, library.declarations(".")
    ledger = ResultCache(list(found.diagnostics))
    rounds = IterationLimit()
    host = TemplateHost(FileAccess(folder, kplan_folders()), FUNCTIONS, iterations=rounds)
    given, files = collect_input_values(folder, inputs, found.variables, host)
    ledger.report(files.diagnostics)
    run = EvaluationContext(
        kinds={kind.name: kind for kind in kinds},
        functions=FUNCTIONS,
        host=host,
        results=ledger,
        folders=library,
        sizes=SizeCounter(),
        iterations=rounds,
        cwd=str(Path.cwd()),
        workspace=inputs.workspace,
    )
    module = Module(run, found, ModulePlace(), given)
    return RootModule(module, run, given, tuple(ledger.diagnostics), files.sources)


def kplan_folders() -> tuple[Path, ...]:
    """List the folders of kplan itself where it was started, if not in the configuration."""
    return tuple(Path.cwd() / name for name in OWN_FOLDERS)
