"""The layout of files, held against what `terraform fmt` makes of the same text."""

import random
from pathlib import Path

import pytest

from kplan.config.format.formatter import format_text
from kplan.config.format.token import Kind, Token, scan_tokens
from kplan.model.errors import ConfigError

HERE = Path(__file__).parent
SAMPLES = sorted(file.name for file in (HERE / "samples").glob("*.tf"))
DOUBLY_WRAPPED = "templates.tf"
"""Has a value in two templates, which loses one at a time, with Terraform too."""
TEMPLATE_TEXT = {Kind.LITERAL, Kind.QUOTE_OPEN, Kind.HEREDOC_OPEN}
TEMPLATE_END = {Kind.LITERAL, Kind.QUOTE_CLOSE, Kind.HEREDOC_CLOSE}


def read(folder: str, name: str) -> str:
    return (HERE / folder / name).read_bytes().decode()


@pytest.mark.parametrize("name", SAMPLES)
def test_a_file_is_laid_out_as_terraform_lays_it_out(name: str) -> None:
    """Byte by byte, line ends and missing last line ends included."""
    assert format_text(read("samples", name), name) == read("formatted", name)


@pytest.mark.parametrize("name", [name for name in SAMPLES if name != DOUBLY_WRAPPED])
def test_a_formatted_file_stays_as_it_is(name: str) -> None:
    formatted = read("formatted", name)
    assert format_text(formatted, name) == formatted


def test_there_are_more_than_sixty_samples() -> None:
    assert len(SAMPLES) > 60


def must_touch(left: Token, right: Token) -> bool:
    """Whether space between the tokens would change what they mean, or is not read yet."""
    pair = {left.text, right.text}
    is_text = left.kind in TEMPLATE_TEXT or right.kind in TEMPLATE_END
    return is_text or "::" in pair or ("." in pair and not pair.isdisjoint({"*", "."}))


def is_wordy(left: Token, right: Token) -> bool:
    """Whether the tokens would run into one without space."""
    signs = {Kind.OPERATOR, Kind.EQUALS, Kind.COMMENT}
    quotes = {Kind.QUOTE_OPEN, Kind.QUOTE_CLOSE}
    words = {Kind.NAME, Kind.NUMBER}
    return (
        (left.kind in words and (right.kind in words or right.text == "-"))
        or (left.kind in signs and right.kind in signs)
        or left.kind in quotes
        or right.kind in quotes
    )


def scramble_spaces(text: str, choose: random.Random) -> str:
    """Change the space between all tokens of a text without changing the tokens."""
    parts: list[str] = []
    previous: Token | None = None
    for token in scan_tokens(text):
        space = choose.choice(["", " ", "\t", "   "])
        if previous is not None and must_touch(previous, token):
            space = ""
        elif previous is not None and is_wordy(previous, token):
            space = space or " "
        parts += [space, token.text]
        previous = token
    return "".join(parts)


@pytest.mark.parametrize("name", SAMPLES)
def test_the_space_between_tokens_makes_no_difference(name: str) -> None:
    """Only space behind the last token and in comments is kept, as `terraform fmt` does."""
    choose = random.Random(name)
    formatted = read("formatted", name)
    text = scramble_spaces(formatted, choose)
    if scan_tokens(text) != scan_tokens(formatted):
        return  # space has crept into a token: behind a heredoc's marker, before a comment's end
    assert format_text(text, name).rstrip(" ") == formatted.rstrip(" ")


@pytest.mark.parametrize(
    "text",
    [
        'a = "${x}" b = 1',
        'a = "%{if x}%{endif}" b = 1',
        "a = ",
        "a = [",
        'a = "x',
        "a {",
        "a = <<EOT\nx\n",
        "a = 1 2",
        "= 1",
        "a = {b = 1 c = 2}",
    ],
)
def test_a_file_with_a_syntax_error_is_not_touched(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        format_text(text, "broken.tf")
    assert caught.value.diagnostics[0].subject is not None
    assert caught.value.diagnostics[0].subject.file == "broken.tf"


def test_values_are_taken_out_of_needless_templates() -> None:
    assert format_text('a = "${b}"\nc = "${d}x"\n', "x.tf") == 'a = b\nc = "${d}x"\n'


def test_a_brace_in_the_text_of_a_template_closes_nothing() -> None:
    text = 'a = "{%{if x}y%{endif}}"\nb {\n  c = "${d}}"\n}\n'
    assert format_text(text, "x.tf") == text


def test_the_text_of_templates_is_left_alone() -> None:
    text = 'a = "  x  ${b}  y  "\nc = <<EOT\n   x   \n\ty ${d}\n  EOT\n'
    assert format_text(text, "x.tf") == text


def test_a_long_file_is_formatted_in_linear_time() -> None:
    block = 'resource "kafka_topic" "t" {\nname="x"\n  partitions =  3\nconfig={\n"a"="b"\n}\n}\n'
    result = format_text(block * 200, "long.tf")
    assert result.count('  name       = "x"\n') == 200
