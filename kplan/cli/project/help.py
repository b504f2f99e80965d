"""`kplan help` and `kplan explain`: the pages, and their layout on a terminal."""

import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Annotated

import typer

from kplan.cli.app import VERBS
from kplan.cli.code_page import FIX_PREFIX, CodePage, code_pages, read_page
from kplan.cli.environment import PREFIXES, VARIABLES
from kplan.cli.exit_code import ExitCode
from kplan.cli.terminal import Session
from kplan.cli.verb import verb
from kplan.model.errors import UsageError


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
    text = "\n".join(explain_code(each) for each in code)
    session.terminal.write_stdout(format_page(text, session.terminal.stdout_style.width))
    return ExitCode.DONE


_MAX_WIDTH = 100
"""Lines longer than this are hard to read, however wide the terminal is."""
_MIN_WIDTH = 16
"""Columns that a text takes beside others; where there are fewer it is below."""
_INDENT = " " * 8
_BULLET = re.compile(r"(- |\d+\. )")


def format_page(text: str, width: int) -> str:
    """Break prose into lines of at most `width` columns; code stays as it is.

    Indented lines in two columns are broken in the second one. Tables of Markdown become lists
    where one of them is too wide.
    """
    room = min(width, _MAX_WIDTH)
    classified = list(_line_kinds(text))
    has_lists = any(sort == "table" and len(line) > room for sort, line in classified)
    written: list[str] = []
    for sort, pairs in groupby(classified, key=itemgetter(0)):
        lines = [line for _, line in pairs]
        written += (
            _format_rows(lines, room)
            if sort == "table" and has_lists
            else _format_lines(sort, lines, room)
        )
    return "\n".join(written) + "\n"


def _line_kinds(text: str) -> Iterator[tuple[str, str]]:
    """Give each line with what it is a part of."""
    is_fenced = False
    for line in text.rstrip("\n").split("\n"):
        if line.startswith("```"):
            is_fenced = not is_fenced
            yield "code", line
        elif is_fenced:
            yield "code", line
        else:
            yield _line_kind(line), line


def _line_kind(line: str) -> str:
    match line[:1]:
        case "" | "#":
            return "code"
        case " ":
            return "columns"
        case "|":
            return "table"
        case _:
            return "prose"


def _format_lines(sort: str, lines: Sequence[str], room: int) -> Iterable[str]:
    match sort:
        case "prose":
            return _format_prose(lines, room)
        case "columns":
            return _format_columns(lines, room)
        case _:
            return lines


def _format_prose(lines: Sequence[str], room: int) -> Iterator[str]:
    paragraphs: list[str] = []
    for line in lines:
        if paragraphs and not _BULLET.match(line):
            paragraphs[-1] += f" {line.strip()}"
        else:
            paragraphs.append(line.strip())
    for each in paragraphs:
        bullet = _BULLET.match(each)
        yield from _wrap_text(each, "", " " * len(bullet[0]) if bullet else "", room)


def _format_columns(lines: Sequence[str], room: int) -> Iterator[str]:
    """Break the second column, where all lines have one at the same place; else it is code."""
    at = _second_column(lines)
    if not at or all(len(each) <= room for each in lines):
        yield from lines
        return
    rows: list[tuple[str, str]] = []
    for line in lines:
        head, said = line[:at], line[at:]
        if head.isspace() and rows:
            rows[-1] = (rows[-1][0], f"{rows[-1][1]} {said}")
        else:
            rows.append((head, said))
    for head, said in rows:
        if at + _MIN_WIDTH <= room:
            yield from _wrap_text(said, head, " " * at, room)
        else:
            yield head.rstrip()
            yield from _wrap_text(said, _INDENT, _INDENT, room)


def _second_column(lines: Sequence[str]) -> int:
    """Find where the second column begins, 0 where there is none."""
    if len(lines) == 1:
        return 0
    found = re.finditer(r"(?<=\S)\s{2,}(?=\S)", lines[0])
    return next((each.end() for each in found if _fits_column(lines, each.end())), 0)


def _fits_column(lines: Sequence[str], at: int) -> bool:
    return all(each[at - 2 : at] == "  " and each[at : at + 1].strip() for each in lines)


def _format_rows(lines: Sequence[str], room: int) -> Iterator[str]:
    """Write each row as a line of its short cells, and its last cell below."""
    for line in lines[2:]:
        *short, said = [each.strip() for each in re.split(r"(?<!\\)\|", line)[1:-1]]
        yield from _wrap_text("  ".join(each for each in short if each), "    ", "    ", room)
        yield from _wrap_text(said, _INDENT, _INDENT, room)


def _wrap_text(text: str, first: str, others: str, room: int) -> list[str]:
    return textwrap.wrap(
        text,
        max(room, len(others) + _MIN_WIDTH),
        initial_indent=first,
        subsequent_indent=others,
        break_long_words=False,
        break_on_hyphens=False,
    ) or [first.rstrip()]


def help_topics() -> Mapping[str, str]:
    """Return every topic with its summary."""
    return {
        "tutorial": "Declare, plan, apply and watch a cluster, step by step.",
        "migrating": "Migrate from Terraform, other tools or an existing cluster.",
        "reports": "Formats of -report and kplan show -format.",
        "watching": "Detect drift, ignore accepted drift, and send notifications.",
        "library": "Use kplan from Python: plan, apply and drift as functions.",
        "fleets": "Many clusters at once: fleet.hcl, runs, audit logs and Spark.",
        "placement": "Placement of replicas, reassignments and leader elections.",
        "policies": "Policies that check a plan, and their tests.",
        "python-policies": "Policies in Python: methods, arguments and packaging.",
        "security": "Who is trusted with what, credentials, approval, and what files hold.",
        "versions": "What is stable, what a version may change, and what a release has.",
        "commands": "All commands.",
        "attributes": "All kinds of resources and their attributes.",
        "environment": "All environment variables.",
        "exit-codes": "The exit codes of all commands.",
        "codes": "All diagnostic codes; kplan explain CODE explains one.",
    }


def help_page(name: str) -> str:
    """Return the page of a topic.

    Raises:
        UsageError: the topic does not exist.

    """
    if name not in help_topics():
        topics = ", ".join(help_topics())
        raise UsageError(f"There is no help topic {name!r}.", f"Topics are {topics}.")
    made: Mapping[str, Callable[[], str]] = {
        "commands": _commands_page,
        "attributes": _attributes_page,
        "environment": _environment_page,
        "exit-codes": lambda: _EXIT_CODES,
        "codes": _codes_page,
    }
    return made[name]() if name in made else read_page(name)


def _format_entries(title: str, entries: Mapping[str, str]) -> str:
    width = max(len(each) for each in entries)
    lines = [f"    {name:<{width}}  {said}" for name, said in entries.items()]
    return "\n".join([f"# {title}", "", *lines]) + "\n"


def _commands_page() -> str:
    return _format_entries("Commands", {f"kplan {name}": said for name, (_, said) in VERBS.items()})


def _environment_page() -> str:
    families = {f"{name}...": said for name, said in PREFIXES.items()}
    return _format_entries("Environment", {**VARIABLES, **families})


def _codes_page() -> str:
    return _format_entries("Codes", {each.code: each.title for each in code_pages().values()})


def _attributes_page() -> str:
    from kplan.workflow.project import schema  # noqa: PLC0415 - only this page needs it

    return schema.reference_page()


_EXIT_CODES = """# Exit codes

    0    success, or no changes
    1    error
    2    changes (kplan plan -detailed-exitcode) or drift (kplan drift)

With -detailed-exitcode each error has its own code:

    3    refused by a policy or a guard
    4    partly applied
    5    outcome of a change is unknown
    6    state is locked, plan is stale, or wrong cluster
    7    cluster cannot be reached

After a signal: 129 SIGHUP, 130 SIGINT, 143 SIGTERM.
"""


def explain_code(code: str) -> str:
    """Explain a diagnostic code of kplan or an error of Kafka.

    Raises:
        UsageError: the code does not exist.

    """
    from kplan.cluster.errors import ERRORS, find_error  # noqa: PLC0415 - only this page needs it
    from kplan.report.documents.kafka_error import errors_text  # noqa: PLC0415

    pages = code_pages()
    wanted = code.upper()
    if wanted in ERRORS:
        return errors_text([find_error(wanted)])
    if wanted not in pages:
        raise UsageError(f"There is no code {code}.", "Run kplan help codes for all codes.")
    return "\n\n".join(_code_sections(pages[wanted])) + "\n"


def _code_sections(page: CodePage) -> Iterator[str]:
    yield f"{page.code} {page.title}"
    if page.explanation:
        yield page.explanation
    yield f"{FIX_PREFIX}{page.hint}"
