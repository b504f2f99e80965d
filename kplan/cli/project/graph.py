"""`kplan graph`."""

from enum import StrEnum
from typing import Annotated

import typer

from kplan.cli.diagnostics import show_diagnostics
from kplan.cli.exit_code import ExitCode
from kplan.cli.options import InputOptions, SkipForeign, StateOptions
from kplan.cli.terminal import Session
from kplan.cli.verb import verb


class GraphFormat(StrEnum):
    """Formats of a graph."""

    DOT = "dot"
    MERMAID = "mermaid"


@verb(
    ("kplan graph", "Write Graphviz DOT; to draw it: kplan graph | dot -Tsvg."),
    ("kplan graph -format=mermaid", "Write Mermaid, for Markdown."),
)
def graph(
    session: Session,
    *,
    format_: Annotated[
        GraphFormat, typer.Option("--format", help="The format of the graph.")
    ] = GraphFormat.DOT,
    skip_foreign: SkipForeign = False,
) -> int:
    """Write a graph of the references in the configuration.

    The graph has the variables, locals, resources, outputs, checks, modules and providers of the
    files. kplan evaluates nothing and needs no values of variables. Cycles are red.
    """
    from kplan.cli import wiring  # noqa: PLC0415 - help needs none of these
    from kplan.report import project_views  # noqa: PLC0415
    from kplan.workflow.project.graph import draw_graph  # noqa: PLC0415

    inputs = InputOptions(skip_foreign=skip_foreign)
    found = draw_graph(wiring.build_project(session, StateOptions(), inputs))
    show_diagnostics(found.diagnostics, session.terminal, sources=found.sources)
    is_dot = format_ is GraphFormat.DOT
    write = project_views.graph_dot if is_dot else project_views.graph_mermaid
    session.terminal.write_stdout(write(found.graph))
    return ExitCode.DONE
