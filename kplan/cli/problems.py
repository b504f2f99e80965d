"""Telling problems: on stderr for people, on stdout for machines."""

from collections.abc import Iterable, Mapping

from kplan.cli.terminal import Terminal
from kplan.model.diagnostic import Diagnostic


def tell(
    diagnostics: Iterable[Diagnostic],
    terminal: Terminal,
    *,
    is_json: bool,
    sources: Mapping[str, str] | None = None,
) -> None:
    """Show every problem; `sources` maps file to its text, so that lines can be shown."""
    from kplan.report import views  # noqa: PLC0415 - jinja2 is slow to load

    if is_json:
        terminal.data(views.validation_json(diagnostics, sources or {}))
    else:
        terminal.talk(views.diagnostics_text(diagnostics, sources or {}, terminal.talk_look))
