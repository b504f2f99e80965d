"""Diagnostics lead to the page of their code where KPLAN_DOCS_URL says where the manual is."""

import pytest

from kplan.cli.environment import docs_url
from kplan.cli.exit_code import ExitCode
from kplan.cli.run import run
from kplan.report.links import code_address
from tests.unit.cli.memory_command import MemoryCommand, memory_command

MANUAL = "https://docs.example/kplan"
ADDRESS = f"{MANUAL}/codes/#kp201"
WRONG = 'resource "kafka_topic" "a" {\n  name       = "a b"\n  partitions = 1\n}\n'


@pytest.fixture
def desk(
    tmp_path_factory: pytest.TempPathFactory,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> MemoryCommand:
    found = memory_command(tmp_path_factory.mktemp("docs"), capsys, monkeypatch)
    found.write(WRONG)
    return found


def validate(desk: MemoryCommand, environ: dict[str, str]) -> str:
    reports = ("-report=md=v.md", "-report=html=v.html")
    assert run(["validate", *reports], environ) == ExitCode.ERROR
    return desk.capture.readouterr().err


def test_text_markdown_and_html_lead_to_the_page_of_the_code(desk: MemoryCommand) -> None:
    said = validate(desk, {"KPLAN_DOCS_URL": f"{MANUAL}/"})
    assert f"│ docs: {ADDRESS}\n" in said
    assert f"([KP201](<{ADDRESS}>))" in (desk.folder / "v.md").read_text(encoding="utf-8")
    assert f'<a href="{ADDRESS}">KP201</a>' in (desk.folder / "v.html").read_text(encoding="utf-8")


def test_without_a_manual_there_is_no_link(desk: MemoryCommand) -> None:
    assert "docs:" not in validate(desk, {})
    assert "(KP201)" in (desk.folder / "v.md").read_text(encoding="utf-8")
    assert "<small>KP201</small>" in (desk.folder / "v.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("given", ["", "javascript:alert(1)", 'https://a"><b', "https://a) b", "x"])
def test_what_is_no_address_is_not_put_into_a_link(given: str) -> None:
    assert docs_url({"KPLAN_DOCS_URL": given}) == ""
    assert code_address("", "KP201") == ""
