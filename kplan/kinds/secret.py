"""Secrets: marks that show a change, and messages of brokers without them."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import replace

from kplan.kinds.schema import to_document
from kplan.model.plan import Change
from kplan.model.refusal import Refusal

HIDDEN_VALUE = "(sensitive value)"

_ROUNDS = 4096
_MARK_BYTES = 8


def secret_mark(secret: str, salt: str) -> str:
    """Return what tells a secret from another without telling it.

    The state keeps it to see a change. It is slow to compute and too short to be sure of a guess;
    the salt names what the secret is for, so that equal ones look different.
    """
    slow = hashlib.pbkdf2_hmac("sha256", secret.encode(), f"kplan {salt}".encode(), _ROUNDS)
    return slow[:_MARK_BYTES].hex()


def redact_refusal(refused: Refusal, change: Change) -> Refusal:
    """Take what stands at the sensitive paths of the change out of the broker's message."""
    if not change.sensitive:
        return refused
    message = refused.message
    for secret in sorted(set(_secret_texts(change)), key=len, reverse=True):
        message = message.replace(secret, HIDDEN_VALUE)
    return replace(refused, message=message)


def _secret_texts(change: Change) -> Iterator[str]:
    for value in (change.before, change.after):
        if value is None:
            continue
        for path in change.sensitive:
            found: object = to_document(value)
            for step in path:
                found = found.get(step) if isinstance(found, Mapping) else None
            yield from _leaf_texts(found)


def _leaf_texts(value: object) -> Iterator[str]:
    match value:
        case None | "":
            return
        case Mapping():
            for each in value.values():
                yield from _leaf_texts(each)
        case list() | tuple():
            for each in value:
                yield from _leaf_texts(each)
        case _:
            yield str(value)
