"""The `audit` blocks of a cluster in `fleet.hcl`: logs, and the layout of their lines."""

from collections.abc import Callable

from kplan.config.declarations.body_schema import BodySchema, body_problems, label_problems
from kplan.config.declarations.declaration import Declaration
from kplan.config.diagnostic import error, suggestion
from kplan.config.fleet_rules import ArgumentReader
from kplan.config.log_layout import LAYOUTS, translate_pattern
from kplan.model.diagnostic import SourceRange
from kplan.model.log_layout import KAFKA_SCHEME, AuditFiles, LogLayout

_SCHEMA = BodySchema(("files", "layout"), required=("files",))
_SCHEMA_WITH_LABEL = BodySchema(("files", "layout"), label_count=1)


def read_audit_blocks(
    reader: ArgumentReader, cluster: Declaration, log_name: Callable[[str], str]
) -> tuple[tuple[str, ...], tuple[AuditFiles, ...]]:
    """Read the blocks: logs whose layout is found by itself, and those whose layout is named."""
    found: list[str] = []
    named: list[AuditFiles] = []
    for block in cluster.block.blocks:
        if block.type != "audit":
            continue
        schema = _SCHEMA_WITH_LABEL if block.labels else _SCHEMA
        reader.report(label_problems(block, cluster.origin, schema))
        reader.report(body_problems(block, cluster.origin, schema))
        arguments = {each.name: each for each in block.attributes}
        declaration = Declaration("audit", cluster.origin, block, arguments)
        files, place = _read_files(reader, declaration)
        text = reader.text(declaration, "layout")
        if text is None:
            found += map(log_name, files)
            continue
        _check_files(reader, files, place)
        layout = _read_layout(reader, declaration, text)
        if layout is not None and files:
            named.append(AuditFiles(tuple(map(log_name, files)), layout))
    return tuple(found), tuple(named)


def _read_files(reader: ArgumentReader, declaration: Declaration) -> tuple[list[str], SourceRange]:
    """Return the files, and where they are named: by the label of the block, or by `files`."""
    labels = declaration.block.labels
    if "files" not in declaration.arguments:
        return [each.text for each in labels[:1]], declaration.declared_at
    place = declaration.value_range("files")
    if labels:
        detail = f'The label "{labels[0].text}" names the files of this block, and so does "files".'
        hint = "Remove one of the two."
        reader.report([error("KP129", place, detail, hint=hint)])
    return reader.strings(declaration, "files"), place


def _check_files(reader: ArgumentReader, files: list[str], place: SourceRange) -> None:
    for each in files:
        if each.startswith(KAFKA_SCHEME):
            detail = f"{each} is a topic. The layout of its records is found for each of them."
            hint = f'Name it in the cluster block: audit = ["{each}"]'
            reader.report([error("KP637", place, detail, hint=hint)])


def _read_layout(reader: ArgumentReader, declaration: Declaration, text: str) -> LogLayout | None:
    """Return a layout by its name, or that of a log4j pattern; None is that it is neither."""
    place = declaration.value_range("layout")
    if "%" in text:
        layout, problems = translate_pattern(text)
        reader.report([error("KP636", place, each.detail, hint=each.hint) for each in problems])
        return layout
    if text in LAYOUTS:
        return LogLayout(text, LAYOUTS[text])
    detail = f'There is no layout "{text}". The layouts are: {", ".join(LAYOUTS)}.'
    hint = (
        suggestion(text, LAYOUTS) or "Name one of them, or a log4j pattern, as [%d] %p %m (%c)%n."
    )
    reader.report([error("KP635", place, detail, hint=hint)])
    return None
