"""How connections to clusters are named.

A connection has a key: "" for the provider block without alias, `west` for one with `alias =
"west"`, `by_region["eu"]` for an instance of one with for_each.
"""


def connection_name(key: str) -> str:
    """Name a connection as a configuration does: `kafka`, `kafka.west`."""
    return f"kafka.{key}" if key else "kafka"


def on_cluster(what: str, key: str) -> str:
    """Say on which cluster something is, where there is more than the one without alias."""
    return f"{what} on {connection_name(key)}" if key else what
