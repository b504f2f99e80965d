"""Items of one shape are parsed once, and each is read as if it had been parsed by itself."""

import random
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hcl2.api import parses_to_tree

from kplan.config.syntax import grammar
from kplan.config.syntax.parse import parse_file
from kplan.config.syntax.skeleton import LONGEST, skeleton
from kplan.config.syntax.source import Source
from tests.unit.config.test_mutations import SEEDS, mutated

TEXTS = [
    each.read_bytes().decode("utf-8", "replace") for each in SEEDS if not each.name.endswith("json")
]


@contextmanager
def one_by_one() -> Iterator[None]:
    """Let the parser see every text as it is."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(grammar, "skeleton", lambda _: None)
        yield


@pytest.mark.parametrize("part", range(4))
def test_a_file_is_read_as_if_each_item_had_been_parsed_by_itself(part: int) -> None:
    choose = random.Random(part)
    for text in [*TEXTS[part::4], *(mutated(choose.choice(TEXTS), choose) for _ in range(60))]:
        source = Source("main.tf", text)
        shared = parse_file(source)
        with one_by_one():
            alone = parse_file(source)
        assert shared == alone, text


def test_a_thousand_blocks_of_one_shape_are_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def noted(text: str) -> object:
        asked.append(text)
        return parses_to_tree(text)

    monkeypatch.setattr(grammar, "parses_to_tree", noted)
    grammar._tree.cache_clear()
    block = 'resource "kafka_topic" "t{0}" {{\n  name = "t-{0}"\n  partitions = {0}\n}}\n'
    text = "".join(block.format(each) for each in range(1000))
    found = parse_file(Source("main.tf", text))
    assert len(asked) == 1
    assert found.items[7].content != found.items[8].content
    assert not found.diagnostics


@pytest.mark.parametrize(
    ("one", "other"),
    [("a = b", "c = for"), ("a = 1", "a = 1.5"), ("a = 1", "a = -1"), ("a = b", "a = b()")],
)
def test_what_the_parser_tells_apart_has_another_shape(one: str, other: str) -> None:
    shapes = skeleton(one), skeleton(other)
    assert None not in shapes
    assert shapes[0] != shapes[1]


def test_names_numbers_and_blanks_make_no_shape() -> None:
    one, other = skeleton("a_1 =  foo[12]\n"), skeleton("b = bar-x[3]\n")
    assert one is not None
    assert other is not None
    assert one.text == other.text
    assert one.places[len(one.text)] == len("a_1 =  foo[12]\n")


@pytest.mark.parametrize("text", ['a = "b"', "a = b # c", "a = <<X\n", "a" * (LONGEST + 1)])
def test_strings_comments_and_very_long_texts_have_no_shape(text: str) -> None:
    assert skeleton(text) is None
