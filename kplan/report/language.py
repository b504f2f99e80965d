"""The other door of the room: documents about the configuration language itself."""

from collections.abc import Mapping, Sequence

from kplan.kinds.base import ResourceKind
from kplan.kinds.schema import Attribute
from kplan.model.graph import Graph
from kplan.report.documents import json_schema, schema
from kplan.report.documents.json_schema import Shape
from kplan.report.formats.dot import dot
from kplan.report.formats.json_text import json_text
from kplan.report.formats.mermaid import mermaid


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
