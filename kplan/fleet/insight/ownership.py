"""Which owner and which team each topic of a fleet belongs to."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from kplan.fleet.snapshot import SIZES
from kplan.model.dataclass import dataclass
from kplan.model.fleet import KAFKA_OWNER, Team
from kplan.model.table import NO_OWNER

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_TOPIC_KIND = "kafka_topic"
_PREFIX_END = "._-"
_KEY = r"""\[(?:[0-9]+|"(?:[^"\\]|\\.)*")\]"""
_MODULE = rf"[ .]module\.[^.\[]+(?:{_KEY})?"
"""A module of an owner, and the key of its instance."""


@dataclass(frozen=True, slots=True)
class Ownership:
    """What is known of owners.

    `owned` has cluster, kind, identity and owner of what states own, and `has_topics` says whether
    there are topics among it; `teams` are those of the fleet file, `cluster_teams` the label `team`
    of clusters.
    """

    owned: "DataFrame"
    has_topics: bool = False
    teams: Sequence[Team] = ()
    cluster_teams: Mapping[str, str] | None = None

    @property
    def is_known(self) -> bool:
        """Whether anything says whose topics are; else they are grouped by the prefix of names."""
        return bool(self.has_topics or self.teams or self.cluster_teams)


def add_owner(topics: "DataFrame", ownership: Ownership) -> "DataFrame":
    """Add `owner` and `team` to rows with cluster and topic.

    Topics that begin with `__` are Kafka's own. A team block that names the topic wins, the longest
    prefix first, then one that names the owner or a module around it, then the label `team` of the
    cluster.
    """
    from pyspark.sql import functions as F  # noqa: N812 - heavy; its customary name

    owned = ownership.owned.where(F.col("kind") == _TOPIC_KIND)
    owners = owned.select("cluster", F.col("identity").alias("topic"), "owner")
    topic = F.col("topic")
    unowned = F.lit(NO_OWNER) if ownership.is_known else _name_prefix(topic)
    is_own = topic.startswith("__")
    owner = F.when(is_own, F.lit(KAFKA_OWNER)).otherwise(F.coalesce("owner", unowned))
    team = F.when(is_own, F.lit("")).otherwise(F.coalesce(*_team_choices(ownership)))
    return topics.join(owners, ["cluster", "topic"], "left").withColumns(
        {"owner": owner, "team": team}
    )


def owner_sizes(sizes: "DataFrame", ownership: Ownership) -> "DataFrame":
    """Add up what each owner has in each run.

    In: what `topic_sizes` gives. Out: cluster, run, team, owner, topics, partitions, replicas,
    bytes (null where those of no topic are known), unsized (topics whose bytes are not known).
    """
    from pyspark.sql import functions as F  # noqa: N812

    figures = {
        "topics": F.count(F.lit(1)),
        **{name: F.sum(name) for name in SIZES},
        "unsized": F.count_if(F.col("bytes").isNull()),
    }
    return (
        add_owner(sizes, ownership)
        .groupBy("cluster", "run", "team", "owner")
        .agg(*(each.alias(name) for name, each in figures.items()))
    )


def _team_choices(ownership: Ownership) -> "list[Column]":
    """Return the teams that a topic may be of, the one that counts first."""
    from pyspark.sql import functions as F  # noqa: N812

    topic = F.col("topic")
    named = {name: each.name for each in ownership.teams for name in each.topics}
    exact = {name: team for name, team in named.items() if not name.endswith("*")}
    prefixes = {name[:-1]: team for name, team in named.items() if name.endswith("*")}
    lengths = sorted({len(each) for each in prefixes}, reverse=True)
    owners = {name: each.name for each in ownership.teams for name in each.owners}
    choices = [
        _lookup(exact, topic),
        *(_lookup(prefixes, F.substring(topic, 1, n)) for n in lengths),
        _lookup(owners, F.col("owner")),
        *(_lookup(owners, each) for each in _outer_modules(owners)),
        _lookup(ownership.cluster_teams or {}, F.col("cluster")),
    ]
    return [*(each for each in choices if each is not None), F.lit("")]


def _outer_modules(owners: Iterable[str]) -> "Iterator[Column]":
    """Return what the modules around `owner` may be called, from the inside out.

    `prod: module.shop["eu"].module.a[0]` is of the team that owns `prod`, unless a team owns one of
    its modules: that one, or all of its instances. In: the names that are looked for.
    """
    from pyspark.sql import functions as F  # noqa: N812

    depths = {len(re.findall(_MODULE, name)) for name in owners} - {0}
    for depth in sorted(depths, reverse=True):
        found = F.regexp_extract("owner", f"^.*?:(?:{_MODULE}){{{depth}}}", 0)
        yield found
        yield F.regexp_replace(found, f"{_KEY}$", "")
        yield F.regexp_replace(found, _KEY, "")
    yield F.substring_index("owner", ": module.", 1)


def _lookup(known: Mapping[str, str], key: "Column") -> "Column | None":
    from pyspark.sql import functions as F  # noqa: N812

    if not known:
        return None
    pairs = [F.lit(each) for pair in sorted(known.items()) for each in pair]
    return F.try_element_at(F.create_map(*pairs), key)


def _name_prefix(topic: "Column") -> "Column":
    """Return `shop.*` of `shop.orders`; a name without such an end is its own group."""
    from pyspark.sql import functions as F  # noqa: N812

    found = F.regexp_extract(topic, f"^[^{_PREFIX_END}]+[{_PREFIX_END}]", 0)
    return F.when(found == "", topic).otherwise(F.concat(found, F.lit("*")))
