"""Test results and the coverage of policies as text, JSON and JUnit XML."""

from collections.abc import Mapping, Sequence

from kplan.model.policy import RuleReference
from kplan.model.table import RunResult, RunStatus
from kplan.report.documents import run_result
from kplan.report.documents.notation import count_text
from kplan.report.format import TextStyle
from kplan.report.formats.json_text import json_line, ndjson_text
from kplan.report.formats.junit import junit_xml
from kplan.report.formats.text import render_line
from kplan.report.links import link_diagnostics


def result_file_line(path: str, grade: RunStatus | None, look: TextStyle) -> str:
    """Say how far a test file is; without a grade it has just begun."""
    return render_line(run_result.file_words(path, grade), look)


def result_run_line(result: RunResult, look: TextStyle) -> str:
    """Say the outcome of a run."""
    return render_line(run_result.run_words(result), look)


def result_summary_line(results: Sequence[RunResult], look: TextStyle) -> str:
    """Count the outcome of the runs."""
    return render_line(run_result.summary_words(results), look)


def result_abstract_json(names: Mapping[str, Sequence[str]], at: str) -> str:
    """Write the message that names all files and runs; `at` is the time."""
    return json_line(run_result.abstract_message(names, at))


def result_file_json(path: str, grade: RunStatus | None, at: str) -> str:
    """Write the message that a file begins, or the outcome of it."""
    return json_line(run_result.file_message(path, grade, at))


def result_run_json(
    result: RunResult,
    sources: Mapping[str, str],
    at: str,
    *,
    has_plan: bool = False,
    docs_url: str = "",
) -> str:
    """Write the messages of a run; with `has_plan` that of its plan too.

    `docs_url` is where the manual is, whose pages each diagnostic then names.
    """
    found = run_result.run_messages(result, sources, at)
    plan = run_result.plan_message(result, at) if has_plan else None
    messages = [*found, plan] if plan else found
    return ndjson_text(link_diagnostics(each, docs_url) for each in messages)


def result_summary_json(results: Sequence[RunResult], at: str) -> str:
    """Write the message with the counts."""
    return json_line(run_result.summary_message(results, at))


def result_junit(results: Sequence[RunResult], sources: Mapping[str, str]) -> str:
    """Write the results as JUnit XML."""
    return junit_xml(tuple(run_result.run_cases(results, sources)))


def coverage_text(rules: Sequence[RuleReference], unfired: Sequence[RuleReference]) -> str:
    """Show how many rules of policies fired in tests, and name the others."""
    lines = [f"Coverage: {len(rules) - len(unfired):,} of {count_text(len(rules), 'rule')} fired."]
    lines += [f"  never: {each.policy}: {each.label}" for each in unfired]
    return "\n".join(lines) + "\n"


def coverage_json(rules: Sequence[RuleReference], unfired: Sequence[RuleReference]) -> str:
    """Write the coverage as one message."""
    return json_line(
        {
            "type": "policy_coverage",
            "rules": len(rules),
            "fired": len(rules) - len(unfired),
            "never_fired": [{"policy": each.policy, "rule": each.label} for each in unfired],
        }
    )
