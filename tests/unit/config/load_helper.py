"""Builders shared by the tests of this folder."""

from collections.abc import Mapping
from pathlib import Path

from kplan.config.inputs import Inputs
from kplan.config.load import Configuration, load_configuration
from kplan.kinds import KINDS
from kplan.model.diagnostic import Diagnostic


def load_files(
    folder: Path, files: Mapping[str, str], inputs: Inputs | None = None
) -> Configuration:
    """Write files into a folder and load it."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return load_configuration(folder, inputs or Inputs(), KINDS)


def diagnostic_text(each: Diagnostic) -> str:
    """Write a problem with its place, span, and all that is said about it."""
    place = each.subject
    span = f"{place}-{place.end_line}:{place.end_column}" if place else "(nowhere)"
    lines = [f"{each.severity} {each.code} {span} {each.summary}"]
    if each.address:
        lines.append(f"  address: {each.address}")
    lines.extend(f"  {line}" for line in each.detail.splitlines())
    lines.extend(f"  value: {name} {text}" for name, text in each.values)
    lines.extend(f"  related: {label} {at}" for label, at in each.related)
    if each.hint:
        lines.append(f"  hint: {each.hint}")
    return "\n".join(lines)
