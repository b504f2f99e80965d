"""`kplan help` and `kplan explain`."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from kplan.cli.code_page import FIX_PREFIX, CodePage, code_pages
from kplan.cli.exit_code import ExitCode
from kplan.cli.manual.layout import format_page
from kplan.cli.manual.topics import help_page, help_topics
from kplan.cli.terminal import Session
from kplan.cli.verb import verb
from kplan.model.errors import UsageError
from kplan.model.summaries import OTHER_SUMMARIES, codes_of_summary


@verb(
    ("kplan help", "List the help topics."),
    ("kplan help tutorial", "Read the tutorial."),
    ("kplan help plan", "Show the options of a command."),
    ("kplan help -man=man", "Write man pages; to read one: MANPATH=$PWD/man: man kplan."),
)
def help_(
    session: Session,
    topic: Annotated[
        list[str] | None, typer.Argument(metavar="TOPIC", help="A topic or a command.")
    ] = None,
    *,
    man: Annotated[
        str,
        typer.Option("--man", metavar="DIR", help="Write the whole manual as man pages to DIR."),
    ] = "",
) -> int:
    """Show a help topic or the help of a command.

    Without a topic, kplan lists all topics.
    """
    from kplan.cli.app import GROUPS, VERBS  # noqa: PLC0415

    if man:
        from kplan.cli.manual.man import write_man_pages  # noqa: PLC0415 - it loads every verb

        count = write_man_pages(Path(man))
        session.terminal.write_stderr(f"Wrote {count} man pages to {man}.")
        return ExitCode.DONE
    words = topic or []
    name = " ".join(words)
    if name in VERBS or name in GROUPS:
        from kplan.cli.run import run_line  # noqa: PLC0415 - which loads this verb

        return run_line([*words, "-help"], session)
    columns = session.terminal.stdout_style.width
    if name:
        session.terminal.write_stdout(format_page(help_page(name), columns))
        return ExitCode.DONE
    width = max(len(each) for each in help_topics())
    lines = [f"  {each:<{width}}  {summary}" for each, summary in help_topics().items()]
    listed = "\n".join(("Usage: kplan help TOPIC\n\nTopics:", "", *lines))
    session.terminal.write_stdout(format_page(listed, columns))
    return ExitCode.DONE


@verb(
    ("kplan explain KP2102", "Explain a code and how to fix it."),
    ("kplan explain KP201 KP204", "Explain several codes."),
    ('kplan explain "Missing resource instance key"', "Explain a summary."),
    ("kplan explain UNKNOWN_SERVER_ERROR", "Explain an error of Kafka."),
)
def explain(
    session: Session,
    code: Annotated[
        list[str],
        typer.Argument(
            metavar="CODE", help="Codes or summaries of diagnostics, or names of Kafka's errors."
        ),
    ],
) -> int:
    """Explain the code of a diagnostic.

    The explanation has the cause and the fix.
    """
    text = "\n".join(explain_code(each) for each in code)
    session.terminal.write_stdout(format_page(text, session.terminal.stdout_style.width))
    return ExitCode.DONE


def explain_code(code: str) -> str:
    """Explain a diagnostic code of kplan, a summary of one, or an error of Kafka.

    Raises:
        UsageError: the code does not exist.

    """
    from kplan.cluster.errors import ERRORS, find_error  # noqa: PLC0415 - only this page needs it
    from kplan.report.documents.kafka_error import errors_text  # noqa: PLC0415

    pages = code_pages()
    wanted = f"KP{code}" if code.isdecimal() else code.upper()
    if wanted in ERRORS:
        return errors_text([find_error(wanted)])
    if named := codes_of_summary(code):
        return "\n".join("\n\n".join(_code_sections(pages[each])) + "\n" for each in named)
    if wanted not in pages:
        raise UsageError(f"There is no code {code}.", "Run kplan help codes for all codes.")
    return "\n\n".join(_code_sections(pages[wanted])) + "\n"


def _code_sections(page: CodePage) -> Iterator[str]:
    yield f"{page.code} {page.title}"
    if others := OTHER_SUMMARIES.get(page.code):
        yield f"Also reported as: {', '.join(others)}."
    if page.explanation:
        yield page.explanation
    yield f"{FIX_PREFIX}{page.hint}"
