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
    """Which tests, and how they are told."""

    filter: Annotated[
        list[str],
        typer.Option(
            "--filter", metavar="NAME", help="Only these files or runs; * fits all (repeatable)."
        ),
    ] = field(default_factory=list)
    test_directory: Annotated[
        str,
        typer.Option("--test-directory", metavar="DIR", help="Where else to look for test files."),
    ] = "tests"
    json: Json = False
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Show the plan of every run, and what it then owns.")
    ] = False
    junit_xml: Annotated[
        str, typer.Option("--junit-xml", metavar="FILE", help="Write a report for CI services too.")
    ] = ""


@verb(
    ("kplan test", "Every *.kptest.hcl file here and in tests/."),
    ("kplan test -filter=tests/topics.kptest.hcl", "One file; a run may be named as well."),
    ("kplan test -junit-xml=report.xml", "With a report that CI services show."),
    ("kplan test -verbose", "With the plan of every run."),
)
def test(session: Session, tests: TestOptions, inputs: InputOptions) -> int:
    """Test the configuration on a cluster in memory.

    Test files are those of Terraform's test language: run blocks plan or apply with variables of
    their own, and assert what must hold or name what must fail. Every file has a cluster of its
    own; a cluster block says what is there before. No network is asked and nothing is written.
    """
    from kplan.cli import wiring  # noqa: PLC0415 - help needs none of these
    from kplan.cli.test.runner import TestRunner  # noqa: PLC0415
    from kplan.model.test_result import RunStatus, overall_status  # noqa: PLC0415
    from kplan.report.language import result_junit  # noqa: PLC0415
    from kplan.workflow.test.test import open_suite  # noqa: PLC0415

    project = wiring.build_project(session, StateOptions(), inputs)
    found = open_suite(project, tests.filter, tests.test_directory)
    if not found.scripts:
        session.terminal.write_stderr(
            "There is no *.kptest.hcl file, here or in the test directory."
        )
    results = TestRunner(session.terminal, tests.json, tests.verbose).run(found)
    if tests.junit_xml:
        report = result_junit(results, found.sources)
        Path(tests.junit_xml).write_text(report, encoding="utf-8")
    return ExitCode.DONE if overall_status(results) is RunStatus.PASS else ExitCode.ERROR
