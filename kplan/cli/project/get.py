"""`kplan get`: fetch the modules of a configuration."""

from typing import Annotated, Literal

import typer

from kplan.cli.exit_code import ExitCode
from kplan.cli.options import InputOptions, StateOptions
from kplan.cli.progress import show_progress
from kplan.cli.terminal import Session
from kplan.cli.trust_option import TrustOptions
from kplan.cli.verb import verb
from kplan.model.dataclass import dataclass
from kplan.workflow.ports import Project


@dataclass(frozen=True, slots=True)
class ModuleOptions:
    """Which commits to fetch, and whether the lock file may change."""

    upgrade: Annotated[
        bool,
        typer.Option(
            "--upgrade",
            "--update",
            help="Fetch what each branch and tag is now, whatever the lock file says.",
        ),
    ] = False
    lockfile: Annotated[
        Literal["", "readonly"],
        typer.Option(
            "--lockfile",
            metavar="readonly",
            help="Refuse to change kplan.lock.json, for pipelines.",
            show_default=False,
        ),
    ] = ""


@verb(
    ("kplan get", "Fetch the modules that are not installed."),
    ("kplan get -update", "Fetch the latest commit of each branch and tag."),
    ("kplan get -lockfile=readonly", "Fetch exactly what the lock file names, in a pipeline."),
)
def get(
    session: Session,
    inputs: InputOptions,
    trust: TrustOptions,
    modules: ModuleOptions,
) -> int:
    """Fetch the modules that the configuration calls.

    Modules from git and archives are written to .kplan/modules. kplan.lock.json records the commit
    and a digest of each; commit it. Later runs fetch exactly that, and no other command fetches
    anything. kplan init does the same and validates the configuration.
    """
    from kplan.cli.wiring import build_project  # noqa: PLC0415 - help needs none of it

    project = build_project(session, StateOptions(), inputs, trust)
    session.terminal.write_stdout(install_modules(session, project, modules).rstrip("\n"))
    return ExitCode.DONE


def install_modules(session: Session, project: Project, modules: ModuleOptions) -> str:
    """Fetch modules, and return a line for each that is installed.

    Raises:
        ConfigError: a module cannot be had, or the lock file may not change.

    """
    from kplan.config.packages.lock import LOCK_FILE  # noqa: PLC0415 - help needs none of it
    from kplan.workflow.project.get import FetchOptions, fetch_modules  # noqa: PLC0415

    options = FetchOptions(is_upgrade=modules.upgrade, is_readonly=modules.lockfile == "readonly")
    with show_progress(session.terminal) as progress:
        found = fetch_modules(project, options, progress)
    if found.is_lock_changed:
        session.terminal.write_stderr(f"Note: {LOCK_FILE} has changed. Review and commit it.")
    lines = (
        f"Module: {name}{f' at {each.commit}' if each.commit else ''}\n"
        for name, each in sorted(found.packages.items())
    )
    return "".join(lines)
