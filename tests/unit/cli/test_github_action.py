"""The GitHub action: what it runs, and what it tells GitHub."""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kplan.cli.run import command_line
from tests.github_server import REPOSITORY, TOKEN, GitHubServer, serve_github

RUN = Path(__file__).parents[3] / ".github" / "actions" / "kplan" / "run.py"
KPLAN = """#!{python}
import json, os, pathlib, sys
if sys.argv[2] == "get":
    pathlib.Path("get.json").write_text(json.dumps(sys.argv[1:]))
    sys.exit(int(os.environ["KPLAN_GET_CODE"]))
pathlib.Path("argv.json").write_text(json.dumps(sys.argv[1:]))
pathlib.Path("environ.json").write_text(json.dumps(dict(os.environ)))
for each in sys.argv[1:]:
    name, _, rest = each.partition("=")
    if name == "-report":
        format_, _, file = rest.partition("=")
        text = {{
            "markdown": "## the plan\\n",
            "gitlab": '{{"create": 3, "update": 1, "delete": 2}}',
            "json": os.environ["KPLAN_JSON"],
        }}.get(format_, "text")
        pathlib.Path(file).write_text(text)
    if name == "-out":
        pathlib.Path(rest).write_text("plan")
sys.exit(int(os.environ["KPLAN_CODE"]))
"""


@pytest.fixture
def forge() -> Iterator[GitHubServer]:
    with serve_github() as found:
        yield found


class Step:
    """The step of a job, with a kplan that only writes down what it was asked."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder, self.url = folder, url
        self.document = '{"kplan": {"digest": "5c2e-91ab"}}'
        kplan = folder / "bin" / "kplan"
        kplan.parent.mkdir()
        kplan.write_text(KPLAN.format(python=sys.executable))
        kplan.chmod(0o755)
        self.error = ""
        self.get_code = 0

    def __call__(self, command: str, code: int = 0, event: object = None, **inputs: str) -> int:
        (self.folder / "event.json").write_text(json.dumps(event or {}))
        (self.folder / "output").write_text("")
        asked = {
            "COMMAND": command, "DIRECTORY": "kafka", "LABEL": "kplan", "COMMENT": "true",
            "COMMENT_AUTHOR": "github-actions[bot]", "TOKEN": TOKEN,
            "CHECKSUM": "from-comment", **inputs,
        }  # fmt: skip
        environ = {
            "PATH": f"{self.folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "GITHUB_API_URL": self.url, "GITHUB_REPOSITORY": REPOSITORY, "GITHUB_SHA": "abc",
            "GITHUB_EVENT_PATH": str(self.folder / "event.json"),
            "GITHUB_OUTPUT": str(self.folder / "output"), "RUNNER_TEMP": str(self.folder),
            "KPLAN_JSON": self.document, "KPLAN_CODE": str(code),
            "KPLAN_GET_CODE": str(self.get_code),
            **{f"INPUT_{key}": each for key, each in asked.items()},
        }  # fmt: skip
        done = subprocess.run(
            [sys.executable, str(RUN)], cwd=self.folder, env=environ, check=False,
            capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        self.error = done.stderr
        assert "Traceback" not in done.stderr, done.stderr
        assert TOKEN not in done.stdout + done.stderr
        return done.returncode

    @property
    def argv(self) -> list[str]:
        found: list[str] = json.loads((self.folder / "argv.json").read_text())
        return found

    @property
    def outputs(self) -> dict[str, str]:
        lines = (self.folder / "output").read_text().splitlines()
        return dict(line.split("=", 1) for line in lines)


PULL = {"pull_request": {"number": 7}}


def test_modules_are_fetched_as_the_change_is_trusted(step: Step) -> None:
    assert step("plan", ARGS="-untrusted -lock=false -trusted-ref '/a b' -var=a=1") == 0
    fetched = json.loads((step.folder / "get.json").read_text())
    assert fetched == [
        "-chdir=kafka", "get", "-lockfile=readonly", "-untrusted", "-trusted-ref", "/a b",
    ]  # fmt: skip
    found = command_line(["kplan", *fetched][1:], {})
    found.command.make_context("get", list(found.command_args), resilient_parsing=False)


def test_a_failed_fetch_ends_the_step_before_a_plan(step: Step) -> None:
    step.get_code = 1
    assert step("plan") == 1
    assert not (step.folder / "argv.json").exists()


@pytest.fixture
def step(tmp_path: Path, forge: GitHubServer) -> Step:
    return Step(tmp_path, forge.url)


@pytest.mark.parametrize("command", ["validate", "plan", "apply", "drift"])
def test_the_command_lines_are_those_of_kplan(command: str, step: Step) -> None:
    assert (
        step(command, CHECKSUM="5c2e-91ab", ARGS="-var 'a=b c'" if command == "plan" else "") == 0
    )
    line = command_line(step.argv, {})
    assert line.name == command
    found = line.command
    rest = line.args[line.args.index(command) + 1 :]
    found.make_context(command, list(rest), resilient_parsing=False)
    counts = [each for each in line.args if each.startswith("--report=gitlab=")]
    assert bool(counts) is (command != "validate"), "validate has nothing to count and refuses"
    if command == "plan":
        assert "--var=a=b c" in line.args, shlex.join(step.argv)


def test_a_plan_is_one_comment_that_is_kept_up_to_date(step: Step, forge: GitHubServer) -> None:
    somebody = {"id": 90, "body": "<!-- kplan kplan checksum=evil -->", "user": {"login": "eve"}}
    forge.comments.append(somebody)
    assert step("plan", 2, PULL) == 0
    assert step("plan", 2, PULL) == 0
    assert step("plan", 2, PULL, LABEL="other one") == 0
    bodies = [each["body"] for each in forge.comments]
    assert bodies == [
        "<!-- kplan kplan checksum=evil -->",
        "<!-- kplan kplan checksum=5c2e-91ab -->\n## the plan\n",
        "<!-- kplan other-one checksum=5c2e-91ab -->\n## the plan\n",
    ]


def test_later_steps_are_told_what_came_of_it(step: Step) -> None:
    step("plan", 2, PULL)
    told = step.outputs
    assert (told["to_add"], told["to_change"], told["to_destroy"]) == ("3", "1", "2")
    assert told["destroys"] == "true"
    assert (told["changes"], told["exitcode"], told["checksum"]) == ("true", "2", "5c2e-91ab")
    assert told["failure_reason"] == ""
    for name in ("plan_path", "json_plan_path", "text_plan_path", "html_plan_path"):
        assert Path(told[name]).exists()
    action = (RUN.parent / "action.yml").read_text()
    assert set(told) == set(re.findall(r"steps\.run\.outputs\.(\w+)", action))


def planned(*risks: str) -> str:
    """Write a plan with a change of each risk, and an object that stays as it is."""
    changes = [{"change": {"actions": ["update"]}, "kplan": {"risk": each}} for each in risks]
    same = {"change": {"actions": ["no-op"]}, "kplan": {"risk": "dangerous"}}
    return json.dumps({"resource_changes": [same, *changes], "kplan": {"digest": "5c2e"}})


@pytest.mark.parametrize(
    ("risks", "worst"),
    [((), ""), (("safe", "review"), "review"), (("unknown", "dangerous", "safe"), "dangerous")],
)
def test_the_worst_risk_is_an_output(step: Step, risks: tuple[str, ...], worst: str) -> None:
    step.document = planned(*risks)
    step("plan", 2, PULL)
    assert step.outputs["risk"] == worst


def test_labels_say_what_a_plan_does_as_long_as_it_does(step: Step, forge: GitHubServer) -> None:
    forge.labels = ["mine", "kplan:dangerous"]
    step.document = planned("review")
    assert step("plan", 2, PULL, LABELS="true") == 0
    assert sorted(forge.labels) == ["kplan:changes", "kplan:destroys", "mine"]
    before = sum("labels" in each for each in forge.requests)
    assert step("plan", 2, PULL) == 0
    assert sum("labels" in each for each in forge.requests) == before, "only where asked for"


@pytest.mark.parametrize(
    ("code", "reason"), [(1, "failed"), (3, "policy-refused"), (4, "apply-partial"),
                         (5, "outcome-unknown"), (6, "plan-changed"), (7, "unreachable")],
)  # fmt: skip
def test_a_failure_is_named_and_fails_the_step(code: int, reason: str, step: Step) -> None:
    assert step("plan", code) == code
    assert step.outputs["failure_reason"] == reason


def test_an_apply_takes_the_checksum_that_was_reviewed(step: Step) -> None:
    step("plan", 2, PULL)
    assert step("apply") == 0
    assert "-expect-checksum=5c2e-91ab" in step.argv


def test_what_nobody_reviewed_is_not_applied(step: Step, forge: GitHubServer) -> None:
    (step.folder / "argv.json").unlink(missing_ok=True)
    assert step("apply") == 1
    assert "no comment has the checksum of a reviewed plan" in step.error
    assert not (step.folder / "argv.json").exists()
    eve = {"id": 90, "body": "<!-- kplan kplan checksum=ab -->", "user": {"login": "eve"}}
    forge.comments.append(eve)
    assert step("apply") == 1


def test_a_mark_that_somebody_quotes_approves_nothing(step: Step, forge: GitHubServer) -> None:
    """Review B5: a bot that repeats the title of a request was taken for a plan."""
    bot = {"login": "github-actions[bot]"}
    body = "Thanks for your request: <!-- kplan kplan checksum=dead-beef -->"
    forge.comments.append({"id": 90, "body": body, "user": bot})
    assert step("apply") == 1
    step("plan", 2, PULL)
    assert forge.comments[0]["body"] == body
    assert step("apply") == 0
    assert "-expect-checksum=5c2e-91ab" in step.argv


@pytest.mark.parametrize("change", [{"merged_at": None}, {"merge_commit_sha": "other"}])
def test_only_the_request_whose_merge_is_applied_counts(
    step: Step, forge: GitHubServer, change: dict[str, object]
) -> None:
    step("plan", 2, PULL)
    forge.pull_requests[0].update(change)
    assert step("apply") == 1
    assert "no comment has the checksum of a reviewed plan" in step.error


def test_kplan_inherits_no_token_of_the_job(step: Step) -> None:
    """Review B4: the environment of the process is what file functions and policies could reach."""
    step("plan", 2, PULL)
    inherited = json.loads((step.folder / "environ.json").read_text())
    assert TOKEN not in inherited.values()
    assert not [name for name in inherited if name.startswith("INPUT_")]
    assert inherited["GITHUB_REPOSITORY"] == REPOSITORY


def test_drift_is_one_issue_that_closes_when_it_is_gone(step: Step, forge: GitHubServer) -> None:
    assert step("drift", 0) == 0
    assert forge.issues == []
    assert step("drift", 2) == 0
    assert step("drift", 2) == 0
    (issue,) = forge.issues
    assert (issue["state"], issue["labels"]) == ("open", ["drift"])
    assert step("drift", 1) == 1
    assert issue["state"] == "open", "what could not be told is no end of a drift"
    assert step("drift", 0) == 0
    assert issue["state"] == "closed"


def test_a_comment_that_may_not_be_written_is_told_and_no_failure(
    step: Step, forge: GitHubServer
) -> None:
    """The token of a fork reads only."""
    forge.is_forbidden = True
    assert step("plan", 2, PULL) == 0
    assert "::warning title=kplan::the comment could not be written" in step.error


def test_nothing_is_told_where_nothing_is_asked_for(step: Step, forge: GitHubServer) -> None:
    assert step("plan", 2, PULL, COMMENT="false") == 0
    assert step("plan", 2) == 0
    assert forge.requests == []
    assert step("unplug") == 1
    assert "command must be one of" in step.error
