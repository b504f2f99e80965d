"""The manual: pages that come with kplan, and pages made from the code itself."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from kplan.cli.app import VERBS
from kplan.cli.environment import PREFIXES, VARIABLES
from kplan.model.errors import UsageError

_PAGES = Path(__file__).parent / "help"
_CODE = re.compile(r"^## (?P<code>KP\d+) (?P<title>.+)$", re.MULTILINE)
_WAY_OUT = "Way out: "


@dataclass(frozen=True, slots=True)
class CodePage:
    """What there is to say about a code: its title, why it is so, and the way out."""

    code: str
    title: str
    why: str
    way_out: str


def code_pages() -> dict[str, CodePage]:
    """Read the page of every code."""
    text = _page("codes")
    found = list(_CODE.finditer(text))
    ends = [each.start() for each in found[1:]] + [len(text)]
    return {
        each["code"]: _code_page(each, text[each.end() : end].strip())
        for each, end in zip(found, ends, strict=True)
    }


def _code_page(found: re.Match[str], body: str) -> CodePage:
    why, _, way_out = body.partition(_WAY_OUT)
    return CodePage(found["code"], found["title"], why.strip(), way_out.strip())


def topics() -> Mapping[str, str]:
    """Name every topic with what it is about."""
    return {
        "tutorial": "From nothing to a watched cluster, step by step.",
        "reports": "The formats of -report and show -format.",
        "watching": "Drift: what is accepted, and who hears of it.",
        "fleets": "Many clusters at once: fleet.hcl, runs, logs, and which Spark works.",
        "placement": "Where replicas stand, how they move, and who leads.",
        "policies": "Rules that a plan is held against, and how they are tested.",
        "commands": "Every verb.",
        "attributes": "Every kind of object with its attributes.",
        "environment": "Every variable that kplan reads.",
        "exit-codes": "What the exit code of a command says.",
        "codes": "Every code of a problem; `kplan explain CODE` says more.",
    }


def topic(name: str) -> str:
    """Give the page of a topic.

    Raises:
        UsageError: there is none of this name.

    """
    if name not in topics():
        raise UsageError(f"There is no topic {name!r}.", f"There are {', '.join(topics())}.")
    made: Mapping[str, Callable[[], str]] = {
        "commands": _commands,
        "attributes": _attributes,
        "environment": _environment,
        "exit-codes": lambda: _EXIT_CODES,
        "codes": _codes,
    }
    return made[name]() if name in made else _page(name)


def _page(name: str) -> str:
    return (_PAGES / f"{name}.md").read_text(encoding="utf-8")


def _listed(title: str, entries: Mapping[str, str]) -> str:
    width = max(len(each) for each in entries)
    lines = [f"    {name:<{width}}  {said}" for name, said in entries.items()]
    return "\n".join([f"# {title}", "", *lines]) + "\n"


def _commands() -> str:
    return _listed("Commands", {f"kplan {name}": said for name, (_, said) in VERBS.items()})


def _environment() -> str:
    families = {f"{name}...": said for name, said in PREFIXES.items()}
    return _listed("Environment", {**VARIABLES, **families})


def _codes() -> str:
    return _listed("Codes", {each.code: each.title for each in code_pages().values()})


def _attributes() -> str:
    from kplan.workflow import schema  # noqa: PLC0415 - only this page needs it

    return schema.reference()


_EXIT_CODES = """# Exit codes

    0    done, or nothing to do
    1    an error
    2    changes (plan -detailed-exitcode), or drift (drift)

With -detailed-exitcode errors are told apart:

    3    refused by a policy or a guard
    4    partly applied
    5    the outcome of a change is unknown
    6    locked, stale, or another cluster
    7    the cluster cannot be reached

After a signal: 129 SIGHUP, 130 SIGINT, 143 SIGTERM.
"""


def explained(code: str) -> str:
    """Say what a code of kplan, or an error of Kafka by its name, means and what to do.

    Raises:
        UsageError: there is no such code.

    """
    from kplan.cluster.errors import ERRORS, kafka_error  # noqa: PLC0415 - only this page needs it
    from kplan.report.documents.errors import errors_text  # noqa: PLC0415

    pages = code_pages()
    wanted = code.upper()
    if wanted in ERRORS:
        return errors_text([kafka_error(wanted)])
    if wanted not in pages:
        raise UsageError(f"There is no code {code}.", "See `kplan help codes`.")
    return "\n\n".join(_told(pages[wanted])) + "\n"


def _told(page: CodePage) -> Iterator[str]:
    yield f"{page.code} {page.title}"
    if page.why:
        yield page.why
    yield f"{_WAY_OUT}{page.way_out}"
