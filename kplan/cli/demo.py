"""The main job, step by step, on a Kafka that is started for it."""

import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, chdir, closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from kplan.cli import wiring
from kplan.cli.exits import Exit
from kplan.cli.options import StateOptions
from kplan.cli.progress import progress
from kplan.cli.run import run_line
from kplan.cli.session import Session
from kplan.cli.shipped import example
from kplan.cli.watching import SandboxWatcher
from kplan.cluster.port import Cluster
from kplan.cluster.specs import ConfigAlteration
from kplan.sandbox import lifecycle
from kplan.sandbox.record import Sandbox
from kplan.sandbox.spec import SandboxSpec
from kplan.workflow.validate import validate

PLAN_FILE, EXACT = "quickstart.kplan", "-detailed-exitcode"
TOPIC, KEY, VALUE = "dev.shop.orders", "retention.ms", "3600000"
VISIBLE_S = 10.0
_OTHER_SETTINGS = ("KPLAN_", "KAFKA_", "TF_VAR_")


@dataclass(frozen=True, slots=True)
class Act:
    """One step: a command line, and the exit code that proves it. "" is the change by others."""

    said: str
    line: str
    expected: Exit


def play(session: Session, *, keep: bool) -> Exit:
    """Start a sandbox, run every act on a copy of the quickstart, and stop it again."""
    with _stage(session, keep=keep) as (folder, sandbox):
        work = shutil.copytree(example("quickstart"), folder / "quickstart")
        inner = replace(session, environ=_environ(session, sandbox))
        with chdir(work):
            went_well = all(_performed(act, inner) for act in ACTS)
        if keep:
            session.terminal.talk(_way_on(work, sandbox))
    session.terminal.talk("\n# Every step came out as it should." if went_well else "")
    return Exit.DONE if went_well else Exit.ERROR


@contextmanager
def _stage(session: Session, *, keep: bool) -> Iterator[tuple[Path, Sandbox]]:
    """Give a scratch folder and a sandbox; without `keep` both are gone at the end."""
    session.terminal.talk("# A real Apache Kafka is started on this machine.")
    with ExitStack() as stack:
        with progress(session.terminal) as shown:
            watcher = SandboxWatcher(shown)
            if keep:
                folder = Path(tempfile.mkdtemp(prefix="kplan-demo-"))
                sandbox = lifecycle.start(folder / "sandbox", SandboxSpec(), watcher)
            else:
                folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kplan-")))
                sandbox = stack.enter_context(lifecycle.running(progress=watcher))
        yield folder, sandbox
        if not keep:
            session.terminal.talk("\n# The sandbox is stopped, and its files are removed.")


def _environ(session: Session, sandbox: Sandbox) -> dict[str, str]:
    """Name the sandbox and keep the user's own clusters and variables out."""
    kept = {
        name: value
        for name, value in session.environ.items()
        if not name.startswith(_OTHER_SETTINGS)
    }
    return {**kept, "KPLAN_BOOTSTRAP_SERVERS": sandbox.bootstrap_servers}


def _performed(act: Act, session: Session) -> bool:
    session.terminal.talk(f"\n# {act.said}")
    if act.line:
        session.terminal.talk(f"$ kplan {act.line}")
    code = run_line(act.line.split(), session) if act.line else _meddle(session)
    if code != act.expected:
        session.terminal.talk(f"# Exit code {act.expected} was expected here, not {code}.")
    return code == act.expected


def _meddle(session: Session) -> int:
    """Change a topic as somebody with another tool would."""
    with progress(session.terminal) as shown:
        project = wiring.project(session, StateOptions())
        ports = wiring.ports(session, "demo", StateOptions(), shown)
        cluster = ports.connect(validate(project), "")
        with closing(cluster):
            cluster.alter_topic_configs([ConfigAlteration(TOPIC, {KEY: VALUE})])
            is_seen = _is_seen(cluster)
    session.terminal.talk(f"{TOPIC}: {KEY} is {VALUE if is_seen else 'what it was'} now")
    return Exit.DONE if is_seen else Exit.ERROR


def _is_seen(cluster: Cluster) -> bool:
    """Wait for the broker to serve the change: it does so a moment after the controller's yes."""
    until = time.monotonic() + VISIBLE_S
    while time.monotonic() < until:
        config = cluster.topic_configs([TOPIC]).get(TOPIC)
        if isinstance(config, Mapping) and config[KEY].value == VALUE:
            return True
        time.sleep(0.05)
    return False


ACTS = (
    Act("What must change on the empty cluster?", f"plan -out={PLAN_FILE} {EXACT}", Exit.CHANGES),
    Act("Just that plan is carried out.", f"apply {EXACT} {PLAN_FILE}", Exit.DONE),
    Act("Is anything left to do?", f"plan {EXACT}", Exit.DONE),
    Act(f"Somebody else sets {KEY} of {TOPIC} to an hour.", "", Exit.DONE),
    Act("What changed behind kplan's back?", "drift", Exit.CHANGES),
)


def _way_on(work: Path, sandbox: Sandbox) -> str:
    return (
        "\n# The sandbox still runs. To go on:\n"
        f"cd {work}\n"
        f"export KPLAN_BOOTSTRAP_SERVERS={sandbox.bootstrap_servers}\n"
        "kplan plan\n"
        "# To end it:\n"
        f"kplan sandbox stop -folder={sandbox.folder}"
    )
