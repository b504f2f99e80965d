"""Items of one pattern are parsed once, and each is read as if it had been parsed by itself."""

import random
import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from kplan.config.syntax.block_pattern import MOST, BlockPatterns, Content
from kplan.config.syntax.parse import ParsedFile, parse_file
from kplan.config.syntax.source import Source
from tests.unit.config_syntax.test_mutations import SEEDS, mutate

TEXTS = [
    each.read_bytes().decode("utf-8", "replace") for each in SEEDS if not each.name.endswith("json")
]
STRINGS = ("a", "", "for", "x y", "é", "100%", "a\\n", "$", "${var.x}", "~", "a # b", "/* */", "{")
NUMBERS = ("0", "7", "007", "1.5", "10", "1e3", "123456789012345", "1234567890123456789", "-1")
NAMES = ("a", "for", "x-1", "null", "a.b", "é", "_", "0", "b[0]", "*")
VARIED = re.compile(r'"([^"\n]*)"|(?<=\.)([A-Za-z_]\w*)|(?<![\w.])(\d+)')


def vary(text: str, choose: random.Random, share: float) -> str:
    """Put other texts, names and numbers in the place of some."""

    def instead(found: re.Match[str]) -> str:
        if choose.random() > share:
            return found[0]
        if found[1] is not None:
            return f'"{choose.choice(STRINGS)}"'
        return choose.choice(NAMES if found[2] else NUMBERS)

    return VARIED.sub(instead, text)


@contextmanager
def without_patterns() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(BlockPatterns, "match", lambda *_: None)
        yield


def parse_both_ways(text: str) -> tuple[ParsedFile, ParsedFile]:
    """Read a text with patterns and without."""
    source = Source("main.tf", text)
    match = parse_file(source, is_body=True)
    with without_patterns():
        return match, parse_file(source, is_body=True)


@pytest.mark.parametrize("part", range(4))
def test_alike_items_are_read_as_if_each_had_been_parsed(part: int) -> None:
    choose = random.Random(part)
    for seed in TEXTS[part::4]:
        others = [vary(seed, choose, share) for share in (0.05, 0.2, 1.0)]
        text = "\n".join((seed, seed, *others, mutate(seed, choose), seed))
        match, parsed = parse_both_ways(text)
        assert match == parsed, text


TOPIC = """resource "kafka_topic" "{name}" {{
  name       = "${{var.prefix}}.{name}${{local.end}}"
  partitions = {number}
  config     = {{ "retention.ms" = -{number}, size = local.{step}.big, "{name}" = "{text}" }}
}}
"""


def topic(name: str = "t", text: str = "x", step: str = "s", number: int = 1) -> str:
    return TOPIC.format(name=name, text=text, step=step, number=number)


def test_what_differs_between_alike_blocks_is_in_their_trees() -> None:
    text = topic() * 2 + topic("orders", "", "sizes", 12) + topic("é") + topic(text="a$")
    match, parsed = parse_both_ways(text)
    assert match == parsed
    assert len({each.content for each in match.items}) == 4


def test_positions_are_those_of_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    text = topic() * 2 + topic("longer-name", "text", "step", 1000)
    asked: list[int] = []
    learn = BlockPatterns.learn

    def noted(patterns: BlockPatterns, text: str, content: Content) -> None:
        asked.append(1)
        learn(patterns, text, content)

    monkeypatch.setattr(BlockPatterns, "learn", noted)
    found = parse_file(Source("main.tf", text)).items[2]
    assert len(asked) == 2, "the third was cast"
    values = {each.name: each.value for each in found.content.attributes}  # type: ignore[union-attr]
    assert found.origin.text(values["partitions"].start, values["partitions"].end) == "1000"
    written = found.origin.text(values["name"].start, values["name"].end)
    assert written == '"${var.prefix}.longer-name${local.end}"'
    whole = found.origin.text(found.content.start, found.content.end)
    assert whole == topic("longer-name", "text", "step", 1000).rstrip()


@pytest.mark.parametrize(
    "bad",
    [
        topic().rstrip() + " oops\n",
        topic().replace("}\n}", "}\n"),
        topic(text="a${"),
        topic(number=1).replace("= 1\n", "= 1 1\n"),
    ],
)
def test_what_does_not_fit_is_parsed_and_its_problems_are_told(bad: str) -> None:
    match, parsed = parse_both_ways(topic() * 3 + bad + topic())
    assert match == parsed
    assert match.diagnostics


def test_so_many_patterns_are_kept_and_no_more() -> None:
    patterns = BlockPatterns()
    text = "".join(f"a{number} = 1\n" * 2 for number in range(MOST + 10))
    parse_file(Source("main.tf", text), patterns, is_body=True)
    assert len(patterns._patterns) == MOST
    assert patterns.match("a3 = 7\n", 0) == (6, patterns.match("  a3 = 7", 2)[1])  # type: ignore[index]


def test_a_chain_of_operators_too_long_for_a_pattern_is_parsed() -> None:
    text = f"a = {' + '.join(['b'] * 1200)}\n"
    found = parse_file(Source("main.tf", text * 3), is_body=True)
    assert len(found.items) == 3
    assert not found.diagnostics
