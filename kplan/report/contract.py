"""JSON Schemas of the documents that kplan writes for programs."""

from collections.abc import Mapping
from pathlib import Path

DOCUMENTS: Mapping[str, str] = {
    "plan": "kplan show -json, and kplan plan -report=json",
    "outcomes": "kplan apply -report=json",
    "stream": "a line of kplan plan -json and kplan apply -json",
    "drift": "kplan drift -json",
    "diagnostics": "kplan validate -json",
    "state": "the state",
    "policy": "the facts that a policy sees",
    "figures": "kplan fleet commands with -report=json",
    "tables": "a row of a table of a fleet",
}
"""Where each document is written. Within a major version schemas are only added to."""

_FOLDER = Path(__file__).parent / "schemas"


def document_schema(name: str) -> str:
    """Return the JSON Schema (draft 2020-12) of a document.

    Raises:
        KeyError: there is no such document.

    """
    if name not in DOCUMENTS:
        raise KeyError(name)
    return (_FOLDER / f"{name}.json").read_text(encoding="utf-8")
