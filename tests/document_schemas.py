"""JSON Schemas of kplan's documents: whole, and without room for what they do not describe."""

import json
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from kplan.report.contract import document_schema

FROZEN = Path(__file__).parent / "fixtures" / "document-schemas"
"""Schemas as they were released: one folder for each major version."""


def closed(schema: Any) -> Any:  # noqa: ANN401 - JSON in, JSON out
    """Return a schema that refuses keys of objects that it does not describe."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: closed(each) for key, each in schema.items()}
    is_whole = schema.get("type") == "object" and "properties" in schema and "allOf" not in schema
    return {"additionalProperties": False, **found} if is_whole else found


def faults(name: str, document: Any) -> list[str]:  # noqa: ANN401 - as above
    """List what a document has that its schema does not describe, and the other way round."""
    schema = json.loads(document_schema(name))
    found = Draft202012Validator(closed(schema)).iter_errors(document)
    return [f"{each.json_path}: {each.message[:200]}" for each in found]
