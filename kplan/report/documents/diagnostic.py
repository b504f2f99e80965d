"""Diagnostics for people, and as `terraform validate -json` gives them."""

from collections.abc import Iterable, Iterator, Mapping

from kplan.model.address import Address
from kplan.model.diagnostic import Diagnostic, Severity, SourceRange, has_errors, sort_diagnostics
from kplan.report.data import Data
from kplan.report.document import Document, Excerpt, Problem, Span, Tone, Totals, line
from kplan.report.documents.notation import count_text
from kplan.report.source_text import SourceText, without_secrets

_WORDS = {Severity.ERROR: ("Error", Tone.ERROR), Severity.WARNING: ("Warning", Tone.WARNING)}


def diagnostics_document(diagnostics: Iterable[Diagnostic], sources: Mapping[str, str]) -> Document:
    """Make one problem of each diagnostic, errors first. `sources` maps file to its text."""
    return Document(tuple(problem_blocks(diagnostics, sources)))


def problem_blocks(
    diagnostics: Iterable[Diagnostic], sources: Mapping[str, str]
) -> Iterator[Problem]:
    """Return the problems in order of display, each once."""
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


FORMAT_VERSION = "1.0"


def problems_document(
    title: str, diagnostics: Iterable[Diagnostic], sources: Mapping[str, str], sound: str
) -> Document:
    """Show every problem, and how many there are; `title` names the command.

    `sound` says what holds where nothing is an error.
    """
    found = sort_diagnostics(diagnostics)
    errors = sum(1 for each in found if each.is_error)
    told = f"{count_text(errors, 'error')}, {count_text(len(found) - errors, 'warning')}"
    if not errors:
        told = f"Success! {sound}{f' ({told})' if found else ''}"
    tone = Tone.ERROR if errors else Tone.ADD
    return Document(
        (*problem_blocks(found, sources), Totals((line(Span(f"{told}.", tone)),))), title
    )


def validation_data(diagnostics: Iterable[Diagnostic], sources: Mapping[str, str]) -> Data:
    """Count and list the problems. `valid` tells that none is an error."""
    found = sort_diagnostics(diagnostics)
    errors = sum(1 for each in found if each.is_error)
    return {
        "format_version": FORMAT_VERSION,
        "valid": not has_errors(found),
        "error_count": errors,
        "warning_count": len(found) - errors,
        "diagnostics": diagnostics_data(found, sources),
    }


def diagnostics_data(diagnostics: Iterable[Diagnostic], sources: Mapping[str, str]) -> list[Data]:
    """Write each problem as an object; those without a place have no `range` and `snippet`."""
    texts = {name: SourceText(text) for name, text in sources.items()}
    return [_diagnostic(each, texts) for each in diagnostics]


def _diagnostic(each: Diagnostic, texts: Mapping[str, SourceText]) -> Data:
    found: dict[str, Data] = {
        "severity": each.severity.value,
        "summary": each.summary,
        "detail": each.detail,
        "code": each.code,
    }
    if each.hint:
        found["hint"] = each.hint
    if each.address is not None:
        found["address"] = str(each.address)
    if each.subject is not None:
        text = texts.get(each.subject.file)
        found["range"] = _range(each.subject, text)
        if text and (snippet := _snippet(each, each.subject, text)):
            found["snippet"] = snippet
    if each.related:
        found["related"] = [
            {"label": label, "range": _range(span, texts.get(span.file))}
            for label, span in each.related
        ]
    return found


def _range(span: SourceRange, text: SourceText | None) -> Data:
    def position(line: int, column: int) -> Data:
        place: dict[str, Data] = {"line": line, "column": column}
        return place | ({"byte": text.byte(line, column)} if text else {})

    return {
        "filename": span.file,
        "start": position(span.line, span.column),
        "end": position(span.end_line, span.end_column),
    }


def _snippet(each: Diagnostic, span: SourceRange, text: SourceText) -> Data:
    lines = [text.line(number) for number in range(span.line, span.end_line + 1)]
    known = [without_secrets(code) for code in lines if code is not None]
    if not known:
        return None
    before_last = sum(len(code) + 1 for code in known[:-1])
    return {
        "context": block_name(span, text, each.address) or None,
        "code": "\n".join(known),
        "start_line": span.line,
        "highlight_start_offset": span.column - 1,
        "highlight_end_offset": before_last + span.end_column - 1,
        "values": [{"traversal": name, "statement": said} for name, said in each.values],
    }
