"""Diagnostics: for people with their source, as `terraform validate -json`, and as findings."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from kplan.model.address import Address
from kplan.model.diagnostic import Diagnostic, Severity, SourceRange, has_errors, sort_diagnostics
from kplan.model.plan import Change, Risk
from kplan.model.policy import Violation
from kplan.model.table import RunStatus
from kplan.report.data import Case, Data, Finding, Level
from kplan.report.document import Document, Excerpt, Problem, Snippet, Span, Tone, Totals, line
from kplan.report.documents.notation import count_text

_BLOCK = re.compile(
    r'(?P<type>[A-Za-z_][\w-]*)(?P<labels>(?:[ \t]+(?:"[^"]*"|[A-Za-z_][\w-]*))*)[ \t]*\{'
)
_SECRET = re.compile(
    r"""(?ix)
    ( (?: password | passphrase | secret | token | credential | jaas ) [\w.-]* "? \s* [=:] \s* " )
    ( (?: [^"\\] | \\. )+ )
    """
)


@dataclass(frozen=True)
class SourceText:
    """One source, split into lines once; without slots, as its lines are cached on it."""

    text: str

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """Every line, without its end."""
        return tuple(each.removesuffix("\r") for each in self.text.split("\n"))

    @cached_property
    def _line_bytes(self) -> tuple[int, ...]:
        starts = [0]
        for each in self.text.split("\n"):
            starts.append(starts[-1] + len(each.encode()) + 1)
        return tuple(starts)

    def line(self, number: int) -> str | None:
        """Return a line by its number from 1, None where the text has no such line."""
        return self.lines[number - 1] if 0 < number <= len(self.lines) else None

    def byte_offset(self, number: int, column: int) -> int:
        """Count the bytes of UTF-8 before a place."""
        code = self.line(number)
        if code is None:
            return self._line_bytes[-1] - 1 if number > 0 else 0
        return self._line_bytes[number - 1] + len(code[: column - 1].encode())

    def block_header(self, number: int) -> str:
        """Name the top-level block around a line, `resource "kafka_topic" "orders"`, or ""."""
        for index in range(min(number, len(self.lines)) - 1, -1, -1):
            code = self.lines[index]
            if found := _BLOCK.match(code):
                return found["type"] + re.sub(r"[ \t]+", " ", found["labels"])
            if code.startswith("}") and index != number - 1:
                break
        return ""

    def snippet(self, span: SourceRange) -> Snippet | None:
        """Cut out the first line of a span. What a secret is set to is starred out."""
        code = self.line(span.line)
        if code is None:
            return None
        has_more = span.end_line > span.line
        end = len(code) if has_more else span.end_column - 1
        return Snippet(span.line, mask_secrets(code), span.column - 1, end, has_more)


def mask_secrets(code: str) -> str:
    """Star out literal secrets, keeping the length so that carets still point right."""
    return _SECRET.sub(lambda found: found[1] + "*" * len(found[2]), code)


_WORDS = {Severity.ERROR: ("Error", Tone.ERROR), Severity.WARNING: ("Warning", Tone.WARNING)}


def diagnostics_document(diagnostics: Iterable[Diagnostic], sources: Mapping[str, str]) -> Document:
    """Make one problem of each diagnostic, errors first. `sources` maps file to its text."""
    return Document(tuple(problem_blocks(diagnostics, sources)))


def problem_blocks(
    diagnostics: Iterable[Diagnostic], sources: Mapping[str, str]
) -> Iterator[Problem]:
    """Return the problems in order of display, each once; many equal warnings are counted."""
    texts = {name: SourceText(text) for name, text in sources.items()}
    for each in collapse_warnings(sort_diagnostics(diagnostics)):
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


_MAX_ALIKE = 10
_SHOWN_ALIKE = 3
"""Of more warnings of one code than the first number, so many are shown."""


def collapse_warnings(diagnostics: Sequence[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Show one warning of a code for all instances of a block, and few of many blocks.

    The rest is counted. Machine-readable reports have all of them. Errors are never left out.
    """
    found = _collapse_instances(diagnostics)
    alike: dict[str, list[Diagnostic]] = {}
    for each in found:
        if not each.is_error:
            alike.setdefault(each.code, []).append(each)
    shown: dict[Diagnostic, Diagnostic] = {}
    for members in alike.values():
        if len(members) <= _MAX_ALIKE:
            shown |= {each: each for each in members}
            continue
        places: dict[SourceRange | None, Diagnostic] = {}
        for each in members:
            places.setdefault(each.subject, each)
        chosen = list(places.values())[:_SHOWN_ALIKE]
        shown |= {each: each for each in chosen[:-1]}
        shown[chosen[-1]] = _with_count(chosen[-1], len(members) - len(chosen))
    return tuple(shown.get(each, each) for each in found if each.is_error or each in shown)


def _collapse_instances(diagnostics: Sequence[Diagnostic]) -> list[Diagnostic]:
    """Keep the warnings of the first instance of those of one code at one source line."""
    instances: dict[tuple[str, str, int], dict[Address, None]] = {}
    for each in diagnostics:
        if (key := _instance_key(each)) is not None and each.address is not None:
            instances.setdefault(key, {})[each.address] = None
    found: list[Diagnostic] = []
    for each in diagnostics:
        key = _instance_key(each)
        members = () if key is None else tuple(instances[key])
        if each.address in members[1:]:
            continue
        found.append(_with_instances(each, len(members)) if len(members) > 1 else each)
    return found


def _instance_key(each: Diagnostic) -> tuple[str, str, int] | None:
    if each.is_error or each.subject is None or each.address is None:
        return None
    return each.code, each.subject.file, each.subject.line


def _with_instances(each: Diagnostic, count: int) -> Diagnostic:
    said = f"({count:,} instances, first {each.address}; -json and -report list all of them)"
    return replace(each, detail=f"{each.detail}\n\n{said}".lstrip())


def _with_count(each: Diagnostic, more: int) -> Diagnostic:
    count = f"(and {more:,} more warnings {each.code}; -json and -report list all of them)"
    return replace(each, detail=f"{each.detail}\n\n{count}".lstrip())


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
    return Excerpt(place, text.snippet(span) if text else None, label, span)


def block_name(span: SourceRange, text: SourceText | None, address: Address | None) -> str:
    """Name the block of a span: from its source, otherwise from the address."""
    found = text.block_header(span.line) if text else ""
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
    detail = f"{count_text(errors, 'error')}, {count_text(len(found) - errors, 'warning')}"
    if not errors:
        detail = f"Success! {sound}{f' ({detail})' if found else ''}"
    tone = Tone.ERROR if errors else Tone.ADD
    return Document(
        (*problem_blocks(found, sources), Totals((line(Span(f"{detail}.", tone)),))), title
    )


def validation_data(diagnostics: Iterable[Diagnostic], sources: Mapping[str, str]) -> Data:
    """Count and list the problems. `valid` shows that none is an error."""
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
        return place | ({"byte": text.byte_offset(line, column)} if text else {})

    return {
        "filename": span.file,
        "start": position(span.line, span.column),
        "end": position(span.end_line, span.end_column),
    }


def _snippet(each: Diagnostic, span: SourceRange, text: SourceText) -> Data:
    lines = [text.line(number) for number in range(span.line, span.end_line + 1)]
    known = [mask_secrets(code) for code in lines if code is not None]
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


_NOTE = re.compile(r"(?P<code>KP\d+) (?P<text>.*)", re.DOTALL)
_LEVELS = {
    Risk.SAFE: Level.NOTE,
    Risk.UNKNOWN: Level.NOTE,
    Risk.REVIEW: Level.NOTE,
    Risk.DANGEROUS: Level.WARNING,
}
_HARMLESS_CODES = {"KP2103": "Nothing is at stake"}
"""Codes that no change is to be stopped for, with what they say."""
CONFIGURATION_GROUP = "configuration"


def diagnostic_finding(each: Diagnostic, policy: str = "") -> Finding:
    """Return a problem; `policy` is the one that found it."""
    return Finding(
        each.code,
        Level.ERROR if each.is_error else Level.WARNING,
        f"{each.summary}: {policy}" if policy else each.summary,
        each.detail,
        each.hint,
        each.subject,
        str(each.address or ""),
        f"policy/{policy}" if policy else "",
        each.related,
    )


def risk_findings(change: Change) -> Iterator[Finding]:
    """Return every note of a change that has a code."""
    for note in change.notes:
        if found := _NOTE.fullmatch(note):
            yield Finding(
                found["code"],
                Level.NOTE if found["code"] in _HARMLESS_CODES else _LEVELS[change.risk],
                _HARMLESS_CODES.get(found["code"], f"{change.risk.value.capitalize()} change"),
                found["text"],
                source_range=change.declared_at,
                address=str(change.address),
            )


def problem_cases(
    diagnostics: Iterable[Diagnostic],
    sources: Mapping[str, str],
    group: str = CONFIGURATION_GROUP,
    violations: Sequence[Violation] = (),
) -> Iterator[Case]:
    """Make a case of each problem; a warning is no failure. `sources` maps file to its text.

    Problems that are those of `violations` name their policy as the rule.
    """
    policies = {each.diagnostic: each.policy for each in violations}
    for each in sort_diagnostics(diagnostics):
        yield Case(
            str(each.subject or each.address or each.summary),
            group,
            RunStatus.FAIL if each.is_error else RunStatus.PASS,
            headline((each,)),
            (diagnostic_finding(each, policies.get(each, "")),),
            details=diagnostics_document([each], sources),
        )


def headline(diagnostics: Sequence[Diagnostic]) -> str:
    """Summarize problems on one line: the first one, and the number of others."""
    said = f"{diagnostics[0].summary}: {diagnostics[0].detail}".splitlines()[0]
    return said if len(diagnostics) == 1 else f"{said} (and {len(diagnostics) - 1} more)"
