"""The blocks of `fleet.hcl` by which figures are judged: teams, prices, limits and thresholds."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Protocol

from kplan.config.declarations.body_schema import BodySchema, body_problems, label_problems
from kplan.config.declarations.declaration import Declaration
from kplan.config.diagnostic import error
from kplan.config.values.number import NumberError, number_text, parse_number
from kplan.config.values.value import Value, is_number
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Diagnostic
from kplan.model.fleet import AnomalyRules, CostRules, FleetRules, Limits, Prices, Team, TrendRules

PRICES = ("per_gib_month", "per_partition_month", "per_million_requests")
_LIMITS = ("max_partitions", "max_bytes")
_SCOPES = ("cluster", "team", "owner")
_COUNTS: Mapping[str, tuple[int, int]] = {
    "baseline_days": (1, 3_650),
    "min_days": (1, 3_650),
    "watch_days": (1, 365),
    "min_denials": (1, 10**12),
    "min_requests": (1, 10**12),
    "warn_days": (0, 3_650),
    "max_partitions": (1, 10**12),
}
"""Whole numbers, from where to where."""
_MAX_PRICE, _MAX_BYTES = 10**9, 10**18
_MIN_TREND_DAYS = 3
_CURRENCY = re.compile(r"[A-Z]{3}").fullmatch
_SIZE = re.compile(r"([0-9.]+) ?([KMGTP]i?B|B)").fullmatch
_UNITS = {
    "B": 1,
    **{f"{name}B": 1_000**n for n, name in enumerate("KMGTP", 1)},
    **{f"{name}iB": 1_024**n for n, name in enumerate("KMGTP", 1)},
}
RULE_SCHEMAS: Mapping[str, BodySchema] = {
    "team": BodySchema(("owners", "topics"), label_count=1),
    "costs": BodySchema(("currency", *PRICES), blocks=("cluster",)),
    "trends": BodySchema(("min_days", "warn_days"), blocks=_SCOPES),
    "anomalies": BodySchema(
        (
            *("baseline_days", "min_days", "watch_days", "min_denials", "min_requests"),
            *("rise_factor", "max_new_host_share", "ignored_principals"),
        )
    ),
}
_PRICES_SCHEMA = BodySchema(PRICES, label_count=1)
_LIMITS_SCHEMA = BodySchema(_LIMITS, label_count=1)


class ArgumentReader(Protocol):
    """Evaluates arguments of the blocks of a fleet file."""

    def text(self, declaration: Declaration, name: str) -> str | None:
        """Read a string; None where there is none."""
        ...

    def strings(self, declaration: Declaration, name: str) -> list[str]:
        """Read a list of strings."""
        ...

    def evaluate(self, declaration: Declaration, name: str) -> Value | None:
        """Read a value as it is; None where there is none."""
        ...

    def report(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Say what is wrong."""
        ...


Blocks = Callable[[str], Sequence[Declaration]]
"""The sound blocks of a type."""


def read_fleet_rules(blocks: Blocks, reader: ArgumentReader, clusters: Sequence[str]) -> FleetRules:
    """Read the blocks; `clusters` are the names of the clusters of the file."""
    found = _RuleReader(reader, frozenset(clusters))
    return FleetRules(
        found.teams(blocks("team")),
        next((found.costs(each) for each in blocks("costs")), None),
        next((found.trends(each) for each in blocks("trends")), TrendRules()),
        next((found.anomalies(each) for each in blocks("anomalies")), AnomalyRules()),
    )


@dataclass(frozen=True, slots=True)
class _RuleReader:
    """Reads one block each, and reports what is wrong in it."""

    reader: ArgumentReader
    clusters: frozenset[str]

    def teams(self, declarations: Sequence[Declaration]) -> tuple[Team, ...]:
        """Read the `team` blocks; what two of them name is of neither."""
        found = tuple(self.team(each) for each in declarations)
        first: dict[tuple[str, str], str] = {}
        for declaration, team in zip(declarations, found, strict=True):
            named = [("owners", each) for each in team.owners]
            for argument, name in [*named, *(("topics", each) for each in team.topics)]:
                other = first.setdefault((argument, name), team.name)
                if other != team.name:
                    detail = f'"{name}" is of team "{other}" already.'
                    where = declaration.value_range(argument)
                    self.reader.report([error("KP139", where, detail)])
        return found

    def team(self, declaration: Declaration) -> Team:
        found = Team(
            declaration.name,
            tuple(self.reader.strings(declaration, "owners")),
            tuple(self.reader.strings(declaration, "topics")),
        )
        if not {"owners", "topics"} & declaration.arguments.keys():
            detail = f'Nothing belongs to team "{found.name}".'
            hint = 'Name its configurations (owners = ["DIR"]) or topics (topics = ["shop.*"]).'
            self.reader.report([error("KP139", declaration.declared_at, detail, hint=hint)])
        if not all(found.owners):
            self._refuse(declaration, "owners", "a list of names that are not empty")
        if not all(each and "*" not in each[:-1] for each in found.topics):
            what = "a list of names, or of beginnings of names with * behind them"
            self._refuse(declaration, "topics", what)
        return found

    def costs(self, declaration: Declaration) -> CostRules:
        currency = self.reader.text(declaration, "currency") or ""
        if currency and not _CURRENCY(currency):
            self._refuse(declaration, "currency", "three capital letters, as EUR")
        own = {each.name: self._prices(each) for each in self._inner(declaration, _PRICES_SCHEMA)}
        return CostRules(currency, self._prices(declaration), own)

    def trends(self, declaration: Declaration) -> TrendRules:
        limits = {}
        for each in self._inner(declaration, _LIMITS_SCHEMA):
            if not each.arguments:
                detail = "No limit is set."
                hint = "Set max_partitions or max_bytes."
                self.reader.report([error("KP139", each.declared_at, detail, hint=hint)])
            held = Limits(self._count(each, "max_partitions"), self._size(each, "max_bytes"))
            limits[each.block.type, each.name] = held
        usual = TrendRules()
        days = self._count(declaration, "min_days", _MIN_TREND_DAYS)
        warn = self._count(declaration, "warn_days")
        return TrendRules(
            usual.min_days if days is None else days,
            usual.warn_days if warn is None else warn,
            limits,
        )

    def anomalies(self, declaration: Declaration) -> AnomalyRules:
        usual = AnomalyRules()
        names = ("baseline_days", "min_days", "watch_days", "min_denials", "min_requests")
        counts = {name: self._count(declaration, name) or getattr(usual, name) for name in names}
        factor = self._decimal(declaration, "rise_factor", (1, 1_000))
        share = self._decimal(declaration, "max_new_host_share", (0, 1))
        return AnomalyRules(
            **counts,
            rise_factor=usual.rise_factor if factor is None else factor,
            max_new_host_share=usual.max_new_host_share if share is None else share,
            ignored_principals=tuple(self.reader.strings(declaration, "ignored_principals")),
        )

    def _inner(self, declaration: Declaration, schema: BodySchema) -> Iterator[Declaration]:
        """Return the nested blocks that are sound; each name once, and clusters there are."""
        seen = set()
        for block in declaration.block.blocks:
            if block.type not in _SCOPES:
                continue  # told already
            origin = declaration.origin
            labels = list(label_problems(block, origin, schema))
            self.reader.report([*labels, *body_problems(block, origin, schema)])
            if labels:
                continue
            arguments = {each.name: each for each in block.attributes}
            made = Declaration(block.labels[0].text, origin, block, arguments)
            if (block.type, made.name) in seen:
                detail = f'There is another {block.type} "{made.name}" block here.'
                self.reader.report([error("KP128", made.declared_at, detail)])
            elif block.type == "cluster" and made.name not in self.clusters:
                detail = f'The fleet has no cluster "{made.name}".'
                self.reader.report([error("KP139", made.declared_at, detail)])
            seen.add((block.type, made.name))
            yield made

    def _prices(self, declaration: Declaration) -> Prices:
        return Prices(*(self._decimal(declaration, name, (0, _MAX_PRICE)) for name in PRICES))

    def _count(self, declaration: Declaration, name: str, least: int | None = None) -> int | None:
        low, high = _COUNTS[name]
        low = low if least is None else least
        found = self._number(declaration, name)
        if found is None:
            return None
        if found != int(found) or not low <= found <= high:
            self._refuse(declaration, name, f"a whole number from {low:,} to {high:,}")
            return None
        return int(found)

    def _decimal(
        self, declaration: Declaration, name: str, bounds: tuple[int, int]
    ) -> Decimal | None:
        found = self._number(declaration, name)
        if found is not None and not bounds[0] <= found <= bounds[1]:
            self._refuse(declaration, name, f"a number from {bounds[0]:,} to {bounds[1]:,}")
            return None
        return found

    def _size(self, declaration: Declaration, name: str) -> int | None:
        given = self.reader.evaluate(declaration, name)
        if given is None:
            return None
        try:
            found = _number_of_bytes(given)
        except NumberError:
            found = Decimal(0)
        if found != int(found) or not 1 <= found <= _MAX_BYTES:
            self._refuse(declaration, name, 'a size, as "500GiB" or a number of bytes')
            return None
        return int(found)

    def _number(self, declaration: Declaration, name: str) -> Decimal | None:
        given = self.reader.evaluate(declaration, name)
        if given is None:
            return None
        try:
            return _exact_decimal(given)
        except NumberError:
            self._refuse(declaration, name, "a number")
            return None

    def _refuse(self, declaration: Declaration, name: str, what: str) -> None:
        detail = f"{name} is {what}."
        self.reader.report([error("KP139", declaration.value_range(name), detail)])


def _exact_decimal(given: Value) -> Decimal:
    """Return a number with the digits that were written; raises NumberError."""
    if isinstance(given, str):
        given = parse_number(given)
    if not is_number(given):
        raise NumberError("a number is required")
    return Decimal(number_text(given))


def _number_of_bytes(given: Value) -> Decimal:
    """Read `500GiB`, or a number; raises NumberError."""
    sized = _SIZE(given) if isinstance(given, str) else None
    return _exact_decimal(sized[1]) * _UNITS[sized[2]] if sized else _exact_decimal(given)
