"""Where root module variables get values from: environment, variables files, command line."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from kplan.config.declarations.declaration import Declaration
from kplan.config.declarations.file import FolderFiles, is_file_to_read, read_text
from kplan.config.diagnostic import error, suggestion, warning
from kplan.config.evaluation.scope import NoNames, Scope
from kplan.config.functions.function import Host
from kplan.config.inputs import Inputs
from kplan.config.modules.variable import InputValue, takes_plain_text
from kplan.config.syntax import tree as ast
from kplan.config.syntax.parse import EXPRESSION_BASE, parse_expression, parse_file
from kplan.config.syntax.source import Origin, Source
from kplan.config.syntax.tree_walk import calls
from kplan.config.values.json_value import Json, from_json_value, json_loads
from kplan.config.values.number import clean_text
from kplan.model.diagnostic import Diagnostic, SourceRange

ENVIRONMENT_PREFIXES = ("TF_VAR_", "KPLAN_VAR_")


class _Collector:
    """Gathers values in order of precedence: what comes later replaces what came before."""

    def __init__(self, variables: Mapping[str, Declaration], host: Host) -> None:
        self.given: dict[str, InputValue] = {}
        self.sources: dict[str, str] = {}
        self.diagnostics: list[Diagnostic] = []
        self._variables = variables
        self._host = host

    def _scope(self, origin: Origin) -> Scope:
        return Scope(NoNames(), origin, {}, self._host, {})

    def add_environment(self, environ: Mapping[str, str]) -> None:
        """Take `TF_VAR_name`, then `KPLAN_VAR_name`; names that nobody declares are no mistake."""
        for prefix in ENVIRONMENT_PREFIXES:
            for key in sorted(environ):
                name = key.removeprefix(prefix)
                if key.startswith(prefix) and name in self._variables:
                    self._add_text(name, environ[key], key)

    def add_plan_values(self, values: Mapping[str, Json]) -> None:
        """Take the values that a plan was made with."""
        for name in sorted(values.keys() & self._variables.keys()):
            self.given[name] = InputValue("the saved plan", constant=from_json_value(values[name]))

    def add_option(self, name: str, raw: str, told: str) -> None:
        """Take one `-var`."""
        if name in self._variables:
            self._add_text(name, raw, told)
            return
        detail = f'{told} gives a value for "{name}", but no such variable is declared.'
        hint = suggestion(name, self._variables)
        self.diagnostics.append(error("KP174", None, detail, hint=hint))

    def _add_text(self, name: str, raw: str, told: str) -> None:
        if takes_plain_text(self._variables[name]):
            self.given[name] = InputValue(told, constant=clean_text(raw))
            return
        source = Source(told, raw, is_file=False)
        attribute, problems = parse_expression(source)
        self.diagnostics.extend(problems)
        if attribute is not None:
            scope = self._scope(Origin(source, EXPRESSION_BASE))
            self.given[name] = InputValue(told, (attribute.value, scope))

    def add_file(self, path: Path, told: str) -> None:
        """Take a variables file, HCL or JSON."""
        text = read_text(path, told)
        if isinstance(text, Diagnostic):
            self.diagnostics.append(text)
            return
        self.sources[told] = text
        if path.name.endswith(".json"):
            self._add_json(text, told)
        else:
            self._add_hcl(Source(told, text))

    def _add_hcl(self, source: Source) -> None:
        parsed = parse_file(source, is_body=True)
        self.diagnostics.extend(parsed.diagnostics)
        seen: dict[str, SourceRange] = {}
        for item in parsed.items:
            content, origin = item.content, item.origin
            if isinstance(content, ast.Block):
                subject = origin.range(content.start, content.start + len(content.type))
                told = "A variables file holds arguments only, no blocks."
                self.diagnostics.append(error("KP120", subject, told))
                continue
            place = origin.range(content.start, content.name_end)
            if content.name in seen:
                told = f'The variable "{content.name}" has been set already in this file.'
                related = (("set first", seen[content.name]),)
                self.diagnostics.append(error("KP113", place, told, related=related))
                continue
            seen[content.name] = place
            self._add_value(content, origin, place)

    def _add_value(self, content: ast.Attribute, origin: Origin, place: SourceRange) -> None:
        for call in calls(content.value):
            subject = origin.range(call.start, call.name_end)
            told = "A variables file holds constant values only, no function calls."
            self.diagnostics.append(error("KP180", subject, told))
            return
        if content.name not in self._variables:
            self._report_undeclared(content.name, place)
            return
        self.given[content.name] = InputValue(
            origin.source.name, (content.value, self._scope(origin))
        )

    def _report_undeclared(self, name: str, place: SourceRange) -> None:
        told = f'A value is given for "{name}", but no such variable is declared.'
        hint = suggestion(name, self._variables)
        self.diagnostics.append(warning("KP174", place, told, hint=hint))

    def _add_json(self, text: str, told: str) -> None:
        start = SourceRange(told, 1, 1, 1, 1)
        try:
            found = json_loads(text)
        except json.JSONDecodeError as fault:
            subject = SourceRange(told, fault.lineno, fault.colno, fault.lineno, fault.colno + 1)
            self.diagnostics.append(error("KP119", subject, f"{told} is no JSON: {fault.msg}."))
            return
        except (ValueError, RecursionError) as fault:
            self.diagnostics.append(error("KP119", start, f"{told} is no JSON: {fault}."))
            return
        if not isinstance(found, dict):
            detail = "A variables file in JSON is an object of variable names and values."
            self.diagnostics.append(error("KP119", start, detail))
            return
        for name, value in found.items():
            if name in self._variables:
                self.given[name] = InputValue(told, constant=value)
            else:
                self._report_undeclared(name, start)


def collect_input_values(
    folder: Path, inputs: Inputs, variables: Mapping[str, Declaration], host: Host
) -> tuple[Mapping[str, InputValue], FolderFiles]:
    """Gather the values given to the root module's variables, in Terraform's precedence."""
    collector = _Collector(variables, host)
    collector.add_environment(inputs.environ)
    for path, shown in _automatic_files(folder):
        collector.add_file(path, shown)
    collector.add_plan_values(inputs.values)
    for each in inputs.variables:
        if isinstance(each, Path):
            collector.add_file(each, str(each))
        else:
            collector.add_option(*each)
    files = FolderFiles(sources=collector.sources, diagnostics=tuple(collector.diagnostics))
    return collector.given, files


def variable_files(folder: Path, inputs: Inputs) -> Iterator[tuple[Path, str]]:
    """List the variables files, each with the name it is shown under."""
    yield from _automatic_files(folder)
    yield from ((each, str(each)) for each in inputs.variables if isinstance(each, Path))


def _automatic_files(folder: Path) -> Iterator[tuple[Path, str]]:
    for name in ("terraform.tfvars", "terraform.tfvars.json"):
        if (folder / name).is_file():
            yield folder / name, name
    if folder.is_dir():
        found = sorted(
            each
            for each in folder.iterdir()
            if each.name.endswith((".auto.tfvars", ".auto.tfvars.json")) and is_file_to_read(each)
        )
        yield from ((each, each.name) for each in found)
