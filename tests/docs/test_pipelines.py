"""The pipelines that are shown: they load, and every command line in them is one of kplan."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from configparser import ConfigParser
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml
from check_jsonschema import main as schemas
from click.testing import CliRunner
from jsonschema import ValidationError
from pre_commit.clientlib import load_manifest

from kplan.cli.app import VERBS
from kplan.cli.environment import unknown_variable_warnings
from kplan.cli.project.init import PINNED
from kplan.cli.run import command_line
from kplan.report.format import Format
from tests.schemas import Schema

ROOT = Path(__file__).parents[2]
CI = ROOT / "examples" / "ci"
YAML = sorted(each for each in CI.rglob("*.y*ml"))
UNITS = sorted((CI / "systemd").iterdir())
FILES = [*YAML, *UNITS, CI / "jenkins" / "Jenkinsfile", CI / "README.md"]
ACTION = ROOT / ".github" / "actions" / "kplan" / "action.yml"
SHELL = shutil.which("sh") or "sh"
_SHELL = re.compile(r"\s(?:>|\||&&|;).*$")


def read(path: Path) -> Any:  # noqa: ANN401 - YAML
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def scripts(value: object) -> Iterator[str]:
    """Give every text below `run` or `script` that a shell is to carry out."""
    if isinstance(value, dict):
        for key, each in value.items():
            if key in {"run", "script", "before_script"}:
                yield from texts(each)
            else:
                yield from scripts(each)
    elif isinstance(value, list):
        for each in value:
            yield from scripts(each)


def containers(value: object) -> Iterator[list[str]]:
    """Give every command of a container."""
    if isinstance(value, dict):
        if isinstance(value.get("command"), list):
            yield value["command"][2:] if value["command"][0] == "sh" else value["command"]
        for each in value.values():
            yield from containers(each)
    elif isinstance(value, list):
        for each in value:
            yield from containers(each)


def texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield from value.splitlines()
    elif isinstance(value, list):
        for each in value:
            yield from texts(each)


def typed(path: Path) -> list[str]:
    """Give the command lines of kplan in a file."""
    text = path.read_text(encoding="utf-8")
    if path.suffix in {".yml", ".yaml"}:
        lines = [each for each in scripts(yaml.safe_load(text)) if each.startswith("kplan ")]
        lines += [" ".join(each) for each in containers(yaml.safe_load(text))]
    elif path.suffix == ".service":
        lines = re.findall(r"^ExecStart=\S*/(kplan .+)$", text, re.MULTILINE)
    elif path.suffix == ".md":
        lines = re.findall(r"`(kplan [^`]+)`", text)
    else:
        lines = re.findall(r"'(kplan [^']+)'", text)
    return [_SHELL.sub("", each) for each in lines]


COMMANDS = sorted({(path, line) for path in FILES for line in typed(path)})


def parse(line: str) -> str:
    """Parse a command line as kplan does; give the name of its verb."""
    found = command_line(shlex.split(line)[1:], {})
    found.command.make_context(found.program, list(found.command_args), resilient_parsing=False)
    return found.name


@pytest.mark.parametrize("path", YAML, ids=lambda each: str(each.relative_to(CI)))
def test_a_pipeline_is_yaml(path: Path) -> None:
    assert isinstance(read(path), dict)


@pytest.mark.parametrize(("path", "line"), COMMANDS, ids=lambda each: str(each)[-60:])
def test_every_command_line_of_a_pipeline_is_one_of_kplan(path: Path, line: str) -> None:
    assert parse(line) in VERBS, path
    for each in re.findall(r"-report=(\w+)=", line):
        assert each in set(Format)


@pytest.mark.parametrize(
    ("schema", "files"),
    [
        ("github-workflows", sorted(CI.glob("github/*.yml"))),
        ("github-actions", [ACTION]),
        ("gitlab-ci", [CI / "gitlab" / ".gitlab-ci.yml"]),
    ],
)
def test_a_pipeline_holds_before_the_schema_of_its_service(schema: str, files: list[Path]) -> None:
    """SchemaStore's schemas, as check-jsonschema ships them."""
    result = CliRunner().invoke(schemas, [f"--builtin-schema=vendor.{schema}", *map(str, files)])
    assert result.exit_code == 0, result.output


def test_the_cronjob_holds_before_the_schema_of_kubernetes(cronjob_schema: Schema) -> None:
    cronjob = read(CI / "kubernetes" / "drift-cronjob.yaml")
    cronjob_schema.validate(cronjob)
    cronjob["spec"]["scheduled"] = "*/10 * * * *"
    with pytest.raises(ValidationError, match="scheduled"):
        cronjob_schema.validate(cronjob)


def test_the_deployment_holds_before_the_schema_of_kubernetes(deployment_schema: Schema) -> None:
    deployment = read(CI / "kubernetes" / "reconcile-deployment.yaml")
    deployment_schema.validate(deployment)
    deployment["spec"]["replica"] = 2
    with pytest.raises(ValidationError, match="replica"):
        deployment_schema.validate(deployment)


@pytest.mark.parametrize(("code", "told"), [(0, 0), (1, 1), (2, 0), (7, 1)])
def test_a_drift_does_not_fail_the_cronjob_and_what_cannot_be_told_does(
    code: int, told: int, tmp_path: Path
) -> None:
    """`Ignore` of a podFailurePolicy would start another pod at once, again and again."""
    (tmp_path / "kplan").write_text(f"#!/bin/sh\nexit {code}\n")
    (tmp_path / "kplan").chmod(0o755)
    text = (CI / "kubernetes" / "drift-cronjob.yaml").read_text(encoding="utf-8")
    (line,) = re.findall(r'command: \[sh, -c, "(.+)"\]', text)
    done = subprocess.run([SHELL, "-c", line], check=False, env={"PATH": str(tmp_path)})
    assert done.returncode == told
    assert "podFailurePolicy" not in text


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd here")
def test_systemd_takes_the_units(tmp_path: Path) -> None:
    """Only the program and the user of the units may be missing on this machine."""
    for unit in UNITS:
        text = unit.read_text(encoding="utf-8")
        (tmp_path / unit.name).write_text(
            re.sub(r"(?m)^ExecStart=\S+", "ExecStart=/bin/true", text)
        )
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *(str(tmp_path / each.name) for each in UNITS)],
        check=False, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert (done.returncode, str(tmp_path) in done.stderr) == (0, False), done.stderr


def test_the_pipelines_do_the_work_of_a_release() -> None:
    for name in ("gitlab", "jenkins"):
        lines = [line for path, line in COMMANDS if path.parent.name == name]
        assert {"validate", "plan", "apply", "drift"} <= {parse(line) for line in lines}
    used = set()
    for name in ("apply", "drift"):
        last = read(CI / "github" / f"{name}.yml")["jobs"][name]["steps"][-1]
        used.add(last["with"]["command"])
    assert used == {"apply", "drift"}


@pytest.mark.parametrize("name", ["gitlab", "jenkins"])
def test_a_request_is_planned_with_what_the_target_branch_trusts(name: str) -> None:
    plans = [line for path, line in COMMANDS if path.parent.name == name and " plan " in line]
    saved = [line for line in plans if "-out=" in line]
    assert len(plans) == 2 * len(saved) == 2
    for line in set(plans) - set(saved):
        assert "-untrusted" in line
        assert "-trusted-ref=" in line
        assert "-lock=false -broker-validate=false" in line, "its principal may only read"


@pytest.mark.parametrize(
    "name", ["github/resume.yml", "gitlab/.gitlab-ci.yml", "jenkins/Jenkinsfile"]
)
def test_a_killed_apply_is_unlocked_and_resumed_by_hand(name: str) -> None:
    text = (CI / name).read_text(encoding="utf-8")
    assert re.search(r'kplan (-chdir=kafka )?force-unlock "\$LOCK(_ID)?"', text)
    assert "apply -resume" in text


@pytest.mark.parametrize("job", ["check", "request"])
def test_a_runner_that_keeps_its_checkout_adds_the_trusted_one_again(
    job: str, tmp_path: Path
) -> None:
    """GIT_STRATEGY=fetch is GitLab's default: .git stays, and what is beside it may be gone."""
    script = read(CI / "gitlab" / ".gitlab-ci.yml")[job]["script"]
    line = "\n".join(each for each in script if not each.startswith("kplan "))
    origin, clone = tmp_path / "origin", tmp_path / "builds" / "kafka"
    identity = ("-c", "user.name=a", "-c", "user.email=a@b.c")
    for command in (
        ("init", "-q", "-b", "main", str(origin)),
        ("-C", str(origin), *identity, "commit", "-q", "--allow-empty", "-m", "one"),
        ("clone", "-q", str(origin), str(clone)),
    ):
        subprocess.run(["git", *command], check=True, capture_output=True)
    environ = {
        **os.environ,
        "CI_PROJECT_DIR": str(clone),
        "CI_BUILDS_DIR": str(clone.parent),
        "CI_DEFAULT_BRANCH": "main",
        "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main",
    }
    for is_folder_kept in (True, True, False):
        if not is_folder_kept:
            for each in set(clone.parent.iterdir()) - {clone}:
                shutil.rmtree(each)
        done = subprocess.run(
            [SHELL, "-e", "-c", line], cwd=clone, env=environ, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        (trusted,) = set(clone.parent.iterdir()) - {clone}
        assert (trusted / ".git").exists()


@pytest.mark.parametrize("name", ["gitlab", "jenkins", "atlantis"])
def test_pipelines_fetch_locked_modules_before_a_plan(name: str) -> None:
    files = [each for each in FILES if each.parent.name == name]
    lines = [line for each in files for line in typed(each)]
    fetches = [each for each in lines if parse(each) == "get"]
    assert fetches
    assert all("-lockfile=readonly" in each for each in fetches)
    untrusted = [each for each in lines if "-untrusted" in each]
    assert all("-trusted-ref=" in each for each in untrusted), "git modules are refused without"
    for number, line in enumerate(lines):
        if parse(line) == "plan":
            before = [parse(each) for each in lines[:number]]
            assert "get" in before[-2:], line


def test_a_fetch_without_packages_needs_no_git_and_writes_nothing(tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "main.tf").write_text('output "a" { value = 1 }\n')
    (tmp_path / "main.tf").write_text('module "m" { source = "./m" }\n')
    before = sorted(tmp_path.rglob("*"))
    done = subprocess.run(
        [str(Path(sys.executable).with_name("kplan")), "get", "-lockfile=readonly"],
        cwd=tmp_path, check=False,
        env={"PATH": ""}, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "", "")
    assert sorted(tmp_path.rglob("*")) == before


def test_units_of_systemd_have_sections_and_a_command() -> None:
    for path in UNITS:
        unit = ConfigParser(interpolation=None, strict=True)
        unit.optionxform = str  # type: ignore[assignment,method-assign] # keys keep their case
        unit.read_string(path.read_text(encoding="utf-8"))
        assert unit.has_section("Unit"), path
    run = {parse(line) for path, line in COMMANDS if path.parent.name in {"systemd", "kubernetes"}}
    assert run == {"drift", "reconcile"}


def test_every_variable_of_a_pipeline_is_one_that_kplan_reads() -> None:
    named = {name for path in FILES for name in re.findall(r"\bKPLAN_\w+", path.read_text("utf-8"))}
    assert list(unknown_variable_warnings(dict.fromkeys(named, "1"))) == []


def test_workflows_give_the_action_inputs_that_it_has() -> None:
    inputs = read(ACTION)["inputs"].keys()
    for path in CI.glob("github/*.yml"):
        for job in read(path)["jobs"].values():
            for step in job["steps"]:
                if "/.github/actions/kplan@" in step.get("uses", ""):
                    assert step["with"].keys() <= inputs, path


def test_hooks_of_pre_commit_are_command_lines_too() -> None:
    hooks = load_manifest(ROOT / ".pre-commit-hooks.yaml")
    assert {"kplan-fmt", "kplan-validate"} <= {each["id"] for each in hooks}
    for each in hooks:
        parse(" ".join([each["entry"], *each.get("args", ())]))
        assert re.search(each["files"], "topics/main.tf")


OWN_WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
WORKFLOWS = sorted((CI / "github").glob("*.yml"))


def test_the_action_installs_what_this_kplan_is() -> None:
    """Every pin is the version of this checkout, so that a release has the right ones."""
    places = [ACTION, *WORKFLOWS, CI / "gitlab" / ".gitlab-ci.yml", CI / "jenkins" / "Jenkinsfile"]
    pins = {pin for each in places for pin in re.findall(r"kplan==[\w.]+", each.read_text())}
    assert pins == {PINNED}


def test_actions_of_others_are_pinned_and_no_job_has_more_rights_than_it_names() -> None:
    for each in WORKFLOWS:
        text = each.read_text(encoding="utf-8")
        for used in re.findall(r"uses: (\S+)", text):
            assert used.startswith("./") or re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", used), used
        workflow = read(each)
        assert workflow["permissions"] == {}
        assert all(job["permissions"] for job in workflow["jobs"].values())
        assert all("${{" not in line for line in scripts(workflow)), each


def test_zizmor_finds_nothing_in_workflows_and_action() -> None:
    config = ROOT / ".github" / "zizmor.yml"
    program = Path(sys.executable).with_name("zizmor")
    options = ("--offline", "--no-progress", "--config", str(config))
    done = subprocess.run(
        [str(program), *options, *map(str, [*WORKFLOWS, *OWN_WORKFLOWS, ACTION])],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(
    shutil.which("actionlint") is None and shutil.which("go") is None,
    reason="there is neither actionlint nor Go to build it with",
)
def test_actionlint_finds_nothing_in_workflows() -> None:
    program = shutil.which("actionlint") or _build_actionlint()
    if not program:
        pytest.skip("actionlint could not be built from the Go module proxy")
    done = subprocess.run(
        [program, *map(str, [*WORKFLOWS, *OWN_WORKFLOWS])],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def _build_actionlint() -> str:
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kplan-tests"
    program = folder / "actionlint"
    if not program.exists():
        wanted = "github.com/rhysd/actionlint/cmd/actionlint@v1.7.12"
        with suppress(OSError, subprocess.TimeoutExpired):
            environ = {**os.environ, "GOBIN": str(folder)}
            subprocess.run(
                ["go", "install", wanted], env=environ, capture_output=True, check=False,
                timeout=180,
            )  # fmt: skip
    return str(program) if program.exists() else ""
