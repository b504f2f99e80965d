"""`kplan graph`."""

from enum import StrEnum
from typing import Annotated

import typer

from kplan.cli.diagnostics import show_diagnostics
from kplan.cli.exit_code import ExitCode
from kplan.cli.options import InputOptions, SkipForeign, StateOptions
from kplan.cli.session import Session
from kplan.cli.verb import verb


class GraphFormat(StrEnum):
    """Languages that graphs are drawn from."""

    DOT = "dot"
    MERMAID = "mermaid"


@verb(
    ("kplan graph", "In the language of Graphviz; as a picture: kplan graph | dot -Tsvg."),
    ("kplan graph -format=mermaid", "For a page of Markdown that a Git forge shows."),
)
def graph(
    session: Session,
    *,
    format_: Annotated[
        GraphFormat, typer.Option("--format", help="The language to write the graph in.")
    ] = GraphFormat.DOT,
    skip_foreign: SkipForeign = False,
) -> int:
    """Draw what refers to what in the configuration.

    Variables, locals, resources, outputs, checks, modules and providers, as the files have them:
    nothing is evaluated, no variable needs a value. Circles are drawn in red.
    """
    from kplan.cli import wiring  # noqa: PLC0415 - help needs none of these
    from kplan.report import language  # noqa: PLC0415
    from kplan.workflow.project.graph import draw_graph  # noqa: PLC0415

    inputs = InputOptions(skip_foreign=skip_foreign)
    found = draw_graph(wiring.build_project(session, StateOptions(), inputs))
    show_diagnostics(found.diagnostics, session.terminal, sources=found.sources)
    is_dot = format_ is GraphFormat.DOT
    write = language.graph_dot if is_dot else language.graph_mermaid
    session.terminal.write_stdout(write(found.graph))
    return ExitCode.DONE
