"""`-explain` shows how Spark would compute tables, and computes none."""

import re
import shutil
from pathlib import Path

import pytest

from kplan.kinds.acl import Acl, AclKind
from kplan.model.address import Address
from kplan.model.plan import Action, Change, Plan, PlanBasis
from kplan.state.plan_file import plan_metadata, write_plan
from tests.e2e.commands import kplan
from tests.fleet.connect_server import FAST_SETTINGS, as_options, event_log_settings
from tests.fleet.spark_target import SparkTarget
from tests.fleet.test_fleet_jobs import EXAMPLE, job_names

pytestmark = pytest.mark.spark

VERBS = {
    ("inventory",): ("inventory", "owners", "largest", "unread"),
    ("plan",): ("findings", "counts", "coverage", "undeclared"),
    ("costs",): ("costs", "clusters", "coverage", "unknown_requests"),
}
"""A verb that shows its tables as they are, and two that ask Spark before."""
SERVED = {
    ("lint",): ("findings", "violations"),
    ("replay", "saved.kplan"): ("replay", "totals"),
}


def table_plans(text: str) -> dict[str, str]:
    """Return the plan below each name."""
    parts = re.split(r"^(\w+)\n\n(?=== Physical Plan ==)", text, flags=re.MULTILINE)
    assert not parts[0], parts[0]
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def save_plan(file: Path) -> None:
    """Save a plan of one ACL for the first cluster of the example."""
    kind, acl = AclKind(), Acl("shop.", "Topic", "User:orders", "*", "Read", "Deny", "Prefixed")
    change = Change(
        Address("kafka_acl", "x"), kind.name, kind.identify(acl), Action.CREATE, None, acl
    )
    plan = Plan(PlanBasis("", "", 0, "prod-eu-cluster-id0000"), (change,), ())
    write_plan(file, plan, plan_metadata(plan, expires_at="", nonce="1"))


def test_plans_of_all_tables_are_shown_and_no_table_is_computed(
    for_commands: SparkTarget, tmp_path: Path
) -> None:
    folder, logs = tmp_path / "fleet", tmp_path / "events"
    shutil.copytree(EXAMPLE, folder)
    conf = as_options({**FAST_SETTINGS, **event_log_settings(logs)})
    for words in (("snapshot",), ("audit", "ingest")):
        taken = kplan(folder, "fleet", *words, *for_commands.options)
        assert taken.code == 0, taken
    for words, tables in VERBS.items():
        ran = kplan(folder, "fleet", *words, "-explain", *conf)
        assert ran.code == 0, ran
        plans = table_plans(ran.out)
        assert tuple(plans) == tables
        assert f"[file:{folder}/tables/objects/attempt=" in plans[tables[0]]
    works = {text.partition(": ")[2] for _, text in job_names(logs)}
    assert works == {"list runs", "list logs"}


def test_a_connect_server_shows_plans_too(for_commands: SparkTarget, tmp_path: Path) -> None:
    folder = tmp_path / "fleet"
    shutil.copytree(EXAMPLE, folder)
    save_plan(folder / "saved.kplan")
    for words in (("snapshot",), ("audit", "ingest")):
        taken = kplan(folder, "fleet", *words, *for_commands.options)
        assert taken.code == 0, taken
    for verb, tables in SERVED.items():
        ran = kplan(folder, "fleet", *verb, "-explain", *for_commands.options)
        assert ran.code == 0, ran
        assert tuple(table_plans(ran.out)) == tables
