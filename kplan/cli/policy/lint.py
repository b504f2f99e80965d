"""`kplan lint`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kplan.cli.environment import docs_url
from kplan.cli.exit_code import ExitCode
from kplan.cli.options import InputOptions, ReportOptions, StateOptions
from kplan.cli.progress import show_progress
from kplan.cli.report.option import prepare_reports
from kplan.cli.terminal import Session
from kplan.cli.verb import verb
from kplan.model.diagnostic import Diagnostic

if TYPE_CHECKING:
    from kplan.workflow.policy.lint import LintResult


@verb(
    ("kplan lint", "Show ACLs and topics that are probably mistakes."),
    ("kplan lint -json", "Write JSON as kplan validate -json does."),
    ("kplan lint -report=sarif=lint.sarif", "Write a SARIF report for code scanning."),
    ("kplan lint -detailed-exitcode", "For CI: 0 no findings, 2 findings, 1 error."),
)
def lint(
    session: Session, inputs: InputOptions, states: StateOptions, answer: ReportOptions
) -> int:
    """Find mistakes in ACLs and topics, declared and live.

    kplan finds ACLs without effect, duplicate ACLs, ACLs that a Deny overrides, ACLs that match no
    topic, and topics that no principal can read or write. Nothing is changed.
    """
    from kplan.cli import wiring  # noqa: PLC0415 - help needs none of these
    from kplan.cli.diagnostics import show_diagnostics, timestamp  # noqa: PLC0415
    from kplan.report import views  # noqa: PLC0415
    from kplan.report.format import UNCOUNTED_FORMATS  # noqa: PLC0415
    from kplan.report.subject import problems_report  # noqa: PLC0415
    from kplan.workflow.policy.lint import lint_project  # noqa: PLC0415

    reports = prepare_reports(
        session, "lint", answer.report, is_json=answer.json, formats=UNCOUNTED_FORMATS
    )
    project = wiring.build_project(session, states, inputs)
    with reports.report_errors(), show_progress(session.terminal) as progress:
        found = lint_project(project, wiring.build_ports(session, "lint", states, progress))
    sources = found.configuration.sources
    if answer.json:
        text = views.validation_json(found.diagnostics, sources, docs_url(session.environ))
        session.terminal.write_stdout(text)
    else:
        show_diagnostics(found.diagnostics, session.terminal, sources=sources)
        if not answer.has_report_on_stdout:
            session.terminal.write_stdout(_summary(found))
    report = problems_report("kplan lint", found.diagnostics, sources, timestamp(), "Lint ran")
    return reports.write(report, _exit_code(found.diagnostics, detailed=answer.detailed_exitcode))


def _summary(found: "LintResult") -> str:
    from kplan.report.documents.notation import count_text  # noqa: PLC0415 - as above

    findings = f"{len(found.diagnostics):,} need review" if found.diagnostics else "no findings"
    acls, topics = count_text(found.acl_count, "ACL"), count_text(found.topic_count, "topic")
    return f"{acls} on {topics}: {findings}.\n"


def _exit_code(found: Sequence[Diagnostic], *, detailed: bool) -> ExitCode:
    if any(each.is_error for each in found):
        return ExitCode.ERROR
    return ExitCode.CHANGES if found and detailed else ExitCode.DONE
