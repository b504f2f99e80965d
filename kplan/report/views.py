"""The door of the room: every document in every format it is asked for.

Text takes the `Look` of its reader; what is written for machines does not depend on it. Text and
JSON end with a line break and are "" where there is nothing to say.
"""

from collections.abc import Iterable, Mapping, Sequence

from kplan.model.address import Address
from kplan.model.diagnostic import Diagnostic
from kplan.model.outcome import Outcome
from kplan.model.plan import Change, Plan
from kplan.model.state import ObjectStatus, OutputValue, OwnedObject, State, StateDiff, StateVersion
from kplan.model.table import Figures
from kplan.report.data import as_data
from kplan.report.documents import drift, figures, owned, states, stream
from kplan.report.documents.diagnostics import diagnostics_document
from kplan.report.documents.drift import Coverage
from kplan.report.documents.outcomes import outcome_words, outcomes_document
from kplan.report.documents.plan import plan_document
from kplan.report.documents.plan_data import plan_data
from kplan.report.documents.validation import diagnostics_data, validation_data
from kplan.report.formats.json_text import json_line, json_text, ndjson_text
from kplan.report.formats.text import line_text, text
from kplan.report.look import PLAIN, Look


def diagnostics_text(
    diagnostics: Iterable[Diagnostic], sources: Mapping[str, str], look: Look
) -> str:
    """Show every problem with the line it stands on. `sources` maps file to its text."""
    return text(diagnostics_document(diagnostics, sources), look)


def validation_json(diagnostics: Iterable[Diagnostic], sources: Mapping[str, str]) -> str:
    """Write what `terraform validate -json` writes, with a `code` and `hint` each."""
    return json_text(validation_data(diagnostics, sources))


def refusal_line(diagnostics: Iterable[Diagnostic], sources: Mapping[str, str]) -> str:
    """Write on one line why an expression has no value: `{"ok":false,"diagnostics":[...]}`."""
    return json_line({"ok": False, "diagnostics": diagnostics_data(diagnostics, sources)})


def plan_text(plan: Plan, look: Look, *, group_acls: bool = True) -> str:
    """Show a plan for review.

    With `group_acls` ACLs stand in one table per principal; without, each has a comment line of
    its own, as tools that parse plans expect (the choice for automation).
    """
    return text(plan_document(plan, group_acls=group_acls), look)


def plan_json(plan: Plan) -> str:
    """Write what `terraform show -json` writes, on one line; equal plans give equal bytes."""
    return json_line(plan_data(plan))


def plan_stream(plan: Plan, at: str) -> str:
    """Write the messages of `terraform plan -json` after its version; `at` is the time of all."""
    return ndjson_text(stream.plan_messages(plan, at))


def plan_line(plan: Plan, at: str) -> str:
    """Write the whole plan as one message of the stream, for those who keep no plan file."""
    return ndjson_text([stream.plan_message(plan, at)])


def apply_text(
    outcomes: Sequence[Outcome], look: Look, *, again: str = "kplan apply", imported: int = 0
) -> str:
    """Sum up an apply; `again` is the command that goes on after an incomplete one."""
    return text(outcomes_document(outcomes, again, imported), look)


def outcome_line(outcome: Outcome, look: Look = PLAIN) -> str:
    """Say what became of one change: `kafka_topic.orders: created [31 ms]`, no line break."""
    return line_text(outcome_words(outcome), look)


def apply_json(outcomes: Sequence[Outcome], at: str = "") -> str:
    """Write two messages per outcome (Terraform's, and ours with Kafka's answer) and the counts."""
    messages = [each for outcome in outcomes for each in stream.outcome_messages(outcome, at)]
    return ndjson_text([*messages, stream.summary_message(outcomes, at)])


def version_line(at: str) -> str:
    """Write the first message of a stream."""
    return json_line(stream.version_message(at))


def start_line(change: Change, at: str) -> str:
    """Write the message that a change is being sent."""
    return json_line(stream.start_message(change, at))


def outcome_stream(outcome: Outcome, at: str) -> str:
    """Write the messages of one outcome, for streams that tell it at once."""
    return ndjson_text(stream.outcome_messages(outcome, at))


def summary_line(outcomes: Sequence[Outcome], at: str) -> str:
    """Write the message that counts what was done."""
    return json_line(stream.summary_message(outcomes, at))


def diagnostic_line(diagnostic: Diagnostic, sources: Mapping[str, str], at: str) -> str:
    """Write a problem as a message."""
    return json_line(stream.diagnostic_message(diagnostic, sources, at))


def drift_text(changes: Sequence[Change], coverage: Coverage, look: Look) -> str:
    """Show what changed behind kplan's back, and how much of the cluster this speaks of."""
    return text(drift.drift_document(changes, coverage), look)


def drift_json(changes: Sequence[Change], coverage: Coverage) -> str:
    """Write the drift as one JSON document."""
    return json_text(drift.drift_data(changes, coverage))


def drift_line(changes: Sequence[Change], coverage: Coverage) -> str:
    """Write the drift as JSON on one line, for those who look again and again."""
    return json_line(drift.drift_data(changes, coverage))


def state_list_text(objects: Sequence[OwnedObject], look: Look = PLAIN) -> str:
    """List the addresses of owned objects, one a line."""
    return text(owned.owned_list(objects), look)


def state_show_text(objects: Sequence[OwnedObject], look: Look) -> str:
    """Show owned objects in HCL, as last applied."""
    return text(owned.owned_objects(objects), look)


def owned_json(objects: Sequence[OwnedObject]) -> str:
    """Write owned objects as a JSON list."""
    return json_text(owned.owned_data(objects))


def state_json(state: State) -> str:
    """Write a whole state as `terraform show -json` does."""
    return json_text(owned.state_data(state))


def history_text(versions: Sequence[StateVersion], look: Look) -> str:
    """List states, newest first."""
    return text(states.history_document(versions), look)


def history_json(versions: Sequence[StateVersion]) -> str:
    """Write states as a JSON list, oldest first."""
    return json_text(states.history_data(versions))


def replaced_text(state: State, found: StateDiff, look: Look, *, is_done: bool = True) -> str:
    """Tell what a state put in the place of another changes in ownership."""
    return text(states.replaced_document(state, found, is_done=is_done), look)


def standings_text(
    state: State, standings: Mapping[Address, ObjectStatus], look: Look, *, has_journal: bool
) -> str:
    """Show which owned objects are not as last applied; `has_journal`: one apply did not end."""
    return text(states.standings_document(state, standings, has_journal=has_journal), look)


def standings_json(
    state: State, standings: Mapping[Address, ObjectStatus], *, has_journal: bool
) -> str:
    """Write how every owned object stands as one JSON document."""
    return json_text(states.standings_data(state, standings, has_journal=has_journal))


def adoption_text(
    adopted: Sequence[OwnedObject], absent: Sequence[Address], notes: Sequence[str], look: Look
) -> str:
    """Show what a state would come to own, and what is declared and was not found."""
    return text(states.adoption_document(adopted, absent, notes), look)


def imported_text(owned: Sequence[OwnedObject], notes: Sequence[str], look: Look) -> str:
    """Count what was taken over, per kind, with what is to be said about it."""
    return text(states.imported_document(owned, notes), look)


def figures_text(found: Figures, look: Look) -> str:
    """Show the tables of a job over many clusters."""
    return text(figures.figures_document(found), look)


def figures_page(found: Figures) -> str:
    """Write what there is to say of a fleet as one HTML page."""
    from kplan.report.documents.fleet_page import fleet_page  # noqa: PLC0415 - one verb needs it
    from kplan.report.formats.html import html  # noqa: PLC0415

    return html(fleet_page(found))


def figures_json(found: Figures) -> str:
    """Write the tables of a job over many clusters as one JSON document."""
    return json_text(figures.figures_data(found))


def outputs_text(outputs: Mapping[str, OutputValue], look: Look) -> str:
    """Write `name = value` lines in HCL notation; a sensitive value is `<sensitive>`."""
    return text(owned.outputs_document(outputs), look)


def outputs_json(outputs: Mapping[str, OutputValue]) -> str:
    """Write `{name: {sensitive, type, value}}`; a sensitive value was never stored and is null."""
    return json_text(owned.outputs_data(outputs))


def output_json(output: OutputValue) -> str:
    """Write the value of one output as JSON."""
    return json_text(as_data(output.value))


def output_text(output: OutputValue, look: Look) -> str:
    """Write the value of one output in HCL notation."""
    return text(owned.output_document(output), look)


def output_raw(output: OutputValue) -> str:
    """Write a string, number or bool bare and without line break; UsageError for all else."""
    return owned.raw(output)
