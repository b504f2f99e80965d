"""Use case: run the tests of a configuration, on clusters in memory."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path

from kplan.config.diagnostic import error, warning
from kplan.config.modules.root_module import RootModule, open_folder
from kplan.config.testing.file import TEST_FILE_SUFFIX, HclTestFile, read_test_file
from kplan.config.testing.run import evaluate_cluster_block
from kplan.kinds import KINDS
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Diagnostic, has_errors, sort_diagnostics
from kplan.model.errors import ConfigError, UsageError
from kplan.model.table import RunResult
from kplan.workflow.ports import Project
from kplan.workflow.test.run import TestFileRun

TEST_FOLDER = "tests"
"""The folder beside the configuration where test files are looked for, as in Terraform."""

_TERRAFORM_SUFFIXES = (".tftest.hcl", ".tftest.json")


@dataclass(frozen=True, slots=True)
class ConfigurationTests:
    """The chosen tests of a configuration, read; `diagnostics` are warnings about their files."""

    project: Project
    root: RootModule
    test_files: tuple[HclTestFile, ...]
    diagnostics: tuple[Diagnostic, ...]

    @property
    def sources(self) -> Mapping[str, str]:
        """Text of every file, by the name it is shown under."""
        return _file_sources(self.root, self.test_files)

    @property
    def names(self) -> Mapping[str, tuple[str, ...]]:
        """Names of the runs of each file."""
        return {each.name: tuple(run.name for run in each.runs) for each in self.test_files}

    def run_file(self, script: HclTestFile, timer: Callable[[], float]) -> Iterator[RunResult]:
        """Execute the runs of a file, one after the other, on a cluster of their own."""
        return TestFileRun(self.root, self.project.inputs, script, timer).run_all()


def open_suite(
    project: Project, filters: Sequence[str] = (), directory: str = TEST_FOLDER
) -> ConfigurationTests:
    """Read the test files of a folder and of its test directory.

    `filters` name files, or runs; both may be patterns with `*`. None means all.

    Raises:
        ConfigError: the configuration or a test file has mistakes in its text, or only Terraform
            would run the test files there are.
        UsageError: a filter fits nothing, or a folder cannot be listed.

    """
    root = open_folder(project.folder, project.inputs, KINDS)
    found = [
        read_test_file(path, name, root.module.declarations)
        for name, path in _find_test_files(project.folder, directory, (TEST_FILE_SUFFIX,))
    ]
    ignored = list(_ignored_files(project.folder, directory, is_all=not found))
    scripts = [] if has_errors(ignored) else _filter_files(found, filters)
    problems = [*root.problems, *ignored]
    for each in scripts:
        problems += each.diagnostics
        problems += evaluate_cluster_block(root, each.cluster).diagnostics
    if has_errors(problems):
        raise ConfigError(sort_diagnostics(problems), _file_sources(root, scripts))
    warnings = [*ignored, *(result for each in scripts for result in each.diagnostics)]
    return ConfigurationTests(project, root, tuple(scripts), sort_diagnostics(warnings))


def _file_sources(root: RootModule, scripts: Sequence[HclTestFile]) -> Mapping[str, str]:
    return {**root.sources, **{each.name: each.text for each in scripts}}


def _find_test_files(
    folder: Path, directory: str, suffixes: tuple[str, ...]
) -> Iterator[tuple[str, Path]]:
    """List test files by the names they are shown under, those of the folder itself first."""
    for prefix in ("", f"{directory}/"):
        place = folder / prefix
        if place.is_dir():
            try:
                paths = sorted(place.iterdir())
            except OSError as failure:
                text = f"The folder {place} cannot be read: {failure.strerror}."
                raise UsageError(text) from None
            for path in paths:
                if path.name.endswith(suffixes) and path.is_file():
                    yield f"{prefix}{path.name}", path


def _ignored_files(folder: Path, directory: str, *, is_all: bool) -> Iterator[Diagnostic]:
    """Tell of test files that only Terraform runs: an error where `is_all` there are."""
    names = [name for name, _ in _find_test_files(folder, directory, _TERRAFORM_SUFFIXES)]
    if names:
        tell = error if is_all else warning
        detail = f"kplan runs test files named *{TEST_FILE_SUFFIX}, and did not run "
        detail += f"{', '.join(names)}."
        first = names[0].partition(".tftest.")[0] + TEST_FILE_SUFFIX
        hint = f"mv {names[0]} {first}"
        if all(each.endswith(".json") for each in names):
            hint = f"Write {first} in HCL: kplan reads no tests in JSON."
        yield tell("KP707", None, detail, hint=hint)


def _filter_files(scripts: Sequence[HclTestFile], filters: Sequence[str]) -> list[HclTestFile]:
    if not filters:
        return list(scripts)
    for each in filters:
        runs = (run.name for script in scripts for run in script.runs)
        if not any(_matches_file(script, each) for script in scripts) and not _matches_any(
            runs, each
        ):
            raise UsageError(
                f"-filter={each} fits no test file and no run.",
                hint=f"There are {', '.join(script.name for script in scripts) or 'none'}.",
            )
    narrowed = (_filter_runs(each, filters) for each in scripts)
    return [each for each in narrowed if each.runs]


def _filter_runs(script: HclTestFile, filters: Sequence[str]) -> HclTestFile:
    if any(_matches_file(script, each) for each in filters):
        return script
    runs = [run for run in script.runs if any(_matches_any([run.name], each) for each in filters)]
    return replace(script, runs=runs)


def _matches_file(script: HclTestFile, pattern: str) -> bool:
    return _matches_any([script.name, script.name.rpartition("/")[2]], pattern.removeprefix("./"))


def _matches_any(names: "Iterator[str] | Sequence[str]", pattern: str) -> bool:
    return any(fnmatchcase(name, pattern) for name in names)
