"""Use case: turn the files of other tools into HCL."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path

from kplan.config.declarations.file import read_text
from kplan.config.diagnostic import EvaluationError, error
from kplan.config.format.formatter import format_text
from kplan.config.yaml_document import YamlNode, read_yaml
from kplan.kinds import KINDS
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Diagnostic, SourceRange, sort_diagnostics
from kplan.model.errors import ConfigError, UsageError
from kplan.workflow.adopt.block import generate_blocks
from kplan.workflow.convert.conversion import Conversion, UnconvertedEntry
from kplan.workflow.convert.jikkou_strimzi import read_jikkou, read_strimzi
from kplan.workflow.convert.julie import read_julie
from kplan.workflow.convert.kafka_gitops import SECTIONS as GITOPS_SECTIONS
from kplan.workflow.convert.kafka_gitops import read_kafka_gitops
from kplan.workflow.convert.terraform import read_terraform
from kplan.workflow.convert.topicctl import read_topicctl


class SourceFormat(StrEnum):
    """Whose files are read."""

    JIKKOU = "jikkou"
    KAFKA_GITOPS = "kafka-gitops"
    JULIE = "julie"
    STRIMZI = "strimzi"
    TERRAFORM = "terraform"
    TOPICCTL = "topicctl"


READERS: Mapping[SourceFormat, Callable[[Sequence[YamlNode], Conversion], None]] = {
    SourceFormat.JIKKOU: read_jikkou,
    SourceFormat.KAFKA_GITOPS: read_kafka_gitops,
    SourceFormat.JULIE: read_julie,
    SourceFormat.STRIMZI: read_strimzi,
    SourceFormat.TOPICCTL: read_topicctl,
}
"""What reads the YAML documents of each; Terraform's files are HCL."""


@dataclass(frozen=True, slots=True)
class ConversionResult:
    """The text of the blocks, the number of objects by kind, and the unconverted parts."""

    text: str
    counts: Mapping[str, int]
    unconverted: tuple[UnconvertedEntry, ...]


def convert(files: Sequence[str], format_: SourceFormat | None) -> ConversionResult:
    """Convert files to HCL; without a format each file is detected.

    Raises:
        ConfigError: a file cannot be read, is neither YAML nor HCL, or does not hold what its
            format asks for.

    """
    sources: dict[str, str] = {}
    terraform: dict[str, str] = {}
    documents: dict[SourceFormat, list[YamlNode]] = {each: [] for each in READERS}
    found = Conversion()
    for name in dict.fromkeys(files):
        text = read_text(Path(name), name)
        if isinstance(text, Diagnostic):
            found.problems.append(text)
            continue
        sources[name] = text
        with found.collect_problems():
            if _is_terraform(name, format_):
                terraform[name] = text
            else:
                read = _read_documents(text, name)
                documents[format_ or _detect_format(read, name)].extend(read)
    for each, parts in documents.items():
        with found.collect_problems():
            READERS[each](parts, found)
        found.skip_unread(parts)
    blocks = read_terraform(terraform, found)
    if found.problems:
        raise ConfigError(sort_diagnostics(found.problems), sources)
    return _result(found, blocks)


def _result(found: Conversion, terraform: str) -> ConversionResult:
    values = {kind: tuple(each.values()) for kind, each in found.values.items() if each}
    nouns = {kind.noun: len(values[kind.name]) for kind in KINDS if kind.name in values}
    left_out = tuple(sorted(found.unconverted, key=lambda each: (each.source_range, each.subject)))
    text = generate_blocks(values, KINDS, {}, "converted.tf", found.notes)
    more = format_text("\n".join(found.blocks), "converted.tf")
    return ConversionResult(
        "\n".join(each for each in (more, terraform, text) if each),
        {**nouns, **found.block_counts},
        left_out,
    )


def _is_terraform(name: str, format_: SourceFormat | None) -> bool:
    """Return whether a file is HCL; raises EvaluationError for the JSON form of Terraform."""
    if format_ in (None, SourceFormat.TERRAFORM) and name.endswith(".tf.json"):
        at = SourceRange(name, 1, 1, 1, 1)
        hint = "Write it as HCL first."
        raise EvaluationError([error("KP181", at, f"{name} is in Terraform's JSON.", hint=hint)])
    return format_ is SourceFormat.TERRAFORM or (format_ is None and name.endswith(".tf"))


def _read_documents(text: str, name: str) -> tuple[YamlNode, ...]:
    read = read_yaml(text, name)
    if isinstance(read, Diagnostic):
        raise EvaluationError([read])
    return read


def write_new_file(file: Path, text: str) -> None:
    """Write a file that does not exist yet. Raises UsageError."""
    try:
        with file.open("x", encoding="utf-8") as opened:
            opened.write(text)
    except FileExistsError:
        raise UsageError(f"{file} exists; it is not written over.", "Name a new file.") from None
    except OSError as failure:
        raise UsageError(f"{file} cannot be written: {failure.strerror}.") from None


def _detect_format(documents: Sequence[YamlNode], name: str) -> SourceFormat:
    """Detect the format by its distinctive keys; raises EvaluationError."""
    keys = {key for each in documents for key in each.key_names}
    versions = set(_api_versions(documents))
    if any(each.startswith("kafka.strimzi.io/") for each in versions):
        return SourceFormat.STRIMZI
    if any(each.partition("/")[0].endswith("jikkou.io") for each in versions):
        return SourceFormat.JIKKOU
    if {"context", "projects"} <= keys:
        return SourceFormat.JULIE
    if "kind" not in keys and {"meta", "spec"} <= keys:
        return SourceFormat.TOPICCTL
    if "kind" not in keys and keys & GITOPS_SECTIONS:
        return SourceFormat.KAFKA_GITOPS
    detail = f"{name} is in none of the formats {', '.join(SourceFormat)}, as far as can be seen."
    at = documents[0].source_range if documents else SourceRange(name, 1, 1, 1, 1)
    raise EvaluationError([error("KP181", at, detail, hint="Say which it is with -from=FORMAT.")])


def _api_versions(documents: Iterable[YamlNode]) -> Iterable[str]:
    for document in documents:
        for each in (document, *_list_items(document)):
            version = each.peek("apiVersion").content
            if isinstance(version, str):
                yield version


def _list_items(document: YamlNode) -> Sequence[YamlNode]:
    held = document.peek("items").content
    items = held if isinstance(held, tuple) else ()
    return [each for each in items if isinstance(each.content, Mapping)]
