"""`kplan policy list` and `kplan policy test`."""

from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kplan.cli.exit_code import ExitCode
from kplan.cli.options import InputOptions, Json, StateOptions
from kplan.cli.terminal import Session
from kplan.cli.trust_option import AllowPython, Policies, TrustOptions
from kplan.cli.verb import verb
from kplan.model.dataclass import dataclass
from kplan.model.errors import UsageError

if TYPE_CHECKING:
    from kplan.workflow.test.policy import PolicySuite


@dataclass(frozen=True, slots=True)
class PolicyPathOptions:
    """Policies in addition to those of the configuration."""

    policy: Policies = field(default_factory=list)
    allow_python: AllowPython = False
    json: Json = False


@dataclass(frozen=True, slots=True)
class PolicyTestOptions:
    """The tests to run, and the report."""

    filter: Annotated[
        list[str],
        typer.Option(
            "--filter",
            metavar="NAME",
            help="Run only files with this text in their name (repeatable).",
        ),
    ] = field(default_factory=list)
    junit_xml: Annotated[
        str,
        typer.Option("--junit-xml", metavar="FILE", help="Also write a JUnit report to this file."),
    ] = ""
    coverage: Annotated[
        bool, typer.Option("--coverage", help="List the rules that no case makes fire.")
    ] = False


@verb(
    ("kplan policy list", "List the policies of the configuration and its modules."),
    ("kplan policy list -policy=../rules", "Include the policies of another folder."),
)
def list_(session: Session, paths: PolicyPathOptions, inputs: InputOptions) -> int:
    """List the policies that check a plan.

    Policies are listed in the order of evaluation, with level, operations, place and waivers.
    """
    from datetime import UTC, datetime  # noqa: PLC0415 - help needs none of these

    from kplan.cli import wiring  # noqa: PLC0415
    from kplan.policy.engine import sort_policies  # noqa: PLC0415
    from kplan.report import project_views  # noqa: PLC0415
    from kplan.workflow.policy.policy import list_policies  # noqa: PLC0415
    from kplan.workflow.ports import PolicyOptions  # noqa: PLC0415

    project = wiring.build_project(session, StateOptions(), inputs)
    today = datetime.now(UTC).date()
    options = PolicyOptions(paths=tuple(paths.policy), allows_python=paths.allow_python)
    with list_policies(project, options) as found:
        heads = [each.header for each in sort_policies(found.policies)]
    if paths.json:
        session.terminal.write_stdout(project_views.policy_list_json(heads, today))
    else:
        look = session.terminal.stdout_style
        session.terminal.write_stdout(project_views.policy_list_text(heads, today, look))
    return ExitCode.DONE


@verb(
    ("kplan policy test", "Run the *.policytest.hcl files here and in tests/."),
    ("kplan policy test rules/tests", "Run the files of another folder."),
    ("kplan policy test -coverage", "List the rules that no case makes fire."),
    (
        "kplan policy test -filter=names -junit-xml=report.xml",
        "Run some files and write a report for CI.",
    ),
)
def test(
    session: Session,
    cases: PolicyTestOptions,
    paths: PolicyPathOptions,
    inputs: InputOptions,
    trust: TrustOptions,
    path: Annotated[
        list[str] | None,
        typer.Argument(metavar="PATH", help="Test files, or folders with test files."),
    ] = None,  # noqa: PT028 - a verb, not a test
) -> int:
    """Test policies without a cluster.

    A case block declares the request (on, kind, requested, current, principal, ci, today) and the
    expected result: pass, deny, warn, advise, advisory or waived. The arguments policy and message
    narrow the result. A cluster block declares the objects of the cluster.
    """
    from kplan.cli import wiring  # noqa: PLC0415 - help needs none of these
    from kplan.cli.test.test import TestRunner  # noqa: PLC0415
    from kplan.model.table import RunStatus, overall_status  # noqa: PLC0415
    from kplan.report.run_views import result_junit  # noqa: PLC0415
    from kplan.workflow.ports import PolicyOptions  # noqa: PLC0415
    from kplan.workflow.test.policy import open_policy_suite  # noqa: PLC0415

    project = wiring.build_project(session, StateOptions(), inputs, trust)
    options = PolicyOptions(paths=tuple(paths.policy), allows_python=paths.allow_python)
    places = tuple(map(Path, path or ()))
    with open_policy_suite(project, options, cases.filter, places) as suite:
        if not suite.test_files:
            raise UsageError(  # a pipeline that tests nothing must not pass
                "kplan found no *.policytest.hcl files here or in tests/.",
                "Use -chdir=DIR for the policies of another folder.",
            )
        results = TestRunner(session.terminal, paths.json, is_verbose=False).run(suite)
        if cases.coverage:
            _show_coverage(session, suite, is_json=paths.json)
    if cases.junit_xml:
        report = result_junit(results, suite.sources)
        Path(cases.junit_xml).write_text(report, encoding="utf-8")
    return ExitCode.DONE if overall_status(results) is RunStatus.PASS else ExitCode.ERROR


def _show_coverage(session: Session, suite: "PolicySuite", *, is_json: bool) -> None:
    """Show how many rules cases made fire, and name the others."""
    from kplan.report.run_views import coverage_json, coverage_text  # noqa: PLC0415 - as above

    render = coverage_json if is_json else coverage_text
    session.terminal.write_stdout(render(suite.rules, suite.unfired_rules))
