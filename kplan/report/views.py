"""What commands print: plans, outcomes, drift, states and figures as text and JSON."""

from collections.abc import Iterable, Mapping, Sequence

from kplan.model.address import Address
from kplan.model.diagnostic import Diagnostic
from kplan.model.outcome import Outcome
from kplan.model.plan import Change, Plan
from kplan.model.state import ObjectStatus, OutputValue, OwnedObject, State, StateDiff, StateVersion
from kplan.model.table import Figures
from kplan.report.data import Data, Gauge, as_data
from kplan.report.document import Document, Totals
from kplan.report.documents import drift, message, table
from kplan.report.documents.diagnostic import (
    diagnostics_data,
    diagnostics_document,
    validation_data,
)
from kplan.report.documents.drift import DriftCoverage
from kplan.report.documents.outcome import outcome_words, outcomes_document
from kplan.report.documents.plan import plan_document
from kplan.report.documents.plan_data import plan_data
from kplan.report.documents.state import (
    adoption_document,
    history_data,
    history_document,
    import_document,
    outputs_data,
    owned_data,
    owned_list_document,
    owned_objects_document,
    raw_output,
    replacement_document,
    state_data,
    verification_data,
    verification_document,
)
from kplan.report.format import PLAIN_STYLE, TextStyle
from kplan.report.formats.json_text import json_line, json_text, ndjson_text
from kplan.report.formats.text import render_line, render_text
from kplan.report.links import link_diagnostics


def diagnostics_text(
    diagnostics: Iterable[Diagnostic], sources: Mapping[str, str], look: TextStyle
) -> str:
    """Show every problem with the line it is on. `sources` maps file to its text."""
    return render_text(diagnostics_document(diagnostics, sources), look)


def validation_json(
    diagnostics: Iterable[Diagnostic], sources: Mapping[str, str], docs_url: str = ""
) -> str:
    """Write the output of `terraform validate -json`, with a `code` and `hint` each.

    Here and below `docs_url` is where the manual is, whose pages each diagnostic then names.
    """
    return json_text(link_diagnostics(validation_data(diagnostics, sources), docs_url))


def expression_error_line(
    diagnostics: Iterable[Diagnostic], sources: Mapping[str, str], docs_url: str = ""
) -> str:
    """Write on one line why an expression has no value: `{"ok":false,"diagnostics":[...]}`."""
    found: Data = {"ok": False, "diagnostics": diagnostics_data(diagnostics, sources)}
    return json_line(link_diagnostics(found, docs_url))


def plan_text(plan: Plan, look: TextStyle, *, is_grouped: bool = True) -> str:
    """Show a plan for review.

    With `is_grouped` changes that are alike are together; without, each has a comment line of
    its own, as tools that parse plans expect (the choice for automation).
    """
    return render_text(plan_document(plan, is_grouped=is_grouped), look)


def plan_json(plan: Plan, docs_url: str = "") -> str:
    """Write the output of `terraform show -json` on one line; equal plans give equal bytes."""
    return json_line(link_diagnostics(plan_data(plan), docs_url))


def plan_stream(plan: Plan, at: str) -> str:
    """Write the messages of `terraform plan -json` after its version; `at` is the time of all."""
    return ndjson_text(message.plan_messages(plan, at))


def plan_message_line(plan: Plan, at: str, docs_url: str = "") -> str:
    """Write the whole plan as one message of the stream, for those who keep no plan file."""
    return json_line(link_diagnostics(message.plan_message(plan, at), docs_url))


def apply_text(
    outcomes: Sequence[Outcome],
    look: TextStyle,
    *,
    again: str = "kplan apply",
    imported: int = 0,
    unplanned: Sequence[str] = (),
) -> str:
    """Summarize an apply; `again` is the command that continues an incomplete one."""
    return render_text(outcomes_document(outcomes, again, imported, unplanned), look)


def outcome_line(outcome: Outcome, look: TextStyle = PLAIN_STYLE) -> str:
    """Say the outcome of one change: `kafka_topic.orders: created [31 ms]`, no line break."""
    return render_line(outcome_words(outcome), look)


def version_line(at: str) -> str:
    """Write the first message of a stream."""
    return json_line(message.version_message(at))


def start_line(change: Change, at: str) -> str:
    """Write the message that a change is being sent."""
    return json_line(message.start_message(change, at))


def outcome_stream(outcome: Outcome, at: str) -> str:
    """Write the messages of one outcome, for streams that report it at once."""
    return ndjson_text(message.outcome_messages(outcome, at))


def verified_stream(outcomes: Iterable[Outcome], at: str) -> str:
    """Write one message for each change that every broker serves by now."""
    return ndjson_text(message.verified_message(each, at) for each in outcomes)


def summary_line(outcomes: Sequence[Outcome], at: str, unplanned: Sequence[str] = ()) -> str:
    """Write the message that counts the applied changes."""
    return json_line(message.summary_message(outcomes, at, unplanned))


def diagnostic_line(
    diagnostic: Diagnostic, sources: Mapping[str, str], at: str, docs_url: str = ""
) -> str:
    """Write a problem as a message."""
    found = message.diagnostic_message(diagnostic, sources, at)
    return json_line(link_diagnostics(found, docs_url))


def drift_text(changes: Sequence[Change], coverage: DriftCoverage, look: TextStyle) -> str:
    """Show changes made outside kplan, with the coverage of the comparison."""
    return render_text(drift.drift_document(changes, coverage), look)


def drift_json(changes: Sequence[Change], coverage: DriftCoverage) -> str:
    """Write the drift as one JSON document."""
    return json_text(drift.drift_data(changes, coverage))


def drift_line(changes: Sequence[Change], coverage: DriftCoverage) -> str:
    """Write the drift as JSON on one line, for those who look again and again."""
    return json_line(drift.drift_data(changes, coverage))


def state_list_text(objects: Sequence[OwnedObject]) -> str:
    """List the addresses of owned objects, one a line."""
    return render_text(owned_list_document(objects), PLAIN_STYLE)


def state_show_text(objects: Sequence[OwnedObject], look: TextStyle) -> str:
    """Show owned objects in HCL, as last applied."""
    return render_text(owned_objects_document(objects), look)


def owned_json(objects: Sequence[OwnedObject]) -> str:
    """Write owned objects as a JSON list."""
    return json_text(owned_data(objects))


def state_json(state: State) -> str:
    """Write a whole state as `terraform show -json` does."""
    return json_text(state_data(state))


def history_text(versions: Sequence[StateVersion], look: TextStyle) -> str:
    """List states, newest first."""
    return render_text(history_document(versions), look)


def history_json(versions: Sequence[StateVersion]) -> str:
    """Write states as a JSON list, oldest first."""
    return json_text(history_data(versions))


def replacement_text(
    state: State, state_diff: StateDiff, look: TextStyle, *, is_done: bool = True
) -> str:
    """Return the changes of ownership when one state replaces another."""
    return render_text(replacement_document(state, state_diff, is_done=is_done), look)


def verification_text(
    state: State,
    statuses: Mapping[Address, ObjectStatus],
    look: TextStyle,
    *,
    has_journal: bool,
    is_finished: bool = False,
) -> str:
    """Show which owned objects are not as last applied; `has_journal`: one apply did not end.

    If it `is_finished` it did, and lacks answers.
    """
    shown = verification_document(state, statuses, has_journal=has_journal, is_finished=is_finished)
    return render_text(shown, look)


def verification_json(
    state: State, statuses: Mapping[Address, ObjectStatus], *, has_journal: bool
) -> str:
    """Write how every owned object is as one JSON document."""
    return json_text(verification_data(state, statuses, has_journal=has_journal))


def adoption_text(
    adopted: Sequence[OwnedObject], absent: Sequence[Address], notes: Sequence[str], look: TextStyle
) -> str:
    """Show the objects that a state would own, and the declared ones that were not found."""
    return render_text(adoption_document(adopted, absent, notes), look)


def import_text(owned: Sequence[OwnedObject], notes: Sequence[str], look: TextStyle) -> str:
    """Count the imported objects per kind, with notes."""
    return render_text(import_document(owned, notes), look)


def figures_text(figures: Figures, look: TextStyle) -> str:
    """Show the tables of a job over many clusters."""
    return render_text(table.figures_document(figures), look)


def figures_html(figures: Figures) -> str:
    """Write a fleet as one HTML page."""
    from kplan.report.documents.fleet.page import fleet_page  # noqa: PLC0415 - one verb needs it
    from kplan.report.formats.fleet_html import render_fleet_page  # noqa: PLC0415

    return render_fleet_page(fleet_page(figures))


def figures_summary_text(figures: Figures, look: TextStyle) -> str:
    """Write the first lines of the page about a fleet."""
    from kplan.report.documents.fleet.page import fleet_page  # noqa: PLC0415 - one verb needs it

    return render_text(Document((Totals(fleet_page(figures).summary),)), look)


def query_plans_text(figures: Figures, look: TextStyle) -> str:
    """Write how Spark would compute tables, each below its name."""
    del look  # Spark wrote them
    return "\n\n\n".join(f"{each.name}\n\n{each.query_plan}" for each in figures.tables) + "\n"


def figures_json(figures: Figures) -> str:
    """Write the tables of a job over many clusters as one JSON document."""
    return json_text(table.figures_data(figures))


def outputs_json(outputs: Mapping[str, OutputValue]) -> str:
    """Write `{name: {sensitive, type, value}}`; a sensitive value was never stored and is null."""
    return json_text(outputs_data(outputs))


def output_json(output: OutputValue) -> str:
    """Write the value of one output as JSON."""
    return json_text(as_data(output.value))


def output_raw(output: OutputValue) -> str:
    """Write a string, number or bool bare and without line break; UsageError for all else."""
    return raw_output(output)


def gauges_text(gauges: Iterable[Gauge]) -> str:
    """Write metrics as Prometheus reads them."""
    from kplan.report.formats.prometheus import prometheus_text  # noqa: PLC0415 - few need it

    return prometheus_text(gauges)
