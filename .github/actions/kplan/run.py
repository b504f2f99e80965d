"""One step of a GitHub job: run kplan, tell the result in a comment or an issue, give outputs.

Only the standard library is used, so that nothing but kplan itself has to be installed. Values
from the workflow come as INPUT_ variables and never through a shell.
"""

# ruff: noqa: INP001 - an action is a folder, and no package

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

COMMANDS = ("validate", "plan", "apply", "drift")
REASONS = {
    1: "failed",
    3: "policy-refused",
    4: "apply-partial",
    5: "outcome-unknown",
    6: "plan-changed",
    7: "unreachable",
}
CHANGES = 2
_MARK = re.compile(r"<!-- kplan (?P<label>\S+) checksum=(?P<checksum>[0-9a-f-]*) -->")
_TIMEOUT_S = 30


class ActionError(Exception):
    """Something that a person has to put right; it ends the step."""


@dataclass(frozen=True)
class Job:
    """What the workflow asked for, and where GitHub's files are."""

    environ: Mapping[str, str]

    def asked(self, name: str) -> str:
        """Give an input of the step."""
        return self.environ.get(f"INPUT_{name}", "").strip()

    @property
    def label(self) -> str:
        """Give the label as one word."""
        return re.sub(r"[^\w.-]", "-", self.asked("LABEL")) or "kplan"

    @property
    def event(self) -> dict[str, Any]:
        """Give the event that started the workflow."""
        path = self.environ.get("GITHUB_EVENT_PATH", "")
        found: dict[str, Any] = json.loads(Path(path).read_text("utf-8")) if path else {}
        return found

    def file(self, suffix: str) -> Path:
        """Give the place of a file that later steps may use."""
        return Path(self.environ.get("RUNNER_TEMP", ".")).resolve() / f"{self.label}.{suffix}"


class GitHub:
    """As much of GitHub's REST API as comments and issues need."""

    def __init__(self, job: Job) -> None:
        self._url = f"{job.environ['GITHUB_API_URL']}/repos/{job.environ['GITHUB_REPOSITORY']}"
        self._token = job.asked("TOKEN")
        self._author = job.asked("COMMENT_AUTHOR")

    def call(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:  # noqa: ANN401 - JSON
        """Send one request and give what it answers."""
        request = urllib.request.Request(  # noqa: S310 - the URL is GitHub's own
            f"{self._url}{path}",
            data=None if body is None else json.dumps(body).encode(),
            method=method,
            headers={
                "Authorization": f"Bearer {self._token}",
                "Accept": "application/vnd.github+json",
                "Content-Type": "application/json",
            },
        )
        with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as answer:  # noqa: S310 - as above
            return json.loads(answer.read() or b"null")

    def pages(self, path: str) -> Iterator[dict[str, Any]]:
        """Give all entries of a list."""
        page, mark = 1, "&" if "?" in path else "?"
        while found := self.call("GET", f"{path}{mark}per_page=100&page={page}"):
            yield from found
            page += 1

    def marked(self, path: str, label: str) -> dict[str, Any] | None:
        """Find the entry of a list that we wrote for this label."""
        for each in self.pages(path):
            mark = _MARK.search(each.get("body") or "")
            if mark and mark["label"] == label and each["user"]["login"] == self._author:
                return each
        return None

    def comment(self, number: int, label: str, body: str) -> None:
        """Write the comment of a label on a pull request, or bring it up to date."""
        path = f"/issues/{number}/comments"
        if found := self.marked(path, label):
            self.call("PATCH", f"/issues/comments/{found['id']}", {"body": body})
        else:
            self.call("POST", path, {"body": body})

    def issue(self, label: str, body: str, *, is_open: bool) -> None:
        """Keep one issue per label: opened at the first drift, kept up to date, closed after it."""
        found = self.marked("/issues?state=open&labels=drift", label)
        if found is not None:
            state = "open" if is_open else "closed"
            self.call("PATCH", f"/issues/{found['number']}", {"body": body, "state": state})
        elif is_open:
            title = f"Drift of {label}"
            self.call("POST", "/issues", {"title": title, "body": body, "labels": ["drift"]})

    def reviewed(self, commit: str, label: str) -> str:
        """Give the checksum that the comment on the merged pull request names.

        Raises:
            ActionError: there is no such comment, or it is about a plan that failed.

        """
        for pull in self.call("GET", f"/commits/{commit}/pulls"):
            found = self.marked(f"/issues/{pull['number']}/comments", label)
            mark = _MARK.search(found["body"]) if found else None
            if mark and mark["checksum"]:
                return mark["checksum"]
        raise ActionError(f"no comment names a reviewed plan of {label} for commit {commit}")


def command(job: Job, checksum: str) -> list[str]:
    """Write the command line."""
    asked = job.asked("COMMAND")
    if asked not in COMMANDS:
        raise ActionError(f"command is one of {', '.join(COMMANDS)}, not {asked!r}")
    line = ["kplan", f"-chdir={job.asked('DIRECTORY') or '.'}", asked]
    if asked != "validate":
        line += ["-input=false", "-detailed-exitcode"]
    if asked == "plan":
        line.append(f"-out={job.file('kplan')}")
    if asked == "apply":
        line.append(f"-expect-checksum={checksum}")
    reports = {"markdown": "md", "json": "json", "text": "txt", "html": "html"}
    if asked != "validate":  # which counts nothing
        reports["gitlab"] = "counts"
    line += [f"-report={name}={job.file(suffix)}" for name, suffix in reports.items()]
    return [*line, *shlex.split(job.asked("ARGS"))]


def run(line: list[str]) -> int:
    """Run kplan, and hand it the signals that a cancelled job sends."""
    with subprocess.Popen(line) as process:  # noqa: S603 - a list, and no shell
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda got, _: process.send_signal(got))
        return process.wait()


def numbers(job: Job) -> dict[str, str]:
    """Read counts and checksum from the reports; what did not come about has none."""
    counts, found = _json(job.file("counts")), _json(job.file("json"))
    names = {"to_add": "create", "to_change": "update", "to_destroy": "delete"}
    return {
        **{name: str(counts.get(key, 0)) for name, key in names.items()},
        "checksum": found.get("kplan", {}).get("checksum", ""),
    }


def _json(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(file.read_text("utf-8")) if file.exists() else {}
    return found


def outputs(job: Job, code: int, counted: Mapping[str, str]) -> dict[str, str]:
    """Give what later steps can use."""
    files = {"plan": "kplan", "json_plan": "json", "text_plan": "txt", "html_plan": "html"}
    return {
        "exitcode": str(code),
        "changes": str(code == CHANGES).lower(),
        "failure_reason": REASONS.get(code, "" if code in {0, CHANGES} else "failed"),
        **counted,
        **{
            f"{name}_path": str(job.file(suffix))
            for name, suffix in files.items()
            if job.file(suffix).exists()
        },
    }


def told(job: Job, github: GitHub, code: int, checksum: str) -> None:
    """Tell the result on the pull request, or in the issue for drift."""
    report = job.file("md")
    body = f"<!-- kplan {job.label} checksum={checksum} -->\n"
    body += report.read_text("utf-8") if report.exists() else f"kplan ended with {code}.\n"
    number = job.event.get("pull_request", {}).get("number")
    if job.asked("COMMAND") == "drift":
        if code in {0, CHANGES}:
            github.issue(job.label, body, is_open=code == CHANGES)
    elif number is not None:
        github.comment(number, job.label, body)


def main(environ: Mapping[str, str]) -> int:
    """Run the step and give its exit code: 2, changes or drift, is a success."""
    job = Job(environ)
    github = GitHub(job)
    try:
        checksum = job.asked("CHECKSUM") if job.asked("COMMAND") == "apply" else ""
        if checksum == "from-comment":
            checksum = github.reviewed(environ["GITHUB_SHA"], job.label)
        code = run(command(job, checksum))
    except (ActionError, urllib.error.URLError) as problem:
        sys.stderr.write(f"::error title=kplan::{problem}\n")
        return 1
    counted = numbers(job)
    with Path(environ["GITHUB_OUTPUT"]).open("a", encoding="utf-8") as file:
        file.writelines(f"{key}={each}\n" for key, each in outputs(job, code, counted).items())
    if job.asked("COMMENT") == "true":
        try:
            told(job, github, code, counted.get("checksum", ""))
        except urllib.error.URLError as problem:  # a fork's token may not write
            sys.stderr.write(f"::warning title=kplan::the comment was not written: {problem}\n")
    return 0 if code == CHANGES else code


if __name__ == "__main__":
    sys.exit(main(os.environ))
