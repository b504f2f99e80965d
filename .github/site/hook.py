"""Make the pages of the site from the topics of `kplan help` and from the code."""

import importlib.util
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from kplan.cli.app import VERBS  # noqa: E402 - the package of this checkout
from kplan.cli.code_page import read_page  # noqa: E402
from kplan.cli.manual.commands import (  # noqa: E402
    command_file,
    command_list_markdown,
    command_markdown,
    read_command,
)
from kplan.cli.manual.layout import column_rows, second_column  # noqa: E402
from kplan.cli.manual.topics import SECTIONS, help_page, help_topics  # noqa: E402

API_MODULES = {
    "kplan": "",
    "kplan.admin": "",
    "kplan.testing": "",
    "kplan.policy.facts": "Request, TopicState, RequestedTopicState, ClusterState, Totals",
}
"""Modules for programs of users, with the names to show if not all; one that is not there yet has
no page."""

_SHADOWED = {"kplan": ("kplan.api.plan.plan", "kplan.api.apply.apply")}
"""Functions with the name of a package, which hides them from a static reading."""
_CODE_HEADING = re.compile(r"^## (KP\d+) (.+)$", re.MULTILINE)
_FIX = re.compile(r"^Fix: ", re.MULTILINE)
_LIST_ITEM = re.compile(r"(- |\d+\. )")
_HELP_COMMAND = re.compile(r"`kplan help ([a-z-]+)`")


def on_config(config: Any) -> Any:  # noqa: ANN401 - of mkdocs
    """Order the pages as `kplan help` does."""
    api = [{"Python API": [{name: f"api/{name}.md"} for name in _api_modules()]}]
    commands = [{f"kplan {name}": f"commands/{command_file(name)}.md"} for name in VERBS]
    sections = []
    for title, names in SECTIONS.items():
        pages: list[Any] = [
            {_title(help_page(name)): f"{name}.md"} for name in names if name != "commands"
        ]
        if "commands" in names:
            pages.insert(0, {"Commands": ["commands/index.md", *commands]})
            pages += api
        sections.append({title: pages})
    config.nav = [{"Home": "index.md"}, *sections]
    return config


def on_files(files: Files, config: Any) -> Files:  # noqa: ANN401 - as above
    """Add a page for each topic, command and module."""
    for name, text in _pages():
        files.append(File.generated(config, name, content=text))
    return files


def _pages() -> Iterator[tuple[str, str]]:
    for name in help_topics():
        if name == "codes":
            yield "codes.md", _codes_page()
        elif name != "commands":
            yield f"{name}.md", site_markdown(help_page(name))
    yield "commands/index.md", command_list_markdown("./")
    for name in VERBS:
        yield f"commands/{command_file(name)}.md", command_markdown(read_command(name))
    for name in _api_modules():
        yield f"api/{name}.md", _api_page(name)


def _api_modules() -> list[str]:
    return [each for each in API_MODULES if _is_public(each)]


def _api_page(name: str) -> str:
    members = f"      members: [{API_MODULES[name]}]\n" if API_MODULES[name] else ""
    more = "".join(f"::: {each}\n\n" for each in _SHADOWED.get(name, ()))
    options = f"    options:\n      show_root_heading: false\n{members}"
    return f"# {name}\n\n{more}::: {name}\n{options}"


def _is_public(module: str) -> bool:
    """Whether a module exists and has names for users; the package once had none."""
    found = importlib.util.find_spec(module)
    text = Path(found.origin).read_text(encoding="utf-8") if found and found.origin else ""
    return "\ndef " in text or "\nclass " in text or "__all__" in text


def _title(text: str) -> str:
    return text.partition("\n")[0].removeprefix("# ")


def _codes_page() -> str:
    """Give each code the address of its code, and its fix a paragraph."""
    text = _CODE_HEADING.sub(
        lambda found: f"{found[0]} {{ #{found[1].lower()} }}\n", read_page("codes")
    )
    return _FIX.sub("\n**Fix:** ", text)


def site_markdown(text: str) -> str:
    """Write a page of `kplan help` in the Markdown of the site.

    Lists get the blank line that they need, columns become tables, and named topics links.
    """
    blocks = re.split(r"(^```.*?^```$)", text, flags=re.MULTILINE | re.DOTALL)
    return "".join(
        each if each.startswith("```") else "\n".join(_site_lines(each.split("\n")))
        for each in blocks
    )


def _site_lines(lines: Sequence[str]) -> Iterator[str]:
    at = 0
    while at < len(lines):
        end = at + 1
        while lines[at].startswith("    ") and end < len(lines) and lines[end].startswith("    "):
            end += 1
        block = lines[at:end]
        if block[0].startswith("    "):
            yield from _columns(block)
        else:
            if (
                _LIST_ITEM.match(block[0])
                and at
                and lines[at - 1].strip()
                and not _in_list(lines, at)
            ):
                yield ""
            yield _HELP_COMMAND.sub(_topic_link, block[0])
        at = end


def _in_list(lines: Sequence[str], at: int) -> bool:
    """Whether the line before an item belongs to an item."""
    before = at - 1
    while before > 0 and lines[before].startswith("  "):
        before -= 1
    return bool(_LIST_ITEM.match(lines[before]))


def _topic_link(found: re.Match[str]) -> str:
    name = found[1]
    if name in help_topics():
        return f"[{_title(help_page(name))}]({'commands/index' if name == 'commands' else name}.md)"
    return found[0]


def _columns(block: Sequence[str]) -> Iterator[str]:
    at = second_column(block)
    if not at:
        yield from block
        return
    yield from ("| | |", "|---|---|")
    for head, said in column_rows(block, at):
        code, text = head.replace("|", "\\|"), said.replace("|", "\\|")
        yield f"| `{code}` | {text} |"
