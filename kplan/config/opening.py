"""Reading a folder and its inputs, up to where evaluation begins."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kplan.config.declared import declared
from kplan.config.files import read_folder
from kplan.config.functions.access import FileAccess
from kplan.config.functions.host import FilesOnly
from kplan.config.functions.registry import FUNCTIONS
from kplan.config.given import given_values
from kplan.config.inputs import Inputs
from kplan.config.ledger import Ledger
from kplan.config.module import Module, Run
from kplan.kinds.base import ResourceKind


@dataclass(frozen=True, slots=True)
class Root:
    """The root module with what was read for it. Problems so far are in the run's ledger."""

    module: Module
    run: Run
    sources: Mapping[str, str] = field(repr=False)


def open_folder(folder: Path, inputs: Inputs, kinds: Sequence[ResourceKind]) -> Root:
    """Read and parse the files of a folder, and gather the values given to its variables."""
    files = read_folder(folder)
    names = [kind.name for kind in kinds]
    found = declared(files.items, names, has_lost=files.has_lost)
    ledger = Ledger([*files.diagnostics, *found.diagnostics])
    host = FilesOnly(FileAccess(folder))
    given, variable_files = given_values(folder, inputs, found.variables, host)
    ledger.report(variable_files.diagnostics)
    constants = {
        "path": {"module": ".", "root": ".", "cwd": str(Path.cwd())},
        "terraform": {"workspace": inputs.workspace},
        "kplan": {"workspace": inputs.workspace},
    }
    run = Run({kind.name: kind for kind in kinds}, FUNCTIONS, host, ledger, constants)
    return Root(Module(run, found, (), given), run, {**files.sources, **variable_files.sources})
