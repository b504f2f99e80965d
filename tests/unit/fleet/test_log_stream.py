"""What of a micro-batch of a topic is new, whoever read some of it before."""

import pytest

from kplan.fleet.logs.audit_topic import OffsetRange
from kplan.fleet.logs.topic_part import TopicEnd
from kplan.fleet.stream import new_offsets

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
