"""`required_version`: a constraint on the version of Terraform whose language kplan reads."""

from collections.abc import Iterator

from kplan.config.diagnostic import error, warning
from kplan.config.syntax import tree as ast
from kplan.config.syntax.source import Origin
from kplan.config.version import Version, parse_constraints, parse_version
from kplan.model.diagnostic import Diagnostic
from kplan.model.version import LANGUAGE_VERSION

_OWN = parse_version(LANGUAGE_VERSION) or Version(())


def version_problems(attribute: ast.Attribute, origin: Origin) -> Iterator[Diagnostic]:
    """Check `required_version` against the version whose language kplan reads.

    One that asks for a later version is an error. One that excludes this version for another
    reason is a warning: later versions read what earlier ones did.
    """
    node = attribute.value
    subject = origin.range(node.start, node.end)
    text = node.value if isinstance(node, ast.Literal) else None
    parts = parse_constraints(text) if isinstance(text, str) else None
    if parts is None:
        detail = 'A version constraint is a string such as ">= 1.9, < 2.0".'
        yield error("KP342", subject, detail)
        return
    if any(each.version.label for each in parts):
        detail = f'"{text}" names a prerelease, which Terraform refuses in required_version.'
        yield error("KP342", subject, detail, hint="Name the release: write it without the label.")
        return
    unmet = [each for each in parts if not each.allows(_OWN)]
    if not unmet:
        return
    reads = f"kplan reads the language of Terraform {LANGUAGE_VERSION}"
    if any(each.asks_for_newer(_OWN) for each in unmet):
        detail = f'The configuration requires Terraform "{text}", and {reads}.'
        hint = "Use a later kplan, or lower required_version if the configuration allows it."
        named = origin.range(attribute.start, attribute.end)
        yield error("KP341", named, detail, hint=hint)
        return
    detail = f'required_version = "{text}" excludes it, and {reads}; the files are read as such.'
    yield warning("KP195", subject, detail)
