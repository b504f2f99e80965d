"""Teams, prices, limits and thresholds in `fleet.hcl`."""

from decimal import Decimal
from pathlib import Path

import pytest

from kplan.model.fleet import AnomalyRules, CostRules, FleetRules, Limits, Prices, Team, TrendRules
from tests.unit.config.test_fleet_file import codes_and_lines, load_file

CLUSTER = 'cluster "eu" { snapshot = "eu" }\n'
WHOLE = """
cluster "eu" { snapshot = "eu" }
locals { storage = 0.10 }
team "shop" {
  owners = ["prod/shop"]
  topics = ["shop.*", "orders"]
}
costs {
  currency             = "EUR"
  per_gib_month        = local.storage
  per_partition_month  = "0.030"
  per_million_requests = 1 / 4
  cluster "eu" { per_gib_month = 0.12 }
}
trends {
  min_days  = 5
  warn_days = 0
  cluster "eu" {
    max_partitions = 4000
    max_bytes      = "1.5TiB"
  }
  team "shop" { max_bytes = 500 * pow(10, 9) }
  owner "prod/shop" { max_partitions = 30 }
}
anomalies {
  baseline_days      = 60
  min_denials        = 5
  rise_factor        = 2.5
  max_new_host_share = 0
  ignored_principals = ["User:probe*"]
}
"""


def test_rules_are_read_with_all_their_digits(tmp_path: Path) -> None:
    found = load_file(tmp_path, WHOLE)
    assert not found.diagnostics
    common = Prices(Decimal("0.1"), Decimal("0.03"), Decimal("0.25"))
    assert found.rules == FleetRules(
        (Team("shop", ("prod/shop",), ("shop.*", "orders")),),
        CostRules("EUR", common, {"eu": Prices(Decimal("0.12"))}),
        TrendRules(
            5,
            0,
            {
                ("cluster", "eu"): Limits(4_000, 3 << 39),
                ("team", "shop"): Limits(None, 500 * 10**9),
                ("owner", "prod/shop"): Limits(30),
            },
        ),
        AnomalyRules(
            baseline_days=60,
            min_denials=5,
            rise_factor=Decimal("2.5"),
            max_new_host_share=Decimal(0),
            ignored_principals=("User:probe*",),
        ),
    )


def test_a_price_of_a_cluster_goes_before_the_common_one() -> None:
    common = Prices(Decimal(1), Decimal(2), None)
    rules = CostRules("EUR", common, {"eu": Prices(Decimal(0), None, Decimal(4))})
    assert rules.prices_of("eu") == Prices(Decimal(0), Decimal(2), Decimal(4))
    assert rules.prices_of("us") == common


def test_a_fleet_without_rules_has_thresholds_and_no_prices(tmp_path: Path) -> None:
    found = load_file(tmp_path, CLUSTER)
    assert (found.diagnostics, found.rules) == ((), FleetRules())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("costs {\n  currency = 3\n  per_gib_month = -1\n}", [("KP139", 3), ("KP139", 4)]),
        ('costs {\n  currency = "euro"\n  price = 1\n}', [("KP139", 3), ("KP121", 4)]),
        ('costs {\n  per_gib_month = "much"\n}', [("KP139", 3)]),
        ('costs {\n  cluster "us" { per_gib_month = 1 }\n}', [("KP139", 3)]),
        (
            'costs {\n  cluster { per_gib_month = 1 }\n  team "x" {}\n}',
            [("KP125", 3), ("KP120", 4)],
        ),
        ("costs {}\ncosts {}", [("KP128", 3)]),
        ('team "a" {}', [("KP139", 2)]),
        ('team "a" { topics = "shop" }', [("KP139", 2)]),
        ('team "a" { topics = [""] }', [("KP139", 2)]),
        ('team "a" { topics = ["*.shop"] }', [("KP139", 2)]),
        ('team "a" { owners = [""] }', [("KP139", 2)]),
        ('team "a" { topics = ["*"] }\nteam "b" { topics = ["b", "*"] }', [("KP139", 3)]),
        ('team "a" { owners = ["x"] }\nteam "b" { owners = ["x"] }', [("KP139", 3)]),
        ('team "a" { topics = ["*"] }\nteam "b" { topics = ["b*"] }', []),
        ('trends {\n  team "a" {}\n}', [("KP139", 3)]),
        ('trends {\n  team "a" { max_bytes = "2 pounds" }\n}', [("KP139", 3)]),
        ('trends {\n  team "a" { max_bytes = "0.3B" }\n}', [("KP139", 3)]),
        ('trends {\n  team "a" { max_bytes = "1..5GiB" }\n}', [("KP139", 3)]),
        ('trends {\n  team "a" { max_partitions = 1.5 }\n}', [("KP139", 3)]),
        (
            'trends {\n  team "a" { max_bytes = 1 }\n  team "a" { max_bytes = 2 }\n}',
            [("KP128", 4)],
        ),
        ("trends { min_days = 2 }", [("KP139", 2)]),
        (
            "anomalies {\n  watch_days = 0\n  rise_factor = 0.5\n  max_new_host_share = 2\n}",
            [("KP139", 3), ("KP139", 4), ("KP139", 5)],
        ),
        ("anomalies { min_denials = [1] }", [("KP139", 2)]),
        ("anomalies { min_denials = null }", []),
    ],
)
def test_mistakes_in_rules_are_told(
    text: str, expected: list[tuple[str, int]], tmp_path: Path
) -> None:
    assert codes_and_lines(load_file(tmp_path, CLUSTER + text)) == expected
