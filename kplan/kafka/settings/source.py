"""Read settings as written in the provider block, properties file and environment."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from difflib import get_close_matches
from enum import IntEnum
from pathlib import Path
from typing import Protocol

from kplan.kafka.settings.certificate import PemError, read_pem
from kplan.kafka.settings.java import parse_properties
from kplan.kafka.settings.key import (
    ARGUMENT_SETTINGS,
    COMMAND_CONFIG_VARIABLE,
    IGNORED_PREFIXES,
    KEY_SETTINGS,
    LIBRDKAFKA_KEYS,
    UNSUPPORTED_KEYS,
    UNUSED_KEYS,
    VARIABLE_PREFIXES,
    VARIABLE_SETTINGS,
    Setting,
)
from kplan.model.codes import SUMMARIES
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Diagnostic, Severity, SourceRange


class ProviderBlock(Protocol):
    """An evaluated `provider "kafka"` block."""

    @property
    def arguments(self) -> Mapping[str, object]:
        """Its arguments by name."""
        ...

    @property
    def ranges(self) -> Mapping[str, SourceRange]:
        """The place of each argument."""
        ...

    @property
    def folder(self) -> Path | None:
        """Where its relative paths start, None for the folder of the configuration."""
        ...


class Precedence(IntEnum):
    """Where a setting was given; the lowest wins."""

    OPTION = 0
    ARGUMENT = 1
    CONFIG = 2
    FILE = 3
    OWN_VARIABLE = 4
    PROVIDER_VARIABLE = 5


@dataclass(frozen=True, slots=True)
class RawSetting:
    """A setting as someone gave it. Relative paths in it start in `folder`.

    `is_block` says that a provider block gives it, itself or in the file it names.
    """

    name: str
    value: object = field(repr=False)
    precedence: Precedence
    folder: Path = Path()
    subject: SourceRange | None = None
    is_block: bool = False

    @property
    def text(self) -> str:
        """The value as it would be in a file."""
        return str(self.value).lower() if isinstance(self.value, bool) else str(self.value)


_BOOLEANS = {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}


@dataclass(slots=True)
class RawSettings:
    """All settings by meaning, highest precedence first, and the problems of their names."""

    settings: dict[Setting, list[RawSetting]] = field(default_factory=dict)
    librdkafka: dict[str, RawSetting] = field(default_factory=dict)
    diagnostics: list[Diagnostic] = field(default_factory=list)

    def find(self, *settings: Setting) -> tuple[Setting, RawSetting] | None:
        """Return the one with the best rank among settings that say the same in other words."""
        given = [(each, self.settings[each][0]) for each in settings if each in self.settings]
        return min(given, key=lambda pair: pair[1].precedence) if given else None

    def add(self, setting: Setting, given: RawSetting) -> None:
        """Take a setting; an empty one counts as not given, as in Terraform's provider.

        Only that no host names are checked is said by an empty value in Java.
        """
        is_empty = given.value is None or given.value in ("", [], ())
        if not is_empty or (setting is Setting.HOST_CHECK and given.value == ""):
            self.settings.setdefault(setting, []).append(given)

    def read_pem(self, setting: RawSetting) -> str:
        """Read PEM text or the file it names; "" with a problem recorded."""
        try:
            return read_pem(setting.text, setting.folder)
        except PemError as failure:
            self.report("KP304", setting, f"{setting.name}: {failure}", failure.hint)
            return ""

    def read_flag(self, setting: RawSetting) -> bool:
        """Read a yes or no; no with a problem noted."""
        value = _BOOLEANS.get(setting.text.lower())
        if value is None:
            self.report("KP302", setting, f'"{setting.name}" is true or false.')
        return bool(value)

    def report(self, code: str, setting: RawSetting | None, detail: str, hint: str = "") -> None:
        """Note a problem."""
        severity = Severity.WARNING if code == "KP306" else Severity.ERROR
        subject = setting.subject if setting else None
        self.diagnostics.append(
            Diagnostic(code, severity, SUMMARIES[code], detail, hint, subject=subject)
        )


def read_raw_settings(
    block: ProviderBlock | None,
    environ: Mapping[str, str],
    *,
    folder: Path,
    properties_file: Path | None = None,
) -> RawSettings:
    """Gather the settings of a block, its `config`, a properties file and the environment.

    `folder` is that of the configuration, unless the block has its own. The properties file is the
    one given here, else that of the block, else that of `KPLAN_COMMAND_CONFIG`; the last two start
    in their own folder.
    """
    found = RawSettings()
    if block is not None:
        folder = block.folder or folder
        _add_arguments(found, block, folder)
    file = properties_file or _properties_path(found, block, environ, folder)
    if file is not None:
        is_block = properties_file is None and _names_file(block)
        where = block.ranges.get("properties_file") if block and is_block else None
        _add_properties(found, file, where, is_block=is_block)
    _add_variables(found, environ)
    return found


def _add_arguments(settings: RawSettings, block: ProviderBlock, folder: Path) -> None:
    for name, value in sorted(block.arguments.items()):
        where = block.ranges.get(name)
        given = RawSetting(name, value, Precedence.ARGUMENT, folder, where, is_block=True)
        if name == "config":
            _add_config(settings, given)
        elif setting := ARGUMENT_SETTINGS.get(name):
            settings.add(setting, given)
        elif name not in ARGUMENT_SETTINGS:
            _report_unknown(settings, given, "argument", ARGUMENT_SETTINGS)


def _add_config(settings: RawSettings, config: RawSetting) -> None:
    if config.value is None:
        return
    if not isinstance(config.value, Mapping):
        settings.report("KP302", config, '"config" is a map of setting names to values.')
        return
    _add_keys(
        settings,
        (
            RawSetting(
                str(key), value, Precedence.CONFIG, config.folder, config.subject, is_block=True
            )
            for key, value in sorted(config.value.items())
        ),
    )


def _names_file(block: ProviderBlock | None) -> bool:
    return block is not None and bool(block.arguments.get("properties_file"))


def _properties_path(
    settings: RawSettings, block: ProviderBlock | None, environ: Mapping[str, str], folder: Path
) -> Path | None:
    named = block.arguments.get("properties_file") if block else None
    if named is None or named == "":
        variable = environ.get(COMMAND_CONFIG_VARIABLE)
        return Path(variable).expanduser() if variable else None
    given = RawSetting("properties_file", named, Precedence.ARGUMENT, folder)
    if not isinstance(named, str):
        settings.report("KP302", given, '"properties_file" is the path of a file.')
        return None
    return folder / Path(named).expanduser()


def _add_properties(
    settings: RawSettings, file: Path, where: SourceRange | None, *, is_block: bool
) -> None:
    try:
        text = file.read_text(encoding="latin-1")  # as java.util.Properties reads it
    except OSError as failure:
        given = RawSetting("properties_file", str(file), Precedence.ARGUMENT, file.parent, where)
        settings.report("KP304", given, f'"{file}" cannot be read: {failure.strerror}.')
        return
    last = {each.key: each for each in parse_properties(text)}  # the last one counts, as in Java
    _add_keys(
        settings,
        (
            RawSetting(
                each.key,
                each.value,
                Precedence.FILE,
                subject=_line_range(file, each.line),
                is_block=is_block,
            )
            for each in last.values()
        ),
    )


def _line_range(file: Path, number: int) -> SourceRange:
    return SourceRange(str(file), number, 1, number, 1)


def _add_keys(settings: RawSettings, entries: Iterable[RawSetting]) -> None:
    for given in entries:
        key = given.name
        if key in KEY_SETTINGS:
            settings.add(KEY_SETTINGS[key], given)
        elif key in LIBRDKAFKA_KEYS:
            settings.librdkafka.setdefault(key, given)
        elif key in UNSUPPORTED_KEYS:
            settings.report(
                "KP305", given, f'kplan cannot honour "{key}" in all of its connections.'
            )
        elif key in UNUSED_KEYS:
            settings.report("KP306", given, f'"{key}" does nothing for an admin client.')
        elif not key.startswith(IGNORED_PREFIXES):
            _report_unknown(settings, given, "setting", (*KEY_SETTINGS, *LIBRDKAFKA_KEYS))


def _add_variables(settings: RawSettings, environ: Mapping[str, str]) -> None:
    for name, setting in VARIABLE_SETTINGS.items():
        rank = (
            Precedence.OWN_VARIABLE if name.startswith("KPLAN_") else Precedence.PROVIDER_VARIABLE
        )
        if name in environ:
            settings.add(setting, RawSetting(name, environ[name], rank))
    for name in _unknown_variables(environ):
        given = RawSetting(name, environ[name], Precedence.OWN_VARIABLE)
        _report_unknown(settings, given, "environment variable", VARIABLE_SETTINGS)


def _unknown_variables(environ: Mapping[str, str]) -> Iterator[str]:
    return (
        name
        for name in sorted(environ)
        if name.startswith(VARIABLE_PREFIXES) and name not in VARIABLE_SETTINGS
    )


def _report_unknown(
    settings: RawSettings, setting: RawSetting, what: str, known: Iterable[str]
) -> None:
    close = get_close_matches(setting.name, list(known), n=1)
    hint = f'Did you mean "{close[0]}"?' if close else ""
    settings.report("KP301", setting, f'There is no {what} "{setting.name}".', hint)
