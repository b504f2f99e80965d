"""Any state there can be, for hypothesis."""

from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from kplan.kinds.acl import Acl, AclKind
from kplan.kinds.topic import TopicKind
from kplan.kinds.topic_rules import Topic
from kplan.model.address import Address
from kplan.model.diagnostic import Diagnostic, Severity, SourceRange
from kplan.model.plan import (
    Action,
    AttributeChange,
    Batch,
    Change,
    OutputChange,
    Plan,
    PlanBasis,
    Reason,
    Risk,
    Step,
)
from kplan.model.resource import Identity
from kplan.model.state import AppliedPlan, OutputValue, OwnedObject, State

# On a machine with much to do, neither drawing nor a fsync is to be timed.
UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

_TEXT = st.text(max_size=12)
_NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_-]{0,8}", fullmatch=True)
_KEYS = st.none() | st.integers(0, 99) | st.text(max_size=6)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | _TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXT, inner, max_size=3),
    max_leaves=6,
)  # fmt: skip

TOPICS = st.builds(
    Topic,
    name=_TEXT,
    partitions=st.none() | st.integers(1, 99),
    replication_factor=st.none() | st.integers(1, 9),
    replica_assignment=st.none()
    | st.lists(st.lists(st.integers(0, 9), max_size=3).map(tuple), max_size=3).map(tuple),
    config=st.dictionaries(_TEXT, _TEXT, max_size=3),
)
ACLS = st.builds(Acl, *[_TEXT] * 7)


def addresses(kind: str) -> st.SearchStrategy[Address]:
    return st.builds(Address, st.just(kind), _NAMES, _KEYS, st.lists(_NAMES, max_size=2).map(tuple))


_FACTS = st.fixed_dictionaries(
    {
        "uid": _TEXT,
        "is_protected": st.booleans(),
        "is_pending": st.booleans(),
        "declared_at": _TEXT,
        "sensitive": st.lists(_TEXT, max_size=2).map(
            lambda keys: frozenset(("config", each) for each in keys)
        ),
    }
)
OWNED = st.builds(
    lambda address, value, facts: OwnedObject(address, TopicKind().identify(value), value, **facts),
    addresses("kafka_topic"),
    TOPICS,
    _FACTS,
) | st.builds(
    lambda address, value, facts: OwnedObject(address, AclKind().identify(value), value, **facts),
    addresses("kafka_acl"),
    ACLS,
    _FACTS,
)
OUTPUTS = st.builds(OutputValue, JSON, JSON) | st.just(OutputValue(None, "string", True))
STATES = st.builds(
    State,
    lineage=_TEXT,
    serial=st.integers(0),
    cluster_id=_TEXT,
    owned=st.lists(OWNED, max_size=4).map(lambda found: {each.address: each for each in found}),
    outputs=st.dictionaries(_TEXT, OUTPUTS, max_size=3),
    applied_plans=st.lists(st.builds(AppliedPlan, *[_TEXT] * 4), max_size=2).map(tuple),
)

RANGES = st.builds(SourceRange, _TEXT, *[st.integers(0, 999)] * 4)
_PATHS = st.lists(_TEXT, min_size=1, max_size=2).map(tuple)
ATTRIBUTES = st.builds(AttributeChange, _PATHS, JSON, JSON, st.booleans(), st.booleans(), _TEXT)
_CHANGE_FACTS = st.fixed_dictionaries(
    {
        "action": st.sampled_from(Action),
        "attributes": st.lists(ATTRIBUTES, max_size=2).map(tuple),
        "reason": st.sampled_from(Reason),
        "uid": _TEXT,
        "declared_at": st.none() | RANGES,
        "is_protected": st.booleans(),
        "previous": st.none() | addresses("kafka_topic"),
        "risk": st.sampled_from(Risk),
        "notes": st.lists(_TEXT, max_size=2).map(tuple),
        "sensitive": st.frozensets(_PATHS, max_size=2),
    }
)


def _changes(
    kind: TopicKind | AclKind, values: st.SearchStrategy[Any]
) -> st.SearchStrategy[Change]:
    return st.builds(
        lambda address, before, after, facts: Change(
            address=address,
            kind=kind.name,
            identity=kind.identify(after or before) if after or before else Identity(""),
            before=before,
            after=after,
            **facts,
        ),
        addresses(kind.name),
        st.none() | values,
        st.none() | values,
        _CHANGE_FACTS,
    )


CHANGES = _changes(TopicKind(), TOPICS) | _changes(AclKind(), ACLS)
DIAGNOSTICS = st.builds(
    Diagnostic,
    code=_TEXT,
    severity=st.sampled_from(Severity),
    summary=_TEXT,
    detail=_TEXT,
    hint=_TEXT,
    address=st.none() | addresses("kafka_topic"),
    subject=st.none() | RANGES,
    related=st.lists(st.tuples(_TEXT, RANGES), max_size=2).map(tuple),
    values=st.lists(st.tuples(_TEXT, _TEXT), max_size=2).map(tuple),
)
_OUTPUT_CHANGES = st.builds(OutputChange, _TEXT, st.sampled_from(Action), JSON, JSON) | st.builds(
    OutputChange, _TEXT, st.sampled_from(Action), st.none(), st.none(), st.just(value=True)
)


_SMALL = st.builds(
    lambda name, action, uid: Change(
        Address("kafka_topic", "a"),
        "kafka_topic",
        Identity(name),
        action,
        None,
        Topic(name),
        uid=uid,
    ),
    _TEXT,
    st.sampled_from(Action),
    _TEXT,
)


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """Draw a plan whose batches hold its own changes, and now and then one of nobody else."""
    changes = draw(st.lists(_SMALL, max_size=4))
    held = st.sampled_from(changes) | _SMALL if changes else _SMALL
    batches = st.builds(
        Batch,
        _TEXT,
        st.builds(Step, st.integers(0, 99), _TEXT),
        st.lists(held, max_size=3).map(tuple),
    )
    return Plan(
        based_on=draw(st.builds(PlanBasis, _TEXT, _TEXT, st.integers(0), _TEXT)),
        changes=tuple(changes),
        batches=draw(st.lists(batches, max_size=3).map(tuple)),
        drift=draw(st.lists(_SMALL, max_size=2).map(tuple)),
        outputs=draw(st.lists(_OUTPUT_CHANGES, max_size=2).map(tuple)),
        diagnostics=draw(st.lists(DIAGNOSTICS, max_size=1).map(tuple)),
        unread=draw(st.dictionaries(_TEXT, _TEXT, max_size=2)),
        is_complete=draw(st.booleans()),
        checksum=draw(_TEXT),
        cluster=draw(st.dictionaries(_TEXT, _TEXT, max_size=2)),
        created_at=draw(_TEXT),
    )
