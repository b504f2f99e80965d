"""Access in every cluster: the StandardAuthorizer (KIP-801) as joins on equality."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

from kplan.cluster.request import AclBinding
from kplan.fleet.acl_pattern import (
    EVERY_NAME,
    acl_key,
    expand_prefix_keys,
    name_within,
    pattern_key,
    pattern_reach,
)
from kplan.fleet.compat import map_groups
from kplan.fleet.dataframe import arrow_table
from kplan.fleet.kafka_names import kafka_enum_name
from kplan.fleet.snapshot import ALLOW_EVERYONE, CLUSTER
from kplan.kinds.acl import OPERATIONS as OPERATION_WORDS
from kplan.kinds.acl import PATTERN_TYPES, PERMISSIONS, RESOURCE_TYPES
from kplan.policy.access_query import who_can as holders
from kplan.policy.authorizer import (
    IMPLIED_BY,
    OPERATIONS,
    WILDCARD_HOST,
    WILDCARD_PRINCIPAL,
    WILDCARD_RESOURCE,
    AuthorizerRules,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

REQUEST_COLUMNS = ("cluster", "principal", "host", "operation", "resource_type", "resource_name")
"""The columns of a request, in Kafka's own words: `READ`, `TOPIC`."""
_RESOURCE_COLUMNS = ("cluster", "resource_type", "resource_name")
WHO_CAN_SCHEMA = "cluster string, principal string, host string, allowed boolean, because string"
_ANY_PRINCIPAL = ""
"""No principal's name: means all ACLs on a pattern, whoever they are for."""


def request_sums() -> "tuple[Column, ...]":
    """Return what rows of requests are added up to: count, first_at, last_at."""
    from pyspark.sql import functions as F  # noqa: N812 - heavy; its customary name

    return (
        F.sum("count").alias("count"),
        F.min("first_at").alias("first_at"),
        F.max("last_at").alias("last_at"),
    )


def acl_rows(objects: "DataFrame") -> "DataFrame":
    """Return the ACLs among the rows of a run, in Kafka's own words.

    Out: cluster, identity, resource_type, resource_name, pattern_type, principal, host, operation,
    permission.
    """
    from pyspark.sql import functions as F  # noqa: N812 - heavy; its customary name

    found = F.col("attributes")
    return objects.where(F.col("kind") == "kafka_acl").select(
        "cluster",
        "identity",
        kafka_enum_name(found["resource_type"], RESOURCE_TYPES).alias("resource_type"),
        found["resource_name"].alias("resource_name"),
        kafka_enum_name(found["resource_pattern_type_filter"], PATTERN_TYPES).alias("pattern_type"),
        found["acl_principal"].alias("principal"),
        found["acl_host"].alias("host"),
        kafka_enum_name(found["acl_operation"], OPERATION_WORDS).alias("operation"),
        kafka_enum_name(found["acl_permission_type"], PERMISSIONS).alias("permission"),
    )


def authorizer_rules(objects: "DataFrame") -> "DataFrame":
    """Return the authorizer settings of brokers: cluster, super_users, allow_everyone or null."""
    from pyspark.sql import functions as F  # noqa: N812

    found = F.col("attributes")
    users = F.from_json(F.coalesce(found["super_users"], F.lit("[]")), "array<string>")
    return objects.where(F.col("kind") == CLUSTER).select(
        "cluster",
        users.alias("super_users"),
        (found[ALLOW_EVERYONE] == "true").alias("allow_everyone"),
    )


def decisions(
    requests: "DataFrame", acls: "DataFrame", rules: "DataFrame", sides: Sequence[str]
) -> "DataFrame":
    """Evaluate each request under each of several sets of ACLs, as the authorizer does.

    In: requests with at least the columns REQUEST, ACLs as `acl_rows` gives them, rules as
    `authorizer_rules` does; `sides` are columns of the ACLs that say which of the sets each is in.
    Out: REQUEST, each request once, the figures that the requests have beside it, and under the
    name of each side whether it allows.
    """
    from pyspark.sql import functions as F  # noqa: N812

    kept = [name for name in requests.columns if name not in REQUEST_COLUMNS]
    is_super = F.array_contains("super_users", F.col("principal"))
    asked = requests.join(F.broadcast(rules), "cluster", "left").select(
        *requests.columns,
        F.coalesce(is_super, F.expr("false")).alias("is_super"),
        F.coalesce("allow_everyone", F.expr("false")).alias("is_open"),
    )
    held = _acl_lookup_rows(acls, sides).unionByName(
        _pattern_rows(acls, rules, sides), allowMissingColumns=True
    )
    anyone = F.when(F.col("is_open"), F.lit(_ANY_PRINCIPAL))
    who = (F.col("principal"), F.lit(WILDCARD_PRINCIPAL), anyone)
    of_users = (F.when(~F.col("is_super"), each) for each in who)
    # Under null each request has a row of its own, of no ACL.
    found = _pair_with_acls(asked, held, (*of_users, F.lit(None))).where(
        F.col("acl_principal").isNull() | F.col("permission").isNotNull()
    )
    is_meant = F.col("acl_host").isin(WILDCARD_HOST, F.col("host"))
    says = {
        "denied": (F.col("permission") == "DENY") & is_meant & _denies(F.col("operation")),
        "granted": (F.col("permission") == "ALLOW") & is_meant & _grants(F.col("operation")),
        "known": F.col("permission") == _ANY_PRINCIPAL,
    }
    weighed = found.groupBy(*REQUEST_COLUMNS, "is_super", "is_open").agg(
        *(F.max(name).alias(name) for name in kept),
        *(
            F.coalesce(F.max(F.col(side) & said), F.expr("false")).alias(f"{side}.{name}")
            for side in sides
            for name, said in says.items()
        ),
    )
    return weighed.select(*REQUEST_COLUMNS, *kept, *(_decision(side).alias(side) for side in sides))


def _decision(side: str) -> "Column":
    from pyspark.sql import functions as F  # noqa: N812

    denied, granted, known = (F.col(f"`{side}.{name}`") for name in ("denied", "granted", "known"))
    return F.col("is_super") | (F.col("is_open") & ~known) | (granted & ~denied)


def matching_acls(
    requests: "DataFrame", acls: "DataFrame", more: Sequence[str] = ()
) -> "DataFrame":
    """Pair every request with the ACLs that speak for or against it.

    Out: REQUEST, `more`, and of the ACL `identity`, `acl_principal` and `acl_host`.
    """
    from pyspark.sql import functions as F  # noqa: N812

    asked, held = requests.select(*REQUEST_COLUMNS, *more), _acl_lookup_rows(acls, ["identity"])
    found = _pair_with_acls(asked, held, (F.col("principal"), F.lit(WILDCARD_PRINCIPAL)))
    is_meant = F.col("acl_host").isin(WILDCARD_HOST, F.col("host"))
    speaks = _grants(F.col("operation")) | _denies(F.col("operation"))
    return found.where(is_meant & speaks).select(
        *REQUEST_COLUMNS, *more, "identity", "acl_principal", "acl_host"
    )


def _pair_with_acls(
    requests: "DataFrame", held: "DataFrame", who: "tuple[Column, ...]"
) -> "DataFrame":
    """Pair requests with the ACLs on their resources for `who`, whatever the host and operation.

    In: ACLs as `_acl_lookup_rows` gives them. Where one of `who` is null there is a row without an
    ACL, too.

    A request is repeated under the patterns that there are for its principal, and for everyone. Of
    a left join Spark can only hash the right side, the ACLs. It does not see that requests are
    repeated: it would take them for few, and send all of them to the driver to be hashed.
    """
    from pyspark.sql import functions as F  # noqa: N812

    place = ["cluster", "resource_type", "acl_principal"]
    name, reach = F.col("resource_name"), F.col("reach")
    # Kafka asks no ACL on every resource for one whose name begins as that does.
    fits = (reach <= F.length(name)) & (
        (reach != EVERY_NAME) | (name == WILDCARD_RESOURCE) | ~name.startswith(WILDCARD_RESOURCE)
    )
    fits = F.coalesce(fits, F.col("acl_principal").isNull())  # or Spark may join the other way
    patterns = held.select(*(F.col(each).alias(each) for each in (*place, "reach"))).distinct()
    looking = (
        requests.withColumn("acl_principal", F.explode(F.array_distinct(F.array(*who))))
        .join(patterns, place, "left")
        .where(fits)
        .withColumn("acl_name", name_within(reach))
    )
    return looking.join(held, [*place, "reach", "acl_name"], "left")


def requests_on_acls(requests: "DataFrame", acls: "DataFrame") -> "DataFrame":
    """Keep the requests whose resource has one of the ACLs: once under each `key` of these."""
    own = acls.select(*_RESOURCE_COLUMNS[:2], acl_key())
    return _expand_keys(requests, acls).join(own, [*_RESOURCE_COLUMNS[:2], "key"], "left_semi")


def _expand_keys(resources: "DataFrame", acls: "DataFrame") -> "DataFrame":
    """Repeat resources, or requests for them, under each key of an ACL that may be on them."""
    from pyspark.sql import functions as F  # noqa: N812

    name = F.col("resource_name")
    literal = F.when(
        name.startswith(WILDCARD_RESOURCE), F.array(pattern_key("LITERAL", name))
    ).otherwise(
        F.array(pattern_key("LITERAL", name), pattern_key("LITERAL", F.lit(WILDCARD_RESOURCE)))
    )
    return expand_prefix_keys(resources, acls, literal)


def _acl_lookup_rows(acls: "DataFrame", more: Sequence[str]) -> "DataFrame":
    """Return ACLs as requests look for them."""
    from pyspark.sql import functions as F  # noqa: N812

    return acls.select(
        *_RESOURCE_COLUMNS[:2],
        *_pattern_columns(),
        F.col("principal").alias("acl_principal"),
        F.col("host").alias("acl_host"),
        F.col("operation").alias("acl_operation"),
        "permission",
        *more,
    )


def _pattern_columns() -> "tuple[Column, Column]":
    """Return what a resource finds the pattern of an ACL by: reach, acl_name."""
    from pyspark.sql import functions as F  # noqa: N812

    return pattern_reach().alias("reach"), F.col("resource_name").alias("acl_name")


def _pattern_rows(acls: "DataFrame", rules: "DataFrame", sides: Sequence[str]) -> "DataFrame":
    """Return one row for each pattern with ACLs, of clusters that allow resources without ACLs."""
    from pyspark.sql import functions as F  # noqa: N812

    of_open = acls.join(F.broadcast(rules.where("allow_everyone")), "cluster", "left_semi")
    patterns = of_open.groupBy(*_RESOURCE_COLUMNS[:2], *_pattern_columns()).agg(
        *(F.max(s).alias(s) for s in sides)
    )
    nobody = dict.fromkeys(("acl_principal", "permission"), F.lit(_ANY_PRINCIPAL))
    return patterns.withColumns(nobody)


def _denies(column: "Column") -> "Column":
    from pyspark.sql import functions as F  # noqa: N812

    return F.col("acl_operation").isin("ALL", column)


def _grants(column: "Column") -> "Column":
    from pyspark.sql import functions as F  # noqa: N812

    implied = F.expr("false")
    for operation, by in IMPLIED_BY.items():
        implied |= (column == operation) & F.col("acl_operation").isin(*sorted(by))
    return _denies(column) | implied


# ---- questions


def who_can(
    objects: "DataFrame", operation: str, resource_type: str, resource_name: str
) -> "DataFrame":
    """List who may do something to a resource, in every cluster, and why: WHO_CAN.

    Spark finds the ACLs that are on it; they are few, and what they say together is said by the
    code of `kplan access`. `User:*` means everybody but those with a row that is not allowed.
    """
    from pyspark.sql import functions as F  # noqa: N812

    own = F.col("resource_name")
    fits = F.when(
        F.col("pattern_type") == "PREFIXED", F.lit(resource_name).startswith(own)
    ).otherwise(own.isin(resource_name, WILDCARD_RESOURCE))
    acls = acl_rows(objects).where((F.col("resource_type") == resource_type) & fits)
    rows = authorizer_rules(objects).unionByName(acls.drop("identity"), allowMissingColumns=True)

    def answer_groups(given: Any) -> Any:  # noqa: ANN401 - Arrow tables, on the executor
        return arrow_table(
            _cluster_holders(given.to_pylist(), operation, (resource_type, resource_name)),
            WHO_CAN_SCHEMA,
        )

    found = map_groups(rows, ("cluster",), answer_groups, WHO_CAN_SCHEMA)
    return found.distinct().orderBy("cluster", "principal", "host", "allowed")


def _cluster_holders(
    rows: "Sequence[Mapping[str, Any]]", operation: str, resource: tuple[str, str]
) -> list[dict[str, Any]]:
    """Answer for one cluster. In: the ACLs on the resource, and a row of rules."""
    cluster, rules, bindings = rows[0]["cluster"], AuthorizerRules(), []
    for row in rows:
        if row["principal"] is None:
            rules = AuthorizerRules(frozenset(row["super_users"] or ()), row["allow_everyone"])
        else:
            bindings.append(tuple(row[name] for name in _BINDING_FIELDS))
    acls = [AclBinding(*each) for each in sorted(bindings)]  # tasks bring them as they come
    found = holders(operation, resource, acls, rules)
    allowed = [{**asdict(each), "allowed": True} for each in found]
    denied = [{**asdict(one), "allowed": False} for each in found for one in each.exceptions]
    return [{**each, "cluster": cluster} for each in (*allowed, *denied)]


_BINDING_FIELDS = [each.name for each in fields(AclBinding)]


def topic_access(objects: "DataFrame", principal: str) -> "DataFrame":
    """List the operations of a principal on the topics of every cluster, from any host.

    A topic looks for ACLs once, not once for each operation: what each pattern says is a set of
    operations, and these are added up (decision 0088). Out: cluster, topic, operations (in
    alphabetical order).
    """
    from pyspark.sql import functions as F  # noqa: N812

    rules = authorizer_rules(objects).select(
        "cluster",
        F.array_contains("super_users", principal).alias("is_super"),
        F.col("allow_everyone").alias("is_open"),
    )
    said = _allowed_operations(acl_rows(objects), rules, principal)
    topics = objects.where(F.col("kind") == "kafka_topic").select(
        "cluster", F.lit("TOPIC").alias("resource_type"), F.col("identity").alias("resource_name")
    )
    found = (
        _expand_keys(topics, said)
        .join(said.drop(*_RESOURCE_COLUMNS[1:]), ["cluster", "key"], "left")
        .join(F.broadcast(rules), "cluster", "left")
        .where("granted is not null or is_super or is_open")
        .groupBy("cluster", "resource_name", "is_super", "is_open")
        .agg(F.bit_or("granted").alias("granted"), F.bit_or("denied").alias("denied"))
    )
    everything = F.col("is_super") | (F.col("is_open") & F.col("granted").isNull())
    allowed = F.when(everything, F.lit(-1)).otherwise(
        F.col("granted").bitwiseAND(F.bitwise_not("denied"))
    )
    names = bit_names(allowed, _OPERATION_BITS)
    return (
        found.select(
            "cluster",
            F.col("resource_name").alias("topic"),
            F.concat_ws(", ", *names).alias("operations"),
        )
        .where("operations <> ''")
        .orderBy("cluster", "topic")
    )


def name_bits(names: Iterable[str]) -> list[tuple[str, int]]:
    """Give each name a bit, in alphabetical order: sets of them are added up as numbers."""
    return [(name, 1 << at) for at, name in enumerate(sorted(names))]


def bit_names(bits: "Column", of: Iterable[tuple[str, int]]) -> "list[Column]":
    """Return each name whose bit is set; null where it is not. In: what `name_bits` gives."""
    from pyspark.sql import functions as F  # noqa: N812

    return [F.when(bits.bitwiseAND(F.lit(bit)) != 0, F.lit(name)) for name, bit in of]


_OPERATION_BITS = name_bits(OPERATIONS["TOPIC"])


def _allowed_operations(acls: "DataFrame", rules: "DataFrame", principal: str) -> "DataFrame":
    """Combine the ACLs of each topic pattern for a principal, as bits of operations.

    Of a cluster that allows what has no ACLs those for others are there, too, and say nothing. Out:
    cluster, resource_type, resource_name, pattern_type, key, granted, denied.
    """
    from pyspark.sql import functions as F  # noqa: N812

    is_meant = F.col("principal").isin(principal, WILDCARD_PRINCIPAL) & (
        F.col("host") == WILDCARD_HOST
    )
    on_topics = acls.where(F.col("resource_type") == "TOPIC")
    concerned = on_topics.join(F.broadcast(rules), "cluster", "left").where(
        is_meant | F.col("is_open")
    )
    bits = {
        "granted": _operation_bits(is_meant & (F.col("permission") == "ALLOW"), _grants),
        "denied": _operation_bits(is_meant & (F.col("permission") == "DENY"), _denies),
    }
    return (
        concerned.withColumnRenamed("operation", "acl_operation")
        .groupBy(*_RESOURCE_COLUMNS, "pattern_type", acl_key())
        .agg(*(F.bit_or(each).alias(name) for name, each in bits.items()))
    )


def _operation_bits(speaks: "Column", of: "Callable[[Column], Column]") -> "Column":
    """Return the operations of which an ACL speaks, one bit each."""
    from pyspark.sql import functions as F  # noqa: N812

    found = F.lit(0)
    for name, bit in _OPERATION_BITS:
        found = found.bitwiseOR(F.when(of(F.lit(name)), F.lit(bit)).otherwise(F.lit(0)))
    return F.when(speaks, found).otherwise(F.lit(0))
