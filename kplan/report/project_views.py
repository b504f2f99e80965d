"""Schemas, graphs and policy lists as text, JSON, DOT and Mermaid."""

from collections.abc import Mapping, Sequence
from datetime import date

from kplan.kinds.base import ResourceKind
from kplan.kinds.schema import Attribute
from kplan.model.policy import PolicyHeader
from kplan.model.table import Graph
from kplan.report.documents import policy, schema
from kplan.report.documents.schema import BlockShape
from kplan.report.format import TextStyle
from kplan.report.formats.graph import render_dot, render_mermaid
from kplan.report.formats.json_text import json_text
from kplan.report.formats.text import render_text


def json_schema_text(
    kinds: Sequence[ResourceKind],
    provider: Mapping[str, Attribute],
    shapes: Mapping[str, BlockShape],
) -> str:
    """Write the JSON Schema of a configuration in JSON syntax; `shapes` are its other blocks."""
    return json_text(schema.json_schema(kinds, provider, shapes))


def provider_schema_json(kinds: Sequence[ResourceKind], provider: Mapping[str, Attribute]) -> str:
    """Write the output of `terraform providers schema -json`."""
    return json_text(schema.provider_schema(kinds, provider))


def reference_markdown(
    kinds: Sequence[ResourceKind],
    provider: Mapping[str, Attribute],
    state: Mapping[str, Attribute],
) -> str:
    """Write the reference of attributes as a Markdown page."""
    return schema.reference_page(kinds, provider, state)


def graph_dot(graph: Graph) -> str:
    """Write a graph for Graphviz."""
    return render_dot(graph)


def graph_mermaid(graph: Graph) -> str:
    """Write a graph for Mermaid."""
    return render_mermaid(graph)


def policy_list_text(heads: Sequence[PolicyHeader], today: date, look: TextStyle) -> str:
    """List policies, with who is excepted from them as of today."""
    return render_text(policy.policy_list_document(heads, today), look)


def policy_list_json(heads: Sequence[PolicyHeader], today: date) -> str:
    """Write policies as a JSON list."""
    return json_text(policy.policy_list_data(heads, today))
