"""The other door of the room: documents about the configuration language itself."""

from collections.abc import Mapping, Sequence
from datetime import date

from kplan.kinds.base import ResourceKind
from kplan.kinds.schema import Attribute
from kplan.model.graph import Graph
from kplan.model.policy import PolicyHeader
from kplan.model.test_result import RunResult, RunStatus
from kplan.report.documents import json_schema, policies, schema, tests
from kplan.report.documents.json_schema import Shape
from kplan.report.formats.dot import dot
from kplan.report.formats.json_text import json_line, json_text, ndjson_text
from kplan.report.formats.junit import junit_xml
from kplan.report.formats.mermaid import mermaid
from kplan.report.formats.text import line_text, text
from kplan.report.look import Look


def json_schema_text(
    kinds: Sequence[ResourceKind], provider: Mapping[str, Attribute], shapes: Mapping[str, Shape]
) -> str:
    """Write the JSON Schema of a configuration in JSON syntax; `shapes` are its other blocks."""
    return json_text(json_schema.json_schema(kinds, provider, shapes))


def provider_schema_json(kinds: Sequence[ResourceKind], provider: Mapping[str, Attribute]) -> str:
    """Write what `terraform providers schema -json` writes."""
    return json_text(schema.provider_schema(kinds, provider))


def reference_markdown(kinds: Sequence[ResourceKind], provider: Mapping[str, Attribute]) -> str:
    """Write the reference of attributes as a Markdown page."""
    return schema.reference(kinds, provider)


def graph_dot(graph: Graph) -> str:
    """Write a graph for Graphviz."""
    return dot(graph)


def graph_mermaid(graph: Graph) -> str:
    """Write a graph for Mermaid."""
    return mermaid(graph)


def policy_list_text(heads: Sequence[PolicyHeader], today: date, look: Look) -> str:
    """List policies, with who is excepted from them as of today."""
    return text(policies.policy_list(heads, today), look)


def policy_list_json(heads: Sequence[PolicyHeader], today: date) -> str:
    """Write policies as a JSON list."""
    return json_text(policies.policy_list_data(heads, today))


def result_file_line(path: str, grade: RunStatus | None, look: Look) -> str:
    """Say how far a test file is; without a grade it has just begun."""
    return line_text(tests.file_words(path, grade), look)


def result_run_line(result: RunResult, look: Look) -> str:
    """Say what became of a run."""
    return line_text(tests.run_words(result), look)


def result_summary_line(results: Sequence[RunResult], look: Look) -> str:
    """Count what became of the runs."""
    return line_text(tests.summary_words(results), look)


def result_abstract_json(names: Mapping[str, Sequence[str]], at: str) -> str:
    """Write the message that names all files and runs; `at` is the time."""
    return json_line(tests.abstract_message(names, at))


def result_file_json(path: str, grade: RunStatus | None, at: str) -> str:
    """Write the message that a file begins, or what became of it."""
    return json_line(tests.file_message(path, grade, at))


def result_run_json(
    result: RunResult, sources: Mapping[str, str], at: str, *, has_plan: bool = False
) -> str:
    """Write the messages of a run; with `has_plan` that of its plan too."""
    found = tests.run_messages(result, sources, at)
    plan = tests.plan_message(result, at) if has_plan else None
    return ndjson_text([*found, plan] if plan else found)


def result_summary_json(results: Sequence[RunResult], at: str) -> str:
    """Write the message with the counts."""
    return json_line(tests.summary_message(results, at))


def result_junit(results: Sequence[RunResult], sources: Mapping[str, str]) -> str:
    """Write the results as JUnit XML."""
    return junit_xml(tuple(tests.run_cases(results, sources)))
