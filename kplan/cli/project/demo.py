"""`kplan demo`: plan, apply and drift, step by step, on a temporary sandbox."""

import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, chdir, closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from kplan.cli import wiring
from kplan.cli.exit_code import ExitCode
from kplan.cli.options import DEFAULT_STATE_PATH, StateOptions
from kplan.cli.progress import show_progress
from kplan.cli.run import run_line
from kplan.cli.terminal import Session
from kplan.cli.verb import verb
from kplan.cli.watcher import SandboxWatcher
from kplan.cluster.port import Cluster
from kplan.cluster.request import ConfigAlteration
from kplan.model.dataclass import dataclass
from kplan.sandbox import lifecycle
from kplan.sandbox.layout import SandboxSpec
from kplan.sandbox.sandbox import Sandbox
from kplan.workflow.project.validate import validate_project


@verb(
    ("kplan demo", "Takes about 30 seconds; the first run downloads Kafka."),
    ("kplan demo -keep", "Keep the sandbox and the configuration."),
)
def demo(
    session: Session,
    *,
    keep: Annotated[
        bool, typer.Option("--keep", help="Keep the sandbox running and show how to use it.")
    ] = False,
) -> int:
    """Run plan, apply and drift on a temporary sandbox.

    kplan starts a real Apache Kafka, plans and applies the quickstart example, and detects a change
    made outside kplan. Exits with 0 if every step has the expected result.
    """
    return run_demo(session, keep=keep)


_PACKAGE = Path(__file__).parents[2]
_EXAMPLE_FOLDERS = (_PACKAGE / "_shipped" / "examples", _PACKAGE.parent / "examples")
"""In an installed wheel, and in a checkout."""


def example_folder(name: str) -> Path:
    """Give the folder of an example.

    Raises:
        FileNotFoundError: this kplan was packaged without it.

    """
    for place in _EXAMPLE_FOLDERS:
        if (place / name).is_dir():
            return place / name
    raise FileNotFoundError(f"example {name} in {_EXAMPLE_FOLDERS[0]} or {_EXAMPLE_FOLDERS[1]}")


PLAN_FILE, DETAILED = "quickstart.kplan", "-detailed-exitcode"
TOPIC, KEY, VALUE = "dev.shop.orders", "retention.ms", "3600000"
VISIBLE_S = 10.0
_OTHER_SETTINGS = ("KPLAN_", "KAFKA_", "TF_VAR_")


@dataclass(frozen=True, slots=True)
class DemoStep:
    """A command line and its expected exit code; "" is a change made outside kplan."""

    title: str
    command: str
    exit_code: ExitCode


def run_demo(session: Session, *, keep: bool) -> ExitCode:
    """Start a sandbox, run every step on a copy of the quickstart, and stop the sandbox."""
    with _start_sandbox(session, keep=keep) as (folder, sandbox):
        work = shutil.copytree(example_folder("quickstart"), folder / "quickstart")
        inner = replace(session, environ=_sandbox_environ(session, sandbox))
        with chdir(work):
            went_well = all(_run_step(step, inner) for step in STEPS)
        if keep:
            session.terminal.write_stderr(_next_commands(work, sandbox))
    session.terminal.write_stderr("\n# Every step had the expected result." if went_well else "")
    return ExitCode.DONE if went_well else ExitCode.ERROR


@contextmanager
def _start_sandbox(session: Session, *, keep: bool) -> Iterator[tuple[Path, Sandbox]]:
    """Yield a temporary folder and a sandbox; without `keep` both are removed at the end."""
    session.terminal.write_stderr("# Starting a real Apache Kafka on this machine.")
    with ExitStack() as stack:
        with show_progress(session.terminal) as progress:
            watcher = SandboxWatcher(progress)
            if keep:
                folder = Path(tempfile.mkdtemp(prefix="kplan-demo-"))
                sandbox = lifecycle.start_sandbox(folder / "sandbox", SandboxSpec(), watcher)
            else:
                folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kplan-")))
                sandbox = stack.enter_context(lifecycle.temporary_sandbox(progress=watcher))
        yield folder, sandbox
        if not keep:
            session.terminal.write_stderr("\n# Stopped the sandbox and removed its files.")


def _sandbox_environ(session: Session, sandbox: Sandbox) -> dict[str, str]:
    """Return the environment with the sandbox and without the user's own settings."""
    kept = {
        name: value
        for name, value in session.environ.items()
        if not name.startswith(_OTHER_SETTINGS)
    }
    return {
        **kept,
        "KPLAN_BOOTSTRAP_SERVERS": sandbox.bootstrap_servers,
        "KPLAN_TLS_ENABLED": "false",
        "KPLAN_STATE": DEFAULT_STATE_PATH,  # named, so that it may be lost with a CI job
    }


def _run_step(step: DemoStep, session: Session) -> bool:
    session.terminal.write_stderr(f"\n# {step.title}")
    if step.command:
        session.terminal.write_stderr(f"$ kplan {step.command}")
    code = run_line(step.command.split(), session) if step.command else _change_topic(session)
    if code != step.exit_code:
        session.terminal.write_stderr(f"# Expected exit code {step.exit_code}, got {code}.")
    return code == step.exit_code


def _change_topic(session: Session) -> int:
    """Change a topic without kplan."""
    with show_progress(session.terminal) as progress:
        project = wiring.build_project(session, StateOptions())
        ports = wiring.build_ports(session, "demo", StateOptions(), progress)
        cluster = ports.connect(validate_project(project), "")
        with closing(cluster):
            cluster.alter_topic_configs([ConfigAlteration(TOPIC, {KEY: VALUE})])
            is_seen = _is_visible(cluster)
    session.terminal.write_stderr(f"{TOPIC}: {KEY} is {VALUE if is_seen else 'unchanged'}")
    return ExitCode.DONE if is_seen else ExitCode.ERROR


def _is_visible(cluster: Cluster) -> bool:
    """Wait for the broker to serve the change: it does so a moment after the controller's yes."""
    until = time.monotonic() + VISIBLE_S
    while time.monotonic() < until:
        config = cluster.topic_configs([TOPIC]).get(TOPIC)
        if isinstance(config, Mapping) and config[KEY].value == VALUE:
            return True
        time.sleep(0.05)
    return False


STEPS = (
    DemoStep(
        "Plan the changes of an empty cluster.",
        f"plan -out={PLAN_FILE} {DETAILED}",
        ExitCode.CHANGES,
    ),
    DemoStep("Apply exactly this plan.", f"apply {DETAILED} {PLAN_FILE}", ExitCode.DONE),
    DemoStep("Plan again: there are no changes.", f"plan {DETAILED}", ExitCode.DONE),
    DemoStep(f"Set {KEY} of {TOPIC} to one hour, outside kplan.", "", ExitCode.DONE),
    DemoStep("Detect the change.", "drift", ExitCode.CHANGES),
)


def _next_commands(work: Path, sandbox: Sandbox) -> str:
    return (
        "\n# The sandbox is still running. To use it:\n"
        f"cd {work}\n"
        f"export KPLAN_BOOTSTRAP_SERVERS={sandbox.bootstrap_servers} KPLAN_TLS_ENABLED=false\n"
        "kplan plan\n"
        "# To stop it:\n"
        f"kplan sandbox stop -folder={sandbox.folder}"
    )
