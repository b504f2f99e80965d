"""The names that Kafka itself has for what the provider spells in its own way."""

from typing import TYPE_CHECKING

from kplan.kinds.acl import OPERATIONS, PATTERN_TYPES, PERMISSIONS, RESOURCE_TYPES

if TYPE_CHECKING:
    from pyspark.sql import Column

_ACL_WORDS = {
    word: name
    for names in (RESOURCE_TYPES, PATTERN_TYPES, PERMISSIONS, OPERATIONS)
    for name, word in names.items()
}


def kafka_enum_name(word: "Column") -> "Column":
    """Turn a word of the provider into Kafka's: `DescribeConfigs` to `DESCRIBE_CONFIGS`.

    Those of ACLs are looked up: a fleet has millions, and a regular expression takes longer.
    """
    from pyspark.sql import functions as F  # noqa: N812 - heavy; its customary name

    pairs = (F.lit(each) for pair in _ACL_WORDS.items() for each in pair)
    spelled = F.upper(F.regexp_replace(word, "([a-z])([A-Z])", "$1_$2"))
    return F.coalesce(F.create_map(*pairs)[word], spelled)
