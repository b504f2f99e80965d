"""Run test files and show each result as it arrives."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol, TypeVar

from kplan.cli.diagnostics import show_diagnostics, timestamp
from kplan.cli.terminal import Terminal
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Diagnostic
from kplan.model.test_result import RunResult, overall_status
from kplan.report import language, views


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
        """Carry out the tests of a file."""
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
            self.terminal.write_stdout(language.result_abstract_json(suite.names, timestamp()))
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
            self.terminal.write_stdout(language.result_file_json(path, grade, timestamp()))
        else:
            self.terminal.write_stdout(
                language.result_file_line(path, grade, self.terminal.stdout_style)
            )

    def _show_run(self, result: RunResult, suite: TestSuite[T]) -> None:
        if self.is_json:
            line = language.result_run_json(
                result, suite.sources, timestamp(), has_plan=self.is_verbose
            )
            self.terminal.write_stdout(line)
            return
        look = self.terminal.stdout_style
        self.terminal.write_stdout(language.result_run_line(result, look))
        if self.is_verbose and result.plan is not None:
            self.terminal.write_stdout(f"\n{views.plan_text(result.plan, look)}\n")
            if result.is_apply:
                self.terminal.write_stdout(f"{views.state_show_text(result.owned, look)}\n")
        show_diagnostics(result.diagnostics, self.terminal, sources=suite.sources)

    def _show_summary(self, results: Sequence[RunResult]) -> None:
        if self.is_json:
            self.terminal.write_stdout(language.result_summary_json(results, timestamp()))
        else:
            summary = language.result_summary_line(results, self.terminal.stdout_style)
            self.terminal.write_stdout(f"\n{summary}")
