"""The root module: open a folder with its inputs, and its outputs."""

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path

from kplan.config.declarations.declaration import KnownKinds
from kplan.config.declarations.file import ModuleFolders
from kplan.config.diagnostic import EvaluationError, error
from kplan.config.evaluation.evaluate import TemplateHost
from kplan.config.evaluation.scope import IterationLimit
from kplan.config.functions.file_access import OWN_FOLDERS, FileAccess
from kplan.config.functions.registry import FUNCTIONS
from kplan.config.inputs import Inputs
from kplan.config.modules.data_source import DataSourceReader
from kplan.config.modules.deferral import Deferral
from kplan.config.modules.evaluation import EvaluationContext, ModulePlace
from kplan.config.modules.module import Module
from kplan.config.modules.result_cache import ResultCache, SizeCounter
from kplan.config.modules.variable import InputValue, collect_input_values
from kplan.config.packages.installed import InstalledModules
from kplan.config.values.sensitive import bare, has_sensitive
from kplan.config.values.value import (
    AnyType,
    ListType,
    MapType,
    ObjectType,
    PrimitiveType,
    SetType,
    TupleType,
    Type,
    type_of,
)
from kplan.config.values.value_text import Json, to_json_value
from kplan.kinds.base import ResourceKind
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Diagnostic, SourceRange


@dataclass(frozen=True, slots=True)
class RootModule:
    """The root module with its inputs.

    `given` are the values of its variables. `problems` are those of reading; they are in the run's
    results too, where those of evaluation join them.
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

    def with_reader(self, reader: DataSourceReader, *, defers: bool = False) -> "RootModule":
        """Return the same, with clusters to read data sources from.

        With `defers` those that depend on resources are left for later.
        """
        deferral = Deferral() if defers else None
        context = replace(self.context, reader=reader, deferral=deferral)
        return replace(self, context=context).fresh_copy()

    def fresh_copy(self, given: Mapping[str, InputValue] | None = None) -> "RootModule":
        """Return the same with nothing computed yet; `given` replaces values of the same name."""
        run = replace(self.context, results=ResultCache(list(self.problems)))
        values = {**self.input_values, **(given or {})}
        module = Module(run, self.module.declarations, ModulePlace(), values)
        return RootModule(module, run, values, self.problems, self._variable_files)


def open_folder(
    folder: Path, inputs: Inputs, kinds: Sequence[ResourceKind], shown: str = ""
) -> RootModule:
    """Read and parse the files of a folder, and gather the values given to its variables.

    `shown` is before the names of its files in messages, where it is not the folder at work.
    """
    known = KnownKinds(tuple(kind.name for kind in kinds), inputs.skips_foreign)
    within = inputs.trust.repository if inputs.trust else None
    library = ModuleFolders(folder, known, shown, within)
    return open_root_module(library, inputs, kinds)


def open_root_module(
    library: ModuleFolders, inputs: Inputs, kinds: Sequence[ResourceKind]
) -> RootModule:
    """Begin with the root folder of a library."""
    folder, found = library.root, library.declarations(".")
    results = ResultCache(list(found.diagnostics))
    rounds = IterationLimit()
    within = inputs.trust.repository if inputs.trust else None
    files = FileAccess(folder, kplan_folders(), within)
    host = TemplateHost(files, FUNCTIONS, iterations=rounds)
    given, value_files = collect_input_values(folder, inputs, found.variables, host)
    results.report(value_files.diagnostics)
    run = EvaluationContext(
        kinds={kind.name: kind for kind in kinds},
        functions=FUNCTIONS,
        host=host,
        results=results,
        folders=library,
        sizes=SizeCounter(),
        iterations=rounds,
        installed=InstalledModules(folder, inputs.environ.get("TF_DATA_DIR") or ".terraform"),
        cwd=str(Path.cwd()),
        workspace=inputs.workspace,
        foreign=inputs.foreign,
    )
    module = Module(run, found, ModulePlace(), given)
    return RootModule(module, run, given, tuple(results.diagnostics), value_files.sources)


def kplan_folders() -> tuple[Path, ...]:
    """List the folders of kplan itself where it was started, if not in the configuration."""
    return tuple(Path.cwd() / name for name in OWN_FOLDERS)


@dataclass(frozen=True, slots=True)
class Output:
    """One output: its value as plain JSON-able data, and its type as Terraform's JSON writes it."""

    name: str
    value: Json = field(repr=False)
    type: Json
    sensitive: bool
    declared_at: SourceRange


def evaluate_outputs(module: Module, results: ResultCache) -> tuple[Output, ...]:
    """Return the outputs that have a value, by name; sensitive values must be marked."""
    found: list[Output] = []
    for name in sorted(module.declarations.outputs):
        declaration = module.declarations.outputs[name]
        try:
            value = module.output(name)
            is_sensitive = module.is_sensitive_output(name)
        except EvaluationError:
            continue
        if has_sensitive(value) and not is_sensitive:
            if _is_reported(declaration.value_range("value"), results):
                continue
            detail = f'The output "{name}" holds a sensitive value and is not marked sensitive.'
            hint = "Add sensitive = true, or use nonsensitive() if it is not secret."
            results.report([error("KP177", declaration.declared_at, detail, hint=hint)])
            continue
        plain = bare(value)
        found.append(
            Output(
                name, to_json_value(plain), type_json(type_of(plain)), is_sensitive,
                declaration.declared_at,
            )
        )  # fmt: skip
    return tuple(found)


def _is_reported(place: SourceRange, results: ResultCache) -> bool:
    """Whether it was reported already that an ephemeral value is there."""
    return any(
        each.code == "KP148"
        and each.subject is not None
        and each.subject.file == place.file
        and place.line <= each.subject.line <= place.end_line
        for each in results.diagnostics
    )


def type_json(of: Type) -> Json:
    """Write a type as in Terraform's JSON: `"string"`, `["map", "number"]`, `["object", {...}]`."""
    match of:
        case PrimitiveType():
            return of.value
        case AnyType():
            return "dynamic"
        case ListType():
            return ["list", type_json(of.element)]
        case SetType():
            return ["set", type_json(of.element)]
        case MapType():
            return ["map", type_json(of.element)]
        case TupleType():
            return ["tuple", [type_json(each) for each in of.elements]]
        case ObjectType():
            return [
                "object",
                {name: type_json(of.attributes[name]) for name in sorted(of.attributes)},
            ]
