"""`kplan help` and `kplan explain`."""

from typing import Annotated

import typer

from kplan.cli.exit_code import ExitCode
from kplan.cli.session import Session
from kplan.cli.verb import verb


@verb(
    ("kplan help", "What there is to read."),
    ("kplan help tutorial", "From nothing to a watched cluster."),
    ("kplan help plan", "The options of a verb."),
)
def help_(
    session: Session,
    topic: Annotated[
        list[str] | None, typer.Argument(metavar="TOPIC", help="A topic, or a verb.")
    ] = None,
) -> int:
    """Read about a topic, or a verb. Without a topic they are listed."""
    from kplan.cli.app import GROUPS, VERBS  # noqa: PLC0415
    from kplan.cli.project import help_pages  # noqa: PLC0415 - help of other verbs needs it not
    from kplan.cli.project.help_pages import format_page  # noqa: PLC0415

    words = topic or []
    name = " ".join(words)
    if name in VERBS or name in GROUPS:
        from kplan.cli.run import run_line  # noqa: PLC0415 - which loads this verb

        return run_line([*words, "-help"], session)
    columns = session.terminal.stdout_style.width
    if name:
        session.terminal.write_stdout(format_page(help_pages.help_page(name), columns))
        return ExitCode.DONE
    width = max(len(each) for each in help_pages.help_topics())
    lines = [f"  {each:<{width}}  {said}" for each, said in help_pages.help_topics().items()]
    listed = "\n".join(("kplan help TOPIC tells about:", "", *lines))
    session.terminal.write_stdout(format_page(listed, columns))
    return ExitCode.DONE


@verb(
    ("kplan explain KP2102", "Why a code is told, and what to do."),
    ("kplan explain KP201 KP204", "Several at once."),
    ("kplan explain UNKNOWN_SERVER_ERROR", "What a report names after Kafka's own errors."),
)
def explain(
    session: Session,
    code: Annotated[list[str], typer.Argument(metavar="CODE", help="Codes of problems.")],
) -> int:
    """Explain the code of a problem: what it says, why it is so, and the way out."""
    from kplan.cli.project.help_pages import (  # noqa: PLC0415 - help of other verbs needs none of these
        explain_code,
        format_page,
    )

    told = "\n".join(explain_code(each) for each in code)
    session.terminal.write_stdout(format_page(told, session.terminal.stdout_style.width))
    return ExitCode.DONE
