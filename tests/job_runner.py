"""A runner of GitHub jobs, as far as the workflows that kplan shows need one.

Every `run:` is carried out by bash as a runner does it, with the files a step writes to and what
earlier steps have put on the PATH; `uses:` of kplan's action runs the steps of that action, and of
actions that belong to GitHub only what they need is looked at.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from kplan.model.version import VERSION
from tests.github_server import REPOSITORY, TOKEN

ROOT = Path(__file__).parents[1]
ACTION = ROOT / ".github" / "actions" / "kplan"
_EXPRESSION = re.compile(r"\$\{\{\s*(.+?)\s*\}\}")
_BASH = ("bash", "--noprofile", "--norc", "-e", "-o", "pipefail")
_PYTHON = """#!/bin/sh
# A virtual environment whose pip finds kplan at once, and Python for all else.
if [ "$1 $2" = "-m venv" ]; then mkdir -p "$3/bin" && cp "$TOOLS/pip" "$3/bin/pip"; else
exec {python} "$@"; fi
"""
_PIP = """#!/bin/sh
for each; do wanted=$each; done
[ "$wanted" = "kplan=={version}" ] || {{ echo "pip was asked for $wanted" >&2; exit 1; }}
printf '#!/bin/sh\\nexec {python} -m kplan.cli.main "$@"\\n' > "$(dirname "$0")/kplan"
chmod +x "$(dirname "$0")/kplan"
"""
Json = dict[str, Any]


@dataclass
class StepResult:
    """What became of a step."""

    code: int
    out: str
    outputs: dict[str, str]


@dataclass
class Job:
    """One job of a workflow on a runner of its own.

    `repository` holds what is checked out: the change where a pull request is the event, and `base`
    the branch that it is for. `env` is what the environment of the job is set to in the end, as by
    the variables and secrets of a repository.
    """

    folder: Path
    repository: Path
    api: str
    env: Mapping[str, str]
    event: Json | None = None
    base: Path | None = None
    steps: list[StepResult] = field(default_factory=list)
    artifacts: list[Path] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Set the machine up."""
        tools = self.folder / "tools"
        tools.mkdir(parents=True)
        for name, text in (("python3", _PYTHON), ("pip", _PIP)):
            (tools / name).write_text(text.format(python=sys.executable, version=VERSION))
            (tools / name).chmod(0o755)
        (self.folder / "event.json").write_text(json.dumps(self.event or {}))
        (self.folder / "path").touch()
        (self.folder / "summary").touch()
        self._contexts: Json = {
            "github": {
                "token": TOKEN, "event": self.event or {}, "workspace": str(self.workspace),
            },
            "vars": {}, "secrets": {}, "steps": {},
        }  # fmt: skip

    @property
    def workspace(self) -> Path:
        """Give the folder that the repository is checked out into."""
        return self.folder / "workspace"

    def _check_out(self, asked: Mapping[str, str]) -> None:
        """Copy what is asked for, as a clone has it: with .git, and with no local state."""
        wanted = self.base if asked.get("ref") and self.base else self.repository
        place = self.workspace / asked.get("path", ".")
        skipped = shutil.ignore_patterns(".kplan", "kplan.lock*")
        shutil.copytree(wanted, place, symlinks=True, dirs_exist_ok=True, ignore=skipped)
        (place / ".git").mkdir(exist_ok=True)
        shutil.copytree(ACTION, place / ".github/actions/kplan", dirs_exist_ok=True)

    @property
    def summary(self) -> str:
        """Give what stands on the page of the job."""
        return (self.folder / "summary").read_text("utf-8")

    def run(self, workflow: Path) -> int:
        """Run the only job of a workflow; give 0, or the exit code of the step that failed."""
        (job,) = yaml.safe_load(workflow.read_text("utf-8"))["jobs"].values()
        env = {**self._expand(job["env"], self._contexts), **self.env}
        code = 0
        for step in job["steps"]:
            if self._is_step_due(step, code):
                code = self._run_step(step, env) or code
        return code

    def _is_step_due(self, step: Json, code: int) -> bool:
        always, _, condition = step.get("if", "").partition("always() && ")
        left, _, right = condition.partition(" != ")
        assert not always, always
        assert right in {"", "''"}, right
        if not condition:
            return code == 0
        return self._expand({"": f"${{{{ {left} }}}}"}, self._contexts)[""] != ""

    def _run_step(self, step: Json, env: Mapping[str, str]) -> int:
        used = step.get("uses", "")
        asked = self._expand(step.get("with", {}), self._contexts)
        if used == "./.github/actions/kplan":
            ran = self._run_action(asked, env)
        elif used.startswith("actions/upload-artifact@"):
            self.artifacts.append(Path(asked["path"]))
            return 0
        elif used:
            assert used.startswith("actions/checkout@"), used
            self._check_out(asked)
            return 0
        else:
            ran = self._run_bash(step, {**env, **self._expand(step.get("env", {}), self._contexts)})
        self.steps.append(ran)
        self._contexts["steps"][step.get("id", "")] = {"outputs": ran.outputs}
        return ran.code

    def _run_action(self, asked: Mapping[str, str], env: Mapping[str, str]) -> StepResult:
        folder = self.workspace / ".github/actions/kplan"
        action = yaml.safe_load((folder / "action.yml").read_text("utf-8"))
        defaults = {name: each.get("default", "") for name, each in action["inputs"].items()}
        inputs = {**self._expand(defaults, self._contexts), **asked}
        contexts = {**self._contexts, "inputs": inputs, "steps": {}}
        ran = StepResult(0, "", {})
        for step in action["runs"]["steps"]:
            condition = step.get("if", "true")
            assert condition in {"true", "inputs.install != ''"}, condition
            if condition != "true" and not inputs["install"]:
                continue
            ran = self._run_bash(step, {**env, **self._expand(step["env"], contexts)})
            contexts["steps"][step.get("id", "")] = {"outputs": ran.outputs}
            if ran.code:
                break
        told = {name: each["value"] for name, each in action["outputs"].items()}
        return StepResult(ran.code, ran.out, self._expand(told, contexts))

    def _run_bash(self, step: Json, env: Mapping[str, str]) -> StepResult:
        number = len(list(self.folder.glob("script-*")))
        script, output = self.folder / f"script-{number}.sh", self.folder / f"output-{number}"
        script.write_text(step["run"])
        output.touch()
        earlier = reversed((self.folder / "path").read_text().split())
        path = [*earlier, str(self.folder / "tools"), os.environ["PATH"]]
        done = subprocess.run(
            [*_BASH, str(script)], cwd=self.workspace, check=False, capture_output=True,
            text=True, timeout=120, stdin=subprocess.DEVNULL,
            env={
                "PATH": os.pathsep.join(path), "HOME": str(self.folder), "CI": "true",
                "PYTHONPATH": str(ROOT), "TOOLS": str(self.folder / "tools"),
                "RUNNER_TEMP": str(self.folder), "GITHUB_ACTIONS": "true",
                "GITHUB_ACTION_PATH": str(self.workspace / ".github/actions/kplan"),
                "GITHUB_API_URL": self.api,
                "GITHUB_EVENT_PATH": str(self.folder / "event.json"), "GITHUB_SHA": "abc",
                "GITHUB_OUTPUT": str(output), "GITHUB_PATH": str(self.folder / "path"),
                "GITHUB_REPOSITORY": REPOSITORY, "GITHUB_RUN_ID": "4711",
                "GITHUB_SERVER_URL": "https://github.com",
                "GITHUB_STEP_SUMMARY": str(self.folder / "summary"),
                "GITHUB_WORKSPACE": str(self.workspace), **env,
            },
        )  # fmt: skip
        outputs = dict(line.split("=", 1) for line in output.read_text("utf-8").splitlines())
        return StepResult(done.returncode, done.stdout + done.stderr, outputs)

    def _expand(self, texts: Mapping[str, Any], contexts: Json) -> dict[str, str]:
        def value(expression: re.Match[str]) -> str:
            found: Any = contexts
            for name in expression[1].split("."):
                found = found.get(name, "") if isinstance(found, dict) else ""
            return str(found)

        return {name: _EXPRESSION.sub(value, str(each)) for name, each in texts.items()}
