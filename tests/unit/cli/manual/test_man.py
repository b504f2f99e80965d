"""Man pages: one for each command and topic, from the same source as `kplan help`."""

import shutil
import subprocess
from pathlib import Path

import pytest

from kplan.cli.app import VERBS
from kplan.cli.exit_code import ExitCode
from kplan.cli.manual.commands import command_markdown, read_command
from kplan.cli.manual.roff import man_page
from kplan.cli.manual.topics import help_topics
from kplan.cli.run import run


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("man")
    assert run(["help", f"-man={folder}"], {}) == ExitCode.DONE
    return folder


def test_every_command_and_topic_has_a_page(pages: Path) -> None:
    commands = {each.stem for each in (pages / "man1").iterdir()}
    assert commands == {"kplan", *(f"kplan-{name.replace(' ', '-')}" for name in VERBS)}
    topics = {each.stem for each in (pages / "man7").iterdir()}
    assert topics == {f"kplan-{name}" for name in help_topics() if name != "commands"}


def test_a_page_has_every_option_with_its_default(pages: Path) -> None:
    text = (pages / "man1" / "kplan-plan.1").read_text(encoding="utf-8")
    assert text.startswith('.TH "KPLAN\\-PLAN" "1" ""')
    assert "kplan\\-plan \\- Show the changes that apply would make\n" in text
    assert "\n.TP\n\\fB\\-out=FILE\\fR\nSave the plan to this file" in text
    assert "\\fB\\-lock\\fR, \\fB\\-no\\-lock\\fR\n" in text
    assert "Default: state/kplan.json." in text


def test_the_page_of_codes_explains_each(pages: Path) -> None:
    text = (pages / "man7" / "kplan-codes.7").read_text(encoding="utf-8")
    assert ".SH KP201 Invalid topic name\n" in text
    assert "Fix: " in text


def test_no_line_of_text_is_taken_for_a_request() -> None:
    text = "# a\n\nB.\n\n.terraform and 'x' \\n\n\n    .code\n"
    written = man_page(text, "a", 7, "1.0")
    assert "\n\\&.terraform and \\(aqx\\(aq \\en\n" in written
    assert "\n\\&.code\n" in written


def test_tables_lists_and_links_are_written() -> None:
    text = "# a\n\nB.\n\n| x | y |\n|---|---|\n| `k` | v |\n\n1. one\n   more\n2. [two](x.md)\n"
    written = man_page(text, "a", 7, "1.0")
    assert "\n.TP\n\\fBk\\fR\nv\n" in written
    assert '\n.IP "1." 4\none\nmore\n.IP "2." 4\ntwo\n' in written


@pytest.mark.parametrize("name", ["plan", "state list", "fleet audit", "completion"])
def test_the_reference_of_a_command_shows_options_with_one_dash(name: str) -> None:
    text = command_markdown(read_command(name))
    assert text.startswith(f"# kplan {name}\n\n{VERBS[name][1]}\n")
    assert "--" not in text.replace("---", "")


def test_groff_formats_all_pages_without_warnings(pages: Path) -> None:
    groff = shutil.which("groff")
    if groff is None:
        pytest.skip("groff is not installed")
    files = sorted(str(each) for each in pages.glob("man*/*"))
    ran = subprocess.run(
        [groff, "-man", "-ww", "-z", "-Tutf8", "-K", "utf8", *files],
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stderr == ""
