"""`python -m tests.soak.ten_days`: a fleet of three real clusters, from an empty folder on.

Clusters, clients, changes behind kplan's back, plans and applies are real. Only time is not: each
day takes a minute, so commands see a clock that is moved back, and the times in the brokers' logs
are moved by as much when they are collected.
"""

import json
import shutil
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from confluent_kafka.admin import (  # type: ignore[attr-defined] # re-exported
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)

from tests.e2e.actors import Refused
from tests.e2e.commands import kplan
from tests.fleet.connect_server import connect_server
from tests.soak.fleet_folder import CLUSTERS, EXACT, Fleet, acls

STRANGERS = 4
"""The day on which somebody creates what nobody declares."""
DAYS_OF_FINDINGS = 6
"""From so many days on there are trends and anomalies."""
CHANGES, DENIED = 2, 3
"""Exit codes: there are differences or findings, and a plan would deny requests."""


def use(fleet: Fleet, name: str) -> None:
    """Use a cluster as every day: with three principals, one with an idempotent producer."""
    fleet.actor(name, "bob").write(f"{name}.orders")
    fleet.actor(name, "ci").read(f"{name}.orders", properties={"group.id": f"{name}.ci"})
    alice = fleet.actor(name, "alice")
    alice.write(f"{name}.payments", properties={"enable.idempotence": "true"})
    alice.read(f"{name}.payments", properties={"group.id": f"{name}.alice"})


def is_refused(action: Callable[[], None]) -> bool:
    """Whether the brokers refuse it."""
    try:
        action()
    except Refused:
        return True
    return False


def administer(fleet: Fleet, name: str, ask: Callable[[AdminClient], Any]) -> None:
    """Change something behind kplan's back."""
    fleet.actor(name, "admin").administer(ask)


def set_retention(fleet: Fleet) -> None:
    """Set the retention of a topic of eu."""
    entry = ConfigEntry("retention.ms", "3600000", incremental_operation=AlterConfigOpType.SET)
    meant = ConfigResource(ResourceType.TOPIC, "eu.orders", incremental_configs=[entry])
    administer(fleet, "eu", lambda admin: admin.incremental_alter_configs([meant]))


def add_strangers(fleet: Fleet) -> None:
    """Create a topic and an ACL of us that nobody declares."""
    pattern = ResourceType.TOPIC, "us.rogue", ResourcePatternType.LITERAL
    acl = AclBinding(*pattern, "User:mallory", "*", AclOperation.READ, AclPermissionType.ALLOW)
    administer(fleet, "us", lambda admin: admin.create_topics([NewTopic("us.rogue", 1, 1)]))
    administer(fleet, "us", lambda admin: admin.create_acls([acl]))


def recreate(fleet: Fleet) -> None:
    """Delete a topic of eu, and create it again as it was."""
    config = {"retention.ms": "604800000"}
    again = NewTopic("eu.idle", 2, 1, config=config)
    administer(fleet, "eu", lambda admin: admin.delete_topics(["eu.idle"]))
    administer(fleet, "eu", lambda admin: admin.create_topics([again]))


def grow(fleet: Fleet) -> None:
    """Add partitions to a topic of eu that is not kplan's, as every day."""
    count = 1 + fleet.day
    if fleet.day == 0:
        administer(fleet, "eu", lambda admin: admin.create_topics([NewTopic("eu.grown", 1, 1)]))
    else:
        administer(
            fleet, "eu", lambda admin: admin.create_partitions([NewPartitions("eu.grown", count)])
        )


def probe(fleet: Fleet, name: str, times: int) -> None:
    """Try what bob may not do."""
    for _ in range(times):
        refused = is_refused(lambda: fleet.actor(name, "bob").scan(f"{name}.payments"))
        assert refused, f"bob read {name}.payments"


def one_day(fleet: Fleet) -> None:
    """Let a day pass: use, changes, logs, and what the platform team runs."""
    change(fleet)
    for name in CLUSTERS:
        use(fleet, name)
    if fleet.day == fleet.days - 1:
        probe(fleet, "lab", 6)
    fleet.collect()
    fleet.kplan(f"fleet snapshot -run=day{fleet.day}")
    fleet.kplan("fleet audit ingest")
    check_drift(fleet)
    if fleet.day % 2:
        fleet.rotate()


def change(fleet: Fleet) -> None:
    """Do what is done that day, behind kplan's back and with kplan."""
    grow(fleet)
    if fleet.day == 2:
        set_retention(fleet)
    if fleet.day == 3:
        fleet.kplan("apply -auto-approve", "eu")
    if fleet.day == STRANGERS:
        add_strangers(fleet)
    if fleet.day == 5:
        recreate(fleet)
    if fleet.day == 6:
        fleet.kplan('apply -auto-approve -acknowledge-data-loss=kafka_topic.all["idle"]', "eu")


def check_drift(fleet: Fleet) -> None:
    """Hold drift from the states, and changes since the day before, against what was done."""
    drifted = {2: "eu.orders", 5: "eu.idle"}.get(fleet.day)
    found = fleet.table("fleet drift", "", code=CHANGES if drifted else 0)
    told = {(each["cluster"], each["identity"]) for each in found if each["finding"] == "drift"}
    assert told == ({("eu", drifted)} if drifted else set()), told
    rogue = fleet.last_table("unmanaged")
    topics = {each["identity"] for each in rogue if each["kind"] == "kafka_topic"}
    assert topics == ({"eu.grown", "us.rogue"} if fleet.day >= STRANGERS else {"eu.grown"}), topics
    if fleet.day:
        line = f"fleet drift -since=day{fleet.day - 1}"
        check_changes(fleet, fleet.table(line, "", code=CHANGES))


def check_changes(fleet: Fleet, rows: Sequence[Mapping[str, str]]) -> None:
    """Hold the changes since the day before against what was done."""
    found = {(each["cluster"], each["identity"]) for each in rows}
    expected = {("eu", "eu.grown")}
    if fleet.day in {2, 3}:
        expected.add(("eu", "eu.orders"))
    if fleet.day == STRANGERS:
        assert ("us", "us.rogue") in found, found
        assert len(found) == 3, found  # and the ACL
        return
    if fleet.day == 5:  # on the day after kplan takes the new topic as it is
        expected.add(("eu", "eu.idle"))
        assert "recreated" in {each["change"] for each in rows}, rows
    assert found == expected, found


def decide(fleet: Fleet) -> None:
    """Ask the fleet at the end of the last day, and write its page."""
    stored = fleet.table("fleet audit ingest", "")
    total = sum(int(each["count"]) for each in stored)
    assert total == fleet.collected, f"{total} stored of {fleet.collected} requests"
    unused = fleet.kplan("fleet audit usage -removed=unused").out
    assert "eu.idle" in unused, unused
    costs = fleet.table("fleet costs", "")
    assert {"eu", "us", "lab"} <= {each["owner"] for each in costs}, costs
    trends = fleet.table("fleet trends", "", code=CHANGES)
    slope = [each for each in trends if each["name"] == "eu" and each["limit"] == "40"]
    assert slope, trends
    found = fleet.table("fleet anomalies", "", code=CHANGES)
    assert {(each["cluster"], each["finding"]) for each in found} >= {("lab", "denials_rise")}, (
        found
    )
    fleet.kplan("fleet report -html=fleet.html")
    assert "eu.orders" in (fleet.folder / "fleet.html").read_text()


def recommend(fleet: Fleet) -> None:
    """Recommend less, and put what is recommended in the place of what is too wide."""
    watched = fleet.days // 2 - 1
    line = f"fleet recommend -window={24 * watched}h -hcl=review"
    found = fleet.table(line, "")
    for name in CLUSTERS:
        told = {each["identity"]: each["action"] for each in found if each["cluster"] == name}
        actions = sorted(told.values())
        expected = [
            "narrow",
            "narrow",
            "remove",
            *(["remove"] if name == "us" and fleet.days - STRANGERS > watched + 1 else []),
        ]
        assert actions == expected, told
        files = sorted((fleet.folder / "review").glob(f"{name}.*.tf"))
        endings = {each.name.split(".")[1] for each in files}
        assert {"narrow", "remove"} <= endings, files
        (fleet.folder / name / "wide.tf").unlink()
        for each in files:
            if ".unmanaged." not in each.name:
                shutil.copy(each, fleet.folder / name)


def apply_less(fleet: Fleet) -> None:
    """Plan the recommendation with the logs, apply it, and look at what clients may do."""
    for name in CLUSTERS:
        fleet.kplan("plan -replay=../tables -out=less.kplan", name)
        shown = json.loads(fleet.kplan("show -json less.kplan", name).out)
        replay = shown["kplan"]["replay"]
        assert replay["denied"] == 0, replay
        assert replay["requests"] > 0, replay
        fleet.kplan(f"fleet replay -cluster={name} {name}/less.kplan")
        fleet.kplan("apply less.kplan", name)
        fleet.kplan("plan -detailed-exitcode", name)
        use(fleet, name)
        alice = fleet.actor(name, "alice")
        assert is_refused(lambda a=alice, n=name: a.write(f"{n}.orders"))  # type: ignore[misc]
        assert is_refused(lambda a=alice, n=name: a.scan(f"{n}.orders"))  # type: ignore[misc]
        ci = fleet.actor(name, "ci")
        assert is_refused(lambda a=ci, n=name: a.write(f"{n}.idle"))  # type: ignore[misc]


def deny(fleet: Fleet) -> None:
    """Plan to take away what is used, and be told how many requests that would have denied."""
    exact = fleet.folder / "eu" / "exact.tf"
    text = exact.read_text()
    exact.write_text(acls("eu", EXACT[1:]))
    told = fleet.kplan("plan -replay=../tables -out=none.kplan", "eu")
    assert "User:bob" in told.out + told.err, told
    fleet.kplan("fleet replay -cluster=eu eu/none.kplan", code=DENIED)
    exact.write_text(text)


def run_days(fleet: Fleet) -> None:
    """Run everything on clusters that were started."""
    for name in CLUSTERS:
        fleet.kplan("apply -auto-approve", name)
    for day in range(fleet.days):
        fleet.day = day
        one_day(fleet)
    if fleet.days >= DAYS_OF_FINDINGS:
        decide(fleet)
    recommend(fleet)
    apply_less(fleet)
    deny(fleet)


def main() -> None:
    """Run ten days, and keep the folder if something was wrong."""
    parser = ArgumentParser(prog="python -m tests.soak.ten_days", description=__doc__)
    parser.add_argument("--days", type=int, default=10, help="fewer show less")
    parser.add_argument("--keep", action="store_true", help="keep the folder")
    asked = parser.parse_args()
    folder = Path(mkdtemp(prefix="kplan-ten-days-"))
    fleet = Fleet(folder, days=asked.days)
    print(f"folder {folder}", flush=True)
    is_done = False
    try:
        for name, options in CLUSTERS.items():
            line = f"sandbox start -folder=sandboxes/{name} -security=sasl -log-allowed"
            fleet.kplan(" ".join((line, *options)))
        with connect_server(folder / "spark.log", {}) as fleet.spark:
            run_days(fleet)
        is_done = True
        print(f"{fleet.days} days, {fleet.collected} logged requests: passed", flush=True)
    finally:
        for name in CLUSTERS:
            kplan(folder, "sandbox", "stop", f"-folder=sandboxes/{name}")
        if is_done and not asked.keep:
            shutil.rmtree(folder, ignore_errors=True)
        elif not is_done:
            print(f"see {folder}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
