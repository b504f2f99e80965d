"""Results of tests, in the words of `terraform test`."""

from collections.abc import Iterator, Mapping, Sequence

from kplan.model.table import RunResult, RunStatus, overall_status
from kplan.report.data import EMPTY_DOCUMENT, Case, Data
from kplan.report.document import Line, Span, Tone, line, strong_span
from kplan.report.documents.diagnostic import diagnostic_finding, diagnostics_document, headline
from kplan.report.documents.message import StreamMessage, diagnostic_message, stream_message
from kplan.report.documents.plan_data import plan_data

IN_PROGRESS = "in progress"

_WORDS: Mapping[RunStatus, Span] = {
    RunStatus.PASS: Span("pass", Tone.ADD),
    RunStatus.FAIL: Span("fail", Tone.ERROR),
    RunStatus.ERROR: Span("fail", Tone.ERROR),
    RunStatus.SKIP: Span("skip", Tone.FAINT),
}


def file_words(path: str, grade: RunStatus | None) -> Line:
    """Say how far a file is; without a grade it has just begun."""
    return line(f"{path}... ", Span(IN_PROGRESS, Tone.FAINT) if grade is None else _WORDS[grade])


def run_words(result: RunResult) -> Line:
    """Say the outcome of a run."""
    return line(f'  run "{result.name}"... ', _WORDS[result.status])


def summary_words(results: Sequence[RunResult]) -> Line:
    """Count the outcome of the runs."""
    return line(strong_span(_result(results)), _counts_text(results))


def _result(results: Sequence[RunResult]) -> str:
    return "Success!" if overall_status(results) is RunStatus.PASS else "Failure!"


def _counts_text(results: Sequence[RunResult]) -> str:
    counts = _counts(results)
    skipped = f", {counts['skipped']} skipped" if counts["skipped"] else ""
    return f" {counts['passed']} passed, {counts['failed'] + counts['errored']} failed{skipped}."


def _counts(results: Sequence[RunResult]) -> dict[str, int]:
    grades = [each.status for each in results]
    return {
        "passed": grades.count(RunStatus.PASS),
        "failed": grades.count(RunStatus.FAIL),
        "errored": grades.count(RunStatus.ERROR),
        "skipped": grades.count(RunStatus.SKIP),
    }


def abstract_message(names: Mapping[str, Sequence[str]], at: str) -> StreamMessage:
    """Say first which runs of which files there are."""
    runs = sum(len(each) for each in names.values())
    said = f"Found {_plural(len(names), 'file')} and {_plural(runs, 'run block')}"
    found: dict[str, Data] = {name: list(names[name]) for name in names}
    return stream_message("test_abstract", said, at, test_abstract=found)


def _plural(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def file_message(path: str, grade: RunStatus | None, at: str) -> StreamMessage:
    """Return that a file begins, or the outcome of it."""
    values: dict[str, Data] = {"path": path, "progress": "starting"}
    if grade is not None:
        values |= {"progress": "complete", "status": grade.value}
    said = _line_text(file_words(path, grade))
    return {**stream_message("test_file", said, at, test_file=values), "@testfile": path}


def run_messages(result: RunResult, sources: Mapping[str, str], at: str) -> list[StreamMessage]:
    """Return the outcome of a run, and every problem that it met."""
    place: dict[str, Data] = {"@testfile": result.path, "@testrun": result.name}
    answer: Data = {
        "path": result.path,
        "run": result.name,
        "progress": "complete",
        "status": result.status.value,
        "elapsed": round(result.elapsed_s * 1000),
    }
    said = _line_text(run_words(result))
    found = [stream_message("test_run", said, at, test_run=answer)]
    found += [diagnostic_message(each, sources, at) for each in result.diagnostics]
    return [{**each, **place} for each in found]


def plan_message(result: RunResult, at: str) -> StreamMessage | None:
    """Return the plan of a run in the keys of `show -json`; None if it did not get that far."""
    if result.plan is None:
        return None
    place: dict[str, Data] = {"@testfile": result.path, "@testrun": result.name}
    planned = plan_data(result.plan)
    return {**stream_message("test_plan", "The plan of the run", at, test_plan=planned), **place}


def summary_message(results: Sequence[RunResult], at: str) -> StreamMessage:
    """Return the counts."""
    found: Data = {"status": overall_status(results).value, **_counts(results)}
    said = f"{_result(results)}{_counts_text(results)}"
    return stream_message("test_summary", said, at, test_summary=found)


def _line_text(words: Line) -> str:
    return "".join(each.text for each in words)


def run_cases(results: Sequence[RunResult], sources: Mapping[str, str]) -> Iterator[Case]:
    """Make a case of each run; `sources` maps file to its text."""
    for each in results:
        errors = [one for one in each.diagnostics if one.is_error]
        has_failed = each.status in {RunStatus.FAIL, RunStatus.ERROR}
        yield Case(
            each.name,
            each.path,
            each.status,
            headline(errors) if has_failed else each.reason,
            tuple(diagnostic_finding(one) for one in each.diagnostics),
            each.elapsed_s,
            diagnostics_document(each.diagnostics, sources) if has_failed else EMPTY_DOCUMENT,
        )
