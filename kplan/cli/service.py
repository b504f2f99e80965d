"""The CI service that a run is a job of: what it shows to people, and where."""

from collections.abc import Mapping
from pathlib import Path

from kplan.cli.environment import is_ci, is_on
from kplan.report.format import Format
from kplan.report.formats.markdown import LIMITS

_TOPS = (
    "GITHUB_WORKSPACE",
    "CI_PROJECT_DIR",
    "BUILD_SOURCESDIRECTORY",
    "BITBUCKET_CLONE_DIR",
    "WORKSPACE",
)
"""Where services have checked the repository out."""

_SERVICES: Mapping[str, str] = {
    "GITHUB_ACTIONS": "github",
    "GITLAB_CI": "gitlab",
    "TF_BUILD": "azure",
    "BITBUCKET_BUILD_NUMBER": "bitbucket",
}


def comment_limit(environ: Mapping[str, str]) -> int:
    """Give how many bytes a comment may take; without a known service as many as on GitHub."""
    found = next((name for key, name in _SERVICES.items() if is_on(environ, key)), "github")
    return LIMITS[found]


def annotations(environ: Mapping[str, str]) -> Format | None:
    """Give the format of annotations that the log of this job understands."""
    if not is_ci(environ):
        return None
    if is_on(environ, "GITHUB_ACTIONS"):
        return Format.GITHUB
    return Format.AZURE if is_on(environ, "TF_BUILD") else None


def summary_file(environ: Mapping[str, str]) -> Path | None:
    """Give the file whose Markdown GitHub shows as the summary of the job."""
    named = environ.get("GITHUB_STEP_SUMMARY", "")
    return Path(named) if named and is_ci(environ) else None


def folder(environ: Mapping[str, str], here: Path) -> str:
    """Give the way from the top of the repository to a folder, "" or ending in a slash."""
    tops = [Path(environ[name]) for name in _TOPS if environ.get(name)]
    tops += [each for each in (here, *here.parents) if (each / ".git").exists()]
    for top in tops:
        if here.is_relative_to(top):
            inner = here.relative_to(top).as_posix()
            return "" if inner == "." else f"{inner}/"
    return ""
