"""`kplan test`: run test files and show each result as it arrives."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Annotated, Protocol, TypeVar

import typer

from kplan.cli.diagnostics import show_diagnostics, timestamp
from kplan.cli.environment import docs_url
from kplan.cli.exit_code import ExitCode
from kplan.cli.options import InputOptions, Json, StateOptions
from kplan.cli.terminal import Session, Terminal
from kplan.cli.trust_option import TrustOptions
from kplan.cli.verb import verb
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Diagnostic
from kplan.model.table import RunResult, overall_status
from kplan.report import run_views, views


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
def test(session: Session, tests: TestOptions, inputs: InputOptions, trust: TrustOptions) -> int:
    """Test the configuration on a cluster in memory.

    Test files use Terraform's test language: run blocks plan or apply with their own variables, and
    contain assertions or expected failures. Each file has its own cluster; a cluster block declares
    its initial objects. No network is used and no files are written.

    Files named *.tftest.hcl are for Terraform and do not run: rename them to *.kptest.hcl.
    """
    from kplan.cli import wiring  # noqa: PLC0415 - help needs none of these
    from kplan.model.table import RunStatus, overall_status  # noqa: PLC0415
    from kplan.report.run_views import result_junit  # noqa: PLC0415
    from kplan.workflow.test.test import open_suite  # noqa: PLC0415

    project = wiring.build_project(session, StateOptions(), inputs, trust)
    found = open_suite(project, tests.filter, tests.test_directory)
    if not found.test_files:
        session.terminal.write_stderr("Found no *.kptest.hcl files here or in the test directory.")
    results = TestRunner(session.terminal, tests.json, tests.verbose).run(found)
    if tests.junit_xml:
        report = result_junit(results, found.sources)
        Path(tests.junit_xml).write_text(report, encoding="utf-8")
    return ExitCode.DONE if overall_status(results) is RunStatus.PASS else ExitCode.ERROR


class TestFile(Protocol):
    """A file of tests."""

    @property
    def name(self) -> str:
        """The file as shown."""
        ...


T = TypeVar("T", bound=TestFile)


class TestSuite(Protocol[T]):
    """Files of tests that run one by one."""

    @property
    def test_files(self) -> Sequence[T]:
        """The files."""
        ...

    @property
    def names(self) -> Mapping[str, tuple[str, ...]]:
        """Names of the tests of each file."""
        ...

    @property
    def sources(self) -> Mapping[str, str]:
        """Text of every file, by the name it is shown under."""
        ...

    @property
    def diagnostics(self) -> Sequence[Diagnostic]:
        """Warnings about the files."""
        ...

    def run_file(self, script: T, timer: Callable[[], float]) -> Iterator[RunResult]:
        """Execute the tests of a file."""
        ...


@dataclass(frozen=True, slots=True)
class TestRunner:
    """Runs tests and shows the results as text or messages, optionally with plans."""

    terminal: Terminal
    is_json: bool
    is_verbose: bool

    def run(self, suite: TestSuite[T]) -> tuple[RunResult, ...]:
        """Run all tests."""
        if self.is_json:
            self.terminal.write_stdout(run_views.result_abstract_json(suite.names, timestamp()))
        show_diagnostics(
            suite.diagnostics, self.terminal, is_stream=self.is_json, sources=suite.sources
        )
        results: list[RunResult] = []
        for script in suite.test_files:
            self._show_file(script.name, None)
            of_file: list[RunResult] = []
            for each in suite.run_file(script, time.monotonic):
                of_file.append(each)
                self._show_run(each, suite)
            self._show_file(script.name, of_file)
            results += of_file
        self._show_summary(results)
        return tuple(results)

    def _show_file(self, path: str, results: Sequence[RunResult] | None) -> None:
        grade = None if results is None else overall_status(results)
        if self.is_json:
            self.terminal.write_stdout(run_views.result_file_json(path, grade, timestamp()))
        else:
            self.terminal.write_stdout(
                run_views.result_file_line(path, grade, self.terminal.stdout_style)
            )

    def _show_run(self, result: RunResult, suite: TestSuite[T]) -> None:
        if self.is_json:
            line = run_views.result_run_json(
                result,
                suite.sources,
                timestamp(),
                has_plan=self.is_verbose,
                docs_url=docs_url(self.terminal.environ),
            )
            self.terminal.write_stdout(line)
            return
        look = self.terminal.stdout_style
        self.terminal.write_stdout(run_views.result_run_line(result, look))
        if self.is_verbose and result.plan is not None:
            self.terminal.write_stdout(f"\n{views.plan_text(result.plan, look)}\n")
            if result.is_apply:
                self.terminal.write_stdout(f"{views.state_show_text(result.owned, look)}\n")
        show_diagnostics(result.diagnostics, self.terminal, sources=suite.sources)

    def _show_summary(self, results: Sequence[RunResult]) -> None:
        if self.is_json:
            self.terminal.write_stdout(run_views.result_summary_json(results, timestamp()))
        else:
            summary = run_views.result_summary_line(results, self.terminal.stdout_style)
            self.terminal.write_stdout(f"\n{summary}")
