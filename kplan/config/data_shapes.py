"""What a `data` block of each sort may say: the provider's arguments, and ours."""

from collections.abc import Mapping

from kplan.config.shape import Shape

META = ("count", "for_each", "depends_on", "provider")
FILTERS = (
    "resource_name",
    "resource_type",
    "resource_pattern_type_filter",
    "acl_principal",
    "acl_host",
    "acl_operation",
    "acl_permission_type",
)

DATA_SHAPES: Mapping[str, Shape] = {
    "kafka_topic": Shape(("name", *META), ("name",)),
    "kafka_topics": Shape(META),
    "kafka_acls": Shape((*FILTERS, *META)),
    "kafka_cluster": Shape(META),
}
