"""`kplan version`."""

import json
import platform
from importlib.metadata import version as installed
from typing import Annotated

import typer

from kplan.cli.exits import Exit
from kplan.cli.session import Session
from kplan.cli.verb import verb
from kplan.model.version import VERSION

LIBRARIES = ("confluent-kafka", "kafka-python", "python-hcl2")


@verb(("kplan version", "Versions for people."), ("kplan version -json", "The same for scripts."))
def version(
    session: Session,
    json_: Annotated[bool, typer.Option("--json", help="Write JSON.")] = False,  # noqa: FBT002
) -> int:
    """Tell the versions of kplan and its libraries."""
    libraries = {name: installed(name) for name in LIBRARIES}
    facts = {
        "kplan_version": VERSION,
        "python_version": platform.python_version(),
        "platform": platform.platform(),
        "libraries": libraries,
    }
    if json_:
        session.terminal.data(json.dumps(facts, indent=2))
    else:
        lines = [f"kplan {VERSION}", f"on Python {facts['python_version']}, {facts['platform']}"]
        lines += [f"+ {name} {number}" for name, number in libraries.items()]
        session.terminal.data("\n".join(lines))
    return Exit.DONE
