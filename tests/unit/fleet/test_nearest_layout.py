"""The layout that malformed lines of a log come nearest to."""

import pytest

from kplan.fleet.logs.layout import nearest_layout


@pytest.mark.parametrize(
    ("line", "layout"),
    [
        ("[2026-13-01 10:00:00,123] INFO Principal = User:a is", "Kafka's default"),
        ("[2026-11-01 10:00:00,123 CST] INFO Principal = x", "a log4j pattern with a short name"),
        ("2026-13-01 10:00:00 CET INFO Principal =", "a log4j pattern with a date"),
        ("[2026-13-01 10:00:00,123] WARN Principal =", "Kafka's default"),
        ("2026-11-01T10:00:00Z stdout P [2026-11-01", "CRI"),
        ('{"message": "x"}', "a JSON layout"),
        ("<134>1 2026-11-01T10:00:00Z host kafka", "syslog (RFC 5424)"),
        ("Nov  1 10:00:00 host kafka: Principal = User:a", "syslog (RFC 3164)"),
        ("2026-11-01 Principal = User:a is Denied Operation = Read from", "the older spelling"),
        ("1793527200 INFO Principal = User:a is", "a log4j pattern without a date"),
    ],
)
def test_the_beginning_of_lines_names_their_layout(line: str, layout: str) -> None:
    assert nearest_layout(["something else", line]).startswith(layout)


def test_lines_of_another_program_are_near_to_no_layout() -> None:
    assert nearest_layout(["GET / HTTP/1.1", ""]) == ""
