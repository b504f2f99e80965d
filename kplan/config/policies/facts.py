"""What the expressions of a policy may speak of, beside variables and locals."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kplan.config.evaluation.misuse import meant
from kplan.config.evaluation.scope import Found, Names
from kplan.config.problem import Failure, error
from kplan.config.syntax.source import Spot
from kplan.config.values.jsonvalue import Json, from_json_value
from kplan.config.values.sensitive import mark
from kplan.config.values.value import Value
from kplan.model.policy import Question, Unknowable
from kplan.model.resource import Path

CLUSTER = "cluster"
OBJECTS = ("requested", "current")
ROOTS = frozenset({*OBJECTS, CLUSTER, "change", "principal", "ci"})

MEMBERS: Mapping[str, tuple[str, ...]] = {
    CLUSTER: (
        "acls", "brokers", "planned", "racks", "size", "so_far", "topics", "totals",
    ),
    "change": (
        "address", "attributes", "file", "identity", "kind", "line", "offsets", "operation",
        "reason", "risk",
    ),
    "ci": ("actor", "branch", "commit", "name", "pull_request", "run"),
}  # fmt: skip
"""The members of what has the same ones always; `cluster` has every kind by its name too."""

TOPIC_STATE = ("assignments", "generated_replica_assignments", "internal", "topic_id")
"""What topics have beside their attributes (KIP-201's TopicState)."""


@dataclass(slots=True)
class Converted:
    """Facts as values, turned into them once for all policies that are asked the same.

    Members of `cluster` may be large: they are kept from question to question.
    """

    known: dict[str, tuple[object, Value]] = field(default_factory=dict)
    latest: tuple[Question, Mapping[str, Value]] | None = None

    def facts(self, question: Question) -> Mapping[str, Value]:
        """Give what has a value of its own."""
        if self.latest is None or self.latest[0] is not question:
            self.latest = (question, variables(question))
        return self.latest[1]

    def value(self, name: str, found: object) -> Value:
        """Give the value of a member."""
        held = self.known.get(name)
        if held is None or held[0] is not found:
            held = (found, _value(found))
            self.known[name] = held
        return held[1]


@dataclass(frozen=True, slots=True)
class FactNames:
    """Names in a policy: `cluster` by its members, and those of the module around it."""

    question: Question
    module: Names
    converted: Converted

    def find(self, root: str, name: str, subject: Spot) -> Found:
        """Give what `root.name` stands for."""
        if root != CLUSTER:
            return self.module.find(root, name, subject)
        try:
            return self.converted.value(name, self.question.cluster[name])
        except KeyError:
            known = sorted(self.question.cluster)
            told = f'"cluster" has no attribute "{name}".'
            hint = meant(name, known) or f"There is {', '.join(known)}."
            raise Failure([error("KP144", subject.range(), told, hint=hint)]) from None
        except Unknowable as why:
            raise Failure([error("KP147", subject.range(), str(why))], is_final=True) from None

    def refusal(self, root: str, subject: Spot) -> Exception:
        """Say that `cluster` is no value of its own, or what the module says."""
        if root != CLUSTER:
            return self.module.refusal(root, subject)
        told = '"cluster" has no value of its own; take one of its attributes: cluster.NAME.'
        return Failure([error("KP116", subject.range(), told)])


def variables(question: Question) -> Mapping[str, Value]:
    """Give the facts that have a value each; secrets in `requested` are marked."""
    requested = _value(question.requested)
    for path in question.sensitive:
        requested = _marked(requested, path)
    change = {**question.change, "offsets": {str(p): at for p, at in question.offsets.items()}}
    ci = None if question.ci is None else {**dict.fromkeys(MEMBERS["ci"]), **question.ci}
    return {
        "requested": requested,
        "current": _value(question.current),
        "change": _value(change),
        "principal": question.principal,
        "ci": _value(ci),
    }


def _value(found: object) -> Value:
    """Turn plain data into values; there is much of it, and nearly all of it is plain indeed."""
    match found:
        case None | str() | int():
            return found
        case Mapping():
            return {key: _value(found[key]) for key in sorted(found)}
        case list() | tuple():
            return tuple(map(_value, found))
        case _:
            other: Json = found  # type: ignore[assignment] # questions hold plain data
            return from_json_value(other)


def _marked(value: Value, path: Path) -> Value:
    if not path:
        return mark(value)
    if isinstance(value, dict) and path[0] in value:
        return {**value, path[0]: _marked(value[path[0]], path[1:])}
    return value
