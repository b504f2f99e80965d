"""What `kplan version` says. Imports nothing heavy, so that it is said at once."""

import json
import platform
from importlib.metadata import version as installed

from kplan.model.version import VERSION

LIBRARIES = ("confluent-kafka", "kafka-python", "python-hcl2")


def version_text(*, is_json: bool) -> str:
    """Tell the versions of kplan and its libraries, for people or as JSON; ends in a line break."""
    libraries = {name: installed(name) for name in LIBRARIES}
    facts = {
        "kplan_version": VERSION,
        "python_version": platform.python_version(),
        "platform": platform.platform(),
        "libraries": libraries,
    }
    if is_json:
        return json.dumps(facts, indent=2) + "\n"
    lines = [f"kplan {VERSION}", f"on Python {facts['python_version']}, {facts['platform']}"]
    return "\n".join([*lines, *(f"+ {name} {number}" for name, number in libraries.items())]) + "\n"
