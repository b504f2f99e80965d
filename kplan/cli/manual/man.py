"""Write the manual as man pages: commands in section 1, topics in section 7."""

from collections.abc import Iterator
from pathlib import Path

from kplan.cli.app import VERBS
from kplan.cli.code_page import read_page
from kplan.cli.manual.commands import (
    command_file,
    command_list_markdown,
    command_markdown,
    read_command,
)
from kplan.cli.manual.roff import man_page
from kplan.cli.manual.topics import help_page, help_topics
from kplan.model.version import VERSION

_FRONT = """# kplan

Plan and apply for Apache Kafka.

    kplan [-chdir=DIR] COMMAND [OPTIONS]

kplan compares the *.tf and *.hcl files of a folder with a Kafka cluster, shows every change, and
applies it. Options take one or two dashes: `-out=FILE`, `-out FILE` and `--out FILE` are the same.

"""
_LISTED = {"commands"}
"""Topics that the page kplan(1) contains."""


def write_man_pages(folder: Path) -> int:
    """Write all pages below a folder of MANPATH, and return their number. Raises OSError."""
    count = 0
    for name, section, text in _pages():
        target = folder / f"man{section}" / f"{name}.{section}"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(man_page(text, name, section, VERSION), encoding="utf-8")
        count += 1
    return count


def _pages() -> Iterator[tuple[str, int, str]]:
    listed = command_list_markdown().partition("\n\n")[2]
    exit_codes = help_page("exit-codes").replace("# Exit codes", "## Exit codes")
    topics = "\n".join(f"- `kplan-{name}(7)`: {text}" for name, text in help_topics().items())
    yield "kplan", 1, f"{_FRONT}{listed}\n{exit_codes}\n## See also\n\n{topics}\n"
    for name in VERBS:
        yield f"kplan-{command_file(name)}", 1, command_markdown(read_command(name))
    for name, summary in help_topics().items():
        if name not in _LISTED:
            text = read_page(name) if name == "codes" else help_page(name)
            title, _, body = text.partition("\n")
            yield f"kplan-{name}", 7, f"{title}\n\n{summary}\n{body}"
