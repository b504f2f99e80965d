"""Any state there can be, for hypothesis."""

from hypothesis import strategies as st

from kplan.kinds.acl import Acl, AclKind
from kplan.kinds.topic import Topic, TopicKind
from kplan.model.address import Address
from kplan.model.state import OutputValue, Owned, State

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
    }
)
OWNED = st.builds(
    lambda address, value, facts: Owned(address, TopicKind().identify(value), value, **facts),
    addresses("kafka_topic"),
    TOPICS,
    _FACTS,
) | st.builds(
    lambda address, value, facts: Owned(address, AclKind().identify(value), value, **facts),
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
)
