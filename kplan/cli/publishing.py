"""Reports into files, and into what the CI service of this job shows."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from kplan.cli import service
from kplan.cli.session import Session
from kplan.cli.target import Target
from kplan.report.format import Format
from kplan.report.formats.markdown import LIMITS
from kplan.report.report import Report, Setting, written
from kplan.state.atomic import real_path, write_beside

_MODE = 0o666


def published(session: Session, targets: Sequence[Target], report: Report) -> bool:
    """Write a report everywhere; tell whether all of it could be written."""
    found = setting(session)
    is_written = True
    for each in targets:
        is_written &= _put(session, each, report, found)
    _show_in_job(session, report, found)
    return is_written


def setting(session: Session) -> Setting:
    """Say what formats need to know of this run."""
    environ = session.environ
    return Setting(limit=service.comment_limit(environ), folder=service.folder(environ, Path.cwd()))


def _put(session: Session, target: Target, report: Report, setting: Setting) -> bool:
    if target.path is None:
        look = session.terminal.data_look
        session.terminal.data(written(report, Format(target.format), replace(setting, look=look)))
        return True
    try:
        _write(target.path, written(report, Format(target.format), setting))
    except OSError as failure:
        session.terminal.talk(f"Error: {target.path} cannot be written: {failure.strerror}.")
        return False
    return True


def _write(path: Path, text: str) -> None:
    """Replace a file as a whole, with the rights that the umask leaves; write to a pipe as it is.

    Raises:
        OSError: the disk is full, the folder is gone, and so on.

    """
    data = text.encode()
    if path.exists() and not path.is_file():
        path.write_bytes(data)
        return
    place = real_path(path)
    temporary = write_beside(place, data)
    try:
        temporary.chmod(place.stat().st_mode if place.exists() else _MODE & ~_umask())
        temporary.replace(place)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _umask() -> int:
    """Ask for the umask; the only way to read it is to set it."""
    found = os.umask(0o022)
    os.umask(found)
    return found


def _show_in_job(session: Session, report: Report, setting: Setting) -> None:
    """Annotate lines, and add to the summary of the job, where the service shows these."""
    if format_ := service.annotations(session.environ):
        session.terminal.talk(written(report, format_, setting))
    if (file := service.summary_file(session.environ)) is not None:
        try:
            with file.open("a", encoding="utf-8") as summary:
                room = LIMITS["summary"] - summary.tell()
                summary.write(written(report, Format.MARKDOWN, replace(setting, limit=room)))
        except OSError as failure:
            session.terminal.talk(f"Note: {file} cannot be written: {failure.strerror}.")
