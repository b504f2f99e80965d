"""Lines that differ in their time only are added up where they are read."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, strategies

from kplan.fleet.logs import lines
from kplan.fleet.logs.layout import NEWER_MESSAGE, OLDER_MESSAGE
from kplan.fleet.logs.lines import MARK, OTHER_LOGGER, add_up


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
        batch("[2026-11-01 10:00:00,123] Principal = x", "[2026-11-01 09:00:00,000] Principal = x"),
        batch("[2026-11-01 23:59:59,999] Principal = x", "[2026-11-02 00:00:00,000] Principal = x"),
    )
    days = {each["first_at"].day: each for each in found}
    assert days[1] == {
        "part": 0,
        "said": " Principal = x",
        "has_time": True,
        "is_utc": False,
        "is_default": False,
        "count": 3,
        "first_at": at("2026-11-01T09:00:00"),
        "last_at": at("2026-11-01T23:59:59.999"),
        "whole": None,
    }
    assert days[2]["count"] == 1


@pytest.mark.parametrize(
    "text",
    [
        "[2026-11-01 10:00:0{n},123] INFO [Partition orders-{n}] Log loaded. (kafka.cluster.Log)",
        "[2026-11-01 10:00:0{n},123] WARN what",
        "2026-11-01 10:00:0{n},123 INFO Started {n} [main]",
        "2026-11-01T10:00:0{n}.123Z ERROR what",
        "2026-11-01T10:00:0{n}.123456789Z stdout F ===> Running",
        '{{"log":"===> User {n}","stream":"stderr","time":"2026-11-01T10:00:00Z"}}',
        "\tat kafka.server.KafkaServer.startup(KafkaServer.scala:{n})",
    ],
)
def test_lines_of_other_loggers_are_one_row_whatever_they_say_and_when(text: str) -> None:
    (row,) = sums(batch(*(text.format(n=n) for n in range(5))))
    assert (row["said"], row["count"]) == (OTHER_LOGGER, 5)
    assert not any(row[each] for each in ("has_time", "is_default", "is_utc", "whole"))
    for word in ("Principal = User:a", "operation = READ", " for request = FETCH"):
        said = text.format(n=1).replace("what", "what " * 9) + f" {word}"
        (row,) = sums(batch(said))
        assert row["said"] in said, "Java decides about it"


@pytest.mark.parametrize("time", ["[2026-11-01 10:00:0{n},123] INFO", "2026-11-01 10:00:0{n},123"])
def test_the_same_request_of_several_threads_is_one_row(time: str) -> None:
    said = "Principal = User:a is Allowed operation = READ from host = 10.0.0.1 on resource = "
    said += "Topic:LITERAL:orders for request = FETCH with resourceRefCount = 1 based on rule X"
    end = "(kafka.authorizer.logger) [data-plane-kafka-request-handler-{n}]"
    texts = [f"{time} {said} {end}".format(n=n) for n in range(5)]
    (row,) = sums(batch(*texts[:3]), batch(*texts[3:]))
    assert row["said"] == MARK.join(
        ("User:a", "Allowed", "READ", "10.0.0.1", "Topic", "orders", "FETCH")
    )
    assert (row["count"], row["whole"]) == (5, None)
    assert row["first_at"] == at("2026-11-01T10:00:00.123")
    assert row["last_at"] == at("2026-11-01T10:00:04.123")


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
    assert sorted(each["said"] for each in found) == sorted(texts)
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


WORDS = strategies.sampled_from(
    (
        *("User:a", "team, b", "READ", "Topic", ":", "LITERAL", "orders", "FETCH", "é", "\t", "\v"),
        *(
            " is Allowed operation = ",
            " is Denied operation = ",
            " from host = ",
            " on resource = ",
        ),
        *(
            " for request = ",
            " with resourceRefCount = ",
            "1",
            " based on rule Default",
            MARK,
            "\r",
        ),
        *("Principal = ", " operation = ", " is ", "10.0.0.1", " is Allowed Operation = ", "Read"),
        *(" (kafka.authorizer.logger)", "[a]", " (a b:72)", "\x1b[m", "\x1b[1;31m", "[", ")"),
    )
)
USUAL = (
    *("Principal = ", "User:a", " is Allowed operation = ", "READ", " from host = ", "10.0.0.1"),
    *(" on resource = ", "Topic", ":", "LITERAL", ":", "orders", " for request = ", "FETCH"),
    *(" with resourceRefCount = ", "1", " based on rule Default"),
)
MESSAGES = [
    re.compile(each.replace(r"\z", r"\Z"), re.ASCII) for each in (NEWER_MESSAGE, OLDER_MESSAGE)
]


def java_parts(text: str) -> list[str | None]:
    """Take apart what a line says as Java does; [] where it is no request."""
    head, begin, message = text.partition("Principal = ")
    found = next((each for form in MESSAGES if (each := form.match(message))), None)
    return list(found.groups()) if begin and found and MARK not in head else []


@strategies.composite
def nearly_requests(draw: strategies.DrawFn) -> str:
    words = list(USUAL)
    for _ in range(draw(strategies.integers(0, 3))):
        at = draw(strategies.integers(0, len(words) - 1))
        words[at : at + draw(strategies.integers(0, 1))] = [draw(WORDS)]
    return " INFO " + "".join(words)


@given(strategies.lists(nearly_requests(), min_size=1))
def test_a_request_has_the_parts_that_java_finds_or_is_left_to_java(texts: list[str]) -> None:
    found = sums(
        *(batch(f"[2026-11-01 10:00:00,123]{each}", part=n) for n, each in enumerate(texts))
    )
    rare = rf"(?i)operation = .* operation = |for .* for request = |{MARK}"
    rare += "|resource = [^:]*:(?!(LITERAL|PREFIXED):)"
    for row in found:
        text = texts[row["part"]]
        if row["is_default"]:
            assert row["said"].split(MARK) == java_parts(text)
        else:
            assert row["said"] == text
            parts = java_parts(text)
            assert not parts or parts[-1] is None or re.search(rare, text)


def test_a_request_of_the_default_layout_is_taken_apart_and_others_are_not() -> None:
    said = "Principal = User:a is Denied operation = READ from host = ::1 on resource = "
    said += "Topic:LITERAL:my topic for request = FETCH with resourceRefCount = 12"
    parts = ["User:a", "Denied", "READ", "::1", "Topic", "my topic", "FETCH"]
    for end in (
        *("", " based on rule X", "\r", " based on rule X\r", " (kafka.authorizer.logger)"),
        " (kafka.authorizer.logger) [data-plane-kafka-request-handler-3]",  # Strimzi's log4j 1
        *(" (kafka.authorizer.logger:72) [main thread]\x1b[m\r", "\x1b[0;39m"),
    ):
        (row,) = sums(batch(f"[2026-11-01 10:00:00,123] INFO {said}{end}"))
        assert java_parts(f"{said}{end}") == parts
        assert (row["is_default"], row["said"].split(MARK)) == (True, parts)
    joined = f"{said} based on rule X\r[2026-11-01 10:00:01,000] INFO {said} based on rule X"
    assert not java_parts(joined), "the end of a line was lost"
    for line in (
        f"INFO {said}",
        f"[2026-11-01 10:00:00,123] {said} and more",
        f"[2026-11-01 10:00:00,123] INFO {joined}",
    ):
        (row,) = sums(batch(line))
        assert (row["is_default"], MARK in row["said"]) == (False, False)
    named = said.replace("User:a", "User:Principal = a").replace("my topic", "Principal = x")
    (row,) = sums(batch(f"[2026-11-01 10:00:00,123] INFO {named} based on rule X"))
    assert row["is_default"], "names may contain such text"


SAID = (
    " INFO Principal = User:{who} is Allowed operation = READ from host = 10.0.0.1 on resource = "
    "Topic:LITERAL:{who}-orders for request = FETCH with resourceRefCount = 1 based on rule X (log)"
)
OLDER_SAID = SAID.replace("operation = READ", "Operation = Read").replace(" based on rule X", "")
OLDEST_SAID = OLDER_SAID.partition(" for request")[0].replace("LITERAL:", "")


@pytest.mark.parametrize("said", [SAID, OLDER_SAID, OLDEST_SAID])
@pytest.mark.parametrize("end", ["", "\r"])
def test_a_line_that_was_cut_and_joined_to_the_next_one_is_no_request_of_another(
    said: str, end: str
) -> None:
    """As where a broker died while it wrote: its next line follows what is there."""
    lost, whole = said.format(who="alice"), said.format(who="bob")
    own = java_parts(whole)
    assert own[0] == "User:bob"
    for cut in range(len(lost) + 1):
        told = f"[2026-11-01 10:00:00,123]{lost[:cut]}{end}[2026-11-02 11:00:00,000]{whole}"
        (row,) = sums(batch(told))
        parts = row["said"].split(MARK) if row["is_default"] else java_parts(row["said"])
        assert parts in ([], own), told
        assert not row["is_default"], "Java finds the time of the second one"
