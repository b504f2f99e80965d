"""`kplan init`: write the files of a new project, or check the one that exists."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from kplan.cli.diagnostics import show_diagnostics
from kplan.cli.exit_code import ExitCode
from kplan.cli.options import InputOptions, StateOptions
from kplan.cli.project.demo import example_folder
from kplan.cli.project.get import ModuleOptions, install_modules
from kplan.cli.terminal import Session
from kplan.cli.trust_option import TrustOptions
from kplan.cli.verb import verb
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Severity, has_errors
from kplan.model.errors import (
    ClusterError,
    ConfigError,
    ObjectStoreAuthError,
    ObjectStoreUnreachableError,
    UsageError,
)
from kplan.model.version import VERSION
from kplan.workflow.ports import Project

_TEMPLATE_FOLDER = Path(__file__).parents[1] / "scaffold"
_CONFIGURATION_GLOBS = ("*.tf", "*.hcl", "*.tf.json")
_TEMPLATE_FILES = {
    "kplan.hcl": "kplan.hcl",
    ".gitignore": "gitignore",
    ".pre-commit-config.yaml": "pre-commit-config.yaml",
}
PINNED = f"kplan=={VERSION}"
"""What pipelines install unless told otherwise."""

_ACTION_FOLDERS = (
    Path(__file__).parents[2] / "_shipped" / "action",
    Path(__file__).parents[3] / ".github" / "actions" / "kplan",
)
_ROOT_REPLACEMENTS = (
    ('    paths: ["kafka/**"]\n', ""),
    ("directory: change/kafka", "directory: change"),
    ("directory: kafka", "directory: ."),
    (
        "  pull_request:\n",
        "  pull_request: # no paths: a configuration reads YAML, JSON and more\n",
    ),
    ("    - cd kafka\n", ""),
    ("-chdir=kafka ", ""),
    ("kafka/", ""),
)
"""The examples have their configuration in a subfolder, a new project at the top."""


class Pipeline(StrEnum):
    """CI services with a pipeline."""

    GITHUB = "github"
    GITLAB = "gitlab"
    JENKINS = "jenkins"
    NONE = "none"


def is_new_project(folder: Path) -> bool:
    """Return whether a folder has no configuration files."""
    return not any(True for each in _CONFIGURATION_GLOBS for _ in folder.glob(each))


def project_files(pipeline: Pipeline, name: str = "kplan", install: str = "") -> Mapping[str, str]:
    """Return the files of a new project by path; with a pipeline its state is in a topic.

    Each job of a pipeline begins with a new checkout: a state in a file would be lost.
    """
    own = {
        name: (_TEMPLATE_FOLDER / file).read_text("utf-8") for name, file in _TEMPLATE_FILES.items()
    }
    if pipeline is not Pipeline.NONE:
        state = _STATE_BLOCK.replace("NAME", _KEY_FAULT.sub("-", name)[:_MAX_KEY] or "kplan")
        own["kplan.hcl"] = own["kplan.hcl"].replace(_STATE_COMMENT, state)
    return {**own, **pipeline_files(pipeline, install)}


_KEY_FAULT = re.compile(r"[^A-Za-z0-9._-]+")
_MAX_KEY = 200
_STATE_COMMENT = """\
# The state records the objects that kplan owns; kplan deletes no others. It is in state/kplan.json;
# commit it. A pipeline without a persistent disk can store it in a topic of the cluster:
# state {
#   backend = "kafka"
# }
"""
_STATE_BLOCK = """\
# The state records the objects that kplan owns; kplan deletes no others. It is in a topic of the
# cluster, where every job of the pipeline finds it. The key names this configuration.
state {
  backend = "kafka"
  key     = "NAME"
}
"""


def pipeline_files(pipeline: Pipeline, install: str = "") -> Mapping[str, str]:
    """Return the pipeline files from the examples, with the install line for the chosen package."""
    found = _pipeline_templates(pipeline)
    image = install.removeprefix(_IMAGE_PREFIX) if install.startswith(_IMAGE_PREFIX) else ""
    if image:
        return {name: _run_in_image(text, image, name) for name, text in found.items()}
    return {name: text.replace(PINNED, install or PINNED) for name, text in found.items()}


_IMAGE_PREFIX = "image:"
_IMAGE = re.compile(r"[a-z0-9][A-Za-z0-9._/:@-]*")
_INSTALL_STAGE = re.compile(r"    stage\('Install'\) \{\n.*?\n    \}\n", re.DOTALL)


def _run_in_image(text: str, image: str, name: str) -> str:
    """Run the jobs in an image that contains kplan, without an install step."""
    if name.endswith("action.yml"):
        return text.replace(f"default: {PINNED}", 'default: ""')
    if name.endswith("Jenkinsfile"):
        text = _INSTALL_STAGE.sub("", text).replace(f"    INSTALL = '{PINNED}'\n", "")
        return text.replace(
            "  agent any\n",
            f"  agent {{\n    docker {{\n      image '{image}'\n      args '--entrypoint='\n"
            "    }\n  }\n",
        )
    if name.endswith(".gitlab-ci.yml"):
        script = '  before_script:\n    - pip install --quiet "$INSTALL"\n'
        text = text.replace(f"  INSTALL: {PINNED}\n", "").replace(script, "")
        return text.replace(
            "  image: python:3.12\n", f'  image:\n    name: {image}\n    entrypoint: [""]\n'
        )
    text = text.replace(f"      INSTALL: {PINNED}\n", "")
    text = text.replace('      - run: pip install --quiet "$INSTALL"\n', "")
    # A runner mounts its folders for root.
    container = f"    container:\n      image: {image}\n      options: --user 0\n"
    return text.replace("    runs-on: ubuntu-latest\n", f"    runs-on: ubuntu-latest\n{container}")


def _check_install(install: str) -> None:
    """Refuse an invalid image name. Raises UsageError."""
    image = install.removeprefix(_IMAGE_PREFIX)
    if install.startswith(_IMAGE_PREFIX) and not _IMAGE.fullmatch(image):
        raise UsageError(
            f"-install={install} names no image.", "Write image:registry.example/kplan@sha256:..."
        )


def _pipeline_templates(pipeline: Pipeline) -> Mapping[str, str]:
    match pipeline:
        case Pipeline.GITHUB:
            names = [f"github/{each}.yml" for each in ("plan", "apply", "resume", "drift")]
            workflows = {
                f".github/workflows/kplan-{Path(each).name}": _example_at_root(each)
                for each in names
            }
            return {**_action_files(), **workflows}
        case Pipeline.GITLAB:
            return {".gitlab-ci.yml": _example_at_root("gitlab/.gitlab-ci.yml")}
        case Pipeline.JENKINS:
            return {"Jenkinsfile": _example_at_root("jenkins/Jenkinsfile")}
        case Pipeline.NONE:
            return {}


def _action_files() -> Mapping[str, str]:
    """Return the action: it stays in the repository that uses it, as it was reviewed there."""
    folder = next(each for each in _ACTION_FOLDERS if each.is_dir())
    names = ("action.yml", "run.py")
    return {f".github/actions/kplan/{name}": (folder / name).read_text("utf-8") for name in names}


def _example_at_root(name: str) -> str:
    text = (example_folder("ci") / name).read_text("utf-8")
    for there, here in _ROOT_REPLACEMENTS:
        text = text.replace(there, here)
    return text


def write_new_files(folder: Path, files: Mapping[str, str]) -> None:
    """Write new files.

    Raises:
        UsageError: a file exists; then none is written.

    """
    there = [name for name in files if (folder / name).exists()]
    if there:
        raise UsageError(
            f"{', '.join(there)}: file exists. No file was written.",
            "Move the file, choose another pipeline with -ci, or use -ci=none.",
        )
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(text)


@dataclass(frozen=True, slots=True)
class InitOptions:
    """The pipeline to write, and what is fetched and checked."""

    ci: Annotated[
        Pipeline | None,
        typer.Option(
            "--ci",
            help="The CI service of the pipeline to write.",
            show_default="github in a new project",
        ),
    ] = None
    install: Annotated[
        str,
        typer.Option(
            "--install",
            metavar="SPEC",
            help="What pip installs in the pipeline: a version, or a wheel in the repository; "
            "image:NAME runs it in an image that holds kplan.",
            show_default=PINNED,
        ),
    ] = ""
    backend: Annotated[
        bool,
        typer.Option(
            "--backend/--no-backend", help="Check that the place of the state can be read."
        ),
    ] = True
    get: Annotated[
        bool, typer.Option("--get/--no-get", help="Fetch the modules that are not installed.")
    ] = True
    reconfigure: Annotated[
        bool,
        typer.Option(
            "--reconfigure",
            help="Accepted for Terraform: nothing remembers an earlier place of the state.",
        ),
    ] = False


@verb(
    ("kplan init", "Write a new project, or check an existing one."),
    ("kplan init -upgrade", "Fetch the latest commit of each branch and tag of modules."),
    ("kplan init -ci=gitlab", "Write a GitLab pipeline; in an existing project only that."),
    ("kplan init -install=./dist/kplan.whl", "Let the pipeline install a wheel of the repository."),
    ("kplan init -install=image:registry.example/kplan:1.0", "Let the pipeline run in an image."),
    ("kplan init -backend=false", "Do not contact the place of the state."),
    ("kplan -chdir=topics init", "Work in another folder."),
)
def init(
    session: Session,
    inputs: InputOptions,
    states: StateOptions,
    trust: TrustOptions,
    modules: ModuleOptions,
    options: InitOptions,
) -> int:
    """Write the files of a new project, or check an existing one.

    In a folder without configuration files kplan writes an example configuration, .gitignore,
    pre-commit hooks and a pipeline. Existing files are not overwritten. In other folders kplan
    fetches modules as kplan get does, validates the configuration and shows the place of the state.
    A state in a bucket or a topic is read once, so that wrong credentials or a missing bucket are
    found here; -backend=false leaves that out. A cluster that does not answer is only a warning.
    There are no plugins to install, and with -backend=false and without modules from elsewhere no
    network is used.
    """
    from kplan.cli.wiring import build_project as located  # noqa: PLC0415 - help needs none of these
    from kplan.config.state_block import find_state_location  # noqa: PLC0415
    from kplan.kinds import KINDS  # noqa: PLC0415
    from kplan.workflow.project.validate import validate_project  # noqa: PLC0415

    is_new = is_new_project(Path.cwd())  # its connection is still to be filled in
    written = _write_project(options.ci, options.install)
    project = located(session, states, inputs, trust)
    installed = install_modules(session, project, modules) if options.get else ""
    found = validate_project(project)
    show_diagnostics(found.diagnostics, session.terminal, sources=found.sources)
    if has_errors(found.diagnostics):
        return ExitCode.ERROR
    location = find_state_location(project.folder, project.inputs, KINDS)
    remote = location.topic or location.bucket
    _check_backend(session, project, is_wanted=bool(remote) and options.backend and not is_new)
    is_kept = bool(remote) or options.ci in {None, Pipeline.NONE}
    for each in _pipeline_notes(project, written, options.install, is_kept=is_kept):
        session.terminal.write_stderr(f"Note: {each}")
    place = str(remote) if remote else f"{project.file_store.location}{_owned_text(project)}"
    session.terminal.write_stdout(
        "".join(f"Wrote {each}\n" for each in written) + "kplan is ready.\n"
        f"Files: {', '.join(sorted(found.sources))}\n"
        f"Resources: {len(found.resources):,}\n{installed}State: {place}"
    )
    return ExitCode.DONE


def _check_backend(session: Session, project: Project, *, is_wanted: bool) -> None:
    """Read the state once, without a lock; nothing is written.

    A cluster may be out of reach of the person who writes the configuration, an object store is
    not more so than at the next plan.

    Raises:
        KplanError: the object store cannot be used, or the state that was read is damaged.

    """
    trust = project.inputs.trust
    if not is_wanted or (trust is not None and trust.ref is None):
        return  # without a trusted checkout nothing says where the state is
    try:
        project.store.read_move_note()
    except (ClusterError, ConfigError) as failure:
        if isinstance(failure, ObjectStoreUnreachableError | ObjectStoreAuthError):
            raise
        # The connection may be one that only the pipeline has.
        sources = failure.sources if isinstance(failure, ConfigError) else {}
        told = [
            replace(each, severity=Severity.WARNING, detail=f"{_NOT_CHECKED} {each.detail}")
            for each in failure.diagnostics
        ]
        show_diagnostics(told, session.terminal, sources=sources)


_NOT_CHECKED = "The state was not checked."


def _pipeline_notes(
    project: Project, written: list[str], install: str, *, is_kept: bool
) -> Iterator[str]:
    """Return the settings a new pipeline needs."""
    if not is_kept:
        yield (
            f"The state is in {project.file_store.location}, which is lost with each job unless it "
            'is committed. Store it with state { backend = "kafka" key = "..." }.'
        )
    if not install and any(PINNED in Path(each).read_text("utf-8") for each in written):
        yield (
            f"The pipeline installs {PINNED}; your package index must hold it, or name another "
            "source with -install=SPEC."
        )
    if any("actions/kplan" in each for each in written):
        yield "Commit these files to the default branch first: plans of requests use its action."


def _write_project(ci: Pipeline | None, install: str) -> list[str]:
    """Write the files and return their names."""
    _check_install(install)
    folder = Path.cwd()
    if is_new_project(folder):
        files = project_files(ci or Pipeline.GITHUB, folder.name, install)
    else:
        files = pipeline_files(ci or Pipeline.NONE, install)
    write_new_files(folder, files)
    return list(files)


def _owned_text(project: Project) -> str:
    """Return the number of owned objects in a state file."""
    state = project.file_store.read()
    return f", objects owned: {len(state.owned):,}" if state else " (created by the first apply)"
