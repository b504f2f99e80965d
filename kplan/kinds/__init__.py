"""One file per sort of Kafka object; `KINDS` is the whole list."""

from kplan.kinds.acl import AclKind
from kplan.kinds.base import ResourceKind
from kplan.kinds.quota import QuotaKind
from kplan.kinds.scram import ScramKind
from kplan.kinds.topic import TopicKind

KINDS: tuple[ResourceKind, ...] = (
    AclKind(),
    QuotaKind(),
    ScramKind(),
    TopicKind(),
)
