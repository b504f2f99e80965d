"""Deleting records: the plan, the leaders, and what is told of each partition."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from kplan.cluster.memory.cluster import MemoryCluster
from kplan.cluster.request import NewTopic, TopicRef
from kplan.cluster.usage import PartitionUse, TopicUse
from kplan.model.errors import ConfigError, UsageError
from kplan.model.outcome import OutcomeStatus, RecordDeletionPlan
from kplan.workflow.apply.record_target import DeletionTarget, parse_targets
from kplan.workflow.apply.records import RecordDeletionRequest, RecordDeletionResult, delete_records
from tests.project_harness import ProjectHarness

ALL_OF_A = RecordDeletionRequest((DeletionTarget("a"),))
NONE_OF_B = """
policy "keep" {
  on   = ["delete_records"]
  kind = "kafka_topic"
  deny {
    condition = change.identity == "b"
    message   = "b is kept"
  }
}
"""


@pytest.fixture
def site(tmp_path: Path) -> ProjectHarness:
    found = ProjectHarness(tmp_path, MemoryCluster())
    found.cluster.seed([NewTopic("a", 2, 1), NewTopic("b", 1, 1), NewTopic("__own", 1, 1)])
    halves = {0: PartitionUse(10, 110, 0, 5000, 0), 1: PartitionUse(7, 7, None, 0, 0)}
    found.cluster.set_topic_use("a", TopicUse(halves, groups=()))
    found.cluster.set_topic_use("b", TopicUse({0: PartitionUse(0, 4, 0, None, 0)}, groups=()))
    found.write("")
    return found


def deleted(
    site: ProjectHarness,
    wanted: RecordDeletionRequest,
    approve: Callable[[RecordDeletionPlan], bool] = lambda _: True,
) -> RecordDeletionResult:
    return delete_records(site.project, wanted, site.ports, approve)


def first_offset(site: ProjectHarness, topic: str, partition: int = 0) -> int | None:
    return site.cluster.topic_use([topic])[topic].partitions[partition].start


def statuses(done: RecordDeletionResult) -> list[tuple[str, int, OutcomeStatus, int | None]]:
    return [
        (each.deletion.topic, each.deletion.partition, each.status, each.start)
        for each in done.outcomes
    ]


def test_a_plan_tells_watermarks_records_and_bytes_and_touches_nothing(
    site: ProjectHarness,
) -> None:
    """K201-20."""
    plan = deleted(
        site,
        RecordDeletionRequest((DeletionTarget("a", 0, 60), DeletionTarget("b"))),
        lambda _: False,
    ).plan
    told = [
        (each.start, each.end, each.target, each.records, each.bytes) for each in plan.deletions
    ]
    assert told == [(10, 110, 60, 50, 2500), (0, 4, 4, 4, None)]
    assert site.cluster.count("delete_records") == 0


def test_the_end_is_what_was_there_when_it_was_planned(site: ProjectHarness) -> None:
    def written_meanwhile(_: RecordDeletionPlan) -> bool:
        site.cluster.set_topic_use("a", TopicUse({0: PartitionUse(10, 500, 0, 5000, 0)}, groups=()))
        return True

    done = deleted(site, ALL_OF_A, written_meanwhile)
    assert statuses(done) == [
        ("a", 0, OutcomeStatus.APPLIED, 110),
        ("a", 1, OutcomeStatus.APPLIED, 7),
    ]
    assert first_offset(site, "a") == 110


def test_a_leader_that_moved_is_asked_once_more(site: ProjectHarness) -> None:
    site.cluster.refuse("NOT_LEADER_OR_FOLLOWER", call="delete_records", times=1)
    assert {each.status for each in deleted(site, ALL_OF_A).outcomes} == {OutcomeStatus.APPLIED}
    assert site.cluster.count("delete_records") == 2


def test_a_leader_that_moves_again_is_a_failure(site: ProjectHarness) -> None:
    site.cluster.refuse("NOT_LEADER_OR_FOLLOWER", call="delete_records", on="b")
    done = deleted(site, RecordDeletionRequest((DeletionTarget("a", 0), DeletionTarget("b", 0))))
    assert [each.status for each in done.outcomes] == [OutcomeStatus.APPLIED, OutcomeStatus.FAILED]
    assert site.cluster.count("delete_records") == 2


@pytest.mark.parametrize(
    ("carried_out", "status"), [(True, OutcomeStatus.APPLIED), (False, OutcomeStatus.UNKNOWN)]
)
def test_a_lost_answer_is_settled_by_reading(
    site: ProjectHarness, status: OutcomeStatus, *, carried_out: bool
) -> None:
    site.cluster.time_out(call="delete_records", carried_out=carried_out)
    assert (
        deleted(site, RecordDeletionRequest((DeletionTarget("a", 0),))).outcomes[0].status is status
    )


def test_a_topic_made_anew_meanwhile_keeps_its_records(site: ProjectHarness) -> None:
    def made_anew(_: RecordDeletionPlan) -> bool:
        site.cluster.delete_topics([TopicRef("a")])
        site.cluster.create_topics([NewTopic("a", 2, 1)])
        return True

    done = deleted(site, ALL_OF_A, made_anew)
    refused = done.outcomes[0].refusal
    assert refused is not None
    assert refused.error == "CLIENT_STALE"
    assert site.cluster.count("delete_records") == 0


def test_a_policy_keeps_a_topic_and_the_rest_goes_on(site: ProjectHarness) -> None:
    """K201-12."""
    site.write(NONE_OF_B)
    done = deleted(site, RecordDeletionRequest((DeletionTarget("a", 0), DeletionTarget("b"))))
    assert [each.status for each in done.outcomes] == [OutcomeStatus.APPLIED, OutcomeStatus.FAILED]
    assert "b is kept (policy keep)" in str(done.outcomes[1].refusal)
    assert first_offset(site, "b") == 0


def test_with_the_mode_all_one_refusal_keeps_everything(site: ProjectHarness) -> None:
    site.write(f'policies {{\n  mode = "all"\n}}\n{NONE_OF_B}')
    done = deleted(site, RecordDeletionRequest((DeletionTarget("a", 0), DeletionTarget("b"))))
    assert [each.status for each in done.outcomes] == [OutcomeStatus.SKIPPED, OutcomeStatus.FAILED]
    assert site.cluster.count("delete_records") == 0


@pytest.mark.parametrize(
    ("targets", "codes"),
    [
        ((DeletionTarget("a", 0, 111), DeletionTarget("b", 0, 5)), {"KP461"}),
        ((DeletionTarget("a", 2), DeletionTarget("c"), DeletionTarget("d", 0)), {"KP462"}),
        ((DeletionTarget("__own"), DeletionTarget("__consumer_offsets", 0, 1)), {"KP207"}),
    ],
)
def test_what_cannot_be_done_is_told_at_once_and_nothing_is_done(
    site: ProjectHarness, targets: tuple[DeletionTarget, ...], codes: set[str]
) -> None:
    with pytest.raises(ConfigError) as told:
        deleted(site, RecordDeletionRequest(targets))
    assert {each.code for each in told.value.diagnostics} == codes
    assert len(told.value.diagnostics) == len(targets)
    assert site.cluster.count("delete_records") == 0


def test_words_say_topics_partitions_and_offsets() -> None:
    assert parse_targets(["a", "b:1", "c:0=7", "d=end"], "5", None) == (
        DeletionTarget("a", None, 5),
        DeletionTarget("b", 1, 5),
        DeletionTarget("c", 0, 7),
        DeletionTarget("d"),
    )


def test_a_file_is_read_as_kafka_delete_records_reads_it(tmp_path: Path) -> None:
    rows = [
        {"topic": "a", "partition": 0, "offset": -1},
        {"topic": "a", "partition": 1, "offset": 3},
    ]
    file = tmp_path / "offsets.json"
    file.write_text(json.dumps({"partitions": rows, "version": 1}))
    assert parse_targets([], "", file) == (DeletionTarget("a", 0), DeletionTarget("a", 1, 3))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"version": 2, "partitions": []}',
        '{"partitions": []}',
        '{"partitions": [{"topic": "a", "partition": true, "offset": 1}]}',
        '{"partitions": [{"topic": "a", "partition": 0, "offset": -2}]}',
        '{"partitions": [{"topic": "a", "partition": 0}]}',
    ],
)
def test_a_file_of_another_shape_is_refused(text: str, tmp_path: Path) -> None:
    file = tmp_path / "offsets.json"
    file.write_text(text)
    with pytest.raises(UsageError):
        parse_targets([], "", file)


@pytest.mark.parametrize(
    ("words", "before"),
    [
        ([], "1"),
        (["a"], ""),
        (["a:"], "1"),
        (["a:x"], "1"),
        (["a:0=-1"], ""),
        (["a:0="], "1"),
        (["a"], "-1"),
        (["a"], "9" * 5000),
        (["a:0:1"], "1"),
        (["a", "a:0"], "1"),
        (["a:0", "a"], "1"),
        (["a:0", "a:0=4"], "1"),
    ],
)
def test_words_that_name_no_records_are_refused(words: list[str], before: str) -> None:
    with pytest.raises(UsageError):
        parse_targets(words, before, None)
