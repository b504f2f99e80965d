"""Gathering connection settings from wherever they may stand; nothing is understood yet."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import IntEnum
from pathlib import Path
from typing import Protocol

from kplan.kafka.codes import SUMMARIES
from kplan.kafka.keys import (
    ARGUMENTS,
    COMMAND_CONFIG,
    KEYS,
    LIBRDKAFKA,
    OWN_PREFIXES,
    REFUSED,
    SILENT_PREFIXES,
    UNUSED,
    VARIABLES,
    Setting,
)
from kplan.kafka.pem import NotPem, pem_text
from kplan.kafka.properties import properties
from kplan.model.diagnostic import Diagnostic, Severity
from kplan.model.source import SourceRange


class ProviderBlock(Protocol):
    """An evaluated `provider "kafka"` block."""

    @property
    def arguments(self) -> Mapping[str, object]:
        """Its arguments by name."""
        ...

    @property
    def ranges(self) -> Mapping[str, SourceRange]:
        """Where each argument stands."""
        ...


class Rank(IntEnum):
    """Where a setting was given; the lowest wins."""

    OPTION = 0
    ARGUMENT = 1
    CONFIG = 2
    FILE = 3
    OWN_VARIABLE = 4
    PROVIDER_VARIABLE = 5


@dataclass(frozen=True, slots=True)
class Given:
    """A setting as somebody gave it. Relative paths in it start in `folder`."""

    name: str
    value: object = field(repr=False)
    rank: Rank
    folder: Path = Path()
    subject: SourceRange | None = None

    @property
    def text(self) -> str:
        """The value as it would stand in a file."""
        return str(self.value).lower() if isinstance(self.value, bool) else str(self.value)


_FLAGS = {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}


@dataclass(slots=True)
class Gathered:
    """All settings by what they stand for, best first; and what was wrong with their names."""

    settings: dict[Setting, list[Given]] = field(default_factory=dict)
    librdkafka: dict[str, Given] = field(default_factory=dict)
    diagnostics: list[Diagnostic] = field(default_factory=list)

    def nearest(self, *settings: Setting) -> tuple[Setting, Given] | None:
        """Give the one with the best rank among settings that say the same in other words."""
        given = [(each, self.settings[each][0]) for each in settings if each in self.settings]
        return min(given, key=lambda pair: pair[1].rank) if given else None

    def keep(self, setting: Setting, given: Given) -> None:
        """Take a setting; an empty one counts as not given, as in Terraform's provider.

        Only that no host names are checked is said by an empty value in Java.
        """
        is_empty = given.value is None or given.value in ("", [], ())
        if not is_empty or (setting is Setting.HOST_CHECK and given.value == ""):
            self.settings.setdefault(setting, []).append(given)

    def pem(self, given: Given) -> str:
        """Read what is PEM text or the path of a file with it; "" with a problem noted."""
        try:
            return pem_text(given.text, given.folder)
        except NotPem as failure:
            self.report("KP304", given, f"{given.name}: {failure}", failure.hint)
            return ""

    def flag(self, given: Given) -> bool:
        """Read a yes or no; no with a problem noted."""
        value = _FLAGS.get(given.text.lower())
        if value is None:
            self.report("KP302", given, f'"{given.name}" is true or false.')
        return bool(value)

    def report(self, code: str, given: Given | None, detail: str, hint: str = "") -> None:
        """Note a problem."""
        severity = Severity.WARNING if code == "KP306" else Severity.ERROR
        subject = given.subject if given else None
        self.diagnostics.append(
            Diagnostic(code, severity, SUMMARIES[code], detail, hint, subject=subject)
        )


def gather(
    block: ProviderBlock | None,
    environ: Mapping[str, str],
    *,
    folder: Path,
    properties_file: Path | None = None,
) -> Gathered:
    """Gather the settings of a block, its `config`, a properties file and the environment.

    `folder` is that of the configuration. The properties file is the one given here, else that of
    the block, else that of `KPLAN_COMMAND_CONFIG`; the last two start in their own folder.
    """
    found = Gathered()
    if block is not None:
        _take_arguments(found, block, folder)
    file = properties_file or _named_file(found, block, environ, folder)
    if file is not None:
        _take_properties(found, file)
    _take_variables(found, environ)
    return found


def _take_arguments(found: Gathered, block: ProviderBlock, folder: Path) -> None:
    for name, value in sorted(block.arguments.items()):
        given = Given(name, value, Rank.ARGUMENT, folder, block.ranges.get(name))
        if name == "config":
            _take_config(found, given)
        elif setting := ARGUMENTS.get(name):
            found.keep(setting, given)
        elif name not in ARGUMENTS:
            _report_unknown(found, given, "argument", ARGUMENTS)


def _take_config(found: Gathered, config: Given) -> None:
    if config.value is None:
        return
    if not isinstance(config.value, Mapping):
        found.report("KP302", config, '"config" is a map of setting names to values.')
        return
    _take_keys(
        found,
        (
            Given(str(key), value, Rank.CONFIG, config.folder, config.subject)
            for key, value in sorted(config.value.items())
        ),
    )


def _named_file(
    found: Gathered, block: ProviderBlock | None, environ: Mapping[str, str], folder: Path
) -> Path | None:
    named = block.arguments.get("properties_file") if block else None
    if named is None or named == "":
        variable = environ.get(COMMAND_CONFIG)
        return Path(variable).expanduser() if variable else None
    given = Given("properties_file", named, Rank.ARGUMENT, folder)
    if not isinstance(named, str):
        found.report("KP302", given, '"properties_file" is the path of a file.')
        return None
    return folder / Path(named).expanduser()


def _take_properties(found: Gathered, file: Path) -> None:
    try:
        text = file.read_text(encoding="latin-1")  # as java.util.Properties reads it
    except OSError as failure:
        found.report("KP304", None, f'"{file}" cannot be read: {failure.strerror}.')
        return
    last = {each.key: each for each in properties(text)}  # the last one counts, as in Java
    _take_keys(
        found,
        (
            Given(each.key, each.value, Rank.FILE, Path(), _line(file, each.line))
            for each in last.values()
        ),
    )


def _line(file: Path, number: int) -> SourceRange:
    return SourceRange(str(file), number, 1, number, 1)


def _take_keys(found: Gathered, entries: Iterable[Given]) -> None:
    for given in entries:
        key = given.name
        if key in KEYS:
            found.keep(KEYS[key], given)
        elif key in LIBRDKAFKA:
            found.librdkafka.setdefault(key, given)
        elif key in REFUSED:
            found.report("KP305", given, f'kplan cannot honour "{key}" in all of its connections.')
        elif key in UNUSED:
            found.report("KP306", given, f'"{key}" does nothing for an admin client.')
        elif not key.startswith(SILENT_PREFIXES):
            _report_unknown(found, given, "setting", (*KEYS, *LIBRDKAFKA))


def _take_variables(found: Gathered, environ: Mapping[str, str]) -> None:
    for name, setting in VARIABLES.items():
        rank = Rank.OWN_VARIABLE if name.startswith("KPLAN_") else Rank.PROVIDER_VARIABLE
        if name in environ:
            found.keep(setting, Given(name, environ[name], rank))
    for name in _unknown_variables(environ):
        given = Given(name, environ[name], Rank.OWN_VARIABLE)
        _report_unknown(found, given, "environment variable", VARIABLES)


def _unknown_variables(environ: Mapping[str, str]) -> Iterator[str]:
    return (
        name for name in sorted(environ) if name.startswith(OWN_PREFIXES) and name not in VARIABLES
    )


def _report_unknown(found: Gathered, given: Given, what: str, known: Iterable[str]) -> None:
    close = get_close_matches(given.name, list(known), n=1)
    hint = f'Did you mean "{close[0]}"?' if close else ""
    found.report("KP301", given, f'There is no {what} "{given.name}".', hint)
