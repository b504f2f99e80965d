"""The largest numbers of the integer types in Kafka's messages: int16, int32 and int64."""

INT16_MAX = 2**15 - 1
"""The largest replication factor, and the bytes of the longest string."""

INT32_MAX = 2**31 - 1
"""The largest id of a broker, and number of partitions."""

INT64_MAX = 2**63 - 1
"""The largest offset and time."""
