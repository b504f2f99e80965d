"""The door of the room: every document in every format it is asked for."""

from collections.abc import Iterable, Mapping

from kplan.model.diagnostic import Diagnostic
from kplan.model.plan import Plan
from kplan.report.documents.diagnostics import diagnostics_document
from kplan.report.documents.plan import plan_document
from kplan.report.documents.plan_data import plan_data
from kplan.report.documents.validation import validation_data
from kplan.report.formats.json_text import json_line, json_text
from kplan.report.formats.text import text
from kplan.report.look import Look


def diagnostics_text(
    diagnostics: Iterable[Diagnostic], sources: Mapping[str, str], look: Look
) -> str:
    """Show every problem with the line it stands on. `sources` maps file to its text."""
    return text(diagnostics_document(diagnostics, sources), look)


def validation_json(diagnostics: Iterable[Diagnostic], sources: Mapping[str, str]) -> str:
    """Write what `terraform validate -json` writes, with a `code` and `hint` each."""
    return json_text(validation_data(diagnostics, sources))


def plan_text(plan: Plan, look: Look, *, group_acls: bool = True) -> str:
    """Show a plan for review.

    With `group_acls` ACLs stand in one table per principal; without, each has a comment line of
    its own, as tools that parse plans expect (the choice for automation).
    """
    return text(plan_document(plan, group_acls=group_acls), look)


def plan_json(plan: Plan) -> str:
    """Write what `terraform show -json` writes, on one line; equal plans give equal bytes."""
    return json_line(plan_data(plan))
