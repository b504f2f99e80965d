"""`kplan help` and `kplan explain`."""

from typing import Annotated

import typer

from kplan.cli.exit_code import ExitCode
from kplan.cli.session import Session
from kplan.cli.verb import verb


@verb(
    ("kplan help", "List the help topics."),
    ("kplan help tutorial", "Read the tutorial."),
    ("kplan help plan", "Show the options of a command."),
)
def help_(
    session: Session,
    topic: Annotated[
        list[str] | None, typer.Argument(metavar="TOPIC", help="A topic or a command.")
    ] = None,
) -> int:
    """Show a help topic or the help of a command.

    Without a topic, kplan lists all topics.
    """
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
    lines = [f"  {each:<{width}}  {summary}" for each, summary in help_pages.help_topics().items()]
    listed = "\n".join(("Usage: kplan help TOPIC\n\nTopics:", "", *lines))
    session.terminal.write_stdout(format_page(listed, columns))
    return ExitCode.DONE


@verb(
    ("kplan explain KP2102", "Explain a code and how to fix it."),
    ("kplan explain KP201 KP204", "Explain several codes."),
    ("kplan explain UNKNOWN_SERVER_ERROR", "Explain an error of Kafka."),
)
def explain(
    session: Session,
    code: Annotated[
        list[str],
        typer.Argument(metavar="CODE", help="Codes of diagnostics, or names of Kafka's errors."),
    ],
) -> int:
    """Explain the code of a diagnostic.

    The explanation has the cause and the fix.
    """
    from kplan.cli.project.help_pages import (  # noqa: PLC0415 - help of other verbs needs none of these
        explain_code,
        format_page,
    )

    text = "\n".join(explain_code(each) for each in code)
    session.terminal.write_stdout(format_page(text, session.terminal.stdout_style.width))
    return ExitCode.DONE
