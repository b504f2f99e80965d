"""Every verb: help, examples, options, and what the front page says of it."""

import importlib
import inspect
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from kplan.cli.app import (
    GROUPS,
    MAIN_SECTION,
    SECTIONS,
    TERRAFORM_VERBS,
    VERBS,
    build_app,
    load_verb,
)
from kplan.cli.help_text import style_help
from kplan.cli.run import command_line

CLI = Path(importlib.import_module("kplan.cli").__file__ or "").parent
ALL = list(VERBS)
MOST_LINES = 25


def command(name: str) -> Any:  # noqa: ANN401 - a class typer keeps to itself
    found: Any = style_help(get_command(build_app(name.__eq__)))
    for word in name.split():
        found = found.commands[word]
    return found


def body_lines(name: str) -> int:
    """Count the lines of a verb's function behind its docstring."""
    source = inspect.getsource(load_verb(name).run)
    body = source.partition('"""')[2].partition('"""')[2]
    return len([line for line in body.splitlines() if line.strip()])


@pytest.mark.parametrize("name", ALL)
def test_every_verb_says_what_it_does_in_the_words_of_the_front_page(name: str) -> None:
    doc = inspect.getdoc(load_verb(name).run) or ""
    assert doc.splitlines()[0] == VERBS[name][1]
    assert len(VERBS[name][1]) <= 62, "longer ones are cut on a screen of 80 columns"


@pytest.mark.parametrize("name", ALL)
def test_every_option_of_every_verb_is_explained(name: str) -> None:
    for parameter in command(name).params:
        assert parameter.help, parameter.name
        assert parameter.help.endswith("."), parameter.help


@pytest.mark.parametrize("name", ALL)
def test_arguments_are_bracketed_once(name: str) -> None:
    """Typer brackets and repeats them itself."""
    for parameter in command(name).params:
        is_wrapped = (parameter.metavar or "").startswith(("[", "{")) or "..." in (
            parameter.metavar or ""
        )
        assert not is_wrapped or parameter.opts[0].startswith("-")


@pytest.mark.parametrize("name", ALL)
def test_every_verb_has_examples_that_can_be_typed(name: str) -> None:
    """Each example is parsed by the verb itself, so that none can go out of date."""
    examples = load_verb(name).examples
    assert examples
    for typed, why in examples:
        program, *args = shlex.split(typed)
        assert program == "kplan"
        assert why.endswith(".")
        line = command_line(args, {})
        assert line.name == name
        rest = line.args[line.args.index(line.path[-1]) + 1 :]
        command(name).make_context(name, list(rest), resilient_parsing=False)


@pytest.mark.parametrize("name", [*ALL, *GROUPS, ""])
def test_help_shows_examples_and_fits_the_screen(name: str) -> None:
    found = command(name) if name else style_help(get_command(build_app(lambda _: False)))
    with found.make_context(name or "kplan", ["--no-color"], resilient_parsing=True) as context:
        text = found.get_help(context)
    assert name not in VERBS or "Examples:\n" in text
    listing = "Commands:" if name else f"{MAIN_SECTION}:"
    assert "..." not in text.partition(listing)[2], "a summary was cut"
    options = text.partition("Options:")[2].partition("Examples:")[0]
    assert not re.search(r"^ +--|, --|/ --", options, re.MULTILINE), "two dashes"
    long = [line for line in text.splitlines() if len(line) > 100]
    assert not long


@pytest.mark.parametrize("name", ALL)
def test_a_verb_is_options_one_call_one_report_and_an_exit_code(name: str) -> None:
    assert body_lines(name) <= MOST_LINES


def test_every_verb_file_is_listed_and_every_listed_one_is_there() -> None:
    """K4o-15."""
    listed = {target.partition(":")[0] for target, _ in VERBS.values()}
    there = {
        f"{file.parent.name}.{file.stem}"
        for file in CLI.glob("*/*.py")
        if "\n@verb(" in file.read_text(encoding="utf-8")
    }
    assert listed == there


def test_the_verbs_of_the_groups_are_grouped() -> None:
    assert {name.split()[0] for name in VERBS if " " in name} == set(GROUPS)


def test_every_command_is_in_one_section_of_the_front_page() -> None:
    listed = [name for names in SECTIONS.values() for name in names]
    assert sorted(listed) == sorted({name.split()[0] for name in VERBS})
    assert next(iter(SECTIONS)) == MAIN_SECTION
    assert not set(TERRAFORM_VERBS) & set(listed)


def test_nothing_heavy_is_imported_for_help(tmp_path: Path) -> None:
    """`kplan --help` answers in under 200 ms: rooms are loaded inside the verb that needs them."""
    heavy = ("rich", "jinja2", "confluent_kafka", "kafka", "hcl2", "kplan.workflow", "kplan.config")
    for typed in (["--help"], ["plan", "--help"], ["sandbox", "start", "--help"]):
        told = subprocess.run(
            [sys.executable, "-X", "importtime", "-m", "kplan.cli.main", *typed],
            capture_output=True,
            text=True,
            check=True,
            cwd=tmp_path,
        )
        imported = {line.rpartition("|")[2].strip() for line in told.stderr.splitlines()}
        assert "typer" in imported
        assert not imported & set(heavy), typed
