"""Raw numbers in words, and values in HCL."""

from decimal import Decimal

import pytest

from kplan.report.data import as_data
from kplan.report.documents.notation import count_text, hcl_lines, hcl_text, quote_hcl, unit_meaning


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("retention.ms", "604800000", "7d"),
        ("retention.ms", "129600000", "1d 12h"),
        ("retention.ms", "90061001", "~1d 1h"),
        ("segment.ms", "1500", "1s 500ms"),
        ("linger_ms", 5, "5ms"),
        ("flush.ms", "9223372036854775807", "no limit"),
        ("retention.ms", "-1", "no limit"),
        ("retention.bytes", "-1", "no limit"),
        ("segment.ms", "-1", ""),
        ("local.retention.ms", "-2", "as retention.ms"),
        ("retention.ms", "0", "0"),
        ("retention.bytes", "1073741824", "1 GiB"),
        ("max.message.bytes", "1500000", "~1.4 MiB"),
        ("segment.bytes", "5497558138880", "5 TiB"),
        ("segment.bytes", "1000", ""),
        ("retention.ms", "abc", ""),
        ("partitions", 6, ""),
        ("items", "86400000", ""),
    ],
)
def test_times_and_sizes_are_told_in_words(key: str, value: object, words: str) -> None:
    assert unit_meaning(key, value) == words


def test_counts_agree_with_their_noun() -> None:
    assert (count_text(1, "topic"), count_text(2000, "topic")) == ("1 topic", "2,000 topics")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        (1.5, "1.5"),
        ({}, "{}"),
        ([], "[]"),
        ({"b": 1, "a.b": ["x"]}, '{ "a.b" = ["x"], b = 1 }'),
        ('a"b\\${c}%{d}\n\t', '"a\\"b\\\\$${c}%%{d}\\n\\t"'),
    ],
)
def test_values_are_written_as_hcl_reads_them(value: object, text: str) -> None:
    assert hcl_text(value) == text


def test_quoting_leaves_no_template_and_no_end_of_string() -> None:
    assert quote_hcl('${"}') == '"$${\\"}"'


def test_what_would_steer_a_terminal_or_turn_text_around_is_written_as_an_escape() -> None:
    """Review M3: names of a live cluster, in files that import writes."""
    assert quote_hcl("a\x1b[2J\u202eb\U000e0001") == '"a\\u001b[2J\\u202eb\\U000e0001"'


def test_empty_collections_stay_on_one_line() -> None:
    assert hcl_lines({"a": [], "b": {}}) == ["{", '  "a" = []', '  "b" = {}', "}"]


def test_data_is_sorted_and_what_json_lacks_is_text() -> None:
    assert as_data({"b": (1, Decimal("1.10")), "a": None}) == {"a": None, "b": [1, "1.10"]}
    assert list(as_data({"b": 1, "a": 2})) == ["a", "b"]  # type: ignore[arg-type] # a mapping
