"""`fleet.hcl`: the clusters of a fleet, where its tables are kept, and the Spark that works.

Beside `cluster`, `store` and `spark` blocks it may have variables and local values, and the blocks
of `kplan/config/fleet_rules.py`.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import TypeVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from kplan.config.audit_block import read_audit_blocks
from kplan.config.declarations.body_schema import BodySchema, label_problems
from kplan.config.declarations.declaration import Declaration
from kplan.config.declarations.reference import block_reference_problems
from kplan.config.diagnostic import error
from kplan.config.evaluation.evaluate import deep_recursion, evaluate
from kplan.config.fleet_blocks import FleetFolder
from kplan.config.fleet_rules import read_fleet_rules
from kplan.config.inputs import Inputs
from kplan.config.modules.module import Module
from kplan.config.modules.provider import Provider
from kplan.config.modules.result_cache import ResultCache
from kplan.config.modules.root_module import open_root_module
from kplan.config.syntax import tree as ast
from kplan.config.values.sensitive import bare, has_sensitive
from kplan.config.values.value import Value, is_null
from kplan.config.values.value_text import to_json_value
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Diagnostic, SourceRange, sort_diagnostics
from kplan.model.file_url import escape_glob, is_url
from kplan.model.fleet import SECRET_SETTINGS, SPARK_ADDRESSES, FleetRules
from kplan.model.log_layout import AuditFiles

T = TypeVar("T")

STORE_FORMATS = ("parquet", "delta", "iceberg")
_CATALOG_FORMAT = "iceberg"
_CATALOG_NAME = re.compile(r"\w+([.]\w+)?")
_PROVIDER_SCHEMA = BodySchema(label_count=1, is_open=True)


@dataclass(frozen=True, slots=True)
class FleetCluster:
    """One cluster. Paths are as seen from where kplan was started.

    It is read through `provider`, or from the file `snapshot`. `configuration` is the folder that
    declares what should be there, `state` its state file, which counts whatever the configuration
    says where it `has_own_state`. `audit` are authorizer logs, `audit_files` those whose layout is
    named. Files have the time of `audit_time_zone`, UTC where that is empty.
    `super_users` and `allow_everyone` are what the brokers are set to (super.users,
    allow.everyone.if.no.acl.found); `allow_everyone` is None where the file says nothing.
    """

    name: str
    declared_at: SourceRange
    labels: Mapping[str, str] = field(default_factory=dict)
    provider: Provider | None = None
    configuration: Path | None = None
    state: Path | None = None
    has_own_state: bool = False
    snapshot: Path | None = None
    audit: tuple[str, ...] = ()
    audit_files: tuple[AuditFiles, ...] = ()
    audit_time_zone: str = ""
    deadline_s: float | None = None
    super_users: tuple[str, ...] = ()
    allow_everyone: bool | None = None

    @property
    def has_audit(self) -> bool:
        """Whether it has authorizer logs."""
        return bool(self.audit or self.audit_files)


@dataclass(frozen=True, slots=True)
class FleetConfiguration:
    """What a fleet file says. With errors among the diagnostics it is incomplete."""

    folder: Path
    clusters: tuple[FleetCluster, ...] = ()
    store: str = "fleet"
    store_format: str = STORE_FORMATS[0]
    store_catalog: str = ""
    spark_master: str = ""
    spark_remote: str = ""
    spark_conf: Mapping[str, str] = field(default_factory=dict, repr=False)
    rules: FleetRules = field(default_factory=FleetRules)
    diagnostics: tuple[Diagnostic, ...] = ()
    sources: Mapping[str, str] = field(default_factory=dict, repr=False)


def load_fleet(folder: Path, inputs: Inputs) -> FleetConfiguration:
    """Read and evaluate the fleet file of a folder. What a user can fix is in the diagnostics."""
    with deep_recursion():
        library = FleetFolder(folder)
        root = open_root_module(library, inputs, ())
        results, module = root.context.results, root.module
        module.evaluate_all()
        results.report(_duplicate_blocks(library.blocks))
        for each in library.blocks:
            results.report(block_reference_problems(each, module.declarations))
        reader = _ArgumentReader(module, results, folder)
        clusters = [reader.cluster(each) for each in library.blocks_of("cluster")]
        store, spark = library.single_block("store"), library.single_block("spark")
        path = reader.text(store, "path") if store else None
        form = reader.one_of(store, "format", STORE_FORMATS) if store else None
        return FleetConfiguration(
            folder,
            tuple(sorted(clusters, key=lambda each: each.name)),
            store=reader.place(path or "fleet"),
            store_format=form or STORE_FORMATS[0],
            store_catalog=reader.catalog(store, form) if store else "",
            spark_master=reader.text(spark, "master") or "" if spark else "",
            spark_remote=reader.text(spark, "remote") or "" if spark else "",
            spark_conf=reader.spark_conf(spark) if spark else {},
            rules=read_fleet_rules(library.blocks_of, reader, [each.name for each in clusters]),
            diagnostics=sort_diagnostics(results.diagnostics),
            sources=root.sources,
        )


def file_name_problems(clusters: Iterable[FleetCluster]) -> Iterator[Diagnostic]:
    """Report clusters whose names no file in a folder may have."""
    for each in clusters:
        name = each.name
        if not name or name.startswith(".") or "/" in name or "\0" in name:
            detail = f"Files cannot be named as clusters are: {name!r}."
            hint = "Rename the cluster, or select others with -cluster=NAME."
            yield error("KP139", each.declared_at, detail, hint=hint)


def load_trusted_fleet(ref: Path, inputs: Inputs) -> FleetConfiguration:
    """Read the fleet file of a trusted checkout, whose clusters are configured by this folder.

    Connections, states, logs, the store and Spark are those of the checkout.
    """
    found = load_fleet(ref, replace(inputs, trust=None))
    clusters = tuple(_configure_by_change(each, ref) for each in found.clusters)
    return replace(found, clusters=clusters)


def _configure_by_change(cluster: FleetCluster, ref: Path) -> FleetCluster:
    """Let a folder of the change configure a cluster, whose other paths are of the checkout."""
    folder, provider = cluster.configuration, cluster.provider
    return replace(
        cluster,
        configuration=folder and Path(os.path.relpath(folder, ref)),
        provider=provider and replace(provider, folder=ref),
    )


def _duplicate_blocks(blocks: list[Declaration]) -> Iterator[Diagnostic]:
    first: dict[tuple[str, str], Declaration] = {}
    for each in blocks:
        other = first.setdefault((each.block.type, each.name), each)
        if other is not each:
            what = " ".join(filter(None, (each.block.type, f'"{each.name}"' if each.name else "")))
            detail = f"There is another {what} block, at {other.declared_at}."
            related = (("declared first", other.declared_at),)
            yield error("KP128", each.declared_at, detail, related=related)


class _ArgumentReader:
    """Evaluates arguments and reports those of a wrong type."""

    def __init__(self, module: Module, results: ResultCache, folder: Path) -> None:
        self._module = module
        self._results = results
        self._folder = folder

    def cluster(self, declaration: Declaration) -> FleetCluster:
        """Read a `cluster` block."""
        blocks = [each for each in declaration.block.blocks if each.type == "provider"]
        if not blocks and "snapshot" not in declaration.arguments:
            detail = f'No connection is configured for cluster "{declaration.name}".'
            hint = 'Give it a provider "kafka" block, or snapshot = "FILE".'
            self._results.report([error("KP139", declaration.declared_at, detail, hint=hint)])
        unnamed, named = read_audit_blocks(self, declaration, self._pattern)
        configuration = self._path(declaration, "configuration")
        own_state = self._path(declaration, "state")
        usual = None if configuration is None else configuration / "state" / "kplan.json"
        return FleetCluster(
            declaration.name,
            declaration.declared_at,
            labels=self.string_map(declaration, "labels"),
            provider=self._provider(declaration, blocks[0]) if blocks else None,
            configuration=configuration,
            state=own_state or usual,
            has_own_state=own_state is not None,
            snapshot=self._path(declaration, "snapshot"),
            audit=(*map(self._pattern, self.strings(declaration, "audit")), *unnamed),
            audit_files=named,
            audit_time_zone=self._time_zone(declaration, "audit_time_zone"),
            deadline_s=self._seconds(declaration, "deadline_s"),
            super_users=tuple(self.strings(declaration, "super_users")),
            allow_everyone=self._value_of_type(
                declaration, "allow_everyone", bool, "true or false"
            ),
        )

    def text(self, declaration: Declaration, name: str) -> str | None:
        """Read a string; None where there is none."""
        return self._value_of_type(declaration, name, str, "a string")

    def string_map(self, declaration: Declaration, name: str) -> dict[str, str]:
        """Read a map of strings."""
        what = "a map of strings"
        given: dict[str, object] = self._value_of_type(declaration, name, dict, what) or {}
        self._check_scalars(declaration, name, given.values(), what)
        return {key: _value_text(value) for key, value in given.items()}

    def spark_conf(self, declaration: Declaration) -> dict[str, str]:
        """Read the settings of Spark; one has the names of those that are sensitive."""
        found, marked = self.string_map(declaration, "conf"), self._marked(declaration, "conf")
        for name in sorted(SPARK_ADDRESSES.keys() & found.keys()):
            detail, hint = f"conf cannot set {name}.", f'Use {SPARK_ADDRESSES[name]} = "URL".'
            where = declaration.value_range("conf")
            self._results.report([error("KP139", where, detail, hint=hint)])
        parts = marked if isinstance(marked, dict) else dict.fromkeys(found, marked)
        names = ",".join(name for name in found if has_sensitive(parts[name]))
        return {**found, SECRET_SETTINGS: names} if names else found

    def one_of(self, declaration: Declaration, name: str, choices: tuple[str, ...]) -> str | None:
        """Read a string that is one of a few words; None where there is none."""
        given = self.text(declaration, name)
        if given is not None and given not in choices:
            detail = f"The {name} is one of: {', '.join(choices)}."
            self._results.report([error("KP139", declaration.value_range(name), detail)])
        return given

    def catalog(self, declaration: Declaration, form: str | None) -> str:
        """Read the catalog of the tables, CATALOG or CATALOG.NAMESPACE; "" is none."""
        given = self.text(declaration, "catalog") or ""
        detail = ""
        if given and not _CATALOG_NAME.fullmatch(given):
            detail = "The catalog is CATALOG or CATALOG.NAMESPACE, as lake.kplan."
        elif given and form != _CATALOG_FORMAT:
            detail = f'A catalog needs format = "{_CATALOG_FORMAT}".'
        if detail:
            self._results.report([error("KP139", declaration.value_range("catalog"), detail)])
        return given

    def strings(self, declaration: Declaration, name: str) -> list[str]:
        """Read a list of strings."""
        what = "a list of strings"
        given: list[object] = self._value_of_type(declaration, name, list, what) or []
        self._check_scalars(declaration, name, given, what)
        return [_value_text(each) for each in given]

    def _check_scalars(
        self, declaration: Declaration, name: str, given: Iterable[object], what: str
    ) -> None:
        if not all(isinstance(each, str | int | float) for each in given):
            detail = f"{name} is {what}."
            self._results.report([error("KP139", declaration.value_range(name), detail)])

    def _path(self, declaration: Declaration, name: str) -> Path | None:
        given = self.text(declaration, name)
        return None if given is None else self._folder / given

    def _seconds(self, declaration: Declaration, name: str) -> float | None:
        value = self._value(declaration, name)
        if value is None:
            return None
        if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
            return float(value)
        detail = f"{name} is a number of seconds above 0."
        self._results.report([error("KP139", declaration.value_range(name), detail)])
        return None

    def _time_zone(self, declaration: Declaration, name: str) -> str:
        given = self.text(declaration, name) or ""
        try:
            return ZoneInfo(given).key if given else ""
        except (ZoneInfoNotFoundError, ValueError, OSError):
            detail = f"{name} is the name of a time zone, as Europe/Berlin."
            self._results.report([error("KP139", declaration.value_range(name), detail)])
            return ""

    def _value_of_type(
        self, declaration: Declaration, name: str, wanted: type[T], what: str
    ) -> T | None:
        value = self._value(declaration, name)
        if value is None or isinstance(value, wanted):
            return value
        detail = f"{name} is {what}."
        self._results.report([error("KP139", declaration.value_range(name), detail)])
        return None

    def _value(self, declaration: Declaration, name: str) -> object:
        value = self.evaluate(declaration, name)
        return None if value is None else to_json_value(value)

    def evaluate(self, declaration: Declaration, name: str) -> Value | None:
        """Read a value with all its digits; None where there is none."""
        return bare(self._marked(declaration, name))

    def _marked(self, declaration: Declaration, name: str) -> Value:
        if name not in declaration.arguments:
            return None
        given = declaration.arguments[name].value
        value = self._results.attempt(
            lambda: evaluate(given, self._module.scope(declaration.origin))
        )
        return None if is_null(value) else value

    def report(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Say what is wrong."""
        self._results.report(diagnostics)

    def _provider(self, declaration: Declaration, block: ast.Block) -> Provider:
        names = {each.name: each for each in block.attributes}
        inner = Declaration("kafka", declaration.origin, block, names)
        self._results.report(label_problems(block, declaration.origin, _PROVIDER_SCHEMA))
        values = {name: self._value(inner, name) for name in names}
        secret = frozenset(name for name in names if has_sensitive(self._marked(inner, name)))
        ranges = {name: inner.value_range(name) for name in names}
        return Provider("", values, ranges, secret, inner.declared_at)

    def place(self, name: str) -> str:
        """Name a place as Spark does, which may work elsewhere than where kplan was started."""
        return name if is_url(name) else str(self._folder.absolute() / name)

    def _pattern(self, name: str) -> str:
        """Name logs by a pattern; what the folder is called is none."""
        if is_url(name):
            return name
        return str(Path(escape_glob(str(self._folder.absolute())), name))


def _value_text(value: object) -> str:
    """Write a value of a map as configurations write it: true, not True."""
    return str(value).lower() if isinstance(value, bool) else str(value)
