"""One file per sort of Kafka object; `KINDS` is the whole list."""

from kplan.kinds.acl import AclKind
from kplan.kinds.base import ResourceKind
from kplan.kinds.broker_config import BROKER_CONFIG
from kplan.kinds.connector import ConnectorKind
from kplan.kinds.feature import FeatureKind
from kplan.kinds.logger import LoggerKind
from kplan.kinds.named_config import CLIENT_METRICS, GROUP_CONFIG
from kplan.kinds.quota import QuotaKind
from kplan.kinds.schema_subject import SchemaKind
from kplan.kinds.scram import ScramKind
from kplan.kinds.topic import TopicKind

KINDS: tuple[ResourceKind, ...] = (
    AclKind(),
    BROKER_CONFIG,
    CLIENT_METRICS,
    ConnectorKind(),
    FeatureKind(),
    GROUP_CONFIG,
    LoggerKind(),
    QuotaKind(),
    SchemaKind(),
    ScramKind(),
    TopicKind(),
)
