"""The arguments of the `state` block: what the reference says of each, and how it is checked."""

import re
from collections.abc import Callable, Mapping

from kplan.cluster.protocol import INT16_MAX
from kplan.cluster.topic import KPLAN_PREFIX, is_own, topic_name_fault
from kplan.cluster.topology import ObjectService
from kplan.config.values.value import Value
from kplan.kinds.schema import Attribute
from kplan.model.dataclass import dataclass

BACKENDS = ("file", "kafka", *ObjectService)

_KEY = re.compile(r"[A-Za-z0-9._-]{1,200}")
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_ACCOUNT = re.compile(r"[a-z0-9]{3,24}")
_OBJECT_KEY = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*")
_ENDPOINT = re.compile(r"https?://(\[[0-9A-Fa-f:]+\]|[A-Za-z0-9._-]+)(:[0-9]{1,5})?(/[a-z0-9]*)?")


@dataclass(frozen=True, slots=True)
class StateArgument:
    """One argument. `checks` has a function for each backend that takes it; "" is no problem."""

    attribute: Attribute
    checks: Mapping[str, Callable[[Value], str]]
    required_by: tuple[str, ...] = ()


def _topic_problem(value: Value) -> str:
    if not isinstance(value, str):
        return "A topic is named by a string."
    if fault := topic_name_fault(value):
        return f'"{value}" is not a valid topic name: {fault}.'
    if not is_own(value):
        return f"Names of kplan's own topics start with {KPLAN_PREFIX}; it never plans those."
    return ""


def _key_problem(value: Value) -> str:
    if isinstance(value, str) and _KEY.fullmatch(value):
        return ""
    return "A key is of up to 200 letters, digits, dots, underscores and dashes."


def _replication_factor_problem(value: Value) -> str:
    if type(value) is int and 1 <= value <= INT16_MAX:
        return ""
    return "The replication factor is a whole number of 1 or more."


def _bucket_name_problem(value: Value) -> str:
    if isinstance(value, str) and _BUCKET.fullmatch(value):
        return ""
    return "A bucket is named by 3 to 63 lower-case letters, digits, dots and dashes."


def _account_problem(value: Value) -> str:
    if isinstance(value, str) and _ACCOUNT.fullmatch(value):
        return ""
    return "A storage account is named by 3 to 24 lower-case letters and digits."


def _object_key_problem(value: Value) -> str:
    if isinstance(value, str) and _OBJECT_KEY.fullmatch(value):
        return ""
    return (
        "The key of a state in a bucket is of letters, digits, dots, underscores and dashes, in "
        "parts divided by a slash."
    )


def _endpoint_problem(value: Value) -> str:
    if isinstance(value, str) and _ENDPOINT.fullmatch(value):
        return ""
    return "An endpoint is of the form https://HOST:PORT."


def _region_problem(value: Value) -> str:
    return "" if isinstance(value, str) and value else "A region is named by a string."


def _flag_problem(value: Value) -> str:
    return "" if isinstance(value, bool) else "The value is true or false."


_BUCKETS = ("s3", "gcs", "azure")

STATE_ARGUMENTS: Mapping[str, StateArgument] = {
    "account": StateArgument(
        Attribute("azure: the storage account. Required there."),
        {"azure": _account_problem},
        required_by=("azure",),
    ),
    "allow_http": StateArgument(
        Attribute(
            "s3, gcs, azure: allow an http:// endpoint on another machine. Default: false.", "bool"
        ),
        dict.fromkeys(_BUCKETS, _flag_problem),
    ),
    "bucket": StateArgument(
        Attribute("s3, gcs: the bucket, which must exist. Required there."),
        dict.fromkeys(("s3", "gcs"), _bucket_name_problem),
        required_by=("s3", "gcs"),
    ),
    "container": StateArgument(
        Attribute("azure: the container, which must exist. Required there."),
        {"azure": _bucket_name_problem},
        required_by=("azure",),
    ),
    "endpoint": StateArgument(
        Attribute(
            "s3, gcs, azure: the address of a server with the protocol of the service, such as "
            "MinIO, as https://HOST:PORT. Default: that of the environment, or of the service."
        ),
        dict.fromkeys(_BUCKETS, _endpoint_problem),
    ),
    "key": StateArgument(
        Attribute(
            "The name of the state of this configuration: two with the same key in one place share "
            'a state. Required for s3, gcs and azure; for kafka the default is "default".'
        ),
        {"kafka": _key_problem, **dict.fromkeys(_BUCKETS, _object_key_problem)},
        required_by=_BUCKETS,
    ),
    "region": StateArgument(
        Attribute("s3: the region of the bucket. Default: AWS_REGION."), {"s3": _region_problem}
    ),
    "replication_factor": StateArgument(
        Attribute(
            "kafka: of the topic that kplan creates. Default: 3, or the number of brokers if "
            "smaller.",
            "number",
        ),
        {"kafka": _replication_factor_problem},
    ),
    "topic": StateArgument(
        Attribute('kafka: the topic, whose name begins with __kplan_. Default: "__kplan_state".'),
        {"kafka": _topic_problem},
    ),
}
"""What backends take. Values may refer to variables and locals. Credentials are none of them."""

_BACKEND = Attribute(
    "Where the state is stored: file, kafka (a topic of the cluster), s3, gcs or azure. Required."
)

STATE_ATTRIBUTES: Mapping[str, Attribute] = dict(
    sorted({"backend": _BACKEND, **{k: v.attribute for k, v in STATE_ARGUMENTS.items()}}.items())
)
"""All arguments, as the reference describes them."""
