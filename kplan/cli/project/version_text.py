"""The text of `kplan version`. Imports nothing heavy, to be fast."""

import json
import platform
from importlib.metadata import version as installed

from kplan.model.version import VERSION

LIBRARIES = ("confluent-kafka", "kafka-python", "python-hcl2")


def version_text(*, is_json: bool) -> str:
    """Return the versions of kplan and its libraries as text or JSON, with a final line break."""
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
