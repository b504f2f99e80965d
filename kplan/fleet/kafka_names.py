"""The names that Kafka itself has for what the provider spells in its own way."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kplan.kinds.acl import OPERATIONS, PATTERN_TYPES, PERMISSIONS, RESOURCE_TYPES

if TYPE_CHECKING:
    from pyspark.sql import Column

_ACL_NAMES = {**RESOURCE_TYPES, **PATTERN_TYPES, **PERMISSIONS, **OPERATIONS}


def kafka_enum_name(word: "Column", names: Mapping[str, str] = _ACL_NAMES) -> "Column":
    """Turn a word of the provider into Kafka's: `DescribeConfigs` to `DESCRIBE_CONFIGS`.

    Those of `names` are looked up, from the first on: a fleet has millions, and a regular
    expression takes longer. They are written as SQL, since each literal is a call of Java.
    """
    from pyspark.sql import functions as F  # noqa: N812 - heavy; its customary name

    pairs = ", ".join(f"'{known}', '{name}'" for name, known in names.items())
    spelled = F.upper(F.regexp_replace(word, "([a-z])([A-Z])", "$1_$2"))
    return F.coalesce(F.try_element_at(F.expr(f"map({pairs})"), word), spelled)
