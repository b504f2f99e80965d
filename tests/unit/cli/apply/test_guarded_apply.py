"""Apply that does what was reviewed: stale plans, checksums, limits, waiting."""

import json
import re
from pathlib import Path

import pytest

from kplan.cluster.request import ConfigAlteration
from tests.project_harness import MAIN_TF
from tests.unit.cli.memory_command import MemoryCommand, memory_command

NEXT = MAIN_TF.replace("86400000", "3600000")


@pytest.fixture
def desk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> MemoryCommand:
    found = memory_command(tmp_path, capsys, monkeypatch)
    found.run("apply", "-auto-approve")
    return found


def checksum(shown: str) -> str:
    found = re.search(r"checksum ([0-9a-f-]{19})", shown)
    assert found is not None
    return found[1]


def altered(desk: MemoryCommand) -> None:
    desk.cluster.alter_topic_configs([ConfigAlteration("orders", {"retention.ms": "7"})])


# ---- stale plans


def test_a_stale_plan_is_refused_and_says_what_moved(desk: MemoryCommand) -> None:
    desk.write(NEXT)
    desk.run("plan", "-out=p.kplan")
    altered(desk)
    err = desk.run_failing("apply", "-detailed-exitcode", "p.kplan", code=6)
    assert 'kafka_topic.t["orders"] (it was changed on the cluster since the plan)' in err


def test_skip_does_the_rest_and_tells_what_was_refused(desk: MemoryCommand) -> None:
    desk.write(NEXT)
    desk.run("plan", "-out=p.kplan")
    altered(desk)
    out = desk.run("apply", "-detailed-exitcode", "-on-stale=skip", "p.kplan", code=4)
    assert "CLIENT_STALE: It was changed on the cluster since the plan." in out
    assert "Apply incomplete: 1 ok, 1 failed" in out
    assert "kplan: 1 stale, left out | " in out
    assert "broker dry run" not in out, "it was of the other change, too"


def test_a_plan_of_which_all_is_stale_does_not_say_that_everything_matches(
    desk: MemoryCommand,
) -> None:
    desk.write(NEXT.replace("orders = 3, payments = 6", "orders = 3"))
    desk.run("plan", "-out=p.kplan", '-target=kafka_topic.t["orders"]')
    altered(desk)
    out = desk.run("apply", "-on-stale=skip", "p.kplan", code=1)
    assert "No changes. All changes of the saved plan are stale." in out
    assert "matches the configuration" not in out
    assert "Apply incomplete: 0 ok, 1 failed" in out


def test_replan_goes_on_alone_only_with_the_same_actions(desk: MemoryCommand) -> None:
    desk.write(NEXT)
    desk.run("plan", "-out=p.kplan")
    desk.write(NEXT + "# nothing\n")
    desk.run("plan", "-out=q.kplan")
    altered(desk)
    err = desk.run_failing("apply", "-detailed-exitcode", "-on-stale=replan", "q.kplan", code=6)
    assert "approval is not possible" in err
    desk.cluster.alter_topic_configs([ConfigAlteration("orders", {"retention.ms": "86400000"})])
    assert "Apply complete!" in desk.run("apply", "-on-stale=replan", "p.kplan")


@pytest.mark.parametrize(
    ("files", "missing"),
    [([], "There is no configuration in "), (["main.tf"], "There is no state")],
)
def test_a_plan_of_another_folder_is_not_applied_here(
    desk: MemoryCommand, monkeypatch: pytest.MonkeyPatch, files: list[str], missing: str
) -> None:
    desk.write(NEXT)
    desk.run("plan", "-out=p.kplan")
    other = desk.folder / "other"
    other.mkdir()
    for each in files:
        (other / each).write_text((desk.folder / each).read_text())
    monkeypatch.chdir(other)
    plan_file = desk.folder / "p.kplan"
    told = " ".join(desk.run_failing("apply", str(plan_file)).replace("│", " ").split())
    assert missing in told
    assert "lineage" not in told
    assert f"kplan -chdir=DIR apply {plan_file}" in told
    assert sorted(each.name for each in other.iterdir()) == files, "nothing was written here"
    monkeypatch.chdir(desk.folder)
    assert "Apply complete!" in desk.run("apply", str(plan_file))


def test_a_plan_is_good_for_as_long_as_it_says(desk: MemoryCommand) -> None:
    desk.write(NEXT)
    desk.run("plan", "-out=p.kplan", "-plan-ttl=0.000001s")
    assert "was good until" in desk.run_failing("apply", "p.kplan")
    assert "must be greater than 0" in desk.run_failing("plan", "-out=p.kplan", "-plan-ttl=0s")
    assert "not a duration" in desk.run_failing("plan", "-out=p.kplan", "-plan-ttl=soon")


def test_a_plan_that_is_not_saved_has_no_time_to_live(desk: MemoryCommand) -> None:
    told = desk.run_failing("plan", "-plan-ttl=1h")
    assert "this plan is not saved" in told
    assert "Save it with -out=FILE" in told


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        (["-on-stale=perhaps", "p.kplan"], "-on-stale=perhaps is not one of abort, skip, replan."),
        (["-on-stale=skip"], "-on-stale requires a saved plan"),
        (["-expect-checksum=1", "p.kplan"], "is not the checksum of a plan"),
        (["-destroy", "p.kplan"], "A saved plan cannot be combined with"),
        (["-expect-checksum=1", "-resume"], "-resume finishes an approved plan"),
    ],
)
def test_what_contradicts_itself_is_refused(
    desk: MemoryCommand, typed: list[str], told: str
) -> None:
    assert told in desk.run_failing("apply", *typed)


# ---- the deadline


def test_after_the_deadline_nothing_is_sent_and_the_rest_is_resumed(desk: MemoryCommand) -> None:
    """Item 1: one total deadline, which is an option."""
    desk.write(NEXT)
    begun = len(desk.cluster.calls)
    told = desk.run("apply", "-auto-approve", "-deadline=0.000001s", code=1)
    assert "kplan apply -resume" in told
    writes = [each for each in desk.cluster.calls[begun:] if each.method.startswith("alter")]
    assert all(each.validate_only for each in writes)
    assert "Apply complete!" in desk.run("apply", "-resume")
    assert "No changes." in desk.run("plan")
    assert "must be greater than 0" in desk.run_failing("destroy", "-auto-approve", "-deadline=0s")
    assert "is not a duration" in desk.run_failing("apply", "-deadline=soon")


# ---- checksums


def test_the_plan_of_a_review_is_applied_without_a_file(desk: MemoryCommand) -> None:
    desk.write(NEXT)
    reviewed = checksum(desk.run("plan"))
    messages = [json.loads(line) for line in desk.run("plan", "-json").splitlines()]
    assert [each["checksum"] for each in messages if each["type"] == "change_summary"] == [reviewed]
    assert "Apply complete!" in desk.run("apply", f"-expect-checksum={reviewed}")
    assert "No changes." in desk.run("apply", f"-expect-checksum={reviewed}")


def test_another_plan_than_the_reviewed_one_is_shown_and_not_applied(desk: MemoryCommand) -> None:
    desk.write(NEXT)
    reviewed = checksum(desk.run("plan"))
    altered(desk)
    err = desk.run_failing("apply", f"-expect-checksum={reviewed}", "-detailed-exitcode", code=6)
    assert f"{reviewed} was expected" in err
    desk.write(NEXT)
    assert "to change" in desk.run("plan")


@pytest.mark.parametrize("given", ["", "nonsense", "5c2e-91ab"])
def test_what_is_no_checksum_approves_nothing(desk: MemoryCommand, given: str) -> None:
    """A pipeline whose variable is unset says `-expect-checksum=`: that is no approval."""
    desk.write(NEXT)
    err = desk.run_failing("apply", "-auto-approve", f"-expect-checksum={given}")
    assert f"-expect-checksum={given} is not the checksum of a plan." in err
    assert "to change" in desk.run("plan")


# ---- limits


def test_more_deletes_than_allowed_are_refused_before_anything_is_done(desk: MemoryCommand) -> None:
    desk.write(MAIN_TF.replace(", payments = 6", ""))
    desk.run("plan", "-max-deletes=1")
    desk.run("plan", "-out=p.kplan")
    for typed in (["plan"], ["apply", "-auto-approve"], ["apply", "p.kplan"]):
        err = desk.run_failing(*typed, "-max-deletes=0", "-detailed-exitcode", code=3)
        assert "at most 0 may be" in err
    assert "payments" in desk.cluster.topics()
    assert desk.run_failing("destroy", "-auto-approve", "-max-deletes=2").count("3 objects") == 1
    desk.run("apply", "-auto-approve", "-max-deletes=1")
    assert "payments" not in desk.cluster.topics()


def test_a_destroy_has_no_limit_of_its_own_and_a_target_that_of_all(desk: MemoryCommand) -> None:
    """What the help of -max-deletes and kplan help planning say."""
    many = MAIN_TF.replace("payments = 6", ", ".join(f"t{each} = 1" for each in range(10)))
    desk.write(many)
    desk.run("apply", "-auto-approve", "-max-deletes=1")
    desk.write(many.replace("t0 = 1, t1 = 1, t2 = 1, t3 = 1, ", ""))
    few = [f'-target=kafka_topic.t["t{each}"]' for each in range(4)]
    desk.run("plan", *few[:3])
    assert "4 objects would be deleted, and at most 3 of the 12" in " ".join(
        desk.run_failing("plan", *few).split()
    )
    shown = " ".join(desk.run("destroy", "-help").split())
    assert "30 % of 10 or more objects, at most 10; none of destroy" in shown
    assert "12 destroyed" in desk.run("destroy", "-auto-approve")


# ---- waiting


def test_what_was_applied_without_waiting_is_waited_for_later(desk: MemoryCommand) -> None:
    """K117-10, K4-13."""
    assert desk.run("wait") == "No pending changes. Every broker serves the applied changes.\n"
    desk.write(NEXT)
    told = desk.run("apply", "-auto-approve", "-no-wait")
    assert "2 changes accepted by the controller but not seen on every broker yet." in " ".join(
        told.split()
    )
    assert '"pending": true' in Path("state/kplan.json").read_text()
    assert desk.run("wait", "-timeout=20s") == "Every broker serves 2 of 2 objects.\n"
    assert '"pending": true' not in Path("state/kplan.json").read_text()


def test_what_is_still_not_served_is_named(desk: MemoryCommand) -> None:
    desk.write(NEXT)
    desk.run("apply", "-auto-approve", "-no-wait")
    altered(desk)
    out = desk.run("wait", "-timeout=300ms", "-detailed-exitcode", code=5)
    assert out == (
        'Pending: kafka_topic.t["orders"] is not served by every broker.\n'
        "Every broker serves 1 of 2 objects.\n"
    )
    assert json.loads(desk.run("wait", "-timeout=300ms", "-json", code=1)) == {
        "served": [],
        "pending": ['kafka_topic.t["orders"]'],
    }
    assert "-timeout must be greater than 0" in desk.run_failing("wait", "-timeout=0s")
