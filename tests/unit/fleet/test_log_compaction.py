"""Which parts count where logs are put together while others are read."""

from dataclasses import replace

import pytest

from kplan.fleet.logs import compaction
from kplan.fleet.logs.compaction import chosen_run, merge_log, small_attempts
from kplan.fleet.logs.part import LogPart, latest_parts, live_logs, log_id, remove_log


def nameless(at: str, source: str, stamp: str) -> LogPart:
    """Return what was read at a time of a file without a request."""
    name = log_id(source, None)
    return LogPart("eu", source, stamp, name, end=20, lines=2, head=stamp, attempt=at, at=at)


def put_together(at: str, *parts: LogPart) -> list[LogPart]:
    """Return what a compaction keeps at a time; it has seen these parts."""
    merged = [merge_log(log, n) for n, log in enumerate(live_logs(parts))]
    return [replace(each, attempt=f"merged-{at}", at=at) for each in merged]


def test_a_file_that_is_read_while_the_one_that_had_its_name_is_put_together_counts() -> None:
    """What was put together has not seen the new file, however late it is there."""
    request = LogPart("eu", "file:/x.log", "9 1  5", "a", end=9, lines=1, attempt="1", at="1")
    first = [request, nameless("1", "file:/x.log.2", "20 1  5")]
    new = [nameless("2", "file:/x.log", "20 2  5"), nameless("2", "file:/x.log.3", "20 1  5")]
    merged = put_together("3", *first)
    logs = live_logs([*first, *new, *merged])
    found = sorted((log.last.source, log.last.file == "a", log.last.at) for log in logs)
    assert found == [
        ("file:/x.log", False, "2"),
        ("file:/x.log", True, "3"),
        ("file:/x.log.3", False, "2"),
    ]
    known = latest_parts([*first, *new, *merged])
    assert known["eu", "file:/x.log"].stamp == "20 2  5", "it is not read again"


def test_what_is_put_together_again_is_as_old_as_before() -> None:
    first = [nameless("1", "file:/x.log", "20 1  5")]
    once = put_together("2", *first)
    twice = put_together("4", *first, *once)
    assert [each.read_at for each in (*once, *twice)] == ["1", "1"]
    assert [log.last.at for log in live_logs([*first, *once, *twice])] == ["4"]
    renamed = nameless("3", "file:/x.log.1", "20 1  5")
    assert [log.last.at for log in live_logs([*first, *once, *twice, renamed])] == ["3"]


def test_what_was_removed_is_as_it_was_seen_last() -> None:
    """Also where it was put together before: else its file would be looked at each time."""
    first = [nameless("1", "file:/x.log", "20 1  5")]
    once = put_together("2", *first)
    (log,) = live_logs([*first, *once])
    at = "2026-11-01T10:00:00.000000+00:00"
    gone = remove_log(log, [replace(each, at=at) for each in once])
    later = replace(gone, source="file:/x.log.1", stamp="20 1  6", attempt="4", at="4")
    before = nameless("3", "file:/x.log.1", "20 3  5")
    known = latest_parts([*first, *once, before, later])
    assert known["eu", "file:/x.log.1"].stamp == "20 1  6"


def growing(*lines: int) -> list[LogPart]:
    """Return what ingests read of one log that grew, an attempt each."""
    ends = [sum(lines[: at + 1]) for at in range(len(lines))]
    return [
        LogPart(
            "eu", "file:/x.log", f"{end} 1  5", "a", start=end - n, end=end, lines=n, at=f"{at}"
        )
        for at, (n, end) in enumerate(zip(lines, ends, strict=True))
    ]


@pytest.mark.parametrize(
    ("sizes", "chosen"),
    [
        ((1000, 10, 10), (10, 10)),
        ((1000, 300, 200), (1000, 300, 200)),
        ((1000, 40, 30, 1), (40, 30, 1)),
        ((1, 1000, 1000), (1, 1000, 1000)),
        ((10, 1000, 10), (10, 1000, 10)),
        ((1000,), ()),
        ((9, 8, 1), (9, 8, 1)),
    ],
    ids=["few", "half as many", "steps", "equals", "between", "one", "all small"],
)
def test_what_is_large_stays_until_there_is_half_as_much_beside_it(
    sizes: tuple[int, ...], chosen: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """But what is between two that are put together is, too."""
    monkeypatch.setattr(compaction, "SMALL_LINES", 9)
    parts = [replace(each, attempt=each.at) for each in growing(*sizes)]
    logs = live_logs(parts)
    attempts = small_attempts(logs)
    (run,) = [chosen_run(each, attempts) for each in logs]
    assert (() if run is None else tuple(each.lines for each in run.parts)) == chosen
    assert small_attempts(logs, {("eu", "a")}) == {each.at for each in parts}, "what is old goes"


def test_what_is_put_together_of_the_end_of_a_log_follows_the_rest() -> None:
    parts = [replace(each, attempt=each.at) for each in growing(1000, 10, 20)]
    (log,) = live_logs(parts)
    for attempts, starts in (({"1", "2"}, [0, 1000]), ({"2"}, [0, 1000, 1010])):
        run = chosen_run(log, attempts)
        assert run is not None
        merged = replace(merge_log(run, 0), attempt="merged-3", at="3")
        (found,) = live_logs([*parts, merged])
        assert [each.start for each in found.parts] == starts
        assert (found.parts[-1].attempt, found.lines, found.last.end) == ("merged-3", 1030, 1030)
