"""The references in `depends_on`, before evaluation."""

import re
from collections.abc import Iterator

from kplan.config.declarations.declaration import Declaration, ModuleDeclarations
from kplan.config.diagnostic import error
from kplan.config.syntax import tree as ast
from kplan.config.syntax.source import Origin
from kplan.model.codes import SUMMARIES
from kplan.model.diagnostic import Diagnostic

_SUMMARY = SUMMARIES["KP101"]
_HINT = "Name resources and modules: depends_on = [kafka_topic.NAME, module.NAME]."
_REFERENCE = re.compile(r"\s*[^\W\d][\w-]*(?:\s*\.\s*[^\W\d][\w-]*|\s*\[[^\]]*\])*\s*").match


def depends_on_problems(declared: ModuleDeclarations) -> Iterator[Diagnostic]:
    """Find a `depends_on` that is no list of references."""
    blocks: tuple[Declaration, ...] = (
        *declared.outputs.values(),
        *declared.resources.values(),
        *declared.data.values(),
        *declared.modules.values(),
    )
    for found in blocks:
        attribute = found.arguments.get("depends_on")
        if attribute is not None:
            yield from _list_problems(attribute.value, found.origin)


def _list_problems(node: ast.Node, origin: Origin) -> Iterator[Diagnostic]:
    if not isinstance(node, ast.Tuple):
        detail = "depends_on is a list of references."
        subject = origin.range(node.start, node.end)
        yield error("KP116", subject, detail, hint=_HINT, summary=_SUMMARY)
        return
    for each in node.items:
        if isinstance(each, ast.Literal) and isinstance(each.value, str):
            yield from _quoted_problems(each, each.value, origin)
        elif not _is_reference(each):
            detail = "depends_on takes references, not expressions."
            subject = origin.range(each.start, each.end)
            yield error("KP116", subject, detail, hint=_HINT, summary=_SUMMARY)


def _is_reference(node: ast.Node) -> bool:
    while isinstance(node, ast.GetAttr | ast.Index):
        node = node.target
    return isinstance(node, ast.Name)


def _quoted_problems(node: ast.Literal, text: str, origin: Origin) -> Iterator[Diagnostic]:
    """Find what is no reference in one that is quoted, as before Terraform 0.12."""
    read = _REFERENCE(text)
    end = read.end() if read else 0
    if end < len(text):
        start = node.start + 1 + end
        detail = "A reference ends here: it has names and dots, and keys in brackets."
        summary = SUMMARIES["KP110"]
        yield error("KP116", origin.range(start, start + 1), detail, hint=_HINT, summary=summary)
