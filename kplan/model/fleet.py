"""What a fleet file says of teams, prices, limits and thresholds, and the answers made of it."""

from collections.abc import Mapping
from dataclasses import field, replace
from decimal import Decimal

from kplan.model.dataclass import dataclass

SPARK_ADDRESSES = {"spark.master": "master", "spark.remote": "remote"}
"""Settings of Spark that are set by arguments of their own."""
SECRET_SETTINGS = "spark.kplan.secrets"  # noqa: S105 - the name of a setting
"""A setting of Spark: the names of others that are sensitive in the fleet file."""
KAFKA_OWNER = "(kafka)"
"""What owns the topics that Kafka and its tools keep for themselves."""


@dataclass(frozen=True, slots=True)
class Team:
    """A team, by the configurations that it owns and the topics that are its own.

    `topics` are names, or prefixes that end in `*`.
    """

    name: str
    owners: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Prices:
    """What things cost; None is not charged.

    A GiB is stored for a month in one replica; a partition has one price whatever its replicas.
    """

    per_gib_month: Decimal | None = None
    per_partition_month: Decimal | None = None
    per_million_requests: Decimal | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing is charged."""
        every = (self.per_gib_month, self.per_partition_month, self.per_million_requests)
        return all(each is None for each in every)


@dataclass(frozen=True, slots=True)
class CostRules:
    """The `costs` block: prices, and those of clusters where they differ."""

    currency: str = ""
    prices: Prices = field(default_factory=Prices)
    by_cluster: Mapping[str, Prices] = field(default_factory=dict)

    def prices_of(self, cluster: str) -> Prices:
        """Return the prices of a cluster: its own, and the common ones for the rest."""
        own = self.by_cluster.get(cluster, Prices())
        names = ("per_gib_month", "per_partition_month", "per_million_requests")
        given = {name: getattr(own, name) for name in names}
        return replace(self.prices, **{k: v for k, v in given.items() if v is not None})


@dataclass(frozen=True, slots=True)
class Limits:
    """What a cluster, team or owner may have: partitions, and bytes in all replicas."""

    partitions: int | None = None
    bytes: int | None = None


@dataclass(frozen=True, slots=True)
class TrendRules:
    """The `trends` block. `limits` are by scope (cluster, team, owner) and name.

    Fewer than `min_days` days with a run have no trend; a limit met within `warn_days` is near.
    """

    min_days: int = 7
    warn_days: int = 30
    limits: Mapping[tuple[str, str], Limits] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AnomalyRules:
    """The `anomalies` block: thresholds.

    The last `watch_days` days are compared with the `baseline_days` before them, or with all that
    is known where the question is whether something was seen before. A cluster or principal known
    for fewer than `min_days` is not judged. A count is a rise from `rise_factor` times that of the
    highest day before on, and from `min_denials` or `min_requests` in a day on. New hosts of a
    principal that has them on more than `max_new_host_share` of its days are expected.
    `ignored_principals` are names, or prefixes that end in `*`.
    """

    baseline_days: int = 35
    min_days: int = 7
    watch_days: int = 2
    min_denials: int = 10
    min_requests: int = 1_000
    rise_factor: Decimal = Decimal("1.5")
    max_new_host_share: Decimal = Decimal("0.1")
    ignored_principals: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FleetRules:
    """All that a fleet file says beside its clusters, store and Spark. None is no such block."""

    teams: tuple[Team, ...] = ()
    costs: CostRules | None = None
    trends: TrendRules = field(default_factory=TrendRules)
    anomalies: AnomalyRules = field(default_factory=AnomalyRules)


@dataclass(frozen=True, slots=True)
class CostRow:
    """What an owner used in a calendar month of UTC, and what that costs.

    `topics` to `bytes` are what there was on the last known day of the month; bytes are of all
    replicas, `unsized` the topics whose bytes are not known. `requests` are what the brokers logged
    for topics, None where no log is known. `gib_months` and `partition_months` are for the days
    that are known. Costs have four decimals, rounded half to even in each cluster and then added;
    None is not charged, or not known.
    """

    month: str
    team: str
    owner: str
    topics: int | None
    partitions: int | None
    replicas: int | None
    bytes: int | None
    requests: int | None
    unsized: int | None
    gib_months: Decimal | None
    partition_months: Decimal | None
    storage_cost: Decimal | None
    partition_cost: Decimal | None
    request_cost: Decimal | None
    cost: Decimal | None


@dataclass(frozen=True, slots=True)
class TrendRow:
    """How partitions or bytes of a cluster, team or owner grow.

    `scope` is cluster, team or owner, `figure` partitions or bytes (of all replicas). `days` with a
    run lie from `first_day` to `last_day`. `per_day` is the slope of the straight line through
    them (least squares), `fit` how much of the differences it explains, 0 to 1. `limit_day` is
    when the limit was or will be met. `standing` is over, near, later, steady, or unknown where
    `because` says why; "" without a limit.
    """

    scope: str
    name: str
    figure: str
    standing: str
    first_day: str
    last_day: str
    days: int
    first: int | None
    latest: int | None
    per_day: float | None
    fit: float | None
    limit: int | None
    limit_day: str
    because: str


@dataclass(frozen=True, slots=True)
class AnomalyRow:
    """What was not so before.

    `finding` is new_principal, new_host, new_operation, denials_rise or requests_rise. `subject` is
    the host, or the operation and resource type. `day` is the day of the most requests. `requests`,
    `denied`, `first_at` and `last_at` are of the days watched, of a rise those of that day.
    `because` says what the baseline is, and which threshold is passed.
    """

    cluster: str
    finding: str
    principal: str
    subject: str
    day: str
    requests: int
    denied: int
    first_at: str
    last_at: str
    baseline: float | None
    threshold: float | None
    because: str
