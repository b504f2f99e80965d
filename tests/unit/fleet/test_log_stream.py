"""What of a micro-batch of a topic is new, whoever read some of it before; and what fails."""

import threading
import uuid
from typing import TYPE_CHECKING

import pytest

from kplan.fleet import stream
from kplan.fleet.logs.audit_topic import OffsetRange, stream_options
from kplan.fleet.logs.outcome import Added
from kplan.fleet.logs.part import LogPart
from kplan.fleet.logs.topic_part import TopicEnd
from kplan.fleet.stream import Batch, LogSource, StreamOptions, new_offsets, run_streams
from kplan.model.errors import FleetError
from kplan.workflow.fleet.follow import batch_text, failure_text

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

BATCH = OffsetRange("audit", 0, 10, 20)


@pytest.mark.parametrize(
    ("known", "start", "missing"),
    [(None, 0, (0, 10)), (10, 10, None), (15, 15, None), (4, 4, (4, 10))],
    ids=["nothing is known", "up to it", "some of it", "less than the checkpoint"],
)
def test_what_the_tables_lack_is_new(
    known: int | None, start: int, missing: tuple[int, int] | None
) -> None:
    ends = {} if known is None else {BATCH.source: TopicEnd(known, "log")}
    found = new_offsets(BATCH, {**ends, "other": TopicEnd(99, "log of another")})
    assert found is not None
    span, gap = found
    assert span == OffsetRange("audit", 0, start, 20, "" if known is None else "log")
    assert (gap and (gap.start, gap.end)) == missing


@pytest.mark.parametrize("known", [20, 25])
def test_a_micro_batch_that_was_read_before_is_not_new(known: int) -> None:
    assert new_offsets(BATCH, {BATCH.source: TopicEnd(known, "log")}) is None


class _Settings(dict[str, str]):
    """The settings of a Spark that is asked for nothing else."""

    def set(self, key: str, value: str) -> None:
        self[key] = value


class _NoSpark:
    conf = _Settings()


@pytest.mark.parametrize(("remind_s", "times"), [(stream.REMIND_S, 1), (0.0, 3)])
def test_a_failure_is_told_once_whatever_its_attempts_and_tasks_are_and_again_later(
    remind_s: float, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store that cannot be written has another folder in its message each time."""
    monkeypatch.setattr(stream, "REMIND_S", remind_s)
    monkeypatch.setattr(stream, "MIN_RETRY_S", 0.0)
    monkeypatch.setattr(stream, "POLL_INTERVAL_S", 0.01)
    stop_event, told, tries = threading.Event(), list[str](), 0

    def load(_: "SparkSession") -> "DataFrame":
        nonlocal tries
        tries += 1
        if tries > 3:
            stop_event.set()
            raise FleetError("The cluster does not answer.")
        raise FleetError(f"Mkdirs failed: attempt={uuid.uuid4().hex}/task_{tries}")

    source = LogSource("files", "files", load, lambda _: Added())
    options = StreamOptions(
        "checkpoints", 0.0, lambda _: None, lambda _, failure: told.append(str(failure))
    )
    run_streams(_NoSpark(), [source], options, stop_event)  # type: ignore[arg-type]
    *failures, last = (each.split(":")[0] for each in told)
    assert failures == ["Mkdirs failed"] * times
    assert last == "The cluster does not answer."


def test_what_a_stream_reports_reads_as_sentences() -> None:
    one = LogPart("eu", "a.log", lines=1, malformed=0)
    two = LogPart("eu", "b.log", lines=1500, malformed=2)
    assert batch_text(Batch("files", Added((one,)), 0.5)) == "files: 1 line of 1 log [0.5 s]"
    assert batch_text(Batch("files", Added((one, two)), 12.34)) == (
        "files: 1,501 lines of 2 logs, 2 of them malformed [12.3 s]"
    )
    assert failure_text(FleetError("java.io.IOException: No space left on device")) == (
        "java.io.IOException: No space left on device. kplan tries again."
    )
    assert failure_text(FleetError("No broker answers.", "Check it: -conf=a=b")) == (
        "No broker answers. kplan tries again. hint: Check it: -conf=a=b"
    )


def test_a_cluster_without_an_answer_fails_the_query_of_a_topic_at_the_first_try() -> None:
    """Each of Spark's own tries takes the minute that Kafka's client waits."""
    options = stream_options("audit", {0: 7}, {"bootstrap.servers": "b:9092"})
    assert options["fetchOffset.numRetries"] == "1"
    assert options["kafka.bootstrap.servers"] == "b:9092"
    assert (options["subscribe"], options["startingOffsets"]) == ("audit", '{"audit": {"0": 7}}')
