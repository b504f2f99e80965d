"""Kafka's rules for names, as its own source and documentation state them."""

import re

MAX_TOPIC_NAME = 249
OWN_PREFIX = "__kplan_"
"""How the names of the topics begin in which kplan keeps things of its own."""

_LEGAL = re.compile(r"[a-zA-Z0-9._-]+")


def topic_name_fault(name: str) -> str:
    """Say what is wrong with a topic name, "" where nothing is (Kafka: Topic.validate)."""
    if not name:
        return "it is empty"
    if name in {".", ".."}:
        return f'it is "{name}"'
    if len(name) > MAX_TOPIC_NAME:
        return f"it has {len(name)} characters; at most {MAX_TOPIC_NAME} are allowed"
    if _LEGAL.fullmatch(name) is None:
        bad = sorted({character for character in name if not _LEGAL.fullmatch(character)})
        shown = " ".join(repr(character) for character in bad)
        return f"it contains {shown}; only letters, digits, '.', '_' and '-' are allowed"
    return ""


def collision_key(name: str) -> str:
    """Give the form in which two topic names may not be equal: '.' and '_' share metric names."""
    return name.replace(".", "_")


def is_internal(name: str) -> bool:
    """Whether the name is one that Kafka or its tools keep for themselves."""
    return name.startswith("__")


def is_own(name: str) -> bool:
    """Whether kplan keeps things of its own in the topic: nothing that it plans is about it."""
    return name.startswith(OWN_PREFIX)
