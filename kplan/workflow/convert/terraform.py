"""Reader of Terraform files for the providers of Confluent and Aiven: topics and ACLs."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from kplan.config.format.formatter import format_text
from kplan.config.syntax import tree as ast
from kplan.config.syntax.parse import parse_file
from kplan.config.syntax.source import Source
from kplan.report.documents.notation import key_text
from kplan.workflow.convert.conversion import Conversion
from kplan.workflow.convert.terraform_block import (
    RESOURCE_TYPES,
    SourceBlock,
    convert_resource,
)
from kplan.workflow.convert.terraform_reference import (
    ReferenceWriter,
    UnconvertibleError,
    apply_edits,
)

_LEAD = re.compile(r"(?:^[ \t]*(?:#|//)[^\n]*\n)+\Z", re.MULTILINE)
_OTHER_BLOCKS: Mapping[str, str] = {
    "terraform": "kplan needs no providers of Terraform; a backend becomes a state block",
    "provider": 'declare provider "kafka", or set the connection in the environment',
    "data": "kplan does not read it; what uses it became a variable",
    "module": "convert the files of the module, and call them from here",
    "output": "declare it again where it is needed",
    "moved": "kplan starts with the addresses of today",
    "removed": "kplan starts with the addresses of today",
    "import": "record the objects with kplan import",
    "check": "write it as a policy or a postcondition",
}
_UNMANAGED = "kplan manages topics and ACLs; leave it to Terraform"


def read_terraform(sources: Mapping[str, str], conversion: Conversion) -> str:
    """Read Terraform files by name, and return the HCL of their Kafka resources.

    Blocks are edited where they are, so that expressions and comments in them stay. What belongs to
    other resources becomes a variable.
    """
    blocks: list[tuple[SourceBlock, str]] = []
    for name, text in sources.items():
        parsed = parse_file(Source(name, text))
        conversion.problems.extend(parsed.diagnostics)
        blocks.extend(_blocks(parsed.items))
    if conversion.problems:
        return ""
    resources = [each for each in blocks if _is_resource(each[0])]
    references = ReferenceWriter(
        {
            (each.type, each.block.labels[1].text): (
                RESOURCE_TYPES[each.type].kind,
                RESOURCE_TYPES[each.type].names,
            )
            for each, _ in resources
        },
        conversion,
    )
    texts = [
        f"{lead}{text}\n"
        for each, lead in resources
        if (text := _convert(each, references, conversion))
    ]
    others = [each for each, _ in blocks if not _is_resource(each)]
    local_block = _used_locals(others, references, conversion)
    variables = list(_used_variables(blocks, references, conversion))
    _report_others(others, conversion)
    parts = [references.variable_blocks(), *variables, local_block, *texts]
    return format_text("\n".join(each for each in parts if each), "converted.tf")


def _blocks(items: Iterable[ast.Item]) -> Iterator[tuple[SourceBlock, str]]:
    """Return the blocks of a file with the comments right above them."""
    for item in items:
        if isinstance(item.content, ast.Block):
            above = _LEAD.search(item.origin.source.text[: item.origin.base])
            yield SourceBlock(item.origin, item.content), above[0] if above else ""


def _is_resource(source: SourceBlock) -> bool:
    block = source.block
    return (
        block.type == "resource"
        and len(block.labels) == 2  # noqa: PLR2004 - its type and its name
        and source.type in RESOURCE_TYPES
    )


def _convert(source: SourceBlock, references: ReferenceWriter, conversion: Conversion) -> str:
    """Write a resource, "" of one that cannot be written."""
    try:
        text = convert_resource(source, references, conversion)
    except UnconvertibleError as failure:
        conversion.skip(failure.source_range, source.name, str(failure))
        return ""
    conversion.block_counts[f"{RESOURCE_TYPES[source.type].kind} block"] += 1
    return text


def _used_locals(
    sources: Sequence[SourceBlock], references: ReferenceWriter, conversion: Conversion
) -> str:
    """Write the locals that are needed, and those that these need."""
    declared = {
        each.name: (source, each)
        for source in sources
        if source.block.type == "locals"
        for each in source.block.attributes
    }
    written: dict[str, str] = {}
    while wanted := [each for each in declared if each in references.local_names - written.keys()]:
        for name in wanted:
            source, attribute = declared[name]
            written[name] = _value(source, attribute, references, conversion)
    for name, (source, attribute) in declared.items():
        if name not in written:
            place = source.origin.range(attribute.start, attribute.name_end)
            conversion.skip(place, f"local.{name}", "nothing that was converted uses it")
    lines = "\n".join(f"{key_text(name)} = {text}" for name, text in written.items() if text)
    return f"locals {{\n{lines}\n}}\n" if lines else ""


def _value(
    source: SourceBlock,
    attribute: ast.Attribute,
    references: ReferenceWriter,
    conversion: Conversion,
) -> str:
    start = attribute.value.start
    try:
        edits = list(references.edits(source.origin, [attribute]))
    except UnconvertibleError as failure:
        conversion.skip(failure.source_range, f"local.{attribute.name}", str(failure))
        return "null"
    moved = ((at - start, end - start, new) for at, end, new in edits)
    return apply_edits(source.value_text(attribute), moved)


def _used_variables(
    blocks: Iterable[tuple[SourceBlock, str]], references: ReferenceWriter, conversion: Conversion
) -> Iterator[str]:
    """Write the variables that are needed as they are."""
    for source, lead in blocks:
        if source.block.type != "variable" or not source.block.labels:
            continue
        if source.type in references.variables:
            yield f"{lead}{source.text}\n"
        else:
            place = source.origin.range(source.block.start, source.block.header_end)
            conversion.skip(place, f"var.{source.type}", "nothing that was converted uses it")


def _report_others(sources: Iterable[SourceBlock], conversion: Conversion) -> None:
    for each in sources:
        block = each.block
        if block.type in {"variable", "locals"}:
            continue
        what = ".".join((block.type, *(label.text for label in block.labels)))
        what = each.name if block.type == "resource" else what
        found = _OTHER_BLOCKS.get(block.type, _UNMANAGED)
        conversion.skip(each.origin.range(block.start, block.header_end), what, found)
