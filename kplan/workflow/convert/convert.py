"""Use case: turn the YAML of other tools into HCL."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path

from kplan.config.declarations.file import read_text
from kplan.config.diagnostic import EvaluationError, error
from kplan.config.yaml_document import YamlNode, read_yaml
from kplan.kinds import KINDS
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Diagnostic, SourceRange, sort_diagnostics
from kplan.model.errors import ConfigError, UsageError
from kplan.workflow.adopt.topic_block import generate_blocks
from kplan.workflow.convert.conversion import ConvertedObjects, LeftOut
from kplan.workflow.convert.julie import read_julie
from kplan.workflow.convert.kafka_gitops import SECTIONS as GITOPS_SECTIONS
from kplan.workflow.convert.kafka_gitops import read_kafka_gitops
from kplan.workflow.convert.resource_file import read_jikkou, read_strimzi


class Format(StrEnum):
    """Whose files are read."""

    JIKKOU = "jikkou"
    GITOPS = "kafka-gitops"
    JULIE = "julie"
    STRIMZI = "strimzi"


READERS: Mapping[Format, Callable[[Sequence[YamlNode], ConvertedObjects], None]] = {
    Format.JIKKOU: read_jikkou,
    Format.GITOPS: read_kafka_gitops,
    Format.JULIE: read_julie,
    Format.STRIMZI: read_strimzi,
}
"""What reads the documents of each."""


@dataclass(frozen=True, slots=True)
class Conversion:
    """The text of the blocks, how many objects of each kind they declare, and what is not there."""

    text: str
    counts: Mapping[str, int]
    left_out: tuple[LeftOut, ...]


def convert(files: Sequence[str], format_: Format | None) -> Conversion:
    """Read files, and write what they declare as HCL; without a format each tells its own.

    Raises:
        ConfigError: a file cannot be read, is no YAML, or does not hold what its format asks for.

    """
    sources: dict[str, str] = {}
    documents: dict[Format, list[YamlNode]] = {each: [] for each in Format}
    found = ConvertedObjects()
    for name in dict.fromkeys(files):
        text = read_text(Path(name), name)
        if isinstance(text, Diagnostic):
            found.problems.append(text)
            continue
        sources[name] = text
        read = read_yaml(text, name)
        if isinstance(read, Diagnostic):
            found.problems.append(read)
            continue
        with found.gathering():
            documents[format_ or _guessed(read, name)].extend(read)
    for each, parts in documents.items():
        READERS[each](parts, found)
    if found.problems:
        raise ConfigError(sort_diagnostics(found.problems), sources)
    values = {kind: tuple(each.values()) for kind, each in found.values.items() if each}
    nouns = {kind.noun: len(values[kind.name]) for kind in KINDS if kind.name in values}
    left_out = tuple(sorted(found.left_out, key=lambda each: (each.at, each.what)))
    return Conversion(generate_blocks(values, KINDS, {}, "converted.tf"), nouns, left_out)


def write_new_file(file: Path, text: str) -> None:
    """Write a file that is not there yet. Raises UsageError."""
    try:
        with file.open("x", encoding="utf-8") as opened:
            opened.write(text)
    except FileExistsError:
        raise UsageError(f"{file} exists; it is not written over.", "Name a new file.") from None
    except OSError as failure:
        raise UsageError(f"{file} cannot be written: {failure.strerror}.") from None


def _guessed(documents: Sequence[YamlNode], name: str) -> Format:
    """Return the format by what only it has; raises Failure."""
    keys = {key for each in documents for key in each.members()}
    versions = set(_versions(documents))
    if any(each.startswith("kafka.strimzi.io/") for each in versions):
        return Format.STRIMZI
    if any(each.partition("/")[0].endswith("jikkou.io") for each in versions):
        return Format.JIKKOU
    if {"context", "projects"} <= keys:
        return Format.JULIE
    if "kind" not in keys and keys & GITOPS_SECTIONS:
        return Format.GITOPS
    told = f"{name} is of none of the formats {', '.join(Format)}, as far as can be seen."
    at = documents[0].source_range if documents else SourceRange(name, 1, 1, 1, 1)
    raise EvaluationError([error("KP181", at, told, hint="Say which it is with -from=FORMAT.")])


def _versions(documents: Iterable[YamlNode]) -> Iterable[str]:
    for document in documents:
        for each in (document, *_items(document)):
            version = each.get("apiVersion").content
            if isinstance(version, str):
                yield version


def _items(document: YamlNode) -> Sequence[YamlNode]:
    held = document.get("items").content
    items = held if isinstance(held, tuple) else ()
    return [each for each in items if isinstance(each.content, Mapping)]
