"""The manual: every code has its page, generated pages follow the code, the tutorial works."""

import json
import re
import shlex
from contextlib import suppress
from dataclasses import fields
from pathlib import Path

import pytest
import typer

from kplan.cli.app import GROUPS, VERBS
from kplan.cli.code_page import code_pages
from kplan.cli.environment import VARIABLES
from kplan.cli.exit_code import ExitCode
from kplan.cli.manual.topics import help_page, help_topics
from kplan.cli.project.help import explain_code
from kplan.cli.run import run
from kplan.config.inputs import Inputs
from kplan.config.load import load_configuration
from kplan.kinds import KINDS
from kplan.model.codes import SUMMARIES
from kplan.policy.facts import ClusterState, Request, RequestedTopicState
from kplan.report.contract import DOCUMENTS, document_schema
from kplan.report.format import Format
from tests.docs.test_pipelines import parse
from tests.unit.cli.memory_command import MemoryCommand, memory_command

ROOT = Path(__file__).parents[2]
HELP = ROOT / "kplan" / "cli" / "help"
CODE = re.compile(r"\bKP[1-9]\d{2,3}\b")
TUTORIAL = (HELP / "tutorial.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(hcl|sh)\n(.*?)^```", TUTORIAL, re.MULTILINE | re.DOTALL)
QUOTED = sorted(
    {
        line
        for page in HELP.glob("*.md")
        for line in re.findall(r"`(kplan [^`\n]+)`", page.read_text(encoding="utf-8"))
    }
    - {"kplan VERB -help"}
)


@pytest.fixture
def desk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> MemoryCommand:
    return memory_command(tmp_path, capsys, monkeypatch)


def used() -> set[str]:
    files = [*(ROOT / "kplan").rglob("*.py")]
    return {code for file in files for code in CODE.findall(file.read_text(encoding="utf-8"))}


def test_depends_on_is_said_to_order_reads_and_not_changes() -> None:
    """Decisions 0133 and 0150."""
    assert "changed first" not in help_page("attributes")
    for topic in ("attributes", "planning", "migrating"):
        (said,) = [each for each in help_page(topic).splitlines() if "`depends_on`" in each]
        assert "order" in said
        assert "data sources are read" in " ".join(help_page(topic).split())


def test_what_is_refused_and_what_is_no_change_is_in_the_manual() -> None:
    assert "replace_triggered_by" in help_page("migrating")
    said = " ".join(help_page("exit-codes").split())
    assert "no changes: 0, also with -detailed-exitcode. Run kplan apply to own them." in said
    assert "With an import block such an object counts as a change: 2." in said


def test_every_code_has_a_page_and_every_page_a_code() -> None:
    """A page in kplan/cli/help/codes.md: `## CODE Title`, why it is so, `Fix: ...`."""
    assert sorted(used() ^ code_pages().keys()) == []


def test_every_page_of_a_code_says_the_way_out() -> None:
    for page in code_pages().values():
        assert page.title == SUMMARIES.get(page.code, page.title)
        assert page.hint.endswith("."), page.code
        assert not page.explanation or page.explanation.endswith("."), page.code
        assert "!" not in page.title, page.code


def test_a_summary_is_written_in_one_place() -> None:
    """`Problem` of functions has Terraform's own words, by which its codes are found."""
    elsewhere = [
        (file.relative_to(ROOT).as_posix(), summary)
        for file in (ROOT / "kplan").rglob("*.py")
        if file.name not in {"codes.py", "function.py"}
        for summary in SUMMARIES.values()
        if f'"{summary}"' in file.read_text(encoding="utf-8")
    ]
    assert elsewhere == []


def test_a_summary_is_explained_by_the_pages_of_its_codes(desk: MemoryCommand) -> None:
    text = desk.run("explain", "Missing resource instance key")
    assert text.startswith("KP116 Invalid reference\n\nAlso reported as: ")


def test_a_code_is_explained(desk: MemoryCommand) -> None:
    text = desk.run("explain", "kp2102", "KP201")
    assert text.startswith("KP2102 Retention shrinks\n\n")
    assert "\nKP201 Invalid topic name\n" in text
    assert text.count("Fix: ") == 2
    assert "kplan does: " in desk.run("explain", "INVALID_REPLICATION_FACTOR")
    assert "There is no code KP9999." in desk.run_failing("explain", "KP9999")


def test_topics_are_listed_and_read(desk: MemoryCommand) -> None:
    listed = desk.run("help")
    for name in help_topics():
        assert re.search(rf"^  {name} ", listed, re.MULTILINE)
        assert desk.run("help", name).startswith("#"), name
    assert "Usage: kplan plan" in desk.run("help", "plan")
    assert "Usage: kplan state mv" in desk.run("help", "state", "mv")
    assert "There is no help topic 'nonsense'" in desk.run_failing("help", "nonsense")


def shown(capture: pytest.CaptureFixture[str], columns: int, *typed: str) -> str:
    assert run(list(typed), {"COLUMNS": str(columns)}) == ExitCode.DONE
    return capture.readouterr().out


def too_long(text: str, columns: int, source: str) -> list[str]:
    """List lines beyond the width that are neither code nor a single word."""
    code = set(source.splitlines())
    lines = [each for each in text.splitlines() if len(each) > min(columns, 100)]
    return [each for each in lines if each not in code and " " in each.strip()]


@pytest.mark.parametrize("columns", [48, 60, 80, 200])
@pytest.mark.parametrize("name", help_topics())
def test_a_page_keeps_to_the_width_of_the_terminal(
    capsys: pytest.CaptureFixture[str], name: str, columns: int
) -> None:
    """Code keeps its lines, and no word is lost."""
    source, text = help_page(name), shown(capsys, columns, "help", name)
    assert too_long(text, columns, source) == []
    if "|---" in source or name == "attributes":
        headings = " ".join(re.findall(r"^(\|.*)\n\|\s*---", source, re.MULTILINE))
        words = set(re.findall(r"\w+", source)) - set(re.findall(r"\w+", headings))
        assert words <= set(re.findall(r"\w+", text))
    else:
        assert text.split() == source.split()


@pytest.mark.parametrize("columns", [40, 80])
def test_what_a_code_means_keeps_to_the_width_of_the_terminal(
    capsys: pytest.CaptureFixture[str], columns: int
) -> None:
    source = "\n".join(explain_code(each) for each in code_pages())
    text = shown(capsys, columns, "explain", *code_pages())
    assert max(map(len, text.splitlines())) <= columns
    assert text.split() == source.split()


def test_a_table_that_is_too_wide_becomes_a_list(capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(capsys, 60, "help", "attributes")
    assert "    `resource_type`  string  required\n        Sort of resource. One of" in text
    assert "| --- |" not in text
    assert set(re.findall(r"\w+", text)) >= set(re.findall(r"\w+", help_page("attributes"))) - {
        "Attribute",
        "Type",
        "Default",
        "Description",
    }


def test_pages_are_made_from_the_code() -> None:
    for name in VERBS:
        assert f"kplan {name} " in help_page("commands")
    for name in VARIABLES:
        assert name in help_page("environment")
    for kind in KINDS:
        assert kind.name in help_page("attributes")
    for code in ExitCode:
        assert re.search(rf"^    {code.value} ", help_page("exit-codes"), re.MULTILINE)
    for format_ in Format:
        assert re.search(rf"^    {format_} ", help_page("reports"), re.MULTILINE)


@pytest.mark.parametrize("line", QUOTED)
def test_every_command_that_a_page_quotes_is_one_of_kplan(line: str) -> None:
    """A page may leave out what a verb is given; what it says has to be right."""
    told = ""
    with suppress(typer.Exit):
        try:
            assert parse(line) in {*VERBS, *GROUPS}
        except typer.TyperException as error:
            told = error.format_message()
    assert told.startswith("Missing argument") or not told


@pytest.mark.parametrize("text", [text for language, text in BLOCKS if language == "hcl"])
def test_every_block_of_the_tutorial_is_valid(text: str, tmp_path: Path) -> None:
    (tmp_path / "main.tf").write_text(text)
    found = load_configuration(tmp_path, Inputs(), KINDS)
    assert found.diagnostics == ()
    assert found.resources


def test_the_tutorial_works_as_it_stands(desk: MemoryCommand) -> None:
    """Each block of HCL is the file from then on, and each line of a shell is typed."""
    told: list[str] = []
    for language, text in BLOCKS:
        if language == "hcl":
            desk.write(text)
            continue
        for line in text.splitlines():
            if "kplan sandbox" in line:
                continue  # this cluster is in memory; tests/e2e/test_tutorial.py starts one
            program, *args = shlex.split(line)
            assert program == "kplan"
            told.append(desk.run(*args))
    whole = "\n".join(told)
    assert "Plan: 1 to add, 0 to change, 0 to destroy." in whole
    assert "No changes. Your infrastructure matches the configuration." in whole
    assert "KP2102" in whole
    assert "Apply complete! Resources: 1 added, 1 changed, 0 destroyed." in whole
    assert "No drift." in whole
    assert (desk.folder / "plan.html").exists()
    assert (desk.folder / "kplan.prom").exists()


@pytest.mark.parametrize("shape", [Request, RequestedTopicState])
def test_help_names_every_attribute_that_a_python_policy_sees(shape: type) -> None:
    """A policy can be written from the manual alone."""
    page = (HELP / "python-policies.md").read_text(encoding="utf-8")
    missing = [each.name for each in fields(shape) if not re.search(rf"\b{each.name}\b", page)]
    assert missing == []


def test_help_names_every_question_to_the_cluster() -> None:
    page = (HELP / "python-policies.md").read_text(encoding="utf-8")
    names = [name for name in vars(ClusterState) if not name.startswith("_")]
    assert len(names) > 4
    assert [name for name in names if f"cluster.{name}" not in page] == []


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_page_of_documents_has_every_key_of_the_top_level_with_its_meaning(name: str) -> None:
    page = help_page("documents")
    section = page.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
    schema = json.loads(document_schema(name))
    forms = [schema] if "properties" in schema else schema["anyOf"]
    wanted = {key: each for form in forms for key, each in form.get("properties", {}).items()}
    wanted = wanted or schema["$defs"]
    assert wanted
    rows = re.findall(r"^\| `([^`]+)` \| (.+) \| (.+\.) \|$", section, re.MULTILINE)
    assert [row[0] for row in rows] == list(wanted)
    assert {row[0]: row[2] for row in rows} == {
        key: each["description"] for key, each in wanted.items()
    }
    assert "Additions may come" not in section


def test_the_page_of_documents_names_types_and_what_may_be_missing() -> None:
    page = help_page("documents")
    for row in (
        "| `format_version` | string | That of Terraform's plan JSON. |",
        "| `cluster_name` | string, optional | Name of the cluster in the configuration. |",
        "| `requested` | object or null | The object after the change, null for a delete. |",
        "| `format` | integer | Of the file. |",
        "| `moved_to` | string, optional | Where the state was moved to. |",
    ):
        assert row in page
