"""What a platform does with a declared object that Apache Kafka would take: rules as values."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from enum import StrEnum
from typing import Any

from kplan.cluster.platform import Platform
from kplan.kinds.topic_rules import KNOWN_TOPIC_CONFIGS
from kplan.model.dataclass import dataclass
from kplan.model.resource import Path

Found = Iterator[tuple[Path, str]]
"""The place of each value that a rule is about, and what is wrong with it as a sentence."""

Finder = Callable[[Any, Any], Found]
"""Takes the value that is to be, and the live one, None where there is none."""


class Effect(StrEnum):
    """What the platform does; ELSEWHERE is what its own tools manage, and not Kafka's protocol."""

    REFUSED = "refused"
    ELSEWHERE = "managed elsewhere"
    IGNORED = "ignored"
    REVERTED = "reverted"


@dataclass(frozen=True, slots=True)
class PlatformRule:
    """A fact about objects of a kind on a platform: `about` is a row of a table, `page` its source.

    `remedy` says what to do instead.
    """

    platform: Platform
    kind: str
    effect: Effect
    about: str
    page: str
    remedy: str
    find: Finder
    code: str
    is_warning: bool = False


def every_object(sentence: str) -> Finder:
    """Find every object of the kind."""

    def find(value: object, live: object) -> Found:
        del value, live
        yield (), sentence

    return find


def _changed_configs(value: Any, live: Any) -> Iterator[tuple[str, str]]:  # noqa: ANN401 - see Finder
    held: Mapping[str, str] = live.config if live is not None else {}
    for key, text in sorted(value.config.items()):
        if held.get(key) != text:
            yield key, text


def configs_beside(settable: Collection[str], sentence: str) -> Finder:
    """Find configs of topics that Kafka knows and that are not among the settable ones."""
    refused = KNOWN_TOPIC_CONFIGS - {*settable}
    return configs_among(refused, sentence)


def configs_among(keys: Collection[str], sentence: str) -> Finder:
    """Find the configs of these names; `{key}` in the sentence is the name."""

    def find(value: object, live: object) -> Found:
        for key, _ in _changed_configs(value, live):
            if key in keys:
                yield ("config", key), sentence.format(key=key)

    return find


def config_above(key: str, most: int) -> Finder:
    """Find a value of a config that is too large."""

    def find(value: object, live: object) -> Found:
        for found, text in _changed_configs(value, live):
            if found == key and re.fullmatch(r"\d+", text) and int(text) > most:
                yield ("config", key), f"{key} is {text}, and may be at most {most}."

    return find


def config_after_creation(key: str) -> Finder:
    """Find another value of a config of an object that exists."""

    def find(value: Any, live: Any) -> Found:  # noqa: ANN401 - see Finder
        if live is not None and value.config.get(key) != live.config.get(key):
            yield ("config", key), f"{key} can be set only when the topic is created."

    return find


def attribute_unlike(name: str, matches: str, sentence: str) -> Finder:
    """Find an attribute that is set to what the regular expression does not match.

    `{value}` in the sentence is the value.
    """

    def find(value: object, live: object) -> Found:
        said, held = getattr(value, name), getattr(live, name, None)
        if said is not None and said != held and not re.fullmatch(matches, str(said)):
            yield (name,), sentence.format(value=said)

    return find


def attribute_declared(name: str, sentence: str) -> Finder:
    """Find an attribute that is set at all, and not worked out by kplan."""

    def find(value: object, live: object) -> Found:
        is_generated = name == "replica_assignment" and getattr(value, "is_generated", False)
        said = None if is_generated else getattr(value, name)
        if said is not None and said != getattr(live, name, None):
            yield (name,), sentence

    return find
