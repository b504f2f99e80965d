"""The state as a JSON document, and back.

In this order: format, kplan_version, lineage, serial, cluster_id, clusters, outputs, resources,
applied_plans if there are any, sha256. Resources are in order of address, maps in order of key,
so that two states differ where the things they describe differ. A resource may have
`also_declared`: further addresses of the same object, and `sensitive`: paths of values that are
not shown. Earlier versions leave both out.

Format 2 is that of several clusters: it has `clusters`, ids by key of connection, and resources may
name their `provider`. What is about the connection without alias alone is written in format 1,
which earlier versions read.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any, cast

import orjson

from kplan.kinds.schema import secret_paths, to_stored_document
from kplan.model.address import Address
from kplan.model.dataclass import dataclass
from kplan.model.errors import StateCorruptError, StateError
from kplan.model.resource import Identity
from kplan.model.state import AppliedPlan, OutputValue, OwnedModules, OwnedObject, State
from kplan.state.json_document import decode_value, is_known_kind, is_sealed, seal_document

FORMAT = 2
_AFTER_HEADER = b',\n  "outputs": '
_MERGE_CONFLICT_MARK = b"<<<<<<< "

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class StateHeader:
    """The key of a state among others."""

    lineage: str
    serial: int
    cluster_id: str


def encode_state(state: State, kplan_version: str) -> bytes:
    """Write a state. Values of sensitive outputs and secret attributes are left out."""
    owned = sorted(state.owned.values(), key=lambda each: each.address.sort_key)
    return seal_document(
        {
            "format": _format_number(state),
            "kplan_version": kplan_version,
            "lineage": state.lineage,
            "serial": state.serial,
            "cluster_id": state.cluster_id,
            **_encode_clusters(state),
            "outputs": {name: _encode_output(each) for name, each in sorted(state.outputs.items())},
            "resources": [encode_owned(each) for each in owned],
            **_encode_applied_plans(state),
        }
    )


def state_header(state: State) -> StateHeader:
    """Return the state from others."""
    return StateHeader(state.lineage, state.serial, state.cluster_id)


def encode_move_note(to: str, kplan_version: str) -> bytes:
    """Write a note in the place of a state that was moved away."""
    return seal_document({"format": 1, "kplan_version": kplan_version, "moved_to": to})


def decode_move_note(data: bytes) -> str:
    """Return where a state was moved to that stood here, "" where the bytes are no such note."""
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return ""
    return str(found.get("moved_to", "")) if isinstance(found, dict) else ""


def moved_state_error(to: str) -> StateError:
    """Refuse to read a state where it was moved away from."""
    return StateError(
        f"The state was moved to {to}.",
        "Say in the configuration where it is: a state block with its backend, or none for a file.",
    )


def decode_state(data: bytes) -> State:
    """Read a state.

    Raises:
        StateCorruptError: the bytes are not exactly what some version of kplan wrote, or their
            format is newer than this version.
        StateError: the state holds a kind that this version does not know, or was moved away.

    """
    document = _parse_document(data)
    with _raise_corrupt_errors():
        _check_kinds(document)
        heading = _document_header(document)
        owned = [decode_owned(each) for each in document["resources"]]
        return State(
            lineage=heading.lineage,
            serial=heading.serial,
            cluster_id=heading.cluster_id,
            owned={each.address: each for each in owned},
            outputs={name: _decode_output(each) for name, each in document["outputs"].items()},
            applied_plans=tuple(AppliedPlan(**each) for each in document.get("applied_plans", ())),
            clusters={str(key): str(each) for key, each in document.get("clusters", {}).items()},
        )


def decode_modules(data: bytes) -> OwnedModules:
    """Read only what is owned, and the modules that declare it; raises as `decode_state`.

    A fleet asks who owns a million objects, and nothing else of them.
    """
    document = _parse_names(data)
    with _raise_corrupt_errors():
        _check_kinds(document)
        return {
            (each["kind"], Identity(each["identity"]), str(each.get("provider", ""))): (
                Address.parse_module(each["address"])
            )
            for each in document["resources"]
        }


def _parse_names(data: bytes) -> Json:
    """Parse in half the time what has no large numbers: they would lose digits here."""
    try:
        document = orjson.loads(data) if is_sealed(data) else {}
    except ValueError:  # such as half a character
        document = {}
    is_usual = "resources" in document and document["format"] <= FORMAT
    return document if is_usual else _parse_document(data)


def decode_header(data: bytes) -> StateHeader:
    """Read only the key of the state; raises as `decode_state`.

    What is behind it is not read where the checksum says that it is whole: states are
    large, and every write asks this of the one before.
    """
    head, follows, _ = data.partition(_AFTER_HEADER)
    document = json.loads(head + b"}") if follows and is_sealed(data) else _parse_document(data)
    if document["format"] > FORMAT:
        document = _parse_document(data)
    with _raise_corrupt_errors():
        return _document_header(document)


def encode_owned(owned: OwnedObject) -> dict[str, object]:
    """Write one owned object."""
    kind = owned.address.kind
    sensitive = sorted(owned.sensitive - secret_paths(type(owned.value)))
    return {
        "address": str(owned.address),
        "kind": kind,
        "identity": owned.identity,
        "uid": owned.uid,
        "value": to_stored_document(owned.value),
        "protected": owned.is_protected,
        "pending": owned.is_pending,
        "declared_at": owned.declared_at,
        **({"provider": owned.provider} if owned.provider else {}),
        **({"also_declared": [str(each) for each in owned.others]} if owned.others else {}),
        **({"sensitive": [list(each) for each in sensitive]} if sensitive else {}),
    }


def decode_owned(found: Json) -> OwnedObject:
    """Read the output of `encode_owned`.

    Raises:
        KeyError: something is missing, or the kind is unknown.
        ValueError: the address is none.

    """
    return OwnedObject(
        address=Address.parse(found["address"]),
        identity=Identity(found["identity"]),
        value=decode_value(found["kind"], found["value"]),
        uid=found["uid"],
        is_protected=found["protected"],
        is_pending=found["pending"],
        declared_at=found["declared_at"],
        provider=str(found.get("provider", "")),
        others=tuple(Address.parse(each) for each in found.get("also_declared", ())),
        sensitive=frozenset(tuple(each) for each in found.get("sensitive", ())),
    )


@contextmanager
def _raise_corrupt_errors() -> Iterator[None]:
    """Turn missing-key errors into one error about the file."""
    try:
        yield
    except (AttributeError, KeyError, TypeError, ValueError) as failure:
        raise StateCorruptError(f"It lacks or misplaces something: {failure}.") from failure


def _parse_document(data: bytes) -> Json:
    if not data.strip():
        raise StateCorruptError("It is empty.")
    if data.startswith(_MERGE_CONFLICT_MARK) or b"\n" + _MERGE_CONFLICT_MARK in data:
        raise StateCorruptError(
            "It holds both sides of a git merge.",
            "Take one side (git checkout --ours or --theirs); kplan state rebuild then finds what "
            "the other side made.",
        )
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as failure:
        raise StateCorruptError(
            f"It is truncated or damaged; it is not valid JSON: {failure}."
        ) from failure
    if not isinstance(found, dict) or not isinstance(found.get("format"), int):
        raise _foreign_document_error(found)
    if found["format"] > FORMAT:
        raise StateCorruptError(
            f"Its format is {found['format']}; this version of kplan reads formats up to {FORMAT}.",
            f"Use {_writer_version(found)} or later.",
        )
    if not is_sealed(data):
        raise StateCorruptError("Its checksum is wrong: it was changed after kplan wrote it.")
    if "moved_to" in found:
        raise moved_state_error(str(found["moved_to"]))
    return cast("Json", found)


def _foreign_document_error(found: object) -> StateError:
    if isinstance(found, dict) and "terraform_version" in found:
        return StateError(
            "It is a state of Terraform, not of kplan.",
            "Record its objects in a state of kplan: kplan import -from-tfstate=FILE",
        )
    return StateCorruptError("It is JSON, but no state of kplan.")


def _check_kinds(document: Json) -> None:
    kinds = {str(each["kind"]) for each in document["resources"]}
    unknown = sorted(kind for kind in kinds if not is_known_kind(kind))
    if unknown:
        raise StateError(
            f"It holds objects of {', '.join(unknown)}, which this version of kplan does not know.",
            f"Use {_writer_version(document)}, which wrote it, or later.",
        )


def _writer_version(document: Json) -> str:
    return f"kplan {document.get('kplan_version', '')}".strip()


def _document_header(document: Json) -> StateHeader:
    return StateHeader(
        str(document["lineage"]), int(document["serial"]), str(document["cluster_id"])
    )


def _format_number(state: State) -> int:
    is_plain = not state.clusters and not any(each.provider for each in state.owned.values())
    return 1 if is_plain else FORMAT


def _encode_clusters(state: State) -> dict[str, object]:
    return {"clusters": dict(sorted(state.clusters.items()))} if state.clusters else {}


def _encode_applied_plans(state: State) -> dict[str, object]:
    """Write the saved plans that were applied; a state that never saw one is as it always was."""
    plans = [
        {key: value for key, value in asdict(each).items() if value or key != "policy_principal"}
        for each in state.applied_plans
    ]
    return {"applied_plans": plans} if plans else {}


def _encode_output(output: OutputValue) -> dict[str, object]:
    return {
        "value": None if output.is_sensitive else output.value,
        "type": output.type,
        "sensitive": output.is_sensitive,
    }


def _decode_output(found: Json) -> OutputValue:
    return OutputValue(found["value"], found["type"], found["sensitive"])
