"""Diagnostics lead to the page of their code where KPLAN_DOCS_URL says where the manual is."""

import json
from typing import Any
from zipfile import ZipFile

import pytest

from kplan.cli.environment import docs_url
from kplan.cli.exit_code import ExitCode
from kplan.cli.run import run
from kplan.report.links import code_address, link_diagnostics
from tests.document_schemas import faults
from tests.project_harness import MAIN_TF
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


MANUAL_SET = {"KPLAN_DOCS_URL": MANUAL}
UNUSED = 'variable "unused" {\n  default = 1\n}\n\ncheck "few" {\n  assert {\n'
UNUSED += '    condition     = var.unused > 1\n    error_message = "too many"\n  }\n}\n'


def written(desk: MemoryCommand, *words: str, environ: dict[str, str] | None = None) -> str:
    run(list(words), MANUAL_SET if environ is None else environ)
    return desk.capture.readouterr().out


def test_validate_as_json_names_the_page(desk: MemoryCommand) -> None:
    found = json.loads(written(desk, "validate", "-json"))
    assert [each["docs_url"] for each in found["diagnostics"]] == [ADDRESS]
    assert faults("diagnostics", found) == []
    assert "docs_url" not in written(desk, "validate", "-json", environ={})


def test_reports_in_json_name_the_page(desk: MemoryCommand) -> None:
    written(desk, "validate", "-report=json=v.json", "-report=ndjson=v.ndjson")
    found = json.loads((desk.folder / "v.json").read_text(encoding="utf-8"))
    assert found["diagnostics"][0]["docs_url"] == ADDRESS
    messages = map(json.loads, (desk.folder / "v.ndjson").read_text(encoding="utf-8").splitlines())
    (message,) = [each for each in messages if each["type"] == "diagnostic"]
    assert message["diagnostic"]["docs_url"] == ADDRESS
    assert faults("stream", message) == []


def test_annotations_on_github_and_azure_end_with_the_page(desk: MemoryCommand) -> None:
    for format_ in ("github", "azure"):
        written(desk, "validate", f"-report={format_}={format_}.txt")
        lines = (desk.folder / f"{format_}.txt").read_text(encoding="utf-8").splitlines()
        assert [each for each in lines if each.endswith(f"%0Adocs: {ADDRESS}")] == lines
        assert lines
        written(desk, "validate", f"-report={format_}={format_}.txt", environ={})
        assert "docs:" not in (desk.folder / f"{format_}.txt").read_text(encoding="utf-8")


def test_a_plan_as_json_names_the_page_in_its_own_part_and_in_the_stream(
    desk: MemoryCommand,
) -> None:
    desk.write(MAIN_TF + UNUSED)
    stream = [
        json.loads(each)
        for each in written(
            desk, "plan", "-json", "-no-broker-validate", "-report=json=p.json", "-out=p.kplan"
        ).splitlines()
    ]
    found = [each["diagnostic"] for each in stream if each["type"] == "diagnostic"]
    assert found
    assert all(each["docs_url"] == page_of(each) for each in found)
    for text in (
        (desk.folder / "p.json").read_text(encoding="utf-8"),
        written(desk, "show", "-json", "p.kplan"),
    ):
        plan = json.loads(text)
        assert plan["kplan"]["diagnostics"]
        assert all(each["docs_url"] == page_of(each) for each in plan["kplan"]["diagnostics"])
        assert faults("plan", plan) == []


def page_of(diagnostic: dict[str, Any]) -> str:
    return f"{MANUAL}/codes/#{diagnostic['code'].lower()}"


def test_a_plan_file_is_written_without_addresses(desk: MemoryCommand) -> None:
    """What is signed and approved must not depend on the environment."""
    desk.write(MAIN_TF + UNUSED)
    written(desk, "plan", "-no-broker-validate", "-out=p.kplan")
    with ZipFile(desk.folder / "p.kplan") as file:
        texts = [file.read(name) for name in file.namelist()]
    assert any(b"too many" in each for each in texts)
    assert not any(b"docs_url" in each for each in texts)


def test_only_what_has_a_code_gets_a_page() -> None:
    found = link_diagnostics(
        {"ok": False, "diagnostics": [{"code": "KP201"}, {"code": ""}]}, MANUAL
    )
    assert found == {
        "ok": False,
        "diagnostics": [{"code": "KP201", "docs_url": ADDRESS}, {"code": ""}],
    }
    assert link_diagnostics(found, "") is found
    assert link_diagnostics(["diagnostics"], MANUAL) == ["diagnostics"]
