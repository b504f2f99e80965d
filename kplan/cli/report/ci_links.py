"""Addresses of the run, the commit and the lines of files, as CI services name them."""

import json
import re
from collections.abc import Mapping
from pathlib import Path

from kplan.model.ci_job import ci_commit, ci_run_url, is_ci, is_enabled
from kplan.report.links import NO_LINKS, Links

_ADDRESS = re.compile(r"https?://[A-Za-z0-9._~:/?#@!$&*+,;=%{}\[\]-]+")
"""What is put into a link: nothing that ends one in Markdown or HTML."""

_REVISION = re.compile(r"[0-9a-f]{7,64}")
_MAX_EVENT_BYTES = 4 << 20


def ci_links(environ: Mapping[str, str], folder: str) -> Links:
    """Return links from the environment of a CI job; empty outside CI.

    `folder` leads from the top of the repository to the configuration. What is no address, or no
    revision, is left out: a branch name is another one's text.
    """
    if not is_ci(environ):
        return NO_LINKS
    revision = _check(_REVISION, _head_revision(environ) or ci_commit(environ))
    commit, line = _patterns(environ) if revision else ("", "")
    return Links(
        run=_check(_ADDRESS, _run_address(environ)),
        commit=_check(_ADDRESS, commit.replace("{revision}", revision)),
        revision=revision,
        page=_check(_ADDRESS, environ.get("KPLAN_REPORT_URL", "")),
        line=_check(_ADDRESS, line.replace("{revision}", revision)),
        folder=folder,
        apply_hint=environ.get("KPLAN_APPLY_HINT", "")[:500],
    )


def _check(pattern: re.Pattern[str], text: str) -> str:
    return text if pattern.fullmatch(text) else ""


def _run_address(environ: Mapping[str, str]) -> str:
    if found := ci_run_url(environ):
        return found
    if is_enabled(environ, "TF_BUILD"):
        names = ("SYSTEM_COLLECTIONURI", "SYSTEM_TEAMPROJECT", "BUILD_BUILDID")
        home, project, build = (environ.get(name, "") for name in names)
        return f"{home.rstrip('/')}/{project}/_build/results?buildId={build}"
    if number := environ.get("BITBUCKET_BUILD_NUMBER"):
        return f"{environ.get('BITBUCKET_GIT_HTTP_ORIGIN', '')}/pipelines/results/{number}"
    return ""


def _head_revision(environ: Mapping[str, str]) -> str:
    """Return the head of a pull request on GitHub, whose GITHUB_SHA is a merge of no branch."""
    if not environ.get("GITHUB_EVENT_NAME", "").startswith("pull_request"):
        return ""
    try:
        file = Path(environ.get("GITHUB_EVENT_PATH", ""))
        if file.stat().st_size > _MAX_EVENT_BYTES:
            return ""
        found = json.loads(file.read_bytes())["pull_request"]["head"]["sha"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return ""
    return found if isinstance(found, str) else ""


def _patterns(environ: Mapping[str, str]) -> tuple[str, str]:
    """Return the addresses of a commit and of a line of a file, with names in braces."""
    if repository := environ.get("GITHUB_REPOSITORY"):
        home = f"{environ.get('GITHUB_SERVER_URL', '')}/{repository}"
        return f"{home}/commit/{{revision}}", f"{home}/blob/{{revision}}/{{path}}#L{{line}}"
    if home := environ.get("CI_PROJECT_URL", ""):
        return f"{home}/-/commit/{{revision}}", f"{home}/-/blob/{{revision}}/{{path}}#L{{line}}"
    if home := environ.get("BITBUCKET_GIT_HTTP_ORIGIN", ""):
        return f"{home}/commits/{{revision}}", f"{home}/src/{{revision}}/{{path}}#lines-{{line}}"
    if home := environ.get("BUILD_REPOSITORY_URI", ""):
        lines = "?path=/{path}&version=GC{revision}&line={line}&lineEnd={line}&lineStartColumn=1"
        return f"{home}/commit/{{revision}}", home + lines
    return "", ""
