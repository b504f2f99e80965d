"""One step of a GitHub job: run kplan, post the result as a comment or an issue, set outputs.

The script uses only the standard library, so that only kplan has to be installed. Values from the
workflow come from INPUT_ variables, never through a shell.
"""

# ruff: noqa: INP001 - an action is not a package

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Collection, Iterator, Mapping
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
# options of all commands that decide what is fetched, and whether each has a value
FETCH_OPTIONS = {"untrusted": False, "trusted-ref": True}
RISKS = ("dangerous", "unknown", "review", "safe")
LABELS = ("kplan:changes", "kplan:destroys", "kplan:dangerous")
_MARK = re.compile(r"<!-- kplan (?P<label>\S+) checksum=(?P<checksum>[0-9a-f-]*) -->")
_SECRET_PREFIXES = ("INPUT_", "ACTIONS_ID_TOKEN_", "ACTIONS_RUNTIME_", "ACTIONS_RESULTS_")
_SECRET_NAMES = ("GITHUB_TOKEN", "GH_TOKEN")
_TIMEOUT_S = 30


class ActionError(Exception):
    """An error that a user has to fix. It ends the step."""


@dataclass(frozen=True)
class Job:
    """Inputs of the workflow and paths of GitHub's files."""

    environ: Mapping[str, str]

    def input(self, name: str) -> str:
        """Return an input of the step."""
        return self.environ.get(f"INPUT_{name}", "").strip()

    @property
    def label(self) -> str:
        """Return the label as one word."""
        return re.sub(r"[^\w.-]", "-", self.input("LABEL")) or "kplan"

    @property
    def event(self) -> dict[str, Any]:
        """Return the event that started the workflow."""
        path = self.environ.get("GITHUB_EVENT_PATH", "")
        event: dict[str, Any] = json.loads(Path(path).read_text("utf-8")) if path else {}
        return event

    def file(self, suffix: str) -> Path:
        """Return the path of a file for later steps."""
        return Path(self.environ.get("RUNNER_TEMP", ".")).resolve() / f"{self.label}.{suffix}"


class GitHub:
    """The part of GitHub's REST API for comments and issues."""

    def __init__(self, job: Job) -> None:
        self._url = f"{job.environ['GITHUB_API_URL']}/repos/{job.environ['GITHUB_REPOSITORY']}"
        self._token = job.input("TOKEN")
        self._author = job.input("COMMENT_AUTHOR")

    def call(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:  # noqa: ANN401 - JSON
        """Send one request and return its response."""
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
        with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as response:  # noqa: S310 - as above
            return json.loads(response.read() or b"null")

    def pages(self, path: str) -> Iterator[dict[str, Any]]:
        """Yield all entries of a list."""
        page, mark = 1, "&" if "?" in path else "?"
        while entries := self.call("GET", f"{path}{mark}per_page=100&page={page}"):
            yield from entries
            page += 1

    def find_marked(self, path: str, label: str) -> dict[str, Any] | None:
        """Find the entry of a list that the action wrote for this label."""
        for each in self.pages(path):
            mark = _MARK.match(each.get("body") or "")  # quoted elsewhere it is somebody's words
            if mark and mark["label"] == label and each["user"]["login"] == self._author:
                return each
        return None

    def comment(self, number: int, label: str, body: str) -> None:
        """Create or update the comment of a label on a pull request."""
        path = f"/issues/{number}/comments"
        if comment := self.find_marked(path, label):
            self.call("PATCH", f"/issues/comments/{comment['id']}", {"body": body})
        else:
            self.call("POST", path, {"body": body})

    def set_labels(self, number: int, wanted: Collection[str]) -> None:
        """Give a pull request those of the labels of the action that fit, and take the others."""
        path = f"/issues/{number}/labels"
        present = {each["name"] for each in self.pages(path)} & {*LABELS}
        for each in sorted(present - {*wanted}):
            self.call("DELETE", f"{path}/{urllib.parse.quote(each)}")
        if missing := sorted({*wanted} - present):
            self.call("POST", path, {"labels": missing})

    def issue(self, label: str, body: str, *, is_open: bool) -> None:
        """Open, update or close the one issue of a label, which is open while there is drift."""
        issue = self.find_marked("/issues?state=open&labels=drift", label)
        if issue is not None:
            state = "open" if is_open else "closed"
            self.call("PATCH", f"/issues/{issue['number']}", {"body": body, "state": state})
        elif is_open:
            title = f"Drift of {label}"
            self.call("POST", "/issues", {"title": title, "body": body, "labels": ["drift"]})

    def reviewed_checksum(self, commit: str, label: str) -> str:
        """Return the checksum in the comment on the pull request whose merge made the commit.

        Raises:
            ActionError: the comment does not exist, or its plan failed.

        """
        for pull in self.call("GET", f"/commits/{commit}/pulls"):
            if not pull.get("merged_at") or pull.get("merge_commit_sha") != commit:
                continue
            comment = self.find_marked(f"/issues/{pull['number']}/comments", label)
            mark = _MARK.match(comment["body"]) if comment else None
            if mark and mark["checksum"]:
                return mark["checksum"]
        raise ActionError(
            f"no comment has the checksum of a reviewed plan of {label} for commit {commit}"
        )


def command_line(job: Job, checksum: str) -> list[str]:
    """Return the command line."""
    verb = job.input("COMMAND")
    if verb not in COMMANDS:
        raise ActionError(f"command must be one of {', '.join(COMMANDS)}, not {verb!r}")
    line = ["kplan", f"-chdir={job.input('DIRECTORY') or '.'}", verb]
    if verb != "validate":
        line += ["-input=false", "-detailed-exitcode"]
    if verb == "plan":
        line.append(f"-out={job.file('kplan')}")
    if verb == "apply":
        line.append(f"-expect-checksum={checksum}")
    reports = {"markdown": "md", "json": "json", "text": "txt", "html": "html"}
    if verb != "validate":  # validate has no counts
        reports["gitlab"] = "counts"
    line += [f"-report={name}={job.file(suffix)}" for name, suffix in reports.items()]
    return [*line, *shlex.split(job.input("ARGS"))]


def fetch_line(job: Job) -> list[str]:
    """Return the command line that fetches modules: with no other options than who is trusted."""
    line = ["kplan", f"-chdir={job.input('DIRECTORY') or '.'}", "get", "-lockfile=readonly"]
    words = iter(shlex.split(job.input("ARGS")))
    for word in words:
        name, equals, _ = word.partition("=")
        option = name.lstrip("-")
        if not name.startswith("-") or option not in FETCH_OPTIONS:
            continue
        line.append(word)
        if FETCH_OPTIONS[option] and not equals:
            line += [value for value in [next(words, None)] if value is not None]
    return line


def child_environ(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of kplan: without the job's tokens, which it has no use for."""
    return {
        name: value
        for name, value in environ.items()
        if not name.startswith(_SECRET_PREFIXES) and name not in _SECRET_NAMES
    }


def run(line: list[str]) -> int:
    """Run kplan, and forward the signals of a cancelled job to it."""
    with subprocess.Popen(line, env=child_environ(os.environ)) as process:  # noqa: S603 - no shell
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda signum, _: process.send_signal(signum))
        return process.wait()


def read_counts(job: Job) -> dict[str, str]:
    """Read counts and checksum from the reports; a report may be missing after a failure."""
    counts, document = _json(job.file("counts")), _json(job.file("json"))
    names = {"to_add": "create", "to_change": "update", "to_destroy": "delete"}
    return {
        **{name: str(counts.get(key, 0)) for name, key in names.items()},
        "destroys": str(bool(counts.get("delete", 0))).lower(),
        "checksum": document.get("kplan", {}).get("digest", ""),
        "risk": _worst_risk(document),
    }


def _worst_risk(document: Mapping[str, Any]) -> str:
    """Return the worst risk of what is planned, "" of nothing."""
    found = {
        each.get("kplan", {}).get("risk")
        for each in document.get("resource_changes", ())
        if each.get("change", {}).get("actions") != ["no-op"]
    }
    return next((each for each in RISKS if each in found), "")


def labels(code: int, counts: Mapping[str, str]) -> set[str]:
    """Return the labels that say what a plan does."""
    fitting = (code == CHANGES, counts["destroys"] == "true", counts["risk"] == "dangerous")
    return {label for label, fits in zip(LABELS, fitting, strict=True) if fits}


def _json(file: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(file.read_text("utf-8")) if file.exists() else {}
    return document


def outputs(job: Job, code: int, counts: Mapping[str, str]) -> dict[str, str]:
    """Return the outputs for later steps."""
    files = {"plan": "kplan", "json_plan": "json", "text_plan": "txt", "html_plan": "html"}
    return {
        "exitcode": str(code),
        "changes": str(code == CHANGES).lower(),
        "failure_reason": REASONS.get(code, "" if code in {0, CHANGES} else "failed"),
        **counts,
        **{
            f"{name}_path": str(job.file(suffix))
            for name, suffix in files.items()
            if job.file(suffix).exists()
        },
    }


def post_result(job: Job, github: GitHub, code: int, counts: Mapping[str, str]) -> None:
    """Post the result to the pull request, or to the issue for drift."""
    checksum = counts.get("checksum", "")
    report = job.file("md")
    body = f"<!-- kplan {job.label} checksum={checksum} -->\n"
    body += report.read_text("utf-8") if report.exists() else f"kplan exited with {code}.\n"
    number = job.event.get("pull_request", {}).get("number")
    if job.input("COMMAND") == "drift":
        if code in {0, CHANGES}:
            github.issue(job.label, body, is_open=code == CHANGES)
    elif number is not None:
        github.comment(number, job.label, body)
        if job.input("LABELS") == "true" and job.input("COMMAND") == "plan":
            github.set_labels(number, labels(code, counts))


def main(environ: Mapping[str, str]) -> int:
    """Run the step and return its exit code; 2 (changes or drift) is a success."""
    job = Job(environ)
    github = GitHub(job)
    try:
        checksum = job.input("CHECKSUM") if job.input("COMMAND") == "apply" else ""
        if checksum == "from-comment":
            checksum = github.reviewed_checksum(environ["GITHUB_SHA"], job.label)
        line = command_line(job, checksum)
        code = run(fetch_line(job)) or run(line)
    except (ActionError, urllib.error.URLError) as problem:
        sys.stderr.write(f"::error title=kplan::{problem}\n")
        return 1
    counts = read_counts(job)
    with Path(environ["GITHUB_OUTPUT"]).open("a", encoding="utf-8") as file:
        file.writelines(f"{key}={each}\n" for key, each in outputs(job, code, counts).items())
    if job.input("COMMENT") == "true":
        try:
            post_result(job, github, code, counts)
        except urllib.error.URLError as problem:  # the token of a fork cannot write
            sys.stderr.write(
                f"::warning title=kplan::the comment could not be written: {problem}\n"
            )
    return 0 if code == CHANGES else code


if __name__ == "__main__":
    sys.exit(main(os.environ))
