"""log4j patterns as regular expressions of lines."""

import re

import pytest

from kplan.config.log_layout import LAYOUTS, translate_pattern

SAID = "Principal = User:a is Denied operation = READ from host = 10.0.0.1 on resource = Topic:x"
LOGGER = "kafka.authorizer.logger"
DAY = {"year": "2026", "month": "11", "day": "01", "hour": "10", "minute": "20", "second": "30"}


def fields(pattern: str, line: str) -> dict[str, str]:
    layout, problems = translate_pattern(pattern)
    assert not problems
    assert layout is not None
    found = re.match(layout.regex, line)
    return dict(zip(layout.fields, found.groups(), strict=True)) if found else {}


@pytest.mark.parametrize(
    ("pattern", "line", "time"),
    [
        (
            "%d{yyyy-MM-dd HH:mm:ss,SSS} %-5p %c - %m%n",
            f"2026-11-01 10:20:30,123 INFO  {LOGGER} - {SAID}\n",
            DAY | {"fraction": "123"},
        ),
        ("[%d] %p %m (%c)%n", f"[2026-11-01 10:20:30,123] INFO {SAID} ({LOGGER})", DAY),
        (
            "%date{ISO8601} [%t] %5level %X{id} %c{1}: %msg%n%ex",
            f"2026-11-01T10:20:30,123 [handler 1]  INFO a b logger: {SAID}",
            DAY,
        ),
        ("%d{ISO8601_OFFSET_DATE_TIME_HHMM} %m", f"2026-11-01T10:20:30,123+0530 {SAID}", DAY),
        (
            "%d{dd/MMM/yy:HH:mm:ss Z} %m",
            f"01/Nov/26:10:20:30 +01:00 {SAID}",
            {"month_name": "Nov", "year_short": "26", "zone": "+01:00"},
        ),
        ("%d{d.M.yyyy} um %d{H:mm 'Uhr'} %m", f"1.11.2026 um 9:20 Uhr {SAID}", {"hour": "9"}),
        ("%d{EEE MMM dd HH:mm:ss z yyyy} %m", f"Sun Nov 01 10:20:30 CET 2026 {SAID}", {}),
        ("%d{UNIX_MILLIS} %C.%M:%L %m", f"1793528430123 kafka.A.log:12 {SAID}", {}),
        ("%d{COMPACT}|100%%|%r|%m", f"20261101102030123|100%|77|{SAID}", DAY),
    ],
)
def test_a_pattern_reads_the_time_and_message_of_its_lines(
    pattern: str, line: str, time: dict[str, str]
) -> None:
    found = fields(pattern, line)
    assert found["message"] == SAID
    assert {name: found.get(name) for name in time} == time


@pytest.mark.parametrize(
    "line",
    [
        f"2026-11-01 10:20:30 [main] INFO {SAID}",
        f"(2026-11-01 10:20:30) INFO {SAID} and more",
        "[2026-11-01 10:20:30] INFO Starting (main)",
        f"2026-11-01 10:20:30] INFO {SAID}",
    ],
)
def test_lines_of_another_layout_do_not_match_a_pattern(line: str) -> None:
    assert not fields("[%d{yyyy-MM-dd HH:mm:ss}] %p %m (%t)%n", line)


def test_brackets_and_points_of_a_pattern_are_literal() -> None:
    assert fields("(%d{UNIX}) .* %m", f"(1793528430) .* {SAID}")["epoch_s"] == "1793528430"
    assert not fields("(%d{UNIX}) .* %m", f"(1793528430) ab {SAID}")


def test_letters_after_a_name_are_text_where_log4j_has_no_longer_name() -> None:
    found = fields("%d{UNIX}s %px %mend", f"1793528430s INFOx {SAID}end")
    assert found == {"epoch_s": "1793528430", "message": SAID}


def test_a_long_line_of_another_layout_takes_no_long_time() -> None:
    pattern = "%d{UNIX} [%t] [%X{a}] [%X{b}] %c %m"
    assert not fields(pattern, "1793528430 [" + "] [" * 50_000 + " Principal = ")


@pytest.mark.parametrize(
    ("pattern", "details"),
    [
        ("%d %q %m %highlight{%p}", ['"%q", at character 4', '"%highlight", at character 10']),
        ("%d %p %m%notEmpty{[%X{id}]}", ['"%notEmpty", at character 9']),
        ("%d %red{%p} %m", ['"%red", at character 4']),
        ("%d %-5markerSimpleName %m", ['"%-5markerSimpleName", at character 4']),
        ("%d %replace{%m}{a}{b} %m %xException", ['"%replace"', '"%xException"']),
        ("%d %p", ["one message"]),
        ("%d %m %m", ["one message"]),
        ("%p %m", ["no day, month, year, hour, minute"]),
        ("%d{ABSOLUTE} %m", ["no day, month, year"]),
        ("%d %d %m", ["two times"]),
        ("%d{yyyy-MM-dd hh:mm:ss a} %m", ['"h" in a date format', '"a" in a date format']),
        ("%d{yyyy-MM-dd HH:mm 'x} %m", ["an open quote"]),
        ("%d{UNIX} %d{HH:mm} %m", ["two times"]),
        ("%d{ISO8601}{Mars/Base} %m", ['"Mars/Base"']),
        ("%d %m 50%", ['"%", at character 9']),
    ],
)
def test_what_a_pattern_cannot_mean_is_an_error_with_a_hint(
    pattern: str, details: list[str]
) -> None:
    layout, problems = translate_pattern(pattern)
    assert layout is None
    assert all(each.hint for each in problems)
    assert len(problems) == len(details)
    for each, detail in zip(problems, details, strict=True):
        assert detail in each.detail


def test_the_zone_of_a_pattern_is_kept() -> None:
    layout, _ = translate_pattern("%d{ISO8601}{Europe/Berlin} %m%n")
    assert layout is not None
    assert layout.zone == "Europe/Berlin"


def test_the_zone_of_a_pattern_counts_before_a_short_name_that_several_zones_have() -> None:
    """CST is China and Chicago."""
    form = "yyyy-MM-dd HH:mm:ss z"
    line = f"2026-11-01 10:20:30 CST {SAID}"
    assert "zone" not in fields(f"%d{{{form}}}{{Asia/Shanghai}} %m%n", line)
    assert fields(f"%d{{{form}}} %m%n", line)["zone"] == "CST"
    for zone in ("GMT+03:00", "UTC", "Etc/GMT+5", "Z", "America/Argentina/Buenos_Aires"):
        assert fields(f"%d{{{form}}} %m%n", line.replace("CST", zone))["zone"] == zone
        assert fields(f"%d{{{form}}}{{UTC}} %m%n", line.replace("CST", zone))["message"] == SAID


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("kafka", "[2026-11-01 10:20:30,123] INFO x"),
        ("cri", "2026-11-01T10:20:30.123456789Z stdout F x"),
        ("syslog", "<134>1 2026-11-01T10:20:30Z host x"),
        ("syslog", "Nov  1 10:20:30 host x"),
        ("cloudwatch", "2026-11-01T10:20:30.123Z x"),
        ("cloudwatch-json", '{"timestamp": 1, "message": "x"}'),
        ("docker-json", '{"log": "x", "stream": "stdout"}'),
        ("log4j2-json", '{"instant":{"epochSecond":1},"message":"x"}'),
        ("ecs-json", '{"@timestamp":"2026-11-01T10:20:30.123Z","message":"x"}'),
        ("confluent-json", '{"specversion": "1.0"}'),
        ("gcp-json", '{"timestampSeconds":1,"timestampNanos":2,"severity":"INFO","message":"x"}'),
        ("gcp-json", '{"timestamp":"2026-11-01T10:20:30.123Z","severity":"INFO","message":"x"}'),
        ("gelf-json", '{"version":"1.1","short_message":"x","timestamp":1.5}'),
    ],
)
def test_a_line_has_the_layout_of_one_name_only(name: str, line: str) -> None:
    assert [each for each, regex in LAYOUTS.items() if re.match(regex, line)] == [name]
