"""`-explain` shows how Spark would compute tables, and computes none."""

import re
import shutil
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kplan.cli.run import run
from kplan.kinds.acl import Acl, AclKind
from kplan.model.address import Address
from kplan.model.plan import Action, Change, Plan, PlanBasis
from kplan.state.plan_file import plan_metadata, write_plan
from tests.e2e.commands import kplan
from tests.fleet.spark_target import CONNECT, SparkTarget, commands_at_work
from tests.fleet.test_fleet_jobs import EXAMPLE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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


def jobs_of(spark: "SparkSession") -> Iterator[Any]:
    """Give the jobs of a session, the newest first, when all that Spark has to tell is told."""
    context = spark.sparkContext._jsc.sc()
    context.listenerBus().waitUntilEmpty()
    found = context.statusStore().jobsList(None)
    return (found.apply(at) for at in range(found.size()))


def test_plans_of_all_tables_are_shown_and_no_table_is_computed(
    at_work: SparkTarget,
    spark: "SparkSession",
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if at_work.name == CONNECT:
        pytest.skip("Connect does not show the jobs of Spark")
    folder = tmp_path / "fleet"
    shutil.copytree(EXAMPLE, folder)
    with commands_at_work(folder, spark):
        for words in (("snapshot",), ("audit", "ingest")):
            assert run(["fleet", *words], {}) == 0, capsys.readouterr()
        last = next(jobs_of(spark)).jobId()
        for words, tables in VERBS.items():
            capsys.readouterr()
            assert run(["fleet", *words, "-explain"], {}) == 0, capsys.readouterr()
            plans = table_plans(capsys.readouterr().out)
            assert tuple(plans) == tables
            assert f"[file:{folder}/tables/objects/attempt=" in plans[tables[0]]
    made = takewhile(lambda job: job.jobId() > last, jobs_of(spark))
    works = [job.description().get().partition(": ")[2] for job in made]
    assert {*works} == {"list runs", "list logs"}
    assert works.count("list runs") == len(VERBS), "once for each command"


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
