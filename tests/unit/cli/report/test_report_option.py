"""`-report`, `show -format`, and what a CI service shows of a run."""

import json
import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from kplan.cli.code_page import code_pages
from kplan.cli.report import writer
from kplan.cli.run import run
from kplan.cluster.request import ConfigAlteration
from kplan.cluster.usage import PartitionUse, TopicUse
from kplan.report.format import Format
from kplan.report.formats.markdown import LIMITS
from tests.project_harness import MAIN_TF
from tests.unit.cli.memory_command import MemoryCommand, memory_command

Capture = pytest.CaptureFixture[str]
GITHUB = {"GITHUB_ACTIONS": "true", "CI": "true"}


@pytest.fixture
def desk(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> MemoryCommand:
    return memory_command(tmp_path, capsys, monkeypatch)


def text(desk: MemoryCommand, name: str) -> str:
    return (desk.folder / name).read_text(encoding="utf-8")


def in_ci(
    desk: MemoryCommand, environ: Mapping[str, str], *args: str, code: int = 0
) -> tuple[str, str]:
    assert run(args, environ) == code
    told = desk.capture.readouterr()
    return told.out, told.err


@pytest.mark.parametrize("name", [each.value for each in Format])
def test_help_of_report_names_every_format(desk: MemoryCommand, name: str) -> None:
    assert re.search(rf"\b{name}\b", desk.run("plan", "-help"))


def test_one_plan_is_written_in_several_formats_at_once(desk: MemoryCommand) -> None:
    told = desk.run(
        "plan", "-report", "md=plan.md", "-report=html=plan.html", "--report=junit=plan.xml",
        "-report=sarif=plan.sarif", "-report=gitlab=tf.json", "-report=ndjson=plan.ndjson",
        "-report=json=plan.json", "-report=text=plan.txt",
    )  # fmt: skip
    assert "Plan: 3 to add" in told
    assert "**Plan: 3 to add" in text(desk, "plan.md")
    assert text(desk, "plan.html").startswith("<!doctype html>")
    assert ET.fromstring(text(desk, "plan.xml")).tag == "testsuites"  # noqa: S314 - our own text
    assert json.loads(text(desk, "plan.sarif"))["version"] == "2.1.0"
    assert json.loads(text(desk, "tf.json"))["create"] == 3
    assert json.loads(text(desk, "plan.ndjson").splitlines()[0])["type"] == "version"
    assert len(json.loads(text(desk, "plan.json"))["resource_changes"]) == 3
    assert "Plan: 3 to add" in text(desk, "plan.txt")


def test_a_report_on_stdout_takes_the_place_of_the_text(desk: MemoryCommand) -> None:
    assert json.loads(desk.run("plan", "-report=gitlab=-")) == {
        "create": 3, "update": 0, "delete": 0,
    }  # fmt: skip
    assert desk.run("apply", "-auto-approve", "-report=md=-").startswith("## kplan apply")
    assert desk.run("drift", "-report=md=-").startswith("## kplan drift")
    assert json.loads(desk.run("validate", "-report=sarif=-"))["version"] == "2.1.0"


@pytest.mark.parametrize(
    ("out", "said"), [("nowhere/a.kplan", "folder nowhere does not exist"), (".", "is a folder")]
)
def test_a_plan_that_cannot_be_saved_is_refused_before_any_work(
    desk: MemoryCommand, out: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kplan.cli.wiring.build_project", None)
    assert said in desk.run_failing("plan", f"-out={out}")


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("md",), "is not of the form FORMAT=FILE"),
        (("md=",), "is not of the form FORMAT=FILE"),
        (("docx=a",), "has no format 'docx'"),
        (("md=nowhere/a.md",), "folder nowhere does not exist"),
        (("md=.",), "is a folder"),
        (("md=a", "html=a"), "names a twice"),
        (("md=-", "html=-"), "names stdout twice"),
    ],
)
@pytest.mark.parametrize("verb", ["plan", "apply", "destroy", "drift", "validate"])
def test_a_report_that_cannot_be_is_refused_before_any_work(
    desk: MemoryCommand,
    verb: str,
    asked: tuple[str, ...],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("kplan.cli.wiring.build_project", None)
    approved = ("-auto-approve",) if verb in {"apply", "destroy"} else ()
    assert said in desk.run_failing(verb, *approved, *(f"-report={each}" for each in asked))


def test_stdout_is_for_one_of_json_and_report(desk: MemoryCommand) -> None:
    assert "the report requires a file" in desk.run("plan", "-json", "-report=md=-", code=1)
    assert "because kplan cannot ask" in desk.run_failing("apply", "-report=md=-")
    desk.run("plan", "-json", "-report=md=plan.md")
    assert "**Plan: 3 to add" in text(desk, "plan.md")


def test_an_apply_is_reported_and_so_is_one_with_nothing_to_do(desk: MemoryCommand) -> None:
    desk.run("apply", "-auto-approve", "-report=md=a.md", "-report=junit=a.xml")
    assert "**Apply complete! Resources: 3 added" in text(desk, "a.md")
    assert text(desk, "a.md").startswith("## kplan apply on 127.0.0.1:9092")
    assert '+ kafka_topic.t["orders"]: created [' in text(desk, "a.md")
    (root,) = [ET.fromstring(text(desk, "a.xml"))]  # noqa: S314 - our own text
    assert sum(int(each.get("tests", "")) for each in root) == 3
    desk.run("apply", "-auto-approve", "-report=md=a.md", "-report=gitlab=a.json")
    assert "Apply complete! Resources: 0 added" in text(desk, "a.md")
    assert json.loads(text(desk, "a.json"))["create"] == 0
    desk.run("destroy", "-auto-approve", "-max-deletes=9", "-report=md=d.md")
    assert "**Destroy complete! Resources: 3 destroyed.**" in text(desk, "d.md")
    assert '- kafka_topic.t["orders"]: destroyed [' in text(desk, "d.md")


def test_drift_is_reported_with_its_exit_code(desk: MemoryCommand) -> None:
    desk.run("apply", "-auto-approve")
    topic = next(iter(desk.cluster.topics()))
    desk.cluster.alter_topic_configs([ConfigAlteration(topic, {"retention.ms": "77"})])
    desk.run("drift", "-report=md=d.md", "-report=junit=d.xml", code=2)
    assert "**Drift: 1 changed, 0 deleted.**" in text(desk, "d.md")
    (drifted,) = json.loads(desk.run("drift", "-json", code=2))["resource_drift"]
    assert (drifted["kplan"]["file"], drifted["kplan"]["line"]) == ("main.tf", 4)
    assert "<failure" in text(desk, "d.xml")


def test_why_there_is_no_plan_is_reported_too(desk: MemoryCommand) -> None:
    desk.write('resource "kafka_topic" "x" {\n  nmae = "x"\n}\n', "broken.tf")
    for verb in ("plan", "drift", "validate"):
        desk.run_failing(verb, "-report=sarif=s.sarif", "-report=md=c.md", "-report=junit=j.xml")
        (run_,) = json.loads(text(desk, "s.sarif"))["runs"]
        places = {
            each["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
            for each in run_["results"]
        }
        assert "broken.tf" in places
        assert "nmae" in text(desk, "c.md")
        assert "<failure" in text(desk, "j.xml")


def test_a_saved_plan_is_shown_in_every_format_without_a_cluster(
    desk: MemoryCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.run("plan", "-out=p.kplan")
    monkeypatch.setattr("kplan.cli.wiring._connect", None)
    whole = desk.run("show", "p.kplan")
    assert desk.run("show", "-format=text", "p.kplan") == whole
    assert desk.run("show", "-format=md", "p.kplan").startswith("## kplan plan for ")
    for format_ in Format:
        found = desk.run("show", f"-format={format_}", "p.kplan")
        assert found == desk.run("show", f"-format={format_}", "p.kplan")
    assert "has no format 'pdf'" in desk.run_failing("show", "-format=pdf", "p.kplan")
    assert "cannot be combined with" in desk.run("show", "-json", "-format=md", "p.kplan", code=1)
    assert "requires a saved plan" in desk.run_failing("show", "-format=md")


def test_a_report_replaces_a_file_as_a_whole_and_others_may_read_it(desk: MemoryCommand) -> None:
    former = os.umask(0o022)
    try:
        desk.run("plan", "-report=md=plan.md")
    finally:
        os.umask(former)
    assert stat.S_IMODE((desk.folder / "plan.md").stat().st_mode) == 0o644
    (desk.folder / "plan.md").chmod(0o600)
    (desk.folder / "link.md").symlink_to("plan.md")
    desk.run("plan", "-report=md=link.md")
    assert (desk.folder / "link.md").is_symlink()
    assert stat.S_IMODE((desk.folder / "plan.md").stat().st_mode) == 0o600
    assert [each.name for each in desk.folder.iterdir() if each.name.startswith(".plan")] == []


def test_a_pipe_is_written_to_and_not_replaced(desk: MemoryCommand) -> None:
    desk.run("plan", "-report=md=/dev/null")
    assert Path("/dev/null").is_char_device()


def test_a_report_that_fails_late_is_told_and_turns_a_success_into_an_error(
    desk: MemoryCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(writer, "write_temporary", full)
    said = desk.run_failing("apply", "-auto-approve", "-report=md=a.md")
    assert "a.md cannot be written: No space left on device" in said
    assert "is as it was last applied" in desk.run("drift")


def test_on_github_lines_are_annotated_and_the_job_has_a_summary(desk: MemoryCommand) -> None:
    """The workflow commands go to stderr: stdout is data."""
    desk.write('resource "kafka_topic" "x" {\n  nmae = "x:\\n%"\n}\n', "broken.tf")
    summary = desk.folder / "summary.md"
    summary.write_text("before\n")
    environ = {
        **GITHUB,
        "GITHUB_STEP_SUMMARY": str(summary),
        "GITHUB_WORKSPACE": str(desk.folder.parent),
    }
    out, err = in_ci(desk, environ, "validate", code=1)
    assert out == ""
    lines = [each for each in err.splitlines() if each.startswith("::error ")]
    assert any(
        each.startswith(f"::error file={desk.folder.name}/broken.tf,line=2,") for each in lines
    )
    assert any("%0A" in each for each in lines)
    assert summary.read_text().startswith("before\n## kplan validate")
    quiet = {**environ, "KPLAN_DISABLE_CI_DETECTION": "1"}
    assert "::error" not in in_ci(desk, quiet, "validate", code=1)[1]


def test_a_dangerous_change_is_a_warning_on_github_and_azure(desk: MemoryCommand) -> None:
    desk.run("apply", "-auto-approve")
    desk.cluster.set_topic_use("payments", TopicUse({0: PartitionUse(0, 5, None, 500, 0)}, ()))
    desk.write(MAIN_TF.replace("{ orders = 3, payments = 6 }", "{ orders = 3 }"))
    out, err = in_ci(desk, GITHUB, "plan", "-max-deletes=9")
    at = "file=main.tf,line=4,endLine=4"  # where the state remembers it to be declared
    assert f"::warning {at},title=KP2101 Dangerous change::" in err
    assert "Plan: 0 to add, 0 to change, 1 to destroy." in out
    _, err = in_ci(desk, {"TF_BUILD": "True"}, "plan", "-max-deletes=9")
    assert "##vso[task.logissue type=warning;" in err
    assert "code=KP2101" in err


def test_sarif_points_at_what_is_gone_and_explains_its_rules(desk: MemoryCommand) -> None:
    desk.run("apply", "-auto-approve")
    desk.cluster.set_topic_use("payments", TopicUse({0: PartitionUse(0, 5, None, 500, 0)}, ()))
    desk.write(MAIN_TF.replace("{ orders = 3, payments = 6 }", "{ orders = 3 }"))
    environ = {"KPLAN_DOCS_URL": "https://docs.example/kplan/"}
    assert run(["plan", "-max-deletes=9", "-report=sarif=k.sarif"], environ) == 0
    (found,) = json.loads((desk.folder / "k.sarif").read_text())["runs"]
    gone = [each for each in found["results"] if each["ruleId"] == "KP2101"]
    (place,) = gone[0]["locations"]
    assert place["physicalLocation"]["artifactLocation"]["uri"] == "main.tf"
    assert place["physicalLocation"]["region"]["startLine"] == 4
    rules = {each["id"]: each for each in found["tool"]["driver"]["rules"]}
    assert rules["KP2101"]["helpUri"] == "https://docs.example/kplan/codes/#kp2101"
    texts = [each["fullDescription"]["text"] for each in rules.values()]
    assert len(set(texts)) == len(texts), "each rule has an explanation of its own"
    titles = [each["shortDescription"]["text"] for each in rules.values()]
    assert len(set(titles)) == len(titles), "each rule has a title of its own"
    assert titles[list(rules).index("KP2101")] == code_pages()["KP2101"].title


def test_a_summary_that_cannot_be_written_changes_nothing(desk: MemoryCommand) -> None:
    environ = {**GITHUB, "GITHUB_STEP_SUMMARY": str(desk.folder / "nowhere" / "s.md")}
    assert "cannot be written" in in_ci(desk, environ, "plan")[1]


def test_files_are_named_from_the_top_of_the_repository(tmp_path: Path) -> None:
    inner = tmp_path / "live" / "eu"
    inner.mkdir(parents=True)
    assert writer.repository_prefix({"CI_PROJECT_DIR": str(tmp_path)}, inner) == "live/eu/"
    assert writer.repository_prefix({"GITHUB_WORKSPACE": str(inner)}, inner) == ""
    assert writer.repository_prefix({"GITHUB_WORKSPACE": "/elsewhere"}, inner) in {
        "",
        "live/eu/",
    }
    (tmp_path / ".git").mkdir()
    assert writer.repository_prefix({}, inner) == "live/eu/"


def test_a_comment_has_the_size_of_its_service() -> None:
    assert writer.comment_limit({}) == LIMITS["github"]
    assert writer.comment_limit({"GITLAB_CI": "true"}) == LIMITS["gitlab"]
    assert writer.comment_limit({"BITBUCKET_BUILD_NUMBER": "7"}) == LIMITS["bitbucket"]


def test_lint_is_reported_too(desk: MemoryCommand) -> None:
    desk.run("apply", "-auto-approve")
    out = desk.run("lint", "-report=sarif=lint.sarif", "-report=md=-")
    assert out.startswith("## kplan lint\n\n**Success! Lint ran")
    (found,) = json.loads(text(desk, "lint.sarif"))["runs"]
    assert {each["ruleId"] for each in found["results"]} == {"KP406", "KP407"}


@pytest.mark.parametrize(
    ("typed", "code"),
    [
        (("validate", "-report=gitlab=x"), 1),
        (("lint", "-report=gitlab=x"), 1),
        (("access", "who-can", "read", "topic:orders", "-report=sarif=x"), 1),
        (("access", "of", "User:a", "-report=junit=x"), 1),
        (("fleet", "inventory", "-report=prometheus=x"), 1),
    ],
)
def test_a_format_that_has_nothing_to_tell_is_refused_with_those_that_do(
    desk: MemoryCommand, typed: tuple[str, ...], code: int
) -> None:
    assert run(typed, {}) == code
    told = desk.capture.readouterr().err
    assert f"{typed[-1][:-2]} does not support kplan {typed[0]}." in told
    assert "Use one of" in told
    assert "html, json, " in told
    assert not (desk.folder / "x").exists()


def test_an_answer_about_access_is_written_for_people_and_programs(desk: MemoryCommand) -> None:
    desk.run("apply", "-auto-approve")
    asked = ("access", "of", "User:nobody", "-report=md=a.md", "-report=html=a.html")
    told = desk.run(*asked, "-report=json=a.json", "-report=ndjson=a.ndjson", "-report=txt=a.txt")
    assert "is allowed nothing" in told
    assert "is allowed nothing" in text(desk, "a.md")
    assert text(desk, "a.html").startswith("<!doctype html>")
    assert json.loads(text(desk, "a.json"))["holdings"] == []
    (_, answer) = map(json.loads, text(desk, "a.ndjson").splitlines())
    assert answer["answer"]["principal"] == "User:nobody"
    assert text(desk, "a.txt") == told
    assert desk.run(*asked[:3], "-report=json=-").startswith("{")


@pytest.mark.parametrize("part", ["access", "policies", "blast"])
def test_one_matter_of_a_saved_plan_is_shown_by_itself(desk: MemoryCommand, part: str) -> None:
    desk.run("plan", "-out=p.kplan")
    whole = desk.run("show", "p.kplan")
    told = desk.run("show", f"-only={part}", "p.kplan")
    assert told != whole
    assert "Plan: " not in told
    for format_ in ("markdown", "html", "json", "ndjson", "junit", "sarif", "prometheus", "slack"):
        assert desk.run("show", f"-only={part}", f"-format={format_}", "p.kplan")


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        (("-only=acess", "p.kplan"), "Use one of access, policies, blast."),
        (("-only=blast", "-format=gitlab", "p.kplan"), "-format=gitlab does not support"),
        (("-only=blast",), "-only requires a saved plan"),
        (("-only=blast", "-json", "p.kplan"), "-json cannot be combined with -only"),
    ],
)
def test_a_part_that_cannot_be_shown_is_refused(
    desk: MemoryCommand, typed: tuple[str, ...], told: str
) -> None:
    desk.run("plan", "-out=p.kplan")
    assert run(("show", *typed), {}) == 1
    assert told in "".join(desk.capture.readouterr())
