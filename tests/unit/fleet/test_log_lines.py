"""Lines that differ in their time only are added up where they are read."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

from kplan.fleet.logs import lines
from kplan.fleet.logs.lines import add_up


def batch(*texts: str | bytes, part: int = 0) -> pa.RecordBatch:
    held = [each if isinstance(each, bytes) else each.encode() for each in texts]
    line = pa.array(held, pa.binary()).view(pa.string())
    return pa.RecordBatch.from_arrays(
        [pa.array([part] * len(texts), pa.int32()), line], names=["part", "line"]
    )


def sums(*batches: pa.RecordBatch) -> list[dict[str, Any]]:
    return [row for each in add_up(iter(batches)) for row in each.to_pylist()]


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def test_lines_that_say_the_same_on_a_day_are_one_row() -> None:
    found = sums(
        batch("[2026-11-01 10:00:00,123] INFO x", "[2026-11-01 09:00:00,000] INFO x"),
        batch("[2026-11-01 23:59:59,999] INFO x", "[2026-11-02 00:00:00,000] INFO x"),
    )
    days = {each["first_at"].day: each for each in found}
    assert days[1] == {
        "part": 0,
        "said": " INFO x",
        "has_time": True,
        "count": 3,
        "first_at": at("2026-11-01T09:00:00"),
        "last_at": at("2026-11-01T23:59:59.999"),
    }
    assert days[2]["count"] == 1


def test_what_has_no_time_of_the_default_layout_stays_as_it_is() -> None:
    texts = [
        "",
        "[",
        "[2026-11-01 10:00:00,12]",
        "[2026-13-01 10:00:00,123] x",
        "[2026-02-29 10:00:00,123] x",
        "[2026-11-00 10:00:00,123] x",
        "[2026-11-01 24:00:00,123] x",
        "[2026-11-01 10:60:00,123] x",
        "[2026-11-01 10:00:60,123] x",
        "[2026-11-01 10:00:00,12Z] x",
        "[2026-11-01 10:00:00.123] x",
        "(2026-11-01 10:00:00,123) x",
        "[2026-11-01_10:00:00,123] x",
        "[2026-1é-01 10:00:00,123] x",
    ]
    found = sums(batch(*texts, *texts))
    assert [each["said"] for each in found] == texts
    assert {(each["has_time"], each["count"], each["first_at"]) for each in found} == {
        (False, 2, None)
    }


@pytest.mark.parametrize("text", ["2024-02-29T23:59:59.001", "2000-02-29T00:00:00", "1970-01-01"])
def test_times_are_those_of_the_calendar(text: str) -> None:
    when = at(text)
    for days in (0, 1, 31, 365, 10_000):
        moved = when + timedelta(days=days)
        millis = f"{moved:%Y-%m-%d %H:%M:%S},{moved.microsecond // 1000:03}"
        (row,) = sums(batch(f"[{millis}]"))
        assert (row["first_at"], row["last_at"], row["said"]) == (moved, moved, "")


def test_bytes_that_are_no_text_are_kept() -> None:
    said = next(iter(add_up([batch(b"[2026-11-01 10:00:00,123] \xff\xfe", b"\xc3")])))["said"]
    assert said.view(pa.binary()).to_pylist() == [b" \xff\xfe", b"\xc3"]


def test_lines_of_other_parts_are_not_added_to_each_other() -> None:
    found = sums(batch("a", "a"), batch("a", part=-3), batch())
    assert [(each["part"], each["count"]) for each in found] == [(0, 2), (-3, 1)]


def test_a_part_of_a_batch_and_large_strings_are_read() -> None:
    whole = batch(*(f"[2026-11-01 10:00:00,123] {n}" for n in range(5)))
    assert [each["said"] for each in sums(whole.slice(1, 2))] == [" 1", " 2"]
    wide = pa.RecordBatch.from_arrays(
        [whole["part"], whole["line"].cast(pa.large_string())], names=["part", "line"]
    )
    assert sums(wide.slice(1, 2)) == sums(whole.slice(1, 2))


def test_no_more_is_held_than_is_meant_however_little_repeats(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lines, "HELD_BYTES", 4_000)
    asked = 0

    def given() -> Iterator[pa.RecordBatch]:
        nonlocal asked
        for n in range(400):
            asked = n
            yield batch(f"[2026-11-01 10:00:00,123] {n}")

    found = add_up(given())
    first = next(found)
    assert 0 < asked < 399
    rest = [row["count"] for each in found for row in each.to_pylist()]
    assert sum([*first["count"].to_pylist(), *rest]) == 400


def test_what_repeats_is_held_to_the_end_and_is_one_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "HELD_BYTES", 4_000)
    (row,) = sums(*(batch("[2026-11-01 10:00:00,123] x") for _ in range(400)))
    assert row["count"] == 400
