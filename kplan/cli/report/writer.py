"""Write reports to files, to stdout, and to the CI service of this job."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from kplan.cli.code_page import code_pages
from kplan.cli.environment import docs_url
from kplan.cli.report.ci_links import ci_links
from kplan.cli.report.target import ReportTarget
from kplan.cli.terminal import Session
from kplan.model.ci_job import is_ci, is_enabled
from kplan.model.errors import UsageError
from kplan.report.format import Format
from kplan.report.formats.markdown import LIMITS
from kplan.report.render import FormatOptions, Report, render_report
from kplan.state.atomic_file import read_umask, real_path, write_temporary

_CHECKOUT_VARIABLES = (
    "GITHUB_WORKSPACE",
    "CI_PROJECT_DIR",
    "BUILD_SOURCESDIRECTORY",
    "BITBUCKET_CLONE_DIR",
    "WORKSPACE",
)
"""Where services have checked the repository out."""

_COMMENT_SERVICES: Mapping[str, str] = {
    "GITHUB_ACTIONS": "github",
    "GITLAB_CI": "gitlab",
    "TF_BUILD": "azure",
    "BITBUCKET_BUILD_NUMBER": "bitbucket",
}


def comment_limit(environ: Mapping[str, str]) -> int:
    """Return the byte limit of comments; for unknown services that of GitHub."""
    found = next(
        (name for key, name in _COMMENT_SERVICES.items() if is_enabled(environ, key)), "github"
    )
    return LIMITS[found]


def annotation_format(environ: Mapping[str, str]) -> Format | None:
    """Give the format of annotations that the log of this job understands."""
    if not is_ci(environ):
        return None
    if is_enabled(environ, "GITHUB_ACTIONS"):
        return Format.GITHUB
    return Format.AZURE if is_enabled(environ, "TF_BUILD") else None


def summary_file(environ: Mapping[str, str]) -> Path | None:
    """Return the file whose Markdown GitHub shows as the job summary."""
    named = environ.get("GITHUB_STEP_SUMMARY", "")
    return Path(named) if named and is_ci(environ) else None


def repository_prefix(environ: Mapping[str, str], here: Path) -> str:
    """Give the way from the top of the repository to a folder, "" or ending in a slash."""
    # A job may have two checkouts, each in a folder of its own: the nearest one counts.
    tops = [each for each in (here, *here.parents) if (each / ".git").exists()]
    tops += [Path(environ[name]) for name in _CHECKOUT_VARIABLES if environ.get(name)]
    for top in tops:
        if here.is_relative_to(top):
            inner = here.relative_to(top).as_posix()
            return "" if inner == "." else f"{inner}/"
    return ""


_FILE_MODE = 0o666


def write_report(session: Session, targets: Sequence[ReportTarget], report: Report) -> bool:
    """Write a report to every target and return whether all writes succeeded."""
    found = report_setting(session)
    is_written = True
    for each in targets:
        is_written &= _write_target(session, each, report, found)
    _write_to_ci(session, report, found)
    return is_written


def report_setting(session: Session) -> FormatOptions:
    """Return the settings that formats need."""
    environ = session.environ
    folder = repository_prefix(environ, Path.cwd())
    return FormatOptions(
        limit=comment_limit(environ),
        folder=folder,
        links=replace(ci_links(environ, folder), docs_url=docs_url(environ)),
        rule_texts=_rule_texts,
        docs_url=docs_url(environ),
    )


def _rule_texts() -> dict[str, tuple[str, str, str]]:
    return {each.code: (each.title, each.explanation, each.hint) for each in code_pages().values()}


def _write_target(
    session: Session, target: ReportTarget, report: Report, format_options: FormatOptions
) -> bool:
    if target.path is None:
        look = session.terminal.stdout_style
        session.terminal.write_stdout(
            render_report(report, Format(target.format), replace(format_options, style=look))
        )
        return True
    try:
        _replace_file(target.path, render_report(report, Format(target.format), format_options))
    except OSError as failure:
        session.terminal.write_stderr(
            f"Error: {target.path} cannot be written: {failure.strerror}."
        )
        return False
    return True


def write_page(path: Path, text: str) -> None:
    """Replace a page as a whole, and make its folder. Raises UsageError."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _replace_file(path, text)
    except OSError as failure:
        raise UsageError(f"{path} cannot be written: {failure.strerror}.") from failure


def _replace_file(path: Path, text: str) -> None:
    """Replace a file as a whole, with the mode of the umask; write to a pipe as it is.

    Raises:
        OSError: the disk is full, the folder is gone, and so on.

    """
    data = text.encode()
    if path.exists() and not path.is_file():
        path.write_bytes(data)
        return
    place = real_path(path)
    temporary = write_temporary(place, data)
    try:
        temporary.chmod(place.stat().st_mode if place.exists() else _FILE_MODE & ~read_umask())
        temporary.replace(place)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _write_to_ci(session: Session, report: Report, format_options: FormatOptions) -> None:
    """Annotate lines, and add to the summary of the job, where the service shows these."""
    if format_ := annotation_format(session.environ):
        session.terminal.write_stderr(render_report(report, format_, format_options))
    if (file := summary_file(session.environ)) is not None:
        try:
            with file.open("a", encoding="utf-8") as summary:
                room = LIMITS["summary"] - summary.tell()
                summary.write(
                    render_report(report, Format.MARKDOWN, replace(format_options, limit=room))
                )
        except OSError as failure:
            session.terminal.write_stderr(f"Note: {file} cannot be written: {failure.strerror}.")
