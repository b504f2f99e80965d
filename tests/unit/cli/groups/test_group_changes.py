"""`kplan groups reset`, `delete` and `delete-offsets` as somebody types them."""

import json
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from kplan.cli.run import run
from kplan.cli.terminal import Terminal
from kplan.cluster.request import NewTopic
from kplan.cluster.usage import (
    GroupDescription,
    GroupMember,
    PartitionUse,
    TopicPartition,
    TopicUse,
)
from tests.unit.cli.memory_command import MemoryCommand, memory_command


@pytest.fixture
def desk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> MemoryCommand:
    """Give a topic of two partitions, of which an idle group has read some of the first."""
    found = memory_command(tmp_path, capsys, monkeypatch)
    monkeypatch.chdir(tmp_path)
    found.write("")
    found.cluster.seed([NewTopic("orders", 2, 1)])
    log = PartitionUse(10, 100, 50_000, 0, 0)
    found.cluster.set_topic_use("orders", TopicUse({0: log, 1: log}, groups=()))
    found.cluster.add_described_group(group("billing", {("orders", 0): 40}))
    return found


def group(
    name: str, offsets: Mapping[TopicPartition, int], *members: GroupMember, kind: str = "classic"
) -> GroupDescription:
    state = "Stable" if members else "Empty"
    ends = dict.fromkeys(offsets, 100)
    return GroupDescription(name, kind, "", state, 1, "", members, offsets, ends)


def live(name: str) -> GroupDescription:
    member = GroupMember("m-1", "app", "/10.0.0.1", assignment=(("orders", 0),))
    return group(name, {("orders", 0): 40}, member)


def offsets(desk: MemoryCommand, name: str = "billing") -> Mapping[TopicPartition, int]:
    found = desk.cluster.describe_groups([name])[name]
    assert isinstance(found, GroupDescription)
    return found.committed_offsets


def undo_files() -> list[str]:
    return sorted((each.name for each in Path().glob("billing.*.undo.csv")), key=len)


def rows(told: str) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads(told)["tables"]["offsets"]["rows"]
    return found


@pytest.mark.parametrize(
    ("words", "new"),
    [
        (["-topic=orders", "-to=earliest"], {0: 10, 1: 10}),
        (["-topic=orders", "-to=latest"], {0: 100, 1: 100}),
        (["-topic=orders:0", "-to=42"], {0: 42}),
        (["-topic=orders", "-to=1970-01-01T00:00:20Z"], {0: 10, 1: 10}),
        (["-topic=orders:1", "-to=now-2h"], {1: 100}),
        (["-all-topics", "-shift=-5"], {0: 35}),
        (["-topic=orders", "-shift=3"], {0: 43, 1: 13}),
    ],
)
def test_offsets_go_where_they_are_sent(
    desk: MemoryCommand, words: list[str], new: Mapping[int, int]
) -> None:
    """Every partition has its offset before and after, and its lag."""
    told = rows(desk.run("groups", "reset", "billing", *words, "-dry-run", "-json"))
    assert {each["partition"]: each["new"] for each in told} == new
    assert all(each["new_lag"] == 100 - int(str(each["new"])) for each in told)
    assert offsets(desk) == {("orders", 0): 40}
    desk.run("groups", "reset", "billing", *words, "-auto-approve")
    reached = {number: at for (_, number), at in offsets(desk).items()}
    assert reached == {0: 40, **new}


def test_an_undo_file_restores_what_was_before(desk: MemoryCommand) -> None:
    """A partition without a committed offset has none again."""
    desk.run("groups", "reset", "billing", "-topic=orders", "-to=latest", "-auto-approve")
    (undo,) = undo_files()
    assert Path(undo).read_text() == "orders,0,40\norders,1,\n"
    desk.run("groups", "reset", "billing", f"-to={undo}", "-auto-approve")
    assert offsets(desk) == {("orders", 0): 40}
    (again,) = set(undo_files()) - {undo}
    assert Path(again).read_text() == "orders,0,100\norders,1,100\n"


def test_an_undo_file_is_never_overwritten(desk: MemoryCommand) -> None:
    Path("undo.csv").write_text("orders,0,1\n")
    told = desk.run_failing(
        "groups", "reset", "billing", "-all-topics", "-to=5", "-undo-file=undo.csv", "-dry-run"
    )
    assert "the file exists" in told
    assert Path("undo.csv").read_text() == "orders,0,1\n"


def test_nothing_is_changed_if_the_undo_file_cannot_be_written(desk: MemoryCommand) -> None:
    told = desk.run_failing(
        "groups", "reset", "billing", "-all-topics", "-to=50", "-undo-file=no/u.csv",
        "-auto-approve",
    )  # fmt: skip
    assert "Nothing was changed" in told
    assert offsets(desk) == {("orders", 0): 40}


def test_offsets_outside_the_log_move_to_its_nearer_end(desk: MemoryCommand) -> None:
    told = rows(
        desk.run("groups", "reset", "billing", "-all-topics", "-to=5000", "-dry-run", "-json")
    )
    assert (told[0]["new"], told[0]["note"]) == (100, "5,000 is outside the log: the end is used")
    told = rows(
        desk.run("groups", "reset", "billing", "-all-topics", "-shift=-99", "-dry-run", "-json")
    )
    assert (told[0]["new"], told[0]["note"]) == (
        10,
        "-59 is outside the log: the first offset is used",
    )


def test_a_live_group_is_refused_by_every_verb(desk: MemoryCommand) -> None:
    desk.cluster.add_described_group(live("web"))
    for words in (
        ("reset", "web", "-all-topics", "-to=earliest"),
        ("delete", "web"),
        ("delete-offsets", "web", "-topic=orders"),
    ):
        told = desk.run_failing("groups", *words, "-auto-approve")
        assert "KP540" in told
    assert offsets(desk, "web") == {("orders", 0): 40}
    assert not list(Path().glob("*.undo.csv"))


def test_a_group_that_wakes_up_after_the_plan_is_refused_by_kafka(desk: MemoryCommand) -> None:
    desk.cluster.run_before(
        "commit_offsets", lambda: desk.cluster.add_described_group(live("billing"))
    )
    told = desk.run("groups", "reset", "billing", "-all-topics", "-to=90", "-auto-approve", code=1)
    assert "the group has members by now" in told
    assert offsets(desk) == {("orders", 0): 40}


def test_a_lost_answer_is_settled_by_reading_the_offsets(desk: MemoryCommand) -> None:
    words = ("groups", "reset", "billing", "-all-topics", "-auto-approve", "-json")
    desk.cluster.time_out(call="commit_offsets", carried_out=True)
    assert rows(desk.run(*words, "-to=90"))[0]["outcome"] == "set"
    desk.cluster.time_out(call="commit_offsets", carried_out=False)
    told = rows(desk.run(*words, "-to=20", code=1))
    assert "CLIENT_TIMED_OUT" in str(told[0]["outcome"])


def test_a_group_is_created_only_if_asked(desk: MemoryCommand) -> None:
    words = ("groups", "reset", "biling", "-topic=orders", "-to=earliest", "-auto-approve")
    assert "KP541" in desk.run_failing(*words)
    assert "does not exist yet" in desk.run(*words, "-create")
    assert offsets(desk, "biling") == {("orders", 0): 10, ("orders", 1): 10}


def test_every_partition_that_is_not_there_is_named_at_once(desk: MemoryCommand) -> None:
    told = desk.run_failing(
        "groups", "reset", "billing", "-topic=orders:0,7,8", "-topic=none", "-to=1", "-auto-approve"
    )
    assert "no partition 7" in told
    assert "no partition 8" in told
    assert "Topic none cannot be read" in told
    assert offsets(desk) == {("orders", 0): 40}


def test_every_wrong_line_of_a_file_is_named_with_its_place(desk: MemoryCommand) -> None:
    Path("f.csv").write_text(
        '"orders",0,5\norders,1\norders,x,5\nbilling,orders,1,-5\norders,0,6\n'
    )
    told = desk.run_failing("groups", "reset", "billing", "-to=f.csv", "-dry-run")
    for place in ("line 2, column 1", "line 3, column 8", "line 4, column 18", "line 5, column 1"):
        assert place in told
    assert desk.cluster.count("describe_groups") == 0


def test_a_file_of_several_groups_serves_each_of_them(desk: MemoryCommand) -> None:
    """The form that kafka-consumer-groups.sh exports for more than one group."""
    Path("f.csv").write_text('"billing","orders",0,11\n"other","orders",1,12\n')
    desk.run("groups", "reset", "billing", "-to=f.csv", "-auto-approve")
    assert offsets(desk) == {("orders", 0): 11}
    told = desk.run_failing("groups", "reset", "third", "-to=f.csv", "-auto-approve")
    assert "no offsets of group third" in told


def test_the_first_line_of_a_file_with_a_byte_order_mark_counts(desk: MemoryCommand) -> None:
    Path("f.csv").write_text("billing,orders,0,11\nbilling,orders,1,12\n", encoding="utf-8-sig")
    desk.run("groups", "reset", "billing", "-to=f.csv", "-auto-approve")
    assert offsets(desk) == {("orders", 0): 11, ("orders", 1): 12}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-topic=orders"], "requires either -to or -shift"),
        (["-topic=orders", "-to=1", "-shift=1"], "requires either -to or -shift"),
        (["-to=1"], "Which topics?"),
        (["-topic=orders", "-topic=orders:1", "-to=1"], "listed twice"),
        (["-topic=orders", "-all-topics", "-to=1"], "cannot be combined"),
        (["-topic=orders", "-to=ealiest"], "neither an offset nor a time nor a file"),
        (["-topic=orders", "-to=2026-01-01T10:00:00"], "has no time zone"),
        (["-topic=orders:x", "-to=1"], "is not a topic"),
    ],
)
def test_a_wrong_command_line_is_named_before_the_cluster_is_asked(
    desk: MemoryCommand, words: list[str], said: str
) -> None:
    assert said in desk.run_failing("groups", "reset", "billing", *words, "-dry-run")
    assert desk.cluster.calls == []


def test_no_offset_moves_without_a_yes(desk: MemoryCommand) -> None:
    words = ("groups", "reset", "billing", "-all-topics", "-to=earliest")
    assert "-auto-approve" in desk.run_failing(*words)
    assert "-json requires" in desk.run(*words, "-json", code=1)
    assert offsets(desk) == {("orders", 0): 40}


def test_a_reset_to_where_a_group_is_changes_nothing(desk: MemoryCommand) -> None:
    told = desk.run("groups", "reset", "billing", "-all-topics", "-to=40", "-auto-approve")
    assert "0 of 1 partitions change" in told
    assert desk.cluster.count("commit_offsets") == 0


def test_groups_are_deleted_together_and_their_offsets_restored(desk: MemoryCommand) -> None:
    desk.cluster.add_described_group(group("audit", {("orders", 1): 12}))
    assert "KP541" in desk.run_failing("groups", "delete", "audit", "nosuch", "-auto-approve")
    assert offsets(desk, "audit") == {("orders", 1): 12}
    desk.run("groups", "delete", "audit", "billing", "-auto-approve", "-undo-file=u.csv")
    assert Path("u.csv").read_text() == "audit,orders,1,12\nbilling,orders,0,40\n"
    assert "Nothing was found" in desk.run("groups", "list")
    desk.run("groups", "reset", "billing", "-to=u.csv", "-create", "-auto-approve")
    assert offsets(desk) == {("orders", 0): 40}


def test_offsets_of_a_topic_are_deleted_and_those_of_others_stay(desk: MemoryCommand) -> None:
    desk.cluster.seed([NewTopic("other", 1, 1)])
    desk.cluster.add_described_group(group("billing", {("orders", 0): 40, ("other", 0): 3}))
    told = desk.run_failing("groups", "delete-offsets", "billing", "-topic=nosuch", "-dry-run")
    assert "KP542" in told
    desk.run("groups", "delete-offsets", "billing", "-topic=orders", "-auto-approve")
    assert offsets(desk) == {("other", 0): 3}
    (undo,) = undo_files()
    assert Path(undo).read_text() == "orders,0,40\n"


def test_a_share_group_is_told_apart(desk: MemoryCommand) -> None:
    desk.cluster.add_described_group(group("jobs", {("orders", 0): 12}, kind="share"))
    for words in (
        ("reset", "jobs", "-all-topics", "-to=1"),
        ("delete-offsets", "jobs", "-topic=orders"),
    ):
        assert "KP544" in desk.run_failing("groups", *words, "-auto-approve")
    told = desk.run("groups", "delete", "jobs", "-dry-run")
    assert "share group jobs cannot be restored" in told


ODD_NAMES = (" ends in spaces ", "-to=5", "--", 'it\'s "$HOME"', "a,b", "a\u2028b", "\x1b[0m\r\n")


def undo_commands(told: str) -> list[list[str]]:
    """Return the words of the commands that were shown, as a shell reads them."""
    assert all(line.isprintable() for line in told.splitlines())
    commands = [each.strip() for each in told.splitlines() if each.startswith("  kplan ")]
    script = "\n".join(["kplan() { printf '%s\\0' \"$@\"; printf '\\1\\0'; }", *commands])
    done = subprocess.run(["bash", "-c", script], capture_output=True, check=True)
    runs = done.stdout.decode().removesuffix("\0\1\0").split("\0\1\0")
    return [each.split("\0") for each in runs]


def test_the_undo_commands_work_whatever_groups_are_called(desk: MemoryCommand) -> None:
    for name in ODD_NAMES:
        desk.cluster.add_described_group(group(name, {("orders", 0): 40}))
    words = ("groups", "delete", "-auto-approve", "-undo-file=it's undo.csv", "--", *ODD_NAMES)
    assert run(words, {}) == 0
    commands = undo_commands(desk.capture.readouterr().err)
    assert len(commands) == len(ODD_NAMES)
    for each in commands:
        desk.run(*each[:2], "-auto-approve", *each[2:])
    assert all(offsets(desk, name) == {("orders", 0): 40} for name in ODD_NAMES)


def test_offsets_of_a_topic_that_is_gone_do_not_keep_the_others_from_being_restored(
    desk: MemoryCommand,
) -> None:
    Path("u.csv").write_text("gone,0,5\norders,0,20\n")
    words = ("groups", "reset", "billing", "-to=u.csv", "-auto-approve")
    assert "name the other topics of the file with -topic=TOPIC" in desk.run_failing(*words)
    desk.run(*words, "-topic=orders")
    assert offsets(desk) == {("orders", 0): 20}


def test_the_undo_command_leads_to_the_same_cluster(desk: MemoryCommand) -> None:
    """Without its options it would commit to the cluster of the default provider block."""
    desk.write('variable "where" {}\nprovider "kafka" {\n  alias = "east"\n'
               "  bootstrap_servers = [var.where]\n}\n")  # fmt: skip
    words = ("-all-topics", "-to=90", "-provider=east", "-var=where=localhost:9092")
    assert run(("groups", "reset", "billing", *words, "-auto-approve"), {}) == 0
    ((*_, provider, variable, name),) = undo_commands(desk.capture.readouterr().err)
    assert (provider, variable, name) == ("-provider=east", "-var=where=...", "billing")


def test_the_undo_file_is_named_too_if_the_outcome_is_unknown(desk: MemoryCommand) -> None:
    desk.cluster.time_out(call="commit_offsets", carried_out=True)
    desk.cluster.run_before("commit_offsets", lambda: desk.cluster.time_out(call="describe_groups"))
    told = desk.run_failing("groups", "reset", "billing", "-all-topics", "-to=90", "-auto-approve")
    assert "The offsets before the change are in billing." in told


def recommit(desk: MemoryCommand) -> None:
    desk.cluster.add_described_group(group("billing", {("orders", 0): 45}))


def truncate(desk: MemoryCommand) -> None:
    log = PartitionUse(10, 60, 50_000, 0, 0)
    desk.cluster.set_topic_use("orders", TopicUse({0: log, 1: log}, groups=()))


@pytest.mark.parametrize(
    ("words", "meanwhile", "why"),
    [
        (("reset", "billing", "-all-topics", "-to=90"), recommit, "committed offsets of group b"),
        (("delete", "billing"), recommit, "committed offsets of billing have changed"),
        (("delete-offsets", "billing", "-topic=orders"), recommit, "committed offsets of group b"),
        (("reset", "billing", "-all-topics", "-to=90"), truncate, "Offset 90 is outside the log"),
    ],
)
def test_a_plan_that_is_stale_once_it_is_approved_changes_nothing(
    desk: MemoryCommand,
    monkeypatch: pytest.MonkeyPatch,
    words: Sequence[str],
    meanwhile: Callable[[MemoryCommand], None],
    why: str,
) -> None:
    """The undo file would be wrong, or the new offsets lead nowhere."""

    def answer(*_: object) -> str:
        meanwhile(desk)
        return "yes"

    monkeypatch.setattr(Terminal, "can_ask", True)
    monkeypatch.setattr(Terminal, "ask", answer)
    told = desk.run_failing("groups", *words)
    assert "KP930" in told
    assert why in told
    assert offsets(desk)[("orders", 0)] in (40, 45)
    assert not undo_files()
    monkeypatch.setattr(Terminal, "ask", lambda *_: "yes")
    desk.run("groups", *words)
