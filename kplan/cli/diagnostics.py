"""Show diagnostics: as text on stderr, or as messages on stdout."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

from kplan.cli.environment import docs_url
from kplan.cli.terminal import Terminal
from kplan.model.diagnostic import Diagnostic


def show_diagnostics(
    diagnostics: Iterable[Diagnostic],
    terminal: Terminal,
    *,
    is_stream: bool = False,
    sources: Mapping[str, str] | None = None,
) -> None:
    """Show every problem, as text on stderr or as one message a line on stdout.

    `sources` maps file to its text, so that lines can be shown.
    """
    found = tuple(diagnostics)
    if not found:
        return
    from kplan.report import views  # noqa: PLC0415 - slow to load, and often there are none

    files = sources or {}
    if is_stream:
        at, manual = timestamp(), docs_url(terminal.environ)
        terminal.write_stdout(
            "".join(views.diagnostic_line(each, files, at, manual) for each in found)
        )
    else:
        terminal.write_stderr(views.diagnostics_text(found, files, terminal.stderr_style))


def show_document(
    diagnostics: Iterable[Diagnostic], terminal: Terminal, sources: Mapping[str, str]
) -> None:
    """Write every problem, or that there is none, as one JSON document on stdout."""
    from kplan.report.views import validation_json  # noqa: PLC0415 - slow to load

    terminal.write_stdout(validation_json(diagnostics, sources, docs_url(terminal.environ)))


def timestamp() -> str:
    """Return the time as messages carry it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
