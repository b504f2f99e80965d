"""`kplan test`."""

from dataclasses import field
from pathlib import Path
from typing import Annotated

import typer

from kplan.cli.exit_code import ExitCode
from kplan.cli.options import InputOptions, Json, StateOptions
from kplan.cli.session import Session
from kplan.cli.verb import verb
from kplan.model.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class TestOptions:
    """The tests to run, and the output."""

    filter: Annotated[
        list[str],
        typer.Option(
            "--filter",
            metavar="NAME",
            help="Run only these files or runs; * is a wildcard (repeatable).",
        ),
    ] = field(default_factory=list)
    test_directory: Annotated[
        str,
        typer.Option("--test-directory", metavar="DIR", help="Another folder with test files."),
    ] = "tests"
    json: Json = False
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Show the plan and the resulting state of every run.")
    ] = False
    junit_xml: Annotated[
        str,
        typer.Option("--junit-xml", metavar="FILE", help="Also write a JUnit report to this file."),
    ] = ""


@verb(
    ("kplan test", "Run the *.kptest.hcl files here and in tests/."),
    ("kplan test -filter=tests/topics.kptest.hcl", "Run one file."),
    ("kplan test -junit-xml=report.xml", "Write a report for CI."),
    ("kplan test -verbose", "Show the plan of every run."),
)
def test(session: Session, tests: TestOptions, inputs: InputOptions) -> int:
    """Test the configuration on a cluster in memory.

    Test files use Terraform's test language: run blocks plan or apply with their own variables, and
    contain assertions or expected failures. Each file has its own cluster; a cluster block declares
    its initial objects. No network is used and no files are written.
    """
    from kplan.cli import wiring  # noqa: PLC0415 - help needs none of these
    from kplan.cli.test.runner import TestRunner  # noqa: PLC0415
    from kplan.model.test_result import RunStatus, overall_status  # noqa: PLC0415
    from kplan.report.language import result_junit  # noqa: PLC0415
    from kplan.workflow.test.test import open_suite  # noqa: PLC0415

    project = wiring.build_project(session, StateOptions(), inputs)
    found = open_suite(project, tests.filter, tests.test_directory)
    if not found.test_files:
        session.terminal.write_stderr("Found no *.kptest.hcl files here or in the test directory.")
    results = TestRunner(session.terminal, tests.json, tests.verbose).run(found)
    if tests.junit_xml:
        report = result_junit(results, found.sources)
        Path(tests.junit_xml).write_text(report, encoding="utf-8")
    return ExitCode.DONE if overall_status(results) is RunStatus.PASS else ExitCode.ERROR
