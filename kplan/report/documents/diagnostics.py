"""Diagnostics as a person reads them."""

from collections.abc import Iterable, Iterator, Mapping

from kplan.model.address import Address
from kplan.model.diagnostic import Diagnostic, Severity, SourceRange, sort_diagnostics
from kplan.report.document import Document, Excerpt, Problem, Tone
from kplan.report.source_text import SourceText

_WORDS = {Severity.ERROR: ("Error", Tone.ERROR), Severity.WARNING: ("Warning", Tone.WARNING)}


def diagnostics_document(diagnostics: Iterable[Diagnostic], sources: Mapping[str, str]) -> Document:
    """Make one problem of each diagnostic, errors first. `sources` maps file to its text."""
    return Document(tuple(problems(diagnostics, sources)))


def problems(diagnostics: Iterable[Diagnostic], sources: Mapping[str, str]) -> Iterator[Problem]:
    """Give the problems in order of display, each once."""
    texts = {name: SourceText(text) for name, text in sources.items()}
    for each in sort_diagnostics(diagnostics):
        word, tone = _WORDS[each.severity]
        yield Problem(
            tone,
            word,
            each.summary,
            each.code,
            address=str(each.address or ""),
            excerpts=tuple(_excerpts(each, texts)),
            values=tuple(f"{name} {said}" for name, said in each.values),
            detail=each.detail,
            hint=each.hint,
        )


def _excerpts(each: Diagnostic, texts: Mapping[str, SourceText]) -> Iterator[Excerpt]:
    if each.subject is not None:
        yield _excerpt(each.subject, texts, each.address)
    for label, span in each.related:
        yield _excerpt(span, texts, None, label)


def _excerpt(
    span: SourceRange, texts: Mapping[str, SourceText], address: Address | None, label: str = ""
) -> Excerpt:
    text = texts.get(span.file)
    place = f"on {span.file} line {span.line}, column {span.column}"
    if block := block_name(span, text, address):
        place = f"{place}, in {block}"
    return Excerpt(place, text.snippet(span) if text else None, label)


def block_name(span: SourceRange, text: SourceText | None, address: Address | None) -> str:
    """Name the block a span stands in: as its source says, else as the address does."""
    found = text.block_at(span.line) if text else ""
    if not found and address is not None:
        return f'resource "{address.kind}" "{address.name}"'
    return found
