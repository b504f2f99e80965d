"""Plan, apply and drift, step by step, on a sandbox that is started for it."""

import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, chdir, closing, contextmanager
from dataclasses import replace
from pathlib import Path

from kplan.cli import wiring
from kplan.cli.exit_code import ExitCode
from kplan.cli.options import StateOptions
from kplan.cli.progress import show_progress
from kplan.cli.project.examples import example_folder
from kplan.cli.run import run_line
from kplan.cli.session import Session
from kplan.cli.watcher import SandboxWatcher
from kplan.cluster.port import Cluster
from kplan.cluster.request import ConfigAlteration
from kplan.model.dataclass import dataclass
from kplan.sandbox import lifecycle
from kplan.sandbox.sandbox import Sandbox
from kplan.sandbox.spec import SandboxSpec
from kplan.workflow.project.validate import validate_project

PLAN_FILE, DETAILED = "quickstart.kplan", "-detailed-exitcode"
TOPIC, KEY, VALUE = "dev.shop.orders", "retention.ms", "3600000"
VISIBLE_S = 10.0
_OTHER_SETTINGS = ("KPLAN_", "KAFKA_", "TF_VAR_")


@dataclass(frozen=True, slots=True)
class DemoStep:
    """One step: a command line, and the exit code that proves it. "" is the change by others."""

    title: str
    command: str
    exit_code: ExitCode


def run_demo(session: Session, *, keep: bool) -> ExitCode:
    """Start a sandbox, run every act on a copy of the quickstart, and stop it again."""
    with _start_sandbox(session, keep=keep) as (folder, sandbox):
        work = shutil.copytree(example_folder("quickstart"), folder / "quickstart")
        inner = replace(session, environ=_sandbox_environ(session, sandbox))
        with chdir(work):
            went_well = all(_run_step(act, inner) for act in STEPS)
        if keep:
            session.terminal.write_stderr(_next_commands(work, sandbox))
    session.terminal.write_stderr("\n# Every step came out as it should." if went_well else "")
    return ExitCode.DONE if went_well else ExitCode.ERROR


@contextmanager
def _start_sandbox(session: Session, *, keep: bool) -> Iterator[tuple[Path, Sandbox]]:
    """Give a scratch folder and a sandbox; without `keep` both are gone at the end."""
    session.terminal.write_stderr("# A real Apache Kafka is started on this machine.")
    with ExitStack() as stack:
        with show_progress(session.terminal) as shown:
            watcher = SandboxWatcher(shown)
            if keep:
                folder = Path(tempfile.mkdtemp(prefix="kplan-demo-"))
                sandbox = lifecycle.start_sandbox(folder / "sandbox", SandboxSpec(), watcher)
            else:
                folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kplan-")))
                sandbox = stack.enter_context(lifecycle.temporary_sandbox(progress=watcher))
        yield folder, sandbox
        if not keep:
            session.terminal.write_stderr("\n# The sandbox is stopped, and its files are removed.")


def _sandbox_environ(session: Session, sandbox: Sandbox) -> dict[str, str]:
    """Name the sandbox and keep the user's own clusters and variables out."""
    kept = {
        name: value
        for name, value in session.environ.items()
        if not name.startswith(_OTHER_SETTINGS)
    }
    return {**kept, "KPLAN_BOOTSTRAP_SERVERS": sandbox.bootstrap_servers}


def _run_step(act: DemoStep, session: Session) -> bool:
    session.terminal.write_stderr(f"\n# {act.title}")
    if act.command:
        session.terminal.write_stderr(f"$ kplan {act.command}")
    code = run_line(act.command.split(), session) if act.command else _change_topic(session)
    if code != act.exit_code:
        session.terminal.write_stderr(f"# Exit code {act.exit_code} was expected here, not {code}.")
    return code == act.exit_code


def _change_topic(session: Session) -> int:
    """Change a topic as somebody with another tool would."""
    with show_progress(session.terminal) as shown:
        project = wiring.build_project(session, StateOptions())
        ports = wiring.build_ports(session, "demo", StateOptions(), shown)
        cluster = ports.connect(validate_project(project), "")
        with closing(cluster):
            cluster.alter_topic_configs([ConfigAlteration(TOPIC, {KEY: VALUE})])
            is_seen = _is_visible(cluster)
    session.terminal.write_stderr(f"{TOPIC}: {KEY} is {VALUE if is_seen else 'what it was'} now")
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
        "What must change on the empty cluster?",
        f"plan -out={PLAN_FILE} {DETAILED}",
        ExitCode.CHANGES,
    ),
    DemoStep("Just that plan is carried out.", f"apply {DETAILED} {PLAN_FILE}", ExitCode.DONE),
    DemoStep("Is anything left to do?", f"plan {DETAILED}", ExitCode.DONE),
    DemoStep(f"Somebody else sets {KEY} of {TOPIC} to an hour.", "", ExitCode.DONE),
    DemoStep("What changed behind kplan's back?", "drift", ExitCode.CHANGES),
)


def _next_commands(work: Path, sandbox: Sandbox) -> str:
    return (
        "\n# The sandbox still runs. To go on:\n"
        f"cd {work}\n"
        f"export KPLAN_BOOTSTRAP_SERVERS={sandbox.bootstrap_servers}\n"
        "kplan plan\n"
        "# To end it:\n"
        f"kplan sandbox stop -folder={sandbox.folder}"
    )
