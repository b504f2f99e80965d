"""Keeping secrets out of what others wrote: brokers quote the values that they refuse."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import replace

from kplan.kinds.schema import document
from kplan.model.plan import Change
from kplan.model.refusal import Refusal

HIDDEN = "(sensitive value)"

_ROUNDS = 4096
_MARK_BYTES = 8


def mark_of(secret: str, salt: str) -> str:
    """Give what tells a secret from another without telling it.

    The state keeps it to see a change. It is slow to compute and too short to be sure of a guess;
    the salt names what the secret is for, so that equal ones look different.
    """
    slow = hashlib.pbkdf2_hmac("sha256", secret.encode(), f"kplan {salt}".encode(), _ROUNDS)
    return slow[:_MARK_BYTES].hex()


def without_secrets(refused: Refusal, change: Change) -> Refusal:
    """Take what stands at the sensitive paths of the change out of the broker's message."""
    if not change.sensitive:
        return refused
    message = refused.message
    for secret in sorted(set(_secrets(change)), key=len, reverse=True):
        message = message.replace(secret, HIDDEN)
    return replace(refused, message=message)


def _secrets(change: Change) -> Iterator[str]:
    for value in (change.before, change.after):
        if value is None:
            continue
        for path in change.sensitive:
            found: object = document(value)
            for step in path:
                found = found.get(step) if isinstance(found, Mapping) else None
            yield from _texts(found)


def _texts(value: object) -> Iterator[str]:
    match value:
        case None | "":
            return
        case Mapping():
            for each in value.values():
                yield from _texts(each)
        case list() | tuple():
            for each in value:
                yield from _texts(each)
        case _:
            yield str(value)
