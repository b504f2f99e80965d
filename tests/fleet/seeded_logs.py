"""Usage of logs made from a seed, with anomalies in the last two days that are known.

Two months of ordinary life come first: more requests on weekdays, weekly jobs, principals that
come and go, autoscaled services with new addresses all the time, denials of monitoring, an incident
a month ago. What is injected is from plain to hardly visible.
"""

import random
from collections.abc import Iterator, Sequence
from datetime import date, datetime, time, timedelta
from typing import TYPE_CHECKING, NamedTuple

from kplan.fleet.dataframe import create_dataframe

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

LAST_DAY = date(2026, 11, 24)
DAYS = 60
USAGE_SCHEMA = (
    "cluster string, principal string, host string, operation string, resource_type string, "
    "resource_name string, is_allowed boolean, request string, count long, first_at string, "
    "last_at string"
)
_SERVICES, _SCALED, _WEEKLY, _PROBES = 24, 4, 4, 2
_WEEKEND = 5
_MOVES = 0.005
_INCIDENT, _YOUNG = 30, 20
_OPERATIONS = (("READ", "TOPIC"), ("DESCRIBE", "TOPIC"), ("READ", "GROUP"), ("WRITE", "TOPIC"))

UsageRow = tuple[object, ...]


class Injected(NamedTuple):
    """An anomaly that is there: what an answer must name."""

    cluster: str
    finding: str
    principal: str
    subject: str


def usage_of(spark: "SparkSession", rows: Sequence[UsageRow]) -> "DataFrame":
    """Give rows of logs to Spark."""
    found = create_dataframe(spark, rows, USAGE_SCHEMA)
    times = {name: found[name].cast("timestamp") for name in ("first_at", "last_at")}
    return found.withColumns(times)


class Seeded(NamedTuple):
    """Usage, and the anomalies in it."""

    rows: list[UsageRow]
    injected: set[Injected]


class Logs:
    """The logs of one cluster, as they are written."""

    def __init__(self, cluster: str, dice: random.Random) -> None:
        self.cluster = cluster
        self.dice = dice
        self.rows: list[UsageRow] = []
        self.injected: set[Injected] = set()

    def add(
        self,
        day: date,
        who: str,
        host: str,
        what: tuple[str, str],
        count: int,
        *,
        is_allowed: bool = True,
    ) -> None:
        """Write that a principal asked so often on a day."""
        if count <= 0:
            return
        first = datetime.combine(day, time(self.dice.randrange(12), self.dice.randrange(60)))
        last = first + timedelta(hours=self.dice.randrange(1, 11))
        name = f"{who.removeprefix('User:')}.data"
        row = (self.cluster, who, host, *what, name, is_allowed, "FETCH", count)
        self.rows.append((*row, first.isoformat(" "), last.isoformat(" ")))

    def inject(self, finding: str, who: str, subject: str = "") -> None:
        """Say that the answer must name this."""
        self.injected.add(Injected(self.cluster, finding, who, subject))

    def service(self, day: date, number: int, factor: float = 1.0) -> None:
        """Let an ordinary service work for a day, from its own hosts."""
        who, size = f"User:svc{number}", 200 * (1 + number % 7) ** 2
        quiet = 0.3 if day.weekday() >= _WEEKEND else 1.0
        hosts = [f"10.0.{number}.{n}" for n in range(1 + number % 4)]
        for host in hosts:
            for what in _OPERATIONS[: 2 + number % 3]:
                mean = size * quiet * factor / len(hosts)
                self.add(day, who, host, what, round(self.dice.gauss(mean, mean * 0.12)))
        if self.dice.random() < 0.1:
            denied = self.dice.randrange(1, 4)
            self.add(day, who, hosts[0], _OPERATIONS[0], denied, is_allowed=False)


def write_cluster(cluster: str, dice: random.Random) -> Logs:
    """Write the logs of a cluster, with anomalies on the last two days."""
    logs = Logs(cluster, dice)
    for at in range(DAYS):
        day = LAST_DAY - timedelta(days=DAYS - 1 - at)
        for number in range(_SERVICES):
            logs.service(day, number)
            if dice.random() < _MOVES:  # as happens: it is found, and counts against precision
                logs.add(day, f"User:svc{number}", f"10.1.{number}.{at}", _OPERATIONS[0], 90)
        _write_scaled(logs, day)
        _write_jobs(logs, day, DAYS - 1 - at)
    _inject(logs, dice)
    return logs


def _write_scaled(logs: Logs, day: date) -> None:
    """Let new pods have new addresses, nearly every day, and probes be denied as they should be."""
    for number in range(_SCALED):
        for _ in range(3):
            host = f"172.16.{number}.{logs.dice.randrange(250)}"
            logs.add(day, f"User:scaled{number}", host, _OPERATIONS[0], 500)
    for number in range(_PROBES):
        count = round(logs.dice.gauss(300, 20))
        logs.add(day, f"User:probe{number}", "10.8.8.8", _OPERATIONS[1], count, is_allowed=False)


def _write_jobs(logs: Logs, day: date, age: int) -> None:
    """Let jobs run once a week or month, an incident be a month old, and a principal be young."""
    for number in range(_WEEKLY):
        if day.weekday() == number:
            logs.add(day, f"User:weekly{number}", "10.9.9.9", _OPERATIONS[0], 5_000)
    if age % 31 == 0:
        logs.add(day, "User:monthly", "10.6.6.6", _OPERATIONS[0], 20_000)
    if age == _INCIDENT:
        logs.add(day, "User:svc3", "10.0.3.0", _OPERATIONS[0], 4_000, is_allowed=False)
    if age < _YOUNG:
        logs.add(day, "User:young", "10.7.7.7", _OPERATIONS[0], 800)


def _inject(logs: Logs, dice: random.Random) -> None:
    numbers = dice.sample(range(_SERVICES), 12)
    days = [LAST_DAY - timedelta(days=n) for n in (0, 1)]
    for n in range(2):
        who = f"User:intruder{n}"
        logs.add(dice.choice(days), who, "203.0.113.9", _OPERATIONS[0], dice.choice((1, 40)))
        logs.inject("new_principal", who)
    for number in numbers[:3]:
        who, host = f"User:svc{number}", f"198.51.100.{number}"
        logs.add(dice.choice(days), who, host, _OPERATIONS[0], dice.choice((1, 25, 300)))
        logs.inject("new_host", who, host)
    for number in numbers[3:6]:
        who, what = f"User:svc{number}", ("ALTER_CONFIGS", "TOPIC")
        logs.add(dice.choice(days), who, f"10.0.{number}.0", what, dice.choice((1, 3)))
        logs.inject("new_operation", who, "ALTER_CONFIGS on TOPIC")
    for number in numbers[6:9]:
        who, count = f"User:svc{number}", dice.choice((12, 60, 5_000))
        host = f"10.0.{number}.0"
        logs.add(dice.choice(days), who, host, _OPERATIONS[0], count, is_allowed=False)
        logs.inject("denials_rise", who)
    for number in numbers[9:12]:
        # Of these the first one is hardly more than what weekdays differ by.
        logs.service(dice.choice(days), number, dice.choice((0.7, 2.0, 7.0)))
        logs.inject("requests_rise", f"User:svc{number}")


def seeded_logs(seed: int, clusters: int) -> Seeded:
    """Make usage of several clusters, with two days of anomalies at its end."""
    dice = random.Random(seed)
    made = [write_cluster(f"c{n:03}", dice) for n in range(clusters)]
    return Seeded(
        [row for each in made for row in each.rows],
        {one for each in made for one in each.injected},
    )


class Score(NamedTuple):
    """How many findings are injected ones, and how many of those are found."""

    found: int
    injected: int
    right: int

    @property
    def precision(self) -> float:
        """Return the part of the findings that is right."""
        return self.right / self.found if self.found else 1.0

    @property
    def recall(self) -> float:
        """Return the part of the injected anomalies that is found."""
        return self.right / self.injected if self.injected else 1.0


def score(found: set[Injected], injected: set[Injected]) -> Score:
    """Compare findings with what was injected."""
    return Score(len(found), len(injected), len(found & injected))


def scores_by_finding(found: Sequence[Injected], seeded: Seeded) -> Iterator[tuple[str, Score]]:
    """Score all findings, then each sort of them."""
    told = set(found)
    yield "all", score(told, seeded.injected)
    for sort in sorted({each.finding for each in told | seeded.injected}):
        of_sort = [{e for e in each if e.finding == sort} for each in (told, seeded.injected)]
        yield sort, score(*of_sort)
