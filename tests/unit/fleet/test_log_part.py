"""Which parts of logs count, after logs grew, were rotated, packed, and read by two at once."""

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

import pytest
from hypothesis import given, strategies

from kplan.fleet.logs.audit_topic import OffsetRange
from kplan.fleet.logs.compaction import closed_log, known_logs, merge_log
from kplan.fleet.logs.files import NewLines
from kplan.fleet.logs.known_end import HEAD_BYTES, UNKNOWN_END
from kplan.fleet.logs.outcome import PartStart, read_parts
from kplan.fleet.logs.part import (
    NO_ROWS,
    LogPart,
    known_stamps,
    live_logs,
    log_id,
    remove_log,
    removed_logs,
)
from kplan.fleet.logs.topic_part import TopicEnd, new_logs, topic_ends, unread_offsets

FIRST = "2026-11-01 10:00:00\na"


def part(
    attempt: str,
    start: int = 0,
    end: int = UNKNOWN_END,
    lines: int = 1,
    source: str = "file:/x.log",
) -> LogPart:
    return LogPart(
        "eu",
        source,
        f"{end} 1  2",
        log_id(source, FIRST),
        start=start,
        end=end,
        lines=lines,
        attempt=attempt,
        at=attempt,
    )


def topic(attempt: str, start: int, end: int) -> LogPart:
    found = part(attempt, start, end, lines=end - start, source="kafka://audit/0")
    return replace(found, file=log_id("kafka://audit/0", None))


def counted(*parts: LogPart) -> list[str]:
    """Name the attempts that count, of one log."""
    (log,) = live_logs(parts)
    return [each.attempt for each in log.parts]


def test_a_log_that_was_rotated_or_packed_is_the_same() -> None:
    names = ("x.log", "x.log.1", "x.log.2.gz", "x.log-20261101", "x.log.2026-11-01-10.zst")
    assert len({log_id(f"file:/logs/{name}", FIRST) for name in names}) == 1


def test_other_logs_are_others() -> None:
    """Of another broker, with another first request, of a topic, or without a request."""
    names = ("x.log", "b1-x.log", "b1/x.log", "s.log/x.log")
    found = [log_id(f"file:/logs/{name}", FIRST) for name in names]
    found += [log_id("file:/logs/x.log.1", "later"), log_id("file:/logs/x.log.1", None)]
    found += [log_id("kafka://x/0", None), log_id("kafka://x/1", None)]
    assert len(set(found)) == len(found)


def test_a_log_that_grows_is_all_that_was_read_of_it_one_after_another() -> None:
    parts = part("3", 20, 30), part("1", 0, 10), part("2", 10, 20)
    assert counted(*parts) == ["1", "2", "3"]
    (log,) = live_logs(parts)
    assert log.last.end == 30


def test_of_what_two_read_at_once_one_counts() -> None:
    """The longer one, until more went on from the other."""
    parts = part("1", 0, 10), part("2", 10, 20), part("3", 10, 30)
    assert counted(*parts) == ["1", "3"]
    assert counted(*parts, part("4", 20, 40)) == ["1", "2", "4"]
    assert counted(*parts, part("4", 20, 40), part("5", 30, 50)) == ["1", "3", "5"]


@pytest.mark.parametrize("made", [part, topic], ids=["file", "topic"])
def test_a_slow_reader_takes_nothing_from_what_another_one_kept_meanwhile(
    made: Callable[[str, int, int], LogPart],
) -> None:
    quick = made("1", 0, 100), made("2", 100, 150), made("3", 150, 300)
    parts = *quick, made("4", 100, 180)
    assert counted(*parts) == ["1", "2", "3"]
    (log,) = live_logs(parts)
    assert log.last.end == 300


Spans = Collection[tuple[int, int]]
SPANS = strategies.lists(
    strategies.tuples(strategies.integers(0, 9), strategies.integers(1, 5)).map(
        lambda each: (each[0], each[0] + each[1])
    ),
    max_size=7,
)


def most_covered(spans: Spans, end: int, *, has_gaps: bool) -> int:
    """Try all ways to go on from an end."""
    follow = [each for each in spans if each[0] == end or (has_gaps and each[0] > end)]
    return max(
        (until - start + most_covered(spans, until, has_gaps=has_gaps) for start, until in follow),
        default=0,
    )


@given(SPANS, strategies.booleans())
def test_the_parts_that_count_are_those_that_cover_most_and_none_overlaps(
    spans: list[tuple[int, int]], has_gaps: bool
) -> None:
    made = topic if has_gaps else part
    every = [(0, 2), *spans]
    parts = [
        replace(made(str(n), start, end), lines=end - start) for n, (start, end) in enumerate(every)
    ]
    (log,) = live_logs(parts)
    assert log.lines == most_covered(every, 0, has_gaps=has_gaps)
    ends = [each.end for each in log.parts]
    starts = [each.start for each in log.parts]
    assert all(end <= start for end, start in zip(ends, starts[1:], strict=False))
    assert log.last.end == ends[-1]


def test_many_parts_of_two_readers_are_sorted_out_at_once() -> None:
    parts = [topic(f"{n:06}", n, n + 1 + n % 2) for n in range(20_000)]
    begin = time.process_time()
    (log,) = live_logs(parts)
    assert time.process_time() - begin < 5
    assert log.last.end == 20_001


def test_of_equal_logs_the_longest_counts_and_of_equally_long_ones_the_latest() -> None:
    half, whole = part("2", source="file:/x.log.1.gz", lines=2), part("1", lines=3)
    assert counted(half, whole) == ["1"]
    assert counted(replace(half, lines=3), whole) == ["2"]
    grown = part("2", 0, 10, lines=2), part("3", 10, 20, lines=2), whole
    assert counted(*grown) == ["2", "3"]


def test_a_last_line_without_its_end_counts_until_there_is_more() -> None:
    first, last = part("1", 0, 10), replace(part("1", 10, 10), is_open=True, part=1)
    assert counted(first, last) == ["1", "1"]
    assert counted(first, last, part("2", 10, 20)) == ["1", "2"]
    (log,) = live_logs([first, last])
    assert (log.last.end, log.lines) == (10, 2)


def test_a_renamed_log_has_its_new_name() -> None:
    renamed = part("2", 10, 10, lines=0, source="file:/x.log.1")
    (log,) = live_logs([part("1", 0, 10), renamed])
    assert log.last.source == "file:/x.log.1"
    assert log.lines == 1


def test_a_log_that_had_no_request_takes_its_own_place_when_it_has_one() -> None:
    before = replace(part("1", 0, 10), file=log_id("file:/x.log", None))
    assert counted(before) == ["1"]
    assert counted(before, part("2", 0, 20)) == ["2"]
    grown = part("2", 0, 20), part("3", 20, 30)
    assert counted(before, *grown) == ["2", "3"]
    assert counted(before, *grown, part("4", 30, 40)) == ["2", "3", "4"]
    merged = replace(merge_log(live_logs([before, *grown])[0], 0), attempt="4", at="4")
    assert counted(before, *grown, merged, part("5", 30, 40)) == ["4", "5"]
    gone = replace(grown[1], start=NO_ROWS, attempt="6", at="6")
    assert live_logs([before, *grown, gone]) == []


def test_a_log_that_had_no_request_and_was_renamed_takes_its_own_place_when_it_has_one() -> None:
    def began(made: LogPart, head: str = "a", head_length: int = HEAD_BYTES - 1) -> LogPart:
        return replace(made, head_length=head_length, head=head)

    source = "file:/x.log"
    before = began(replace(part("1", 0, 5000), file=log_id(source, None)))
    renamed = began(part("2", 0, 6000, source="file:/x.log.1"))
    grown = part("3", 6000, 7000, source="file:/x.log.1")
    next_one = began(replace(part("2", 0, 10), file=log_id(source, None)), "b", 10)
    assert counted(before, renamed, grown) == ["2", "3"]
    logs = live_logs([before, renamed, grown, next_one])
    assert [[each.attempt for each in log.parts] for log in logs if log.parts] == [
        ["2", "3"],
        ["2"],
    ]
    for other in (began(renamed, "b"), began(renamed, "a", 10), replace(renamed, cluster="us")):
        assert len(live_logs([before, other])) == 2
    both = began(part("1", 0, 6000, source="file:/y.log.1")), before
    assert len(live_logs(both)) == 2


def nameless(attempt: str, lines: int, source: str = "file:/x.log") -> LogPart:
    """Return what was read of a file without a request."""
    found = part(attempt, 0, lines * 10, lines, source)
    return replace(found, file=log_id(source, None), stamp=f"{lines * 10} {attempt}  2")


@pytest.mark.parametrize("lines", [4, 0])
def test_of_files_without_a_request_the_one_that_has_the_name_now_counts(lines: int) -> None:
    day, merged = nameless("1", 10), replace(nameless("2", 10), stamp="100 1  2")
    assert [log.lines for log in live_logs([day, nameless("3", lines)])] == [lines]
    assert [log.lines for log in live_logs([day, merged, nameless("3", lines)])] == [lines]


def test_a_file_without_a_request_that_was_renamed_counts_once() -> None:
    """It begins with the same bytes, however few; or it has the length and time that it had."""
    before, after = nameless("1", 10), nameless("2", 10, "file:/x.log.1")
    same_head = [replace(each, head="a", head_length=100) for each in (before, after)]
    same_time = before, replace(after, stamp="100 1  3")
    for parts in (same_head, same_time):
        assert counted(*parts) == ["2"]
        assert len(live_logs([*parts, nameless("2", 4)])) == 2
        assert len(live_logs([parts[0], replace(parts[1], source="file:/y.log")])) == 2
    others = [replace(each, head=f"{n}", head_length=100) for n, each in enumerate(same_time)]
    assert len(live_logs([before, after])) == len(live_logs(others)) == 2


def test_a_first_line_that_was_read_before_its_end_was_written_counts_once() -> None:
    """The same request may be another text then."""

    def read(attempt: str, end: int, starts: Sequence[PartStart], first: str) -> list[LogPart]:
        new = replace(part(attempt, 0, end), file="")
        kept, _ = read_parts(NewLines((new,), names={0: log_id(new.source, first)}), starts)
        return [replace(each, attempt=attempt, at=attempt) for each in kept]

    def begins(number: int, first: str, lines: int) -> PartStart:
        return PartStart(number, first, lines, 0, 0, "", "", None)

    half = read("1", 0, [begins(1, "half", 1)], "half of it")
    assert counted(*half) == ["1", "1"]
    assert [(log.lines, log.last.end) for log in live_logs(half)] == [(1, 0)]
    whole = read("2", 10, [begins(0, "half and half", 1)], "all of it")
    assert counted(*half, *whole) == ["2"]
    more = read("2", 10, [begins(0, "half and half", 1), begins(1, "next", 1)], "all of it")
    assert [each.file for each in more] == [log_id("file:/x.log", "all of it")] * 2
    assert counted(*half, *more) == ["2", "2"]


def test_a_file_whose_first_request_another_reader_reads_otherwise_counts_once() -> None:
    """Of an object store, or packed: nothing but its first request tells that it is the same."""
    before = part("1", 0, UNKNOWN_END, lines=10)
    after = replace(
        part("2", 0, UNKNOWN_END, lines=10), file=log_id("file:/x.log", "b"), stamp="-1 1  3"
    )
    assert counted(before, after) == ["2"]
    shorter = replace(before, attempt="0", at="0", stamp="-2 0  2", lines=5)
    assert counted(shorter, before, after) == ["2"]
    later = replace(before, attempt="3", at="3", stamp="-1 3  2")
    assert sorted(log.lines for log in live_logs([shorter, before, after, later])) == [10, 10]
    for other in (
        replace(after, stamp="-1 2  3"),
        replace(after, stamp=before.stamp),
        replace(after, source="file:/y.log"),
        replace(after, cluster="us"),
    ):
        assert len(live_logs([before, other])) == 2


def test_what_another_reader_reads_again_counts_however_few_lines_it_has() -> None:
    before = part("1", 0, 100, lines=100)
    again = replace(part("2", 0, 100, lines=40), stamp="100 1  3")
    grown = replace(part("3", 100, 120, lines=10), stamp="120 1  3")
    assert counted(before, again, grown) == ["2", "3"]
    assert counted(before, again) == ["2"]
    assert counted(before, replace(again, end=90)) == ["1"], "it does not go as far"
    assert counted(before, replace(again, damage="it is cut")) == ["1"]
    assert counted(before, replace(again, stamp=before.stamp)) == ["1"], "the same reader"


def test_records_of_a_topic_count_once_and_may_be_gone_before_they_were_read() -> None:
    parts = topic("1", 100, 200), topic("2", 200, 300), topic("3", 200, 250), topic("4", 400, 500)
    assert counted(*parts) == ["1", "2", "4"]
    end = TopicEnd(500, log_id("kafka://audit/0", None))
    assert topic_ends(live_logs(parts)) == {("eu", "kafka://audit/0"): end}


def test_a_topic_that_was_re_created_is_another_log_that_all_name_alike() -> None:
    """Also one that was re-created twice, and is long again."""
    source = "kafka://audit/0"
    parts, known = [topic("1", 0, 1000)], TopicEnd(1000, log_id(source, None))
    for attempt, end in (("2", 500), ("3", 20)):
        span = unread_offsets(OffsetRange("audit", 0, 0, end), known)
        assert (span.start, span.end) == (0, end)
        assert new_logs([span], {source: known}) == [span]
        parts.append(replace(topic(attempt, 0, end), file=span.log))
        (known,) = topic_ends(live_logs(parts)).values()
        assert known == TopicEnd(end, span.log)
    assert sorted(each.lines for each in live_logs(parts)) == [20, 500, 1000]
    assert topic_ends(live_logs(replace(each, attempt="4", at="4") for each in parts)) == {
        ("eu", source): known
    }
    grown = unread_offsets(OffsetRange("audit", 0, 5, 2000), known)
    assert (grown.start, grown.log) == (20, known.log)
    assert new_logs([grown], {source: known}) == []


def test_what_is_put_together_takes_the_place_of_its_parts_and_grows_on() -> None:
    parts = [part("1", 0, 10), part("2", 10, 20)]
    (log,) = live_logs(parts)
    merged = replace(merge_log(log, 5), attempt="3", at="3")
    assert (merged.start, merged.end, merged.lines, merged.part) == (0, 20, 2, 5)
    assert counted(*parts, merged) == ["3"]
    assert counted(*parts, merged, part("4", 20, 30)) == ["3", "4"]
    records = [topic("1", 100, 200), topic("2", 200, 300)]
    both = replace(merge_log(live_logs(records)[0], 0), attempt="3", at="3")
    assert counted(*records, both) == ["3"]


def test_a_last_line_that_is_open_is_not_put_together_and_counts_until_there_is_more() -> None:
    parts = [part("1", 0, 10), replace(part("1", 10, 10), is_open=True, part=1)]
    (log,) = live_logs(parts)
    merged = replace(merge_log(closed_log(log), 0), attempt="3", at="3")
    assert (merged.start, merged.end, merged.lines) == (0, 10, 1)
    assert counted(*parts, merged) == ["3", "1"]
    assert counted(*parts, merged, part("4", 10, 20)) == ["3", "4"]


def test_what_was_removed_stays_so_until_it_is_read_again() -> None:
    old = part("1", 0, 10)
    gone = replace(old, start=NO_ROWS, attempt="2", at="2")
    assert live_logs([old, gone]) == []
    assert removed_logs([old, gone]) == [replace(gone, until="2")]
    assert removed_logs([gone]) == []
    assert counted(old, gone, part("3", 0, 20)) == ["3"]
    assert known_stamps([old, gone]) == {("eu", "file:/x.log"): gone.stamp}


def test_a_log_that_was_removed_has_one_removal_however_often_it_is_put_together() -> None:
    """Also one that is removed a second time."""
    days = [f"2026-11-{day:02}T10:00:00.000000+00:00" for day in range(1, 30)]
    parts: list[LogPart] = []
    for n, day in enumerate(days):
        parts.append(replace(part(day, n * 10, n * 10 + 10), at=day))
        logs = [each for each in live_logs(parts) if each.parts]
        merged = [] if n in {0, 15} else [merge_log(each, 0) for each in logs]
        made = known_logs(parts, logs, merged)
        assert [each.start for each in made if each.file] == [NO_ROWS]
        at = day.replace("T10", "T11")
        parts += [replace(each, attempt=at, at=at) for each in (*merged, *made)]
        assert sum(log.lines for log in live_logs(parts)) == n % 15


def test_what_is_kept_while_a_log_is_removed_stays() -> None:
    """Of a file that grew, and of a partition: the one that removes has not seen it."""
    first, second, third = (f"2026-11-0{day}T10:00:00.000000+00:00" for day in (1, 2, 3))
    for old, new in (
        (part(first, 0, 10), part(second, 0, 20)),
        (part(first, 0, 10), part(second, 10, 20)),
        (topic(first, 0, 10), topic(second, 10, 20)),
    ):
        (log,) = live_logs([old])
        gone = replace(remove_log(log, [old]), attempt=third, at=third)
        assert live_logs([old, gone]) == []
        (found,) = live_logs([old, new, gone])
        assert [each.attempt for each in found.parts if each.lines] == [second]
        (again,) = removed_logs([old, new, gone])
        (found,) = live_logs([old, new, replace(again, at="2026-11-09")])
        assert [each.attempt for each in found.parts if each.lines] == [second]
        assert live_logs([old, replace(again, at="2026-11-09")]) == []


def test_records_of_which_an_old_version_kept_no_end_count() -> None:
    old = replace(topic("", 0, 1), source="kafka://audit/0@7", end=UNKNOWN_END)
    assert counted(old) == [""]


def test_a_compressed_log_of_unknown_damage_is_read_again_unless_it_was_removed() -> None:
    packed = part("1", source="file:/x.log.1.gz")
    place = ("eu", packed.source)
    assert known_stamps([packed]) == {place: packed.stamp}
    unknown = replace(packed, damage=None)
    assert known_stamps([unknown]) == {}
    assert known_stamps([unknown, replace(packed, attempt="2", at="2")]) == {place: packed.stamp}
    gone = replace(unknown, start=NO_ROWS, attempt="2", at="2")
    assert known_stamps([unknown, gone]) == {place: packed.stamp}
    plain = replace(part("1"), damage=None)
    assert known_stamps([plain]) == {("eu", plain.source): plain.stamp}
